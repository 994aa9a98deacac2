#include "hosts.h"

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"

enum { TEXT_BYTES = 8192, WHY_BYTES = 256 };

static _Thread_local char why[WHY_BYTES];

static const char *refuse(const char *words)
{
    (void)snprintf(why, sizeof why, "%s", words);
    why[strcspn(why, "\r\n")] = '\0';
    return why;
}

/* ---- lists: parts between commas ---- */

static bool is_list(const PQconninfoOption *option)
{
    return strcmp(option->keyword, "host") == 0 || strcmp(option->keyword, "hostaddr") == 0 ||
           strcmp(option->keyword, "port") == 0;
}

static unsigned count_parts(const char *list)
{
    unsigned count = 1;

    for (; *list != '\0'; list++)
        count += *list == ',';
    return count;
}

/* Returns how many hosts the options name; 0: their lists do not fit together. */
static unsigned count_hosts(const PQconninfoOption *options)
{
    unsigned most = 1;

    for (const PQconninfoOption *option = options; option->keyword != NULL; option++)
        if (option->val != NULL && is_list(option) && count_parts(option->val) > most)
            most = count_parts(option->val);
    for (const PQconninfoOption *option = options; option->keyword != NULL; option++)
        if (option->val != NULL && is_list(option) && count_parts(option->val) != 1 &&
            count_parts(option->val) != most)
            return 0;
    return most;
}

/* Stores where the part number `i` is, or the only one. */
static size_t find_part(const char *list, unsigned i, const char **part)
{
    if (count_parts(list) == 1)
        i = 0;
    for (; i > 0; i--)
        list = strchr(list, ',') + 1;
    *part = list;
    return strcspn(list, ",");
}

/* ---- texts ---- */

struct text {
    char bytes[TEXT_BYTES];
    size_t size;
    bool is_cut;
};

static void add(struct text *text, char byte)
{
    if (text->size + 1 < sizeof text->bytes)
        text->bytes[text->size++] = byte;
    else
        text->is_cut = true;
}

/* As libpq reads it: in quotes, with a backslash before a quote or a backslash. */
static void add_value(struct text *text, const char *keyword, const char *value, size_t size)
{
    for (; *keyword != '\0'; keyword++)
        add(text, *keyword);
    add(text, '=');
    add(text, '\'');
    for (size_t i = 0; i < size; i++) {
        if (value[i] == '\'' || value[i] == '\\')
            add(text, '\\');
        add(text, value[i]);
    }
    add(text, '\'');
    add(text, ' ');
}

static void write_host(struct text *text, const PQconninfoOption *options, unsigned host)
{
    text->size = 0;
    text->is_cut = false;
    for (const PQconninfoOption *option = options; option->keyword != NULL; option++) {
        const char *value = option->val;
        if (value == NULL)
            continue;
        size_t size = is_list(option) ? find_part(option->val, host, &value) : strlen(value);
        add_value(text, option->keyword, value, size);
    }
    text->bytes[text->size] = '\0';
}

static const char *add_hosts(struct elapse__hosts *hosts, const PQconninfoOption *options)
{
    struct text text;
    unsigned count = count_hosts(options);

    if (count == 0)
        return refuse("its lists of hosts and ports have different lengths");
    if (count > ELAPSE__HOSTS_MAX - hosts->count)
        return refuse("there are too many hosts");
    for (unsigned i = 0; i < count; i++) {
        write_host(&text, options, i);
        if (text.is_cut)
            return refuse("it is too long");
        char *copy = malloc(text.size + 1);
        if (copy == NULL)
            return refuse("there is no memory");
        memcpy(copy, text.bytes, text.size + 1);
        hosts->texts[hosts->count++] = copy;
    }
    return NULL;
}

const char *elapse__hosts_add(struct elapse__hosts *hosts, const char *connection)
{
    char *error = NULL;
    PQconninfoOption *options = PQconninfoParse(connection, &error);

    if (options == NULL) {
        const char *words = refuse(error != NULL ? error : "there is no memory");
        PQfreemem(error);
        return words;
    }
    const char *words = add_hosts(hosts, options);
    PQconninfoFree(options);
    ELAPSE__ASSERT(hosts->count > 0 || words != NULL);
    return words;
}

void elapse__hosts_free(struct elapse__hosts *hosts)
{
    while (hosts->count > 0)
        free((void *)(uintptr_t)hosts->texts[--hosts->count]);
}
