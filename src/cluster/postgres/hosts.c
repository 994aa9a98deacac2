#include "hosts.h"

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"

#define USUAL_PORT "5432"

enum { TEXT_BYTES = 8192 };

/* ---- lists, whose items stand between commas ---- */

static bool is_list(const PQconninfoOption *option)
{
    return strcmp(option->keyword, "host") == 0 || strcmp(option->keyword, "hostaddr") == 0 ||
           strcmp(option->keyword, "port") == 0;
}

static unsigned count_items(const char *list)
{
    unsigned count = 1;

    for (; *list != '\0'; list++)
        count += *list == ',';
    return count;
}

/* Returns how many hosts the options name. Returns 0 if the lengths of the lists of hosts,
 * addresses and ports do not fit together. */
static unsigned count_hosts(const PQconninfoOption *options)
{
    unsigned most = 1;

    for (const PQconninfoOption *option = options; option->keyword != NULL; option++)
        if (option->val != NULL && is_list(option) && count_items(option->val) > most)
            most = count_items(option->val);
    for (const PQconninfoOption *option = options; option->keyword != NULL; option++)
        if (option->val != NULL && is_list(option) && count_items(option->val) != 1 &&
            count_items(option->val) != most)
            return 0;
    return most;
}

/* Stores where item number `i` of the list is. A list of one item has that item at every number.
 * Returns the size of the item. */
static size_t find_item(const char *list, unsigned i, const char **item)
{
    if (count_items(list) == 1)
        i = 0;
    ELAPSE__ASSERT_THAT(i, <, count_items(list));
    for (; i > 0; i--)
        list = strchr(list, ',') + 1;
    *item = list;
    return strcspn(list, ",");
}

/* ---- what messages of libpq would show ---- */

static bool is_number(const char *text, size_t size)
{
    return strspn(text, "0123456789") >= size;
}

/* Refuses a host with '@', and a port that is no number. Such a host or port may be a piece of a
 * password in which '@' or '/' was not written as %40 or %2F. Errors of libpq would show that
 * piece. */
static const char *refuse_option(const PQconninfoOption *option)
{
    bool is_host = strcmp(option->keyword, "host") == 0;

    for (unsigned i = 0; is_list(option) && i < count_items(option->val); i++) {
        const char *item;
        size_t size = find_item(option->val, i, &item);
        if (is_host && size > 1 && item[0] != '/' && memchr(item + 1, '@', size - 1) != NULL)
            return "a host has '@' in it: in a password that is %40";
        if (strcmp(option->keyword, "port") == 0 && !is_number(item, size))
            return "a port is no number: in a password '/' is %2F";
    }
    return NULL;
}

/* Stores the options, which the caller frees, or stores NULL. Returns NULL, or a text that says why
 * the options cannot be used. */
static const char *parse(const char *connection, PQconninfoOption **options)
{
    const char *words = NULL;

    *options = PQconninfoParse(connection, NULL);
    /* The message of libpq is not used, because it quotes the string, which may have a password in
     * it. */
    if (*options == NULL)
        return "it is no connection string of libpq, such as 'host=db1 dbname=shop'";
    for (const PQconninfoOption *i = *options; i->keyword != NULL && words == NULL; i++)
        if (i->val != NULL)
            words = refuse_option(i);
    return words;
}

const char *elapse__hosts_refuse(const char *connection)
{
    PQconninfoOption *options;
    const char *words = parse(connection, &options);

    PQconninfoFree(options);
    return words;
}

/* ---- texts ---- */

struct text {
    char bytes[TEXT_BYTES];
    size_t size;
    bool is_cut;
};

static void add(struct text *text, char byte)
{
    ELAPSE__ASSERT_THAT(text->size, <, sizeof text->bytes);
    if (text->size + 1 < sizeof text->bytes)
        text->bytes[text->size++] = byte;
    else
        text->is_cut = true;
}

/* Adds keyword = value in the form that libpq reads: the value stands in quotes, with a backslash
 * before each quote or backslash. */
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
        size_t size = is_list(option) ? find_item(option->val, host, &value) : strlen(value);
        add_value(text, option->keyword, value, size);
    }
    text->bytes[text->size] = '\0';
}

static const char *add_hosts(struct elapse__hosts *hosts, const PQconninfoOption *options)
{
    struct text text;
    unsigned count = count_hosts(options);
    ELAPSE__ASSERT_THAT(hosts->count, <=, ELAPSE__HOSTS_MAX);

    if (count == 0)
        return "its lists of hosts and ports have different lengths";
    if (count > ELAPSE__HOSTS_MAX - hosts->count)
        return "there are too many hosts";
    for (unsigned i = 0; i < count; i++) {
        write_host(&text, options, i);
        if (text.is_cut)
            return "it is too long";
        char *copy = malloc(text.size + 1);
        if (copy == NULL)
            return "there is no memory";
        memcpy(copy, text.bytes, text.size + 1);
        hosts->texts[hosts->count++] = copy;
    }
    return NULL;
}

const char *elapse__hosts_add(struct elapse__hosts *hosts, const char *connection)
{
    PQconninfoOption *options;
    const char *words = parse(connection, &options);

    if (words == NULL)
        words = add_hosts(hosts, options);
    PQconninfoFree(options);
    ELAPSE__ASSERT(hosts->count > 0 || words != NULL);
    return words;
}

static const char *value_of(const PQconninfoOption *options, const char *keyword)
{
    for (const PQconninfoOption *option = options; option->keyword != NULL; option++)
        if (strcmp(option->keyword, keyword) == 0 && option->val != NULL)
            return option->val;
    return NULL;
}

void elapse__hosts_place(const char *connection, char *text, size_t room)
{
    PQconninfoOption *options;
    const char *words = parse(connection, &options);
    const char *host = words == NULL ? value_of(options, "host") : NULL;
    const char *port = words == NULL ? value_of(options, "port") : NULL;

    if (words == NULL && host == NULL)
        host = value_of(options, "hostaddr");
    (void)snprintf(text, room, "%s, port %s", host != NULL ? host : "localhost",
                   port != NULL ? port : USUAL_PORT);
    PQconninfoFree(options);
}

void elapse__hosts_free(struct elapse__hosts *hosts)
{
    ELAPSE__ASSERT_THAT(hosts->count, <=, ELAPSE__HOSTS_MAX);
    while (hosts->count > 0)
        free((void *)(uintptr_t)hosts->texts[--hosts->count]);
}
