/*
 * What each command of the client has: its settings, a connection, and the request that it is
 * making.
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

/* client_new makes a client without settings. client_free frees a client. */
struct client *client_new(void);
void client_free(struct client *client);

/* Reads the settings, and begins the connection. Prints what is wrong, and returns the status for
 * it. */
enum exit_status client_open(struct client *client);

/* Sends the client's request, and waits for its reply. If the connection is lost, prints a message,
 * stores the status for it, and returns NULL. */
redisReply *client_ask(struct client *client, enum exit_status *status);

/* Does the same for a command whose reply is a map or nothing. If it is nothing, stores STATUS_GONE
 * in `*status`, and returns the reply. */
redisReply *client_ask_map(struct client *client, enum exit_status *status);

/* Runs a command after its options were read. */
typedef enum exit_status client_function(void *context, const struct command_line *line);

/* Reads the command line, and calls run(context). Adds the client's options after those of the
 * table. The table ends with an option without a name, and has room for CLIENT_OPTION_COUNT more.
 * Writes the output, and frees the client. */
enum exit_status client_run(struct client *client, const struct command_help *help,
                            client_function *run, void *context, struct command_option *table,
                            int argc, char **argv);

/* The value of an option that is a due time or a duration: the text that is sent to the server. */
struct client_time {
    const char *text; /* NULL: the option was not given */
    char number[21];  /* room for `text`, if the client computes the number */
};

/* Reads the value of a duration option, such as 30m. `context` is a struct client_time. */
enum exit_status client_read_duration(void *context, const char *value);

/* client_duration_option returns an option whose value is a duration. client_moment_option returns
 * the option --at, whose value is milliseconds, or a time with its zone (RFC 3339). */
struct command_option client_duration_option(const char *name, struct client_time *time,
                                             const char *help);
struct command_option client_moment_option(struct client_time *time);

/* Returns the option --json. */
struct command_option client_json_option(struct client *client);

/* Adds the word of an option and its value to the request, unless the value is NULL. */
void client_add_option(struct client *client, const char *word, const char *value);

/* Checks that a text is the id of a job. If not, prints a message and returns the status for it. */
enum exit_status client_check_id(const char *text);

/* Begins a command with a verb and the arguments of the line, of which there are at most `most`.
 * Opens the client, and begins the request with them. Prints what is wrong, and returns the status
 * for it. */
enum exit_status client_begin(struct client *client, const struct command_line *line, int most,
                              const char *verb);

/* Begins a command about one job, which the arguments TUBE and KEY name, or an id if `by_id`. Opens
 * the client, and begins the request with a verb and the arguments. Prints what is wrong, and
 * returns the status for it. */
enum exit_status client_begin_named(struct client *client, const struct command_line *line,
                                    bool by_id, const char *verb, const char *verb_by_id);

#endif
