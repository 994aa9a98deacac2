/*
 * libFuzzer target for the protocol of beanstalkd. The first byte says in which pieces the rest
 * comes. Checks that the commands are the same as if the rest came in one piece, that their texts
 * lie within the bytes and within their limits, and that no byte is used twice or left out.
 */
#include <string.h>

#include "beanstalkd.h"
#include "fuzz.h"

enum { BODY_MAX = 300, COMMANDS_MAX = 4096 };

/* What one run finds: the commands, without their pointers, and where each ended. */
struct found {
    size_t count;
    struct {
        struct elapse__wire_beanstalkd_command command;
        size_t end;
    } items[COMMANDS_MAX];
};

static void check_within(const void *part, size_t bytes, const uint8_t *text, size_t length)
{
    const uint8_t *begin = part;
    require(begin >= text && bytes <= length && (size_t)(begin - text) <= length - bytes);
}

static void check_command(const struct elapse__wire_beanstalkd_command *command,
                          const uint8_t *bytes, size_t consumed)
{
    require(command->verb < ELAPSE__WIRE_BEANSTALKD_VERBS);
    if (command->tube != NULL) {
        check_within(command->tube, command->tube_size, bytes, consumed);
        require(command->tube_size >= 1);
        require(command->tube_size <= ELAPSE__WIRE_BEANSTALKD_TUBE_BYTES_MAX);
        require(memchr(command->tube, ' ', command->tube_size) == NULL);
    }
    require((command->body != NULL) == (command->verb == ELAPSE__WIRE_BEANSTALKD_PUT));
    if (command->body != NULL) {
        require(command->body_size <= BODY_MAX);
        check_within(command->body, command->body_size + 2, bytes, consumed);
        require(memcmp(command->body + command->body_size, "\r\n", 2) == 0);
    }
}

/* Feeds `step` bytes more each time; 0: all at once. */
static void run(const uint8_t *data, size_t size, size_t step, struct found *found)
{
    struct elapse__wire_beanstalkd_parser parser = {.body_bytes_max = BODY_MAX};
    size_t used = 0;
    size_t there = 0;
    found->count = 0;
    while (there < size && found->count < COMMANDS_MAX) {
        there = step == 0 || size - there < step ? size : there + step;
        size_t wanted = 1;
        while (there - used >= wanted && found->count < COMMANDS_MAX) {
            struct elapse__wire_beanstalkd_command command;
            uint8_t *bytes = malloc(there - used); /* the sanitizer notices a read behind it */
            require(bytes != NULL);
            memcpy(bytes, data + used, there - used);
            struct elapse__wire_beanstalkd_parsed parsed =
                elapse__beanstalkd_parse(&parser, bytes, there - used, &command);
            require(parsed.consumed <= there - used);
            if (parsed.whole) {
                require(parsed.consumed > 0);
                check_command(&command, bytes, parsed.consumed);
                command.tube = NULL;
                command.body = NULL;
                memset(&found->items[found->count], 0, sizeof found->items[0]);
                found->items[found->count].command = command;
                found->items[found->count++].end = used + parsed.consumed;
            } else {
                require(parsed.wanted > there - used - parsed.consumed);
                require(parsed.wanted <= elapse__wire_beanstalkd_bytes_max(&parser));
                wanted = parsed.wanted;
            }
            free(bytes);
            used += parsed.consumed;
        }
    }
}

static bool same(const struct found *one, const struct found *other)
{
    if (one->count != other->count)
        return false;
    for (size_t i = 0; i < one->count; i++) {
        const struct elapse__wire_beanstalkd_command *a = &one->items[i].command;
        const struct elapse__wire_beanstalkd_command *b = &other->items[i].command;
        if (one->items[i].end != other->items[i].end || a->verb != b->verb || a->id != b->id ||
            a->priority != b->priority || a->delay_s != b->delay_s || a->ttr_s != b->ttr_s ||
            a->body_size != b->body_size || a->bound != b->bound || a->timeout_s != b->timeout_s ||
            a->for_ever != b->for_ever || a->tube_size != b->tube_size)
            return false;
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct found at_once;
    static struct found in_pieces;

    if (size < 1)
        return 0;
    run(data + 1, size - 1, 0, &at_once);
    run(data + 1, size - 1, data[0] == 0 ? 1 : data[0], &in_pieces);
    require(same(&at_once, &in_pieces));
    return 0;
}
