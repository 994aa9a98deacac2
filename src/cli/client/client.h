/*
 * What each command of the client has: its settings, a connection, and the request that is being
 * put together.
 */
#ifndef ELAPSE_CLI_CLIENT_CLIENT_H
#define ELAPSE_CLI_CLIENT_CLIENT_H

#include "session.h"

struct client {
    struct client_settings settings;
    struct connection *connection;
    struct request request;
    bool json;
};

/* Makes a client without settings; releases it. */
struct client *client_new(void);
void client_free(struct client *client);

/* Reads the settings and begins the connection. Says what is wrong. */
enum exit_status client_open(struct client *client);

/* Sends the client's request, and waits for its reply; NULL, and a status, after a message. */
redisReply *client_ask(struct client *client, enum exit_status *status);

/* Does the same for a command that answers with a map, or with nothing (`*status` is then
 * STATUS_GONE, and the reply is returned). */
redisReply *client_ask_map(struct client *client, enum exit_status *status);

/* The option --json. */
struct command_option client_json_option(struct client *client);

/* Adds the word of an option and its value to the request, if it was given. */
void client_add_option(struct client *client, const char *word, const char *value);

/* Checks that a text is the number of a job. Says what is wrong. */
enum exit_status client_check_id(const char *text);

/* What an option of a due time, or another duration, says: a text that the server reads. */
struct client_time {
    const char *text; /* NULL: it was not given */
    char number[21];
};

/* Read an option of a duration, such as 30m, and of a moment: milliseconds, or a time with its
 * zone (RFC 3339). The context is a struct client_time. */
enum exit_status client_read_duration(void *context, const char *value);
enum exit_status client_read_moment(void *context, const char *value);

#endif
