/*
 * libFuzzer target for the parser of RESP. The first two bytes choose the longest argument and
 * where the rest is cut into pieces; the rest is what a client sends.
 *
 * Whatever comes, all arguments lie within the bytes, in order and without overlapping; no more
 * is wanted than the limits allow; and the same bytes lead to the same outcomes whether they come
 * at once or in pieces.
 */
#include <string.h>

#include "../../src/protocol/resp_parse.h"
#include "fuzz.h"

enum { OUTCOMES_MAX = 4096, HEAD_BYTES = 2 };

struct outcomes {
    unsigned count;
    struct {
        enum elapse__wire_resp_outcome outcome;
        uint32_t arguments;
        uint64_t hash; /* of the arguments */
    } list[OUTCOMES_MAX];
};

static uint64_t check_arguments(const struct elapse__wire_resp_argument *arguments, uint32_t count,
                                const uint8_t *bytes, size_t size)
{
    const uint8_t *end = bytes;
    uint64_t hash = 0;

    require(count >= 1 && count <= ELAPSE__WIRE_RESP_ARGUMENTS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        require(arguments[i].bytes > end);
        end = arguments[i].bytes + arguments[i].size;
        require(end <= bytes + size);
        for (uint32_t place = 0; place < arguments[i].size; place++)
            hash = hash * 31 + arguments[i].bytes[place] + 1;
        hash = hash * 31;
    }
    return hash;
}

/* Gives the bytes in pieces of `piece`, each in memory of its size. */
static void run(uint32_t argument_bytes_max, const uint8_t *data, size_t size, size_t piece,
                struct outcomes *outcomes)
{
    static struct elapse__wire_resp_argument arguments[ELAPSE__WIRE_RESP_ARGUMENTS_MAX];
    struct elapse__wire_resp_parser parser = {.argument_bytes_max = argument_bytes_max};
    size_t begin = 0;
    size_t end = 0;

    outcomes->count = 0;
    while (outcomes->count < OUTCOMES_MAX) {
        uint8_t *bytes = malloc(end - begin + 1);
        require(bytes != NULL);
        memcpy(bytes, data + begin, end - begin);
        struct elapse__wire_resp_parsed parsed =
            elapse__wire_resp_parse(&parser, bytes, end - begin, arguments);
        require(parsed.consumed <= end - begin);
        uint64_t hash = parsed.outcome == ELAPSE__WIRE_RESP_COMMAND
                            ? check_arguments(arguments, parsed.count, bytes, parsed.consumed)
                            : 0;
        free(bytes);
        begin += parsed.consumed;
        if (parsed.outcome == ELAPSE__WIRE_RESP_MORE) {
            require(parsed.wanted > end - begin);
            require(parsed.wanted <= elapse__wire_resp_bytes_max(&parser));
            if (end == size)
                return;
            end = size - end < piece ? size : end + piece;
            continue;
        }
        outcomes->list[outcomes->count].outcome = parsed.outcome;
        outcomes->list[outcomes->count].arguments = parsed.count;
        outcomes->list[outcomes->count++].hash = hash;
        if (parsed.outcome == ELAPSE__WIRE_RESP_BROKEN) {
            require(parsed.error != NULL && parsed.error[0] != '\0');
            return;
        }
        require(parsed.consumed > 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct outcomes whole;
    static struct outcomes pieces;

    if (size < HEAD_BYTES)
        return 0;
    uint32_t argument_bytes_max = data[0] * UINT32_C(4);
    size_t piece = data[1] % 64 + 1u;
    run(argument_bytes_max, data + HEAD_BYTES, size - HEAD_BYTES, size, &whole);
    run(argument_bytes_max, data + HEAD_BYTES, size - HEAD_BYTES, piece, &pieces);
    require(whole.count == pieces.count);
    for (unsigned i = 0; i < whole.count; i++) {
        require(whole.list[i].outcome == pieces.list[i].outcome);
        require(whole.list[i].arguments == pieces.list[i].arguments);
        require(whole.list[i].hash == pieces.list[i].hash);
    }
    return 0;
}
