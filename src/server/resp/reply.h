/*
 * Writes replies in RESP.
 */
#ifndef ELAPSE__RESP_REPLY_H
#define ELAPSE__RESP_REPLY_H

#include "../../protocol/reply_fields.h"
#include "resp.h"

/* A text that is put together piece by piece. Bytes that do not fit are left out. The struct begins
 * as zeros. */
struct elapse__resp_line {
    char text[ELAPSE__RESP_ERROR_MAX + 1]; /* always ends with a zero byte */
    size_t size;
};
void elapse__resp_add_bytes(struct elapse__resp_line *line, const void *bytes, size_t size);
void elapse__resp_add(struct elapse__resp_line *line, const char *text);
void elapse__resp_add_number(struct elapse__resp_line *line, uint64_t number);
/* Adds a word to the line, in small letters. */
void elapse__resp_add_small(struct elapse__resp_line *line, const char *word);

/* Returns a writer with room for `size` bytes. The writer writes a reply, or a part of a reply, in
 * the given version of RESP. If there is no memory, the writer writes nothing, and the connection
 * ends. */
struct elapse__wire_resp_writer elapse__resp_begin(struct elapse__connection *connection,
                                                   bool resp3, size_t size);
/* Appends the bytes that the writer has written to the reply. */
void elapse__resp_end(struct elapse__connection *connection,
                      const struct elapse__wire_resp_writer *writer);

void elapse__resp_reply_word(const struct elapse__resp_call *call, const char *word);
void elapse__resp_reply_integer(const struct elapse__resp_call *call, uint64_t value);
void elapse__resp_reply_bytes(const struct elapse__resp_call *call, const void *bytes, size_t size);
void elapse__resp_reply_null(const struct elapse__resp_call *call);

/* Replies with a null in the place of an array. */
void elapse__resp_reply_no_array(const struct elapse__resp_call *call);
void elapse__resp_reply_array(const struct elapse__resp_call *call, size_t count);
void elapse__resp_reply_map(const struct elapse__resp_call *call, size_t pairs);

/* Writes the head of a list if the item that is formatted next is the first of the list. `context`
 * says whether it is. */
void elapse__resp_begin_items(struct elapse__connection *connection, uint64_t context);

/* Replies with an error: a code, a text, and an argument in quotation marks. The argument is cut if
 * it does not fit. If the argument is NULL, the error shows none. Returns ELAPSE__STEP_RAN, so that
 * callers can return the result. */
enum elapse__session_step
elapse__resp_reply_error(struct elapse__connection *connection, const char *text,
                         const struct elapse__wire_resp_argument *argument);

/* Replies with the word of a result. If the result is an error, replies with the error. */
void elapse__resp_reply_result(const struct elapse__resp_call *call,
                               const struct elapse__queue_answer *answer);

/* Replies with the id of a job and the word of a result that is no error. */
void elapse__resp_reply_job(const struct elapse__resp_call *call,
                            const struct elapse__queue_answer *answer);

/* Returns the name that a state has in replies and options. */
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

/* Counts the rows of a table of fields, if this macro is given to the table as X. */
/* NOLINTNEXTLINE(bugprone-macro-parentheses): each row is one term of a sum */
#define ELAPSE__RESP_COUNT_ROW(...) +1

/* Writes a number. Writes INT64_MAX for every greater number, because RESP has no greater numbers.
 */
void elapse__resp_write_number(struct elapse__wire_resp_writer *writer, uint64_t value);

/* Writes a time. Writes null if the time is 0. */
void elapse__resp_write_instant(struct elapse__wire_resp_writer *writer, int64_t at_ms);

/* Writes a key, a tag or an error. Writes null if the text is empty. */
void elapse__resp_write_name(struct elapse__wire_resp_writer *writer,
                             struct elapse__queue_text text);

/* Writes a lease as "<life>-<number>". Writes null if the number is 0, because no lease has this
 * number. */
void elapse__resp_write_lease(struct elapse__wire_resp_writer *writer,
                              struct elapse__queue_lease lease);

/* ---- commands of the queue, and their words ---- */

/* Returns whether the arguments of a command are checked between MULTI and EXEC. A command that
 * changes no job then returns LATER in place of its reply. */
bool elapse__resp_is_only_checked(const struct elapse__resp_call *call);

/* Makes a change. Returns false if the journal takes nothing now. Returns false also in a pass over
 * a transaction that only notes the change. After false the caller returns LATER. */
bool elapse__resp_make(const struct elapse__resp_call *call,
                       const struct elapse__queue_change *change,
                       struct elapse__queue_answer *answer);

/* Makes the change of a command that has only one, counts the command, and replies with the word or
 * the error of the change. Returns LATER if elapse__resp_make returns false. */
enum elapse__session_step elapse__resp_run_one(const struct elapse__resp_call *call,
                                               const struct elapse__queue_change *change);

/* Makes the next change of a command that has `parts` changes. Appends the word of the change to
 * the array that is the reply. Returns RAN after the last change, LATER if the journal takes
 * nothing now, and otherwise MORE. If `*goes_on` is true, the caller goes on with the next change.
 * Otherwise the caller returns the step. */
enum elapse__session_step elapse__resp_run_part(const struct elapse__resp_call *call,
                                                uint32_t parts,
                                                const struct elapse__queue_change *change,
                                                bool *goes_on);

#endif
