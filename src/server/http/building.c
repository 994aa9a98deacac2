#include "building.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../base/base64.h"
#include "../../base/decimal.h"
#include "../../protocol/resp_parse.h"
#include "members.h"

bool elapse__build_refuse(struct elapse__building *building, const char *name, const char *text)
{
    return elapse__http_refuse_value(building->fault, name, text);
}

/* ---- members ---- */

const json_t *elapse__build_find(struct elapse__building *building, const char *name)
{
    const json_t *value = json_object_get(building->members, name);

    ELAPSE__ASSERT_THAT(building->name_count, <, (size_t)ELAPSE__BUILD_NAMES_MAX);
    building->names[building->name_count++] = name;
    return json_is_null(value) ? NULL : value;
}

const json_t *elapse__build_find_array(struct elapse__building *building, const char *name)
{
    const json_t *value = elapse__build_find(building, name);

    if (value != NULL && json_is_array(value) && json_array_size(value) > 0 &&
        json_array_size(value) <= ELAPSE__HTTP_ITEMS_MAX)
        return value;
    (void)elapse__build_refuse(building, name, "this has to be an array of 1 to 500 values");
    return NULL;
}

bool elapse__build_check_names(struct elapse__building *building)
{
    const char *name;
    json_t *value;

    json_object_foreach(building->members, name, value)
    {
        size_t i = 0;
        while (i < building->name_count && strcmp(building->names[i], name) != 0)
            i++;
        if (i == building->name_count && !json_is_null(value))
            return elapse__build_refuse(building, name, "there is no such member");
    }
    return true;
}

/* ---- words of the command ---- */

/* Appends the head of a value: '*' or '$', a number, and the line end. */
static bool add_head(struct elapse__buffer *buffer, char mark, uint64_t number)
{
    enum { HEAD_BYTES = 24 };
    char text[HEAD_BYTES] = {mark};
    size_t size = 1 + elapse__decimal_write(text + 1, number);

    text[size++] = '\r';
    text[size++] = '\n';
    return elapse__buffer_append(buffer, text, size);
}

bool elapse__build_bytes(struct elapse__building *building, const void *bytes, size_t size)
{
    struct elapse__buffer *words = &building->words;

    ELAPSE__ASSERT((building->word_count == 0) == (elapse__buffer_size(&building->words) == 0));
    ELAPSE__ASSERT_THAT(building->word_count, <, (uint32_t)ELAPSE__WIRE_RESP_ARGUMENTS_MAX);
    building->word_count++;
    return (add_head(words, '$', size) && elapse__buffer_append(words, bytes, size) &&
            elapse__buffer_append(words, "\r\n", 2)) ||
           elapse__http_refuse_memory(building->fault);
}

bool elapse__build_word(struct elapse__building *building, const char *word)
{
    return elapse__build_bytes(building, word, strlen(word));
}

bool elapse__build_string(struct elapse__building *building, const char *name, const json_t *value)
{
    if (!json_is_string(value))
        return elapse__build_refuse(building, name, "this has to be a string");
    return elapse__build_bytes(building, json_string_value(value), json_string_length(value));
}

bool elapse__build_number(struct elapse__building *building, const char *name, const json_t *value)
{
    char digits[ELAPSE__DECIMAL_BYTES];

    ELAPSE__ASSERT(!building->is_query || json_is_string(value));
    if (building->is_query && json_is_string(value))
        return elapse__build_string(building, name, value);
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return elapse__build_refuse(building, name, "this has to be a whole number");
    return elapse__build_bytes(building, digits,
                               elapse__decimal_write(digits, (uint64_t)json_integer_value(value)));
}

bool elapse__build_required(struct elapse__building *building, const char *name)
{
    const json_t *value = elapse__build_find(building, name);

    if (value == NULL)
        return elapse__build_refuse(building, name, "this member is missing");
    return elapse__build_string(building, name, value);
}

