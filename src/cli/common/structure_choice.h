/*
 * A structure as the command line names it: "wheel", or with the slots of its levels,
 * "dials:60,60,24,30". Dials with one number grow: further levels have as many slots.
 */
#ifndef ELAPSE_CLI_COMMON_STRUCTURE_CHOICE_H
#define ELAPSE_CLI_COMMON_STRUCTURE_CHOICE_H

#include <stdint.h>

#include <elapse/structure.h>

#include "message.h"

/* It may not be moved: the shape points into it. */
struct structure_choice {
    const struct elapse_structure *structure;
    const struct elapse_shape *shape; /* NULL: the usual one */
    const char *text;                 /* as it was given; names it in reports */
    struct elapse_shape given;
    uint32_t slots[ELAPSE_SHAPE_LEVELS_MAX];
};

/* The structure that is taken when none is named. */
void structure_choice_default(struct structure_choice *choice);

/* Reads `text`, which must outlive the choice; on a fault says why after `option`. */
enum exit_status structure_choice_parse(struct structure_choice *choice, const char *program,
                                        const char *option, const char *text);

/* Prints the forms there are, for a help text: "wheel, heap, ...". */
void structure_choice_print_forms(void);

#endif
