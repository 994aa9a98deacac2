/*
 * Reads the name of a structure.
 */
#include "structure_choice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "text.h"

/* Allocates memory for a level that dials add when they grow. */
static void *allocate_level(size_t alignment, size_t bytes, void *context)
{
    (void)context;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void release_level(void *level, size_t bytes, void *context)
{
    (void)bytes;
    (void)context;
    free(level);
}

static const struct elapse_allocator growth = {
    .allocate = allocate_level,
    .release = release_level,
};

void structure_choice_default(struct structure_choice *choice)
{
    *choice = (struct structure_choice){.structure = elapse_structure_at(0)};
    ELAPSE__ASSERT(choice->structure != NULL);
    choice->text = choice->structure->name;
}

/* Returns the structure of this name, or NULL if there is none. */
static const struct elapse_structure *find_structure(const char *text, size_t length)
{
    const struct elapse_structure *structure;

    for (size_t i = 0; (structure = elapse_structure_at(i)) != NULL; i++) {
        if (strlen(structure->name) == length && strncmp(structure->name, text, length) == 0)
            return structure;
    }
    return NULL;
}

static enum exit_status unknown_structure(const char *option, const char *text, size_t length)
{
    char known[200] = "";
    const struct elapse_structure *structure;

    for (size_t i = 0; (structure = elapse_structure_at(i)) != NULL; i++) {
        size_t end = strlen(known);
        snprintf(known + end, sizeof known - end, "%s%s", i > 0 ? ", " : "", structure->name);
    }
    return usage_error("%s: there is no structure %s; there are: %s", option,
                       quote_text(text, length).text, known);
}

/* Reads a list of numbers, "60,60,24", into the slots. Returns false if the text is no such list.
 */
static bool read_slots(struct structure_choice *choice, const char *list)
{
    size_t levels = 0;

    for (;;) {
        char number[12];
        size_t length = strcspn(list, ",");
        uint64_t slots;
        if (levels == ELAPSE_SHAPE_LEVELS_MAX || length >= sizeof number)
            return false;
        ELAPSE__ASSERT(levels < ELAPSE_SHAPE_LEVELS_MAX);
        memcpy(number, list, length);
        number[length] = '\0';
        if (!parse_number(number, 0, UINT32_MAX, &slots))
            return false;
        choice->slots[levels++] = (uint32_t)slots;
        if (list[length] == '\0')
            break;
        list += length + 1;
    }
    choice->given = (struct elapse_shape){.slots = choice->slots, .levels = levels};
    if (levels == 1 && choice->structure->shape_levels_max > 1)
        choice->given.growth = &growth;
    choice->shape = &choice->given;
    ELAPSE__ASSERT(choice->shape->levels > 0);
    return true;
}

enum exit_status structure_choice_parse(struct structure_choice *choice, const char *option,
                                        const char *text)
{
    size_t length = strcspn(text, ":");

    *choice = (struct structure_choice){.structure = find_structure(text, length), .text = text};
    if (choice->structure == NULL)
        return unknown_structure(option, text, length);
    if (text[length] == '\0')
        return STATUS_OK;
    if (choice->structure->shape_levels_max == 0)
        return usage_error("%s: %s: the slots of a %s cannot be chosen", option,
                           quote_string(text).text, choice->structure->name);
    if (!read_slots(choice, text + length + 1))
        return usage_error("%s: %s: the slots are not a list of up to 64 numbers, as in 60,60,24",
                           option, quote_string(text).text);
    if (choice->shape->levels > choice->structure->shape_levels_max)
        return usage_error("%s: %s: there is one level, so one number of slots", option,
                           quote_string(text).text);
    if (choice->structure->storage_bytes(choice->shape, 1) == SIZE_MAX)
        return usage_error("%s: %s: the slots are too few or too many: %s", option,
                           quote_string(text).text,
                           choice->structure->shape_levels_max == 1
                               ? "there may be 1 to 16777216"
                               : "there may be 2 or more on a level, and as many as memory holds");
    return STATUS_OK;
}
