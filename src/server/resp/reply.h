/*
 * Writes replies in RESP.
 */
#ifndef ELAPSE__RESP_REPLY_H
#define ELAPSE__RESP_REPLY_H

#include "../../protocol/reply_fields.h"
#include "resp.h"

/* A text that is put together piece by piece. Bytes that do not fit are left out. It begins as
 * zeros. */
struct elapse__resp_line {
    char text[ELAPSE__RESP_ERROR_MAX + 1]; /* always ends with a terminator */
    size_t size;
};
void elapse__resp_add_bytes(struct elapse__resp_line *line, const void *bytes, size_t size);
void elapse__resp_add(struct elapse__resp_line *line, const char *text);
void elapse__resp_add_number(struct elapse__resp_line *line, uint64_t number);
/* Adds a word in small letters. */
void elapse__resp_add_small(struct elapse__resp_line *line, const char *word);

/* Returns a writer with room for `size` bytes, for a reply or a part of one, in the given version
 * of RESP. Without memory the writer writes nowhere, and the connection ends. */
struct elapse__wire_resp_writer elapse__resp_begin(struct elapse__connection *connection,
                                                   bool resp3, size_t size);
/* Appends what the writer has written to the reply. */
void elapse__resp_end(struct elapse__connection *connection,
                      const struct elapse__wire_resp_writer *writer);

void elapse__resp_reply_word(const struct elapse__resp_call *call, const char *word);
void elapse__resp_reply_integer(const struct elapse__resp_call *call, uint64_t value);
void elapse__resp_reply_bytes(const struct elapse__resp_call *call, const void *bytes, size_t size);
void elapse__resp_reply_null(const struct elapse__resp_call *call);

/* Replies with the nothing that stands in the place of an array. */
void elapse__resp_reply_no_array(const struct elapse__resp_call *call);
void elapse__resp_reply_array(const struct elapse__resp_call *call, size_t count);
void elapse__resp_reply_map(const struct elapse__resp_call *call, size_t pairs);

/* Writes the head of a list, if `context` says that what is formatted is the first of its items. */
void elapse__resp_begin_items(struct elapse__connection *connection, uint64_t context);

/* Replies with an error: code, text, and as much of an argument as fits, in quotation marks; NULL:
 * none. Returns ELAPSE__STEP_RAN, so that callers can return the result. */
enum elapse__session_step
elapse__resp_reply_error(struct elapse__connection *connection, const char *text,
                         const struct elapse__wire_resp_argument *argument);

/* Replies with the word of a result, or with its error. */
void elapse__resp_reply_result(const struct elapse__resp_call *call,
                               const struct elapse__queue_answer *answer);

/* Replies with the id of a job and the word of a result that is no error. */
void elapse__resp_reply_job(const struct elapse__resp_call *call,
                            const struct elapse__queue_answer *answer);

/* Returns the name of a state, as in replies and options. */
const char *elapse__resp_state_name(enum elapse__queue_state state);

/* ---- values: a macro for each kind of src/protocol/reply_fields.h ---- */

#define ELAPSE__RESP_WRITE_ID(writer, value)        elapse__resp_write_number(writer, value)
#define ELAPSE__RESP_WRITE_NUMBER(writer, value)    elapse__resp_write_number(writer, value)
#define ELAPSE__RESP_WRITE_DURATION(writer, value)  elapse__resp_write_number(writer, value)
#define ELAPSE__RESP_WRITE_MOMENT(writer, value)    elapse__wire_resp_write_integer(writer, value)
#define ELAPSE__RESP_WRITE_INSTANT(writer, value)   elapse__resp_write_instant(writer, value)
#define ELAPSE__RESP_WRITE_YES_OR_NO(writer, value) elapse__wire_resp_write_boolean(writer, value)
#define ELAPSE__RESP_WRITE_TEXT(writer, value) \
    elapse__wire_resp_write_bytes(writer, (value).bytes, (value).size)
#define ELAPSE__RESP_WRITE_NAME(writer, value)  elapse__resp_write_name(writer, value)
#define ELAPSE__RESP_WRITE_LEASE(writer, value) elapse__resp_write_lease(writer, value)

/* Counts the rows of a table of fields, when it is given as the table's macro X. */
/* NOLINTNEXTLINE(bugprone-macro-parentheses): each row is one term of a sum */
#define ELAPSE__RESP_COUNT_ROW(...) +1

/* Writes a number. INT64_MAX stands for all greater numbers, which RESP does not have. */
void elapse__resp_write_number(struct elapse__wire_resp_writer *writer, uint64_t value);

/* Writes a time; null if it is 0. */
void elapse__resp_write_instant(struct elapse__wire_resp_writer *writer, int64_t at_ms);

/* Writes a key, a tag or an error; null if it is empty. */
void elapse__resp_write_name(struct elapse__wire_resp_writer *writer,
                             struct elapse__queue_text text);

/* Writes a lease, "<life>-<number>"; null if its number is 0, which no lease has. */
void elapse__resp_write_lease(struct elapse__wire_resp_writer *writer,
                              struct elapse__queue_lease lease);

/* ---- commands of the queue, and their words ---- */

/* Makes a change. Returns false if the journal takes nothing now, or if the pass over a transaction
 * has noted the change: the caller then returns LATER. */
bool elapse__resp_make(const struct elapse__resp_call *call,
                       const struct elapse__queue_change *change,
                       struct elapse__queue_answer *answer);

/* Makes the one change of a command, counts it, and replies with its word or its error. Returns
 * LATER as elapse__resp_make says. */
enum elapse__session_step elapse__resp_run_one(const struct elapse__resp_call *call,
                                               const struct elapse__queue_change *change);

/* Makes the next of the `parts` changes of a command, and appends its word to the array that is the
 * reply. Returns RAN after the last part, LATER if the journal takes nothing now, or MORE. If
 * `*goes_on`, the caller goes on with the next part; otherwise it returns the step. */
enum elapse__session_step elapse__resp_run_part(const struct elapse__resp_call *call,
                                                uint32_t parts,
                                                const struct elapse__queue_change *change,
                                                bool *goes_on);

#endif
