/*
 * A command of RESP that is put together from the members of a request. What a value means
 * (durations, cron expressions, lengths) is decided by the command. Only the kind of a value is
 * decided here.
 *
 * The functions that return a bool return false, and say why, if the request has to be refused.
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

/* Begins as zeros. */
struct elapse__building {
    const struct elapse__http_request *request;
    struct elapse__http_fault *fault;
    json_t *members;                            /* of the body, or of the query */
    bool is_query;                              /* the members are of a query, and are strings */
    const char *names[ELAPSE__BUILD_NAMES_MAX]; /* of members that were asked for */
    size_t name_count;
    struct elapse__buffer words;
    uint32_t word_count;
};

/* Refuses the value of a member. */
bool elapse__build_refuse(struct elapse__building *building, const char *name, const char *text);

/* ---- members ---- */

/* Return a member; NULL: the member is missing, or null. An array has to be there, with 1 to
 * ELAPSE__HTTP_ITEMS_MAX items; otherwise the request is refused. */
const json_t *elapse__build_find(struct elapse__building *building, const char *name);
const json_t *elapse__build_find_array(struct elapse__building *building, const char *name);

/* Refuses a member that nobody has asked for, unless the member is null. Otherwise a member with a
 * misspelt name would be ignored. */
bool elapse__build_check_names(struct elapse__building *building);

/* ---- words of the command ---- */

bool elapse__build_bytes(struct elapse__building *building, const void *bytes, size_t size);
bool elapse__build_word(struct elapse__building *building, const char *word);

/* Add a value, which is that of the member `name`. */
bool elapse__build_string(struct elapse__building *building, const char *name, const json_t *value);
bool elapse__build_number(struct elapse__building *building, const char *name, const json_t *value);

/* A string that has to be there; and an array of strings. */
bool elapse__build_required(struct elapse__building *building, const char *name);
bool elapse__build_strings(struct elapse__building *building, const char *name);

/* A member that may be there becomes an option with its value. COUNT has a limit of its own. */
bool elapse__build_option(struct elapse__building *building, const char *option, const char *name);
bool elapse__build_number_option(struct elapse__building *building, const char *option,
                                 const char *name);
bool elapse__build_count(struct elapse__building *building);

/* The name in the path, without its escapes. */
bool elapse__build_path_name(struct elapse__building *building);

/* ---- the whole ---- */

/* Appends the command to `command`. */
bool elapse__build_finish(struct elapse__building *building, struct elapse__buffer *command);

void elapse__build_free(struct elapse__building *building);

#endif
