#include "tokens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../os/program.h"

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r';
}

/* Adds a line without the blanks at its ends. An empty line and a comment are left out. */
static bool add_line(struct elapse__tokens *tokens, const char *line, size_t length)
{
    while (length > 0 && is_blank(line[0])) {
        line++;
        length--;
    }
    while (length > 0 && is_blank(line[length - 1]))
        length--;
    if (length == 0 || line[0] == '#')
        return true;
    struct elapse__queue_text *texts =
        realloc(tokens->texts, (tokens->count + 1) * sizeof *tokens->texts);
    if (texts == NULL)
        return false;
    tokens->texts = texts;
    ELAPSE__ASSERT(memchr(line, '\n', length) == NULL);
    texts[tokens->count++] = (struct elapse__queue_text){line, length};
    return true;
}

static bool say(char fault[ELAPSE__TOKENS_FAULT_BYTES], const char *path, const char *why)
{
    (void)snprintf(fault, ELAPSE__TOKENS_FAULT_BYTES, "%.160s: %s", path, why);
    return false;
}

char *elapse__secrets_read(const char *path, size_t *length, char fault[ELAPSE__TOKENS_FAULT_BYTES])
{
    if (elapse__os_others_may_read(path)) {
        (void)snprintf(fault, ELAPSE__TOKENS_FAULT_BYTES, ELAPSE__OS_OTHERS_MAY_READ, path, path);
        return NULL;
    }
    char *memory = malloc(ELAPSE__TOKENS_BYTES_MAX + 2);
    if (memory == NULL) {
        (void)snprintf(fault, ELAPSE__TOKENS_FAULT_BYTES, "out of memory");
        return NULL;
    }
    /* One byte more than the limit is read. If that byte comes, the file is too long. */
    int error = elapse__os_read_path(path, memory, ELAPSE__TOKENS_BYTES_MAX + 1, length);
    if (error == 0 && *length <= ELAPSE__TOKENS_BYTES_MAX)
        return memory;
    (void)say(fault, path, error != 0 ? elapse__os_error_text(error) : "it is longer than 1 MiB");
    free(memory);
    return NULL;
}

bool elapse__tokens_read(const char *path, struct elapse__tokens *tokens,
                         char fault[ELAPSE__TOKENS_FAULT_BYTES])
{
    size_t length = 0;
    bool has_memory = true;

    *tokens = (struct elapse__tokens){.memory = elapse__secrets_read(path, &length, fault)};
    if (tokens->memory == NULL)
        return false;
    for (size_t start = 0; has_memory && start < length;) {
        const char *end = memchr(tokens->memory + start, '\n', length - start);
        size_t size = end == NULL ? length - start : (size_t)(end - (tokens->memory + start));
        has_memory = add_line(tokens, tokens->memory + start, size);
        start += size + 1;
    }
    if (has_memory && tokens->count > 0)
        return true;
    (void)say(fault, path, has_memory ? "it has no password in it" : "out of memory");
    elapse__tokens_free(tokens);
    return false;
}

void elapse__tokens_free(struct elapse__tokens *tokens)
{
    ELAPSE__ASSERT((tokens->count == 0) == (tokens->texts == NULL));
    free(tokens->texts);
    free(tokens->memory);
    *tokens = (struct elapse__tokens){.count = 0};
}
