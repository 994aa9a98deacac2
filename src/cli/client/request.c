#include "request.h"

#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "../../base/assert.h"
#include "../../base/decimal.h"
#include "../common/message.h"

void request_clear(struct request *request)
{
    ELAPSE__ASSERT_THAT(request->bytes.begin, ==, 0U);
    elapse__buffer_clear(&request->bytes);
    request->count = 0;
}

void request_free(struct request *request)
{
    elapse__buffer_free(&request->bytes);
    request->count = 0;
}

void request_add(struct request *request, const char *bytes, size_t length)
{
    if (request->count >= REQUEST_WORDS_MAX) {
        print_error("a request would have more than %d words", REQUEST_WORDS_MAX);
        exit(STATUS_FAILED);
    }
    buffer_add(&request->bytes, bytes, length);
    request->ends[request->count++] = request->bytes.end;
}

void request_add_text(struct request *request, const char *text)
{
    request_add(request, text, strlen(text));
}

void request_add_number(struct request *request, uint64_t number)
{
    char digits[ELAPSE__DECIMAL_BYTES];

    request_add(request, digits, elapse__decimal_write(digits, number));
}

void request_write(const struct request *request, struct elapse__buffer *out)
{
    const char *words[REQUEST_WORDS_MAX];
    size_t lengths[REQUEST_WORDS_MAX];
    char *text = NULL;
    size_t begin = 0;

    ELAPSE__ASSERT_THAT(request->count, >, 0);
    for (size_t i = 0; i < request->count; i++) {
        words[i] = (const char *)request->bytes.bytes + begin;
        lengths[i] = request->ends[i] - begin;
        begin = request->ends[i];
    }
    ELAPSE__ASSERT_THAT(begin, ==, elapse__buffer_size(&request->bytes));
    int length = redisFormatCommandArgv(&text, (int)request->count, words, lengths);
    if (length < 0 || text == NULL) {
        print_error("out of memory");
        return;
    }
    buffer_add(out, text, (size_t)length);
    redisFreeCommand(text);
}
