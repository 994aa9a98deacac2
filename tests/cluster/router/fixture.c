#include "fixture.h"

#include "../../../src/protocol/resp_parse.h"

void begin(struct fixture *f)
{
    elapse__router_free(f->router);
    f->link_count = 0;
    f->router = elapse__router_new(&f->options, f->now);
    assert_non_null(f->router);
    for (uint32_t i = 0; i < f->options.partitions; i++)
        elapse__router_owner(f->router, f->now, i,
                             i == 0 ? ELAPSE__ROUTER_HERE : ELAPSE__ROUTER_THERE, 1);
    turn(f);
    assert_int_equal(f->link_count, f->options.partitions);
    for (uint32_t i = 0; i < f->link_count; i++) {
        assert_int_equal(elapse__router_link_partition(f->links[i]), i);
        if (!f->is_here)
            greet(f, f->links[i]);
    }
}

int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->text = malloc(TEXT_MAX + 1);
    assert_non_null(f->text);
    f->now = 1000;
    f->options = (struct elapse__router_options){.partitions = 2, .queue = "orders"};
    begin(f);
    *state = f;
    return 0;
}

int tear_down(void **state)
{
    struct fixture *f = *state;
    elapse__router_free(f->router);
    free(f->text);
    free(f);
    return 0;
}

void turn(struct fixture *f)
{
    struct elapse__router_link *link;

    while (elapse__router_turn(f->router, f->now))
        ;
    while ((link = elapse__router_link_wanted(f->router, f->now)) != NULL) {
        assert_true(f->link_count < LINKS_MAX);
        f->links[f->link_count++] = link;
        elapse__router_link_opened(link, f->now, f->is_here);
    }
    while (elapse__router_turn(f->router, f->now))
        ;
    assert_int_equal(elapse__router_check(f->router), 0);
}

void pass(struct fixture *f, uint64_t ms)
{
    f->now += ms;
    turn(f);
}

struct elapse__router_client *client(struct fixture *f)
{
    struct elapse__router_client *made = elapse__router_client_new(f->router, f->now, false, f);
    assert_non_null(made);
    assert_ptr_equal(elapse__router_client_shell(made), f);
    return made;
}

void say_bytes(struct fixture *f, struct elapse__router_client *from, const char *bytes)
{
    size_t size = strlen(bytes);

    while (size > 0) {
        size_t room = elapse__router_client_room(from);
        size_t some = room < size ? room : size;
        assert_true(some > 0);
        elapse__router_client_received(from, f->now, bytes, some);
        bytes += some;
        size -= some;
        turn(f);
    }
}

/* Writes a line of words as a command. */
static size_t encode(const char *line, size_t size, char *bytes)
{
    size_t words = 1;
    size_t at = 0;

    for (size_t i = 0; i < size; i++)
        words += line[i] == ' ';
    at += (size_t)sprintf(bytes + at, "*%zu\r\n", words);
    for (size_t i = 0; i <= size;) {
        size_t end = i;
        while (end < size && line[end] != ' ')
            end++;
        at += (size_t)sprintf(bytes + at, "$%zu\r\n%.*s\r\n", end - i, (int)(end - i), line + i);
        i = end + 1;
    }
    return at;
}

void say(struct fixture *f, struct elapse__router_client *from, const char *lines)
{
    static char bytes[TEXT_MAX];
    size_t at = 0;

    while (*lines != '\0') {
        size_t size = strcspn(lines, "\n");
        at += encode(lines, size, bytes + at);
        lines += size + (lines[size] == '\n');
    }
    bytes[at] = '\0';
    say_bytes(f, from, bytes);
}

const char *got(struct fixture *f, struct elapse__router_client *from)
{
    const uint8_t *bytes;
    size_t at = 0;
    size_t size;

    while ((size = elapse__router_client_output(from, &bytes)) > 0) {
        assert_true(at + size < TEXT_MAX);
        memcpy(f->text + at, bytes, size);
        at += size;
        elapse__router_client_sent(from, f->now, size);
        turn(f);
    }
    f->text[at] = '\0';
    return f->text;
}

void expect(struct fixture *f, struct elapse__router_client *from, const char *bytes)
{
    assert_string_equal(got(f, from), bytes);
}

const char *sent(struct fixture *f, struct elapse__router_link *link)
{
    struct elapse__wire_resp_argument arguments[ELAPSE__WIRE_RESP_ARGUMENTS_MAX];
    struct elapse__wire_resp_parser parser = {.argument_bytes_max = 65535};
    static unsigned char all[TEXT_MAX];
    const uint8_t *bytes;
    size_t at = 0, there = 0, size;

    while ((size = elapse__router_link_output(link, &bytes)) > 0) {
        assert_true(there + size < sizeof all);
        memcpy(all + there, bytes, size);
        there += size;
        elapse__router_link_sent(link, f->now, size);
    }
    for (size_t done = 0; done < there;) {
        struct elapse__wire_resp_parsed parsed =
            elapse__wire_resp_parse(&parser, all + done, there - done, arguments);
        assert_int_equal(parsed.outcome, ELAPSE__WIRE_RESP_COMMAND);
        for (uint32_t i = 0; i < parsed.count; i++)
            at += (size_t)sprintf(f->text + at, "%.*s%c", (int)arguments[i].size,
                                  (const char *)arguments[i].bytes,
                                  i + 1 == parsed.count ? '\n' : ' ');
        done += parsed.consumed;
    }
    f->text[at] = '\0';
    turn(f);
    return f->text;
}

void expect_sent(struct fixture *f, struct elapse__router_link *link, const char *lines)
{
    assert_string_equal(sent(f, link), lines);
}

void answer(struct fixture *f, struct elapse__router_link *link, const char *bytes)
{
    elapse__router_link_received(link, f->now, bytes, strlen(bytes));
    turn(f);
}

void greet(struct fixture *f, struct elapse__router_link *link)
{
    const char *greeting = sent(f, link);
    bool is_there = strstr(greeting, "NODE") != NULL;

    assert_true(strncmp(greeting, "HELLO 3", 7) == 0);
    answer(f, link, is_there ? "%0\r\n+OK\r\n" : "%0\r\n");
}

void cut(struct fixture *f, struct elapse__router_link *link)
{
    elapse__router_link_closed(link, f->now);
    turn(f);
}

struct elapse__router_link *last(struct fixture *f)
{
    assert_true(f->link_count > 0);
    return f->links[f->link_count - 1];
}
