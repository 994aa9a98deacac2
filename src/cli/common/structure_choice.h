/*
 * A structure as the user names it on the command line: "wheel", or with the slots of its levels,
 * "dials:60,60,24,30". Dials with a single number grow: each further level has as many slots.
 */
#ifndef ELAPSE_CLI_COMMON_STRUCTURE_CHOICE_H
#define ELAPSE_CLI_COMMON_STRUCTURE_CHOICE_H

#include <stdint.h>

#include <elapse/structure.h>

#include "message.h"

/* A choice must not be copied, because the shape points into it. */
struct structure_choice {
    const struct elapse_structure *structure;
    const struct elapse_shape *shape; /* NULL: the structure's default */
    const char *text;                 /* what the user wrote; it is the name in reports */
    struct elapse_shape given;
    uint32_t slots[ELAPSE_SHAPE_LEVELS_MAX];
};

/* Chooses the structure that is the default. */
void structure_choice_default(struct structure_choice *choice);

/* Reads `text`, which must live longer than the choice. Returns STATUS_OK, or prints a message with
 * the name of the option ("--structure") and returns STATUS_USAGE. */
enum exit_status structure_choice_parse(struct structure_choice *choice, const char *option,
                                        const char *text);

#endif
