/*
 * Says what a reply means for a command: its exit status, and what to print. No function here has
 * an effect.
 */
#ifndef ELAPSE_CLI_CLIENT_ANSWER_H
#define ELAPSE_CLI_CLIENT_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

#include <hiredis/hiredis.h>

#include "../common/message.h"
#include "connection.h"

/* The first function returns whether a reply is a text. The second returns whether a reply is the
 * text `word`. The third returns whether a reply is a name. A name has 1 to 64 letters, digits and
 * '_'. The words of the protocol are names. A name needs no escapes in JSON, so it is printed as it
 * came. */
bool answer_is_text(const redisReply *reply);
bool answer_is_word(const redisReply *reply, const char *word);
bool answer_is_name(const redisReply *reply);

/* The meaning of a reply. `word` and `error` point to texts of the reply. */
struct answer {
    enum exit_status status;
    uint64_t id;       /* the id of a job; 0: none */
    const char *word;  /* a name; NULL if there is an error */
    const char *error; /* NULL if there is a word */
};

/* Reads [id, word], the reply to PUT. `keeps` says that the caller asked to keep a job that has the
 * key already. Then the word `kept` is no failure. */
struct answer answer_to_put(const redisReply *reply, bool keeps);

/* Reads a word or an error: the reply to RESCHEDULE, or a part of the reply to CANCEL. `gone` is a
 * failure. `running` is a failure unless `running_is_well` is true, as it is for CANCEL. */
struct answer answer_of_word(const redisReply *reply, bool running_is_well);

/* Reads a reply whose form is not the expected one. Returns the error in it. For a word, returns
 * the error `strange`, which says what the reply should have been. */
struct answer answer_of_other(const redisReply *reply, const char *strange);

/* Returns whether the server does not know KICK with BURIED, because it is of 0.3.0 or older. */
bool answer_is_of_older_server(const redisReply *reply);
#define ANSWER_OLDER_SERVER \
    "the server is older than this program, and cannot kick buried jobs alone: give a count"

/* Returns the status that belongs to an error of the server. */
enum exit_status answer_status_of_error(const char *error);

/* Returns the status that belongs to a lost connection, if a reply was awaited. */
enum exit_status answer_status_of_fault(enum connection_fault fault);

/* Returns the status of two parts together: the status of the first part that failed. An unknown
 * outcome comes before all others, because only it asks the user for care. */
enum exit_status answer_join(enum exit_status before, enum exit_status next);

/* Returns the value of a member of a map, or NULL if the map has no such member. A map is an array
 * in which a name and its value alternate. */
const redisReply *answer_member(const redisReply *map, const char *name);

/* Returns the number of a member, or 0 if there is no such member. */
uint64_t answer_number(const redisReply *map, const char *name);

#endif
