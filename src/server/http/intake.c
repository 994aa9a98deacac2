#include "intake.h"

#include <string.h>

#include "../../base/assert.h"
#include "../../base/decimal.h"

/* ---- the head ---- */

/* A line without its end. */
struct line {
    const uint8_t *bytes;
    size_t size;
};

/* Counts of those headers that decide how long the body is, and the value of Content-Length. */
struct found {
    unsigned hosts, lengths, encodings;
    uint64_t length;
};

static struct line next_line(const uint8_t **at, const uint8_t *end)
{
    const uint8_t *newline = memchr(*at, '\n', (size_t)(end - *at));
    struct line line = {.bytes = *at};

    ELAPSE__ASSERT(newline != NULL);
    line.size = (size_t)(newline - *at);
    if (line.size > 0 && line.bytes[line.size - 1] == '\r')
        line.size--;
    *at = newline + 1;
    return line;
}

static bool is_blank(uint8_t byte)
{
    return byte == ' ' || byte == '\t';
}

static bool is_word(struct line text, const char *word)
{
    if (text.size != strlen(word))
        return false;
    for (size_t i = 0; i < text.size; i++) {
        uint8_t byte = text.bytes[i];
        if ((byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte) != (uint8_t)word[i])
            return false;
    }
    return true;
}

static struct line trim(struct line text)
{
    while (text.size > 0 && is_blank(text.bytes[0]))
        text = (struct line){text.bytes + 1, text.size - 1};
    while (text.size > 0 && is_blank(text.bytes[text.size - 1]))
        text.size--;
    return text;
}

/* Looks at one header. Returns false if different servers may read it differently. */
static bool look(struct line line, struct found *found)
{
    const uint8_t *colon = memchr(line.bytes, ':', line.size);

    if (colon == NULL || colon == line.bytes || is_blank(line.bytes[0]) || is_blank(colon[-1]))
        return false;
    struct line name = {line.bytes, (size_t)(colon - line.bytes)};
    struct line value = trim((struct line){colon + 1, line.size - name.size - 1});
    if (is_word(name, "host"))
        return ++found->hosts == 1;
    if (is_word(name, "content-length"))
        return ++found->lengths == 1 &&
               elapse__decimal_read(value.bytes, value.size, UINT64_MAX, &found->length);
    if (is_word(name, "transfer-encoding"))
        return ++found->encodings == 1 && is_word(value, "chunked");
    return true;
}

/* Returns whether libevent reads a body after this line of a request. If not, libevent would read a
 * body as the next request. */
static bool may_have_body(struct line request)
{
    static const char *const methods[] = {"POST ", "PUT ", "PATCH "};

    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (request.size > strlen(methods[i]) &&
            memcmp(request.bytes, methods[i], strlen(methods[i])) == 0)
            return true;
    return false;
}

enum elapse__http_intake_fault elapse__http_head_fault(const uint8_t *head, size_t size,
                                                       uint64_t body_bytes_max, bool *is_chunked)
{
    const uint8_t *at = head;
    const uint8_t *end = head + size;
    struct found found = {.hosts = 0};
    struct line request, line;

    ELAPSE__ASSERT(size > 0 && head[size - 1] == '\n');
    *is_chunked = false;
    if (memchr(head, '\0', size) != NULL)
        return ELAPSE__HTTP_MALFORMED;
    request = next_line(&at, end);
    while (at < end && (line = next_line(&at, end)).size > 0)
        if (!look(line, &found))
            return ELAPSE__HTTP_MALFORMED;
    *is_chunked = found.encodings > 0;
    if (found.encodings > 0 && found.lengths > 0)
        return ELAPSE__HTTP_MALFORMED;
    if ((found.encodings > 0 || found.length > 0) && !may_have_body(request))
        return ELAPSE__HTTP_MALFORMED;
    return found.length > body_bytes_max ? ELAPSE__HTTP_TOO_LONG : ELAPSE__HTTP_WELL;
}

/* ---- bytes ---- */

/* Returns whether the last line of the head, which ends before `end`, is empty. */
static bool ends_head(const struct elapse__http_intake *intake, size_t end)
{
    ELAPSE__ASSERT_THAT(intake->line, <, end);
    const uint8_t *line = elapse__buffer_first(&intake->head) + intake->line;
    size_t size = end - intake->line;

    return size == 1 || (size == 2 && line[0] == '\r');
}

/* Appends bytes up to the end of the head. Returns how many. Stores in `*is_whole` whether the head
 * has ended. */
static size_t append_head(struct elapse__http_intake *intake, const uint8_t *bytes, size_t size,
                          bool *is_whole, enum elapse__http_intake_fault *fault)
{
    const uint8_t *newline = NULL;
    size_t done = 0;

    *is_whole = false;
    while (!*is_whole && (newline = memchr(bytes + done, '\n', size - done)) != NULL) {
        size_t part = (size_t)(newline - bytes) + 1 - done;
        if (!elapse__buffer_append(&intake->head, bytes + done, part))
            break;
        done += part;
        *is_whole = ends_head(intake, elapse__buffer_size(&intake->head));
        intake->line = elapse__buffer_size(&intake->head);
    }
    if (newline == NULL && elapse__buffer_append(&intake->head, bytes + done, size - done))
        done = size;
    if (!*is_whole && done < size)
        *fault = ELAPSE__HTTP_NO_SPACE;
    else if (elapse__buffer_size(&intake->head) > ELAPSE__HTTP_HEAD_BYTES)
        *fault = ELAPSE__HTTP_TOO_LONG;
    return done;
}

enum elapse__http_intake_fault elapse__http_intake_bytes(struct elapse__http_intake *intake,
                                                         const uint8_t *bytes, size_t size)
{
    enum elapse__http_intake_fault fault = ELAPSE__HTTP_WELL;
    bool is_whole;

    if (size == 0)
        return fault;
    if (intake->phase == ELAPSE__HTTP_IDLE)
        intake->phase = ELAPSE__HTTP_HEAD_COMES;
    if (intake->phase == ELAPSE__HTTP_HEAD_COMES) {
        size_t done = append_head(intake, bytes, size, &is_whole, &fault);
        if (fault != ELAPSE__HTTP_WELL || !is_whole)
            return fault;
        intake->phase = ELAPSE__HTTP_BODY_COMES;
        fault = elapse__http_head_fault(elapse__buffer_first(&intake->head),
                                        elapse__buffer_size(&intake->head), intake->body_bytes_max,
                                        &intake->is_chunked);
        elapse__buffer_free(&intake->head);
        size -= done;
    }
    ELAPSE__ASSERT(intake->phase == ELAPSE__HTTP_BODY_COMES);
    intake->body_bytes += size;
    if (fault == ELAPSE__HTTP_WELL && intake->is_chunked &&
        intake->body_bytes > intake->body_bytes_max)
        fault = ELAPSE__HTTP_TOO_LONG;
    return fault;
}

void elapse__http_intake_next(struct elapse__http_intake *intake)
{
    uint64_t body_bytes_max = intake->body_bytes_max;

    elapse__http_intake_free(intake);
    *intake = (struct elapse__http_intake){.body_bytes_max = body_bytes_max};
}

void elapse__http_intake_free(struct elapse__http_intake *intake)
{
    elapse__buffer_free(&intake->head);
}
