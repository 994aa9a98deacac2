/*
 * Makes a command of RESP from the members of a request, which come from its JSON or its query.
 * Checks only the kind of a value, such as string or number. The core, which runs the command,
 * checks the values themselves, such as durations and cron expressions.
 *
 * If the request has to be refused, a function that returns a bool fills the fault and returns
 * false.
 */
#ifndef ELAPSE__HTTP_BUILDING_H
#define ELAPSE__HTTP_BUILDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "../../base/buffer.h"
#include "request.h"

enum { ELAPSE__BUILD_NAMES_MAX = 24 };

/* The struct begins as zeros. */
struct elapse__building {
    const struct elapse__http_request *request;
    struct elapse__http_fault *fault;
    json_t *members;                            /* from the body or the query */
    bool is_query;                              /* the members come from a query, and are strings */
    bool has_jobs;                              /* the jobs are an array, and so is the answer */
    const char *names[ELAPSE__BUILD_NAMES_MAX]; /* members that the building has asked for */
    size_t name_count;
    struct elapse__buffer words;
    uint32_t word_count;
};

/* Refuses the request because of a member. `text` says what is wrong with it. Returns false. */
bool elapse__build_refuse(struct elapse__building *building, const char *name, const char *text);

/* ---- members ---- */

/* These functions return the value of a member, or NULL if the member is missing or null.
 * elapse__build_find_array refuses the request unless the member is an array of 1 to
 * ELAPSE__HTTP_ITEMS_MAX items. */
const json_t *elapse__build_find(struct elapse__building *building, const char *name);
const json_t *elapse__build_find_array(struct elapse__building *building, const char *name);

/* Refuses the request if it has a member that is not null and that nobody asked for with
 * elapse__build_find. Without this check a member with a misspelt name would be ignored. */
bool elapse__build_check_names(struct elapse__building *building);

/* ---- words of the command ---- */

/* These functions add one word. */
bool elapse__build_bytes(struct elapse__building *building, const void *bytes, size_t size);
bool elapse__build_word(struct elapse__building *building, const char *word);

/* These functions add `value` as a word. It is the value of the member `name`. */
bool elapse__build_string(struct elapse__building *building, const char *name, const json_t *value);
bool elapse__build_number(struct elapse__building *building, const char *name, const json_t *value);

/* Adds the bytes of a text in base64, at most as many as a body may have. */
bool elapse__build_base64(struct elapse__building *building, const char *name, const json_t *value);

/* Adds the tube of the member `tube`, or of `tube_base64` if the name is no text. */
bool elapse__build_tube(struct elapse__building *building);

/* These functions add a required member. It is a string, or an array of which each string is
 * added. */
bool elapse__build_required(struct elapse__building *building, const char *name);
bool elapse__build_strings(struct elapse__building *building, const char *name);

/* Adds an option without a value if the member `name` is true. */
bool elapse__build_flag(struct elapse__building *building, const char *option, const char *name);

/* These functions add an option and its value if the request has the member `name`.
 * elapse__build_count adds COUNT, and refuses more than ELAPSE__HTTP_COUNT_MAX. */
bool elapse__build_option(struct elapse__building *building, const char *option, const char *name);
bool elapse__build_number_option(struct elapse__building *building, const char *option,
                                 const char *name);
bool elapse__build_count(struct elapse__building *building);

/* Adds the name in the path, and decodes its escapes. */
bool elapse__build_path_name(struct elapse__building *building);

/* ---- the whole ---- */

/* Appends all words to `command` as an array of RESP. */
bool elapse__build_finish(struct elapse__building *building, struct elapse__buffer *command);

void elapse__build_free(struct elapse__building *building);

#endif
