/*
 * What a reply means for a command: its exit status, and what to say. Nothing here has an effect.
 */
#ifndef ELAPSE_CLI_CLIENT_ANSWER_H
#define ELAPSE_CLI_CLIENT_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

#include <hiredis/hiredis.h>

#include "../common/message.h"
#include "connection.h"

/* Return whether a reply is a text; a text that equals `word`; and a name, which is 1 to 64
 * letters, digits and '_'. Words and names of the protocol are names: they are printed as they
 * came, and need no escapes in JSON. */
bool answer_is_text(const redisReply *reply);
bool answer_is_word(const redisReply *reply, const char *word);
bool answer_is_name(const redisReply *reply);

/* What a reply says. The texts are those of the reply. */
struct answer {
    enum exit_status status;
    uint64_t id;       /* of a job; 0: none */
    const char *word;  /* a name; NULL for an error */
    const char *error; /* NULL for a word */
};

/* Reads [id, word], the reply to PUT. `keeps`: the caller asked to keep a job that has the key
 * already, so the word `kept` is no failure. */
struct answer answer_to_put(const redisReply *reply, bool keeps);

/* Reads a word, or an error: the reply to RESCHEDULE, and each part of that to CANCEL. `gone` is
 * a failure. `running` is one unless `running_is_well`, as for CANCEL. */
struct answer answer_of_word(const redisReply *reply, bool running_is_well);

/* Reads a reply whose form is not the one that was awaited. Returns the error in it; for a word,
 * the error `strange`, which says what the reply is not. */
struct answer answer_of_other(const redisReply *reply, const char *strange);

/* Returns the status that belongs to an error of the server. */
enum exit_status answer_status_of_error(const char *error);

/* Returns the status that belongs to a lost connection, if a reply was awaited. */
enum exit_status answer_status_of_fault(enum connection_fault fault);

/* Returns the status of two parts together: the status of the first part that failed. An unknown
 * outcome comes before all others, because it alone asks for care. */
enum exit_status answer_join(enum exit_status before, enum exit_status next);

/* Returns the value of a member of a map, which is an array of names and values in turn; NULL if
 * the map has no such member. */
const redisReply *answer_member(const redisReply *map, const char *name);

/* Returns the number of a member, 0 if there is none. */
uint64_t answer_number(const redisReply *map, const char *name);

#endif