bool elapse__build_base64(struct elapse__building *building, const char *name, const json_t *value)
{
    if (!json_is_string(value))
        return elapse__build_refuse(building, name, "this has to be a string");
    size_t size = json_string_length(value);
    unsigned char *bytes = malloc(size + 1);
    bool is_added = false;
    if (bytes == NULL)
        return elapse__http_refuse_memory(building->fault);
    ELAPSE__ASSERT(!building->is_query); /* a query has no members in base64 */
    if (!elapse__base64_read(json_string_value(value), size, bytes, &size))
        (void)elapse__build_refuse(building, name, "this is no base64");
    else if (size > building->request->body_bytes_max)
        (void)elapse__http_refuse(building->fault, 413, "TOO_BIG", name,
                                  "it is longer than a body may be");
    else
        is_added = elapse__build_bytes(building, bytes, size);
    free(bytes);
    return is_added;
}

bool elapse__build_tube(struct elapse__building *building)
{
    const json_t *base64 = elapse__build_find(building, "tube_base64");

    if (base64 == NULL)
        return elapse__build_required(building, "tube");
    if (elapse__build_find(building, "tube") != NULL)
        return elapse__build_refuse(building, "tube", "tube and tube_base64 exclude each other");
    return elapse__build_base64(building, "tube_base64", base64);
}

bool elapse__build_strings(struct elapse__building *building, const char *name)
{
    const json_t *array = elapse__build_find_array(building, name);

    if (array == NULL)
        return false;
    for (size_t i = 0; i < json_array_size(array); i++)
        if (!elapse__build_string(building, name, json_array_get(array, i)))
            return false;
    return true;
}

bool elapse__build_flag(struct elapse__building *building, const char *option, const char *name)
{
    const json_t *value = elapse__build_find(building, name);

    if (value == NULL)
        return true;
    if (!json_is_boolean(value))
        return elapse__build_refuse(building, name, "this has to be true or false");
    return !json_is_true(value) || elapse__build_word(building, option);
}

bool elapse__build_option(struct elapse__building *building, const char *option, const char *name)
{
    const json_t *value = elapse__build_find(building, name);

    return value == NULL ||
           (elapse__build_word(building, option) && elapse__build_string(building, name, value));
}

bool elapse__build_number_option(struct elapse__building *building, const char *option,
                                 const char *name)
{
    const json_t *value = elapse__build_find(building, name);

    return value == NULL ||
           (elapse__build_word(building, option) && elapse__build_number(building, name, value));
}

bool elapse__build_count(struct elapse__building *building)
{
    const json_t *value = elapse__build_find(building, "count");
    uint64_t number = 0;

    ELAPSE__ASSERT(value == NULL || !building->is_query || json_is_string(value));
    if (value == NULL)
        return true;
    if (json_is_integer(value) && json_integer_value(value) >= 0)
        number = (uint64_t)json_integer_value(value);
    else if (!building->is_query ||
             !elapse__decimal_read((const unsigned char *)json_string_value(value),
                                   json_string_length(value), UINT32_MAX, &number))
        return elapse__build_refuse(building, "count", "this has to be a whole number");
    if (number == 0 || number > ELAPSE__HTTP_COUNT_MAX)
        return elapse__build_refuse(building, "count", "this is from 1 to 500");
    return elapse__build_word(building, "COUNT") && elapse__build_number(building, "count", value);
}

bool elapse__build_path_name(struct elapse__building *building)
{
    const struct elapse__http_route *route = &building->request->route;
    char name[ELAPSE__HTTP_TEXT_BYTES_MAX];
    size_t size = SIZE_MAX;

    if (route->name_size <= sizeof name)
        size = elapse__http_decode(route->name, route->name_size, false, name);
    if (size == SIZE_MAX)
        return elapse__build_refuse(building, "", "the path is too long, or has a wrong escape");
    return elapse__build_bytes(building, name, size);
}

/* ---- the whole ---- */

bool elapse__build_finish(struct elapse__building *building, struct elapse__buffer *command)
{
    ELAPSE__ASSERT_THAT(building->word_count, >, 0U);
    return (add_head(command, '*', building->word_count) &&
            elapse__buffer_append(command, elapse__buffer_first(&building->words),
                                  elapse__buffer_size(&building->words))) ||
           elapse__http_refuse_memory(building->fault);
}

void elapse__build_free(struct elapse__building *building)
{
    elapse__buffer_free(&building->words);
    json_decref(building->members);
}
