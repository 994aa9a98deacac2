#include "members.h"

#include <stdint.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../base/utf8.h"

/* ---- escapes of URIs ---- */

static int hex_digit(char letter)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *place = letter == '\0' ? NULL : strchr(digits, letter);

    return place == NULL ? -1 : (int)((place - digits) % 16);
}

size_t elapse__http_decode(const char *text, size_t size, bool plus_is_blank, char *out)
{
    size_t count = 0;

    for (size_t i = 0; i < size; i++) {
        char letter = text[i];
        if (letter == '%') {
            int high = size - i > 2 ? hex_digit(text[i + 1]) : -1;
            int low = high < 0 ? -1 : hex_digit(text[i + 2]);
            if (low < 0)
                return SIZE_MAX;
            letter = (char)(high * 16 + low);
            i += 2;
        } else if (letter == '+' && plus_is_blank) {
            letter = ' ';
        }
        out[count++] = letter;
    }
    ELAPSE__ASSERT_THAT(count, <=, size);
    return count;
}

/* ---- the query ---- */

/* Adds a pair NAME=VALUE of a query to the members. */
static bool add_pair(json_t *members, const char *pair, size_t size,
                     struct elapse__http_fault *fault)
{
    const char *equals = memchr(pair, '=', size);
    char text[ELAPSE__HTTP_TEXT_BYTES_MAX];

    if (size == 0)
        return true;
    if (equals == NULL || size > sizeof text)
        return elapse__http_refuse_value(fault, "", "the query is not made of NAME=VALUE");
    size_t name_size = elapse__http_decode(pair, (size_t)(equals - pair), true, text);
    if (name_size == SIZE_MAX || memchr(text, '\0', name_size) != NULL)
        return elapse__http_refuse_value(fault, "", "the query has a wrong escape");
    text[name_size] = '\0';
    if (json_object_get(members, text) != NULL)
        return elapse__http_refuse_value(fault, text, "the query has this twice");
    char *value = text + name_size + 1;
    ELAPSE__ASSERT_THAT(name_size, <=, (size_t)(equals - pair));
    size_t value_size =
        elapse__http_decode(equals + 1, size - (size_t)(equals + 1 - pair), true, value);
    if (value_size == SIZE_MAX || !elapse__utf8_is(text, name_size) ||
        !elapse__utf8_is(value, value_size))
        return elapse__http_refuse_value(fault, "", "the query has a wrong escape");
    json_t *string = json_stringn(value, value_size);
    if (string == NULL || json_object_set_new(members, text, string) != 0)
        return elapse__http_refuse_memory(fault);
    return true;
}

json_t *elapse__http_members_of_query(const char *query, struct elapse__http_fault *fault)
{
    const char *at = query == NULL ? "" : query;
    json_t *members = json_object();

    if (members == NULL)
        (void)elapse__http_refuse_memory(fault);
    while (members != NULL && *at != '\0') {
        size_t size = strcspn(at, "&");
        if (!add_pair(members, at, size, fault)) {
            json_decref(members);
            return NULL;
        }
        at += size + (at[size] == '&');
    }
    return members;
}

/* ---- the body ---- */

/* Returns whether the body has more values than any request needs. In memory a value takes twenty
 * times as many bytes as in the body. */
static bool has_too_many_values(const char *body, size_t size, size_t marks_max)
{
    bool is_string = false;
    size_t marks = 0;

    for (size_t i = 0; i < size && marks <= marks_max; i++) {
        if (is_string && body[i] == '\\')
            i++;
        else if (body[i] == '"')
            is_string = !is_string;
        else if (!is_string)
            marks += body[i] == ',' || body[i] == '[' || body[i] == '{';
    }
    return marks > marks_max;
}

json_t *elapse__http_members_of_body(const char *body, size_t size, size_t marks_max,
                                     struct elapse__http_fault *fault)
{
    json_error_t error;

    if (has_too_many_values(body, size, marks_max)) {
        (void)elapse__http_refuse(fault, 400, "BAD_JSON", "",
                                  "the body has more values than any request");
        return NULL;
    }
    json_t *members =
        json_loadb(size == 0 ? "" : body, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (members != NULL && json_is_object(members))
        return members;
    (void)elapse__http_refuse(fault, 400, "BAD_JSON", "",
                              members == NULL ? error.text : "the body has to be an object");
    json_decref(members);
    return NULL;
}
