#include "headers.h"

#include <string.h>

#include <jansson.h>

#include "../../base/assert.h"

static const char prefix[] = "ELAPSE_HEADER_";

/* Returns the headers as an object, which the caller releases by json_decref. Returns NULL if the
 * headers are no object. */
static json_t *parse(const struct handed *handed)
{
    json_error_t error;

    if (handed->headers == NULL)
        return NULL;
    json_t *object = json_loadb(handed->headers, handed->headers_length, JSON_ALLOW_NUL, &error);
    if (json_is_object(object))
        return object;
    json_decref(object);
    return NULL;
}

static char lower(char c)
{
    if (c >= 'A' && c <= 'Z')
        c = (char)(c + ('a' - 'A'));
    return c;
}

static bool is_name(const char *name, const char *others)
{
    if (*name == '\0')
        return false;
    for (; *name != '\0'; name++) {
        char c = lower(*name);
        if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && strchr(others, c) == NULL)
            return false;
    }
    return true;
}

/* ---- variables ---- */

/* Returns whether the variables have one that begins with this "NAME=". */
static bool has_variable(const struct elapse__buffer *out, const char *name, size_t length)
{
    const char *variable = (const char *)elapse__buffer_first(out);
    const char *end = variable + elapse__buffer_size(out);

    for (; variable < end; variable += strlen(variable) + 1) {
        if (strncmp(variable, name, length) == 0)
            return true;
    }
    return false;
}

static void add_variable(struct elapse__buffer *out, const char *name, const json_t *value)
{
    struct elapse__buffer variable = {.bytes = NULL};

    buffer_add_text(&variable, prefix);
    for (; *name != '\0'; name++) {
        char c = lower(*name);
        if (c == '-')
            c = '_';
        else if (c >= 'a' && c <= 'z')
            c = (char)(c - ('a' - 'A'));
        buffer_add(&variable, &c, 1);
    }
    buffer_add_text(&variable, "=");
    const char *text = buffer_string(&variable);
    if (elapse__buffer_size(out) == 0 || !has_variable(out, text, strlen(text))) {
        buffer_add_text(out, text);
        buffer_add(out, json_string_value(value), json_string_length(value) + 1);
    }
    elapse__buffer_free(&variable);
}

void headers_add_variables(struct elapse__buffer *out, const struct handed *handed)
{
    json_t *object = parse(handed);
    const char *name;
    json_t *value;

    json_object_foreach(object, name, value)
    {
        if (json_is_string(value) && is_name(name, "-_") &&
            strlen(json_string_value(value)) == json_string_length(value))
            add_variable(out, name, value);
    }
    json_decref(object);
}

/* ---- lines ---- */

/* Returns whether a name is equal to the pattern. A pattern that ends with `-` stands for all names
 * that begin so. */
static bool is_like(const char *name, const char *pattern)
{
    while (*pattern != '\0' && lower(*name) == *pattern) {
        name++;
        pattern++;
    }
    return *pattern == '\0' && (*name == '\0' || pattern[-1] == '-');
}

static bool is_reserved(const char *name)
{
    static const char *const patterns[] = {
        "host",
        "content-",
        "transfer-",
        "connection",
        "authorization",
        "cookie",
        "elapse-",
        "expect",
        "user-agent",
        "accept",
        "proxy-",
        "keep-alive",
        "te",
        "trailer",
        "upgrade",
        "set-cookie",
        "forwarded",
        "x-forwarded-",
        "proxy",
        "via",
        "origin",
        "referer",
        "x-real-ip",
        "x-client-ip",
        "true-client-ip",
        "x-http-method-override",
    };

    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        if (is_like(name, patterns[i]))
            return true;
    }
    return false;
}

static bool has_control(const char *value, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)value[i] < 0x20 || value[i] == 0x7F)
            return true;
    }
    return false;
}

bool headers_each_line(const struct handed *handed, bool (*add)(void *context, const char *line),
                       void *context)
{
    json_t *object = parse(handed);
    struct elapse__buffer line = {.bytes = NULL};
    const char *name;
    json_t *value;
    bool goes_on = true;

    json_object_foreach(object, name, value)
    {
        if (!json_is_string(value) || !is_name(name, "-") || is_reserved(name) ||
            has_control(json_string_value(value), json_string_length(value)) || !goes_on)
            continue;
        /* libcurl leaves a header out if nothing follows the colon after its name. */
        bool is_empty = json_string_length(value) == 0;
        buffer_add_format(&line, is_empty ? "%s;" : "%s: %s", name, json_string_value(value));
        goes_on = add(context, buffer_string(&line));
        elapse__buffer_clear(&line);
    }
    elapse__buffer_free(&line);
    json_decref(object);
    return goes_on;
}
