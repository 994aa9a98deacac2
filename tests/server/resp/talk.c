#include "talk.h"

enum { ARGUMENTS_MAX = 2100, TEXT_MAX = 1 << 17 };

struct client c;

int set_up_resp(void **state)
{
    if (set_up(state) != 0)
        return -1;
    options = (struct elapse__server_options){.resp = &elapse__resp};
    serve();
    connect(&c);
    return 0;
}

void ask_bytes(struct client *client, unsigned count, const char *const *arguments,
               const size_t *sizes)
{
    size_t size = 32;
    for (unsigned i = 0; i < count; i++)
        size += sizes[i] + 32;
    char *bytes = malloc(size);
    assert_non_null(bytes);
    size_t at = (size_t)sprintf(bytes, "*%u\r\n", count);
    for (unsigned i = 0; i < count; i++) {
        at += (size_t)sprintf(bytes + at, "$%zu\r\n", sizes[i]);
        memcpy(bytes + at, arguments[i], sizes[i]);
        at += sizes[i];
        at += (size_t)sprintf(bytes + at, "\r\n");
    }
    say_bytes(client, bytes, at);
    free(bytes);
}

/* Splits words. Returns how many there are. */
static unsigned split(const char *words, const char **arguments, size_t *sizes)
{
    unsigned count = 0;

    while (*words != '\0') {
        char end = *words == '\'' ? '\'' : ' ';
        words += end == '\'';
        assert_true(count < ARGUMENTS_MAX);
        const char *stop = strchr(words, end);
        sizes[count] = stop == NULL ? strlen(words) : (size_t)(stop - words);
        arguments[count] = words;
        words += sizes[count++];
        words += *words == '\'';
        words += *words == ' ';
    }
    return count;
}

void ask(struct client *client, const char *words)
{
    const char *arguments[ARGUMENTS_MAX];
    size_t sizes[ARGUMENTS_MAX];
    unsigned count = split(words, arguments, sizes);

    ask_bytes(client, count, arguments, sizes);
}

void ask_many(struct client *client, unsigned count, const char *words)
{
    const char *arguments[ARGUMENTS_MAX];
    size_t sizes[ARGUMENTS_MAX];
    unsigned parts = split(words, arguments, sizes);
    size_t room = (strlen(words) + 32 * (parts + 1)) * 200;
    char *bytes = malloc(room);

    assert_non_null(bytes);
    for (unsigned i = 0; i < count;) {
        size_t at = 0;
        for (unsigned batch = 0; batch < 200 && i < count; batch++, i++) {
            at += (size_t)sprintf(bytes + at, "*%u\r\n", parts);
            for (unsigned part = 0; part < parts; part++) {
                char text[100];
                assert_true(sizes[part] < 80);
                int size = sprintf(text, "%.*s", (int)sizes[part], arguments[part]);
                if (size > 2 && strcmp(text + size - 2, "%u") == 0)
                    size += sprintf(text + size - 2, "%u", i) - 2;
                at += (size_t)sprintf(bytes + at, "$%d\r\n%s\r\n", size, text);
            }
        }
        say_bytes(client, bytes, at);
        commit();
        (void)hear_some(client, TEXT_MAX - 1);
    }
    free(bytes);
}

/* Returns the reply with bars in place of ends of lines. */
static const char *with_bars(const char *reply)
{
    static char text[TEXT_MAX];
    size_t size = 0;

    for (; *reply != '\0'; reply++) {
        assert_true(size < sizeof text - 1);
        if (*reply == '\n')
            text[size++] = '|';
        else if (*reply != '\r')
            text[size++] = *reply;
    }
    text[size] = '\0';
    return text;
}

void hear(struct client *client, const char *reply)
{
    commit();
    assert_string_equal(with_bars(hear_some(client, TEXT_MAX - 1)), reply);
}

void answers(struct client *client, const char *words, const char *reply)
{
    ask(client, words);
    hear(client, reply);
}

void begins(struct client *client, const char *words, const char *reply)
{
    ask(client, words);
    commit();
    const char *heard = with_bars(hear_some(client, TEXT_MAX - 1));
    if (strncmp(heard, reply, strlen(reply)) != 0)
        assert_string_equal(heard, reply);
}

void says(const char *words, const char *reply)
{
    answers(&c, words, reply);
}
