/*
 * Tests the commands that change jobs by name: CANCEL, CANCELID, CANCELALL, RESCHEDULE,
 * RESCHEDULEID, KICK, KICKID, PAUSE.
 */
#include "talk.h"

#include <errno.h>

#include "../../../src/protocol/resp_parse.h"

RESP_TEST(cancel)
{
    says("PUT t b KEY delayed IN 1h", "*2|:1|+scheduled|");
    says("PUT t b KEY ready PRIORITY 2000", "*2|:2|+scheduled|");
    says("PUT t b KEY reserved", "*2|:3|+scheduled|");
    begins(&c, "RESERVE t", "*1|*8|:3|$3|1-1|");
    says("CANCEL t delayed ready reserved nobody", "*4|+removed|+removed|+running|+gone|");
    says("CANCEL t reserved", "*1|+running|");
    says("ACK 3 1-1", "*1|+ok|");
    says("CANCEL t reserved", "*1|+gone|");
    says("CANCEL nowhere k", "*1|+gone|");
    begins(&c, "CANCEL t", "-ERR wrong number of arguments for 'cancel' command");
}

RESP_TEST(cancel_id)
{
    says("PUT t b", "*2|:1|+scheduled|");
    says("PUT t b", "*2|:2|+scheduled|");
    /* All arguments are checked before anything is done. */
    says("CANCELID 1 x", "-ERR not the id of a job: 'x'|");
    says("CANCELID 1 0", "-ERR not the id of a job: '0'|");
    says("CANCELID 1 9007199254740992", "-ERR not the id of a job: '9007199254740992'|");
    assert_int_equal(state_of(1), ELAPSE__QUEUE_READY);
    says("CANCELID 9007199254740991 2 1 1", "*4|+gone|+removed|+removed|+gone|");
}

/* More keys than one group of the journal takes, while it is full: each key is cancelled once. */
RESP_TEST(cancel_while_the_journal_is_full)
{
    enum { KEYS = 300 };
    static char command[1 << 14];
    static char expected[1 << 14];
    static const char filler[20000] = "";
    size_t size = 0;

    for (unsigned round = 0; round < 12; round++) {
        size = (size_t)sprintf(command, "CANCEL t");
        ask_many(&c, KEYS, "PUT t b IN 1h KEY key%u");
        for (unsigned i = 0; i < KEYS; i++)
            size += (size_t)sprintf(command + size, " key%u", i);
        size = (size_t)sprintf(expected, "*%d|", KEYS);
        for (unsigned i = 0; i < KEYS; i++)
            size += (size_t)sprintf(expected + size, "+removed|");

        /* Another client fills the group; a little more in each round. */
        struct client other;
        connect(&other);
        const char *arguments[] = {"PUT", "fill", filler};
        size_t sizes[] = {3, 4, 20000};
        for (unsigned i = 0; i < 80 && elapse__connection_room(other.connection) > 21000; i++)
            ask_bytes(&other, 3, arguments, sizes);
        sizes[2] = 1 + 1500 * round;
        if (elapse__connection_room(other.connection) > 21000)
            ask_bytes(&other, 3, arguments, sizes);
        answers(&c, command, expected);
        hang_up(&other);
        commit();
        begins(&c, "CANCELALL fill", "*4|$7|removed|");
    }
}

/* Sends bytes as the room of the connection allows. */
static void say_slowly(const char *bytes, size_t size)
{
    while (size > 0) {
        size_t room = elapse__connection_room(c.connection);
        size_t some = room < size ? room : size;
        assert_true(some > 0);
        say_bytes(&c, bytes, some);
        bytes += some;
        size -= some;
    }
}

/* As many keys as one command can name, each as long as it can be. */
RESP_TEST(longest_cancel)
{
    enum { KEYS = ELAPSE__WIRE_RESP_ARGUMENTS_MAX - 2, KEY_BYTES = 250 };
    static char command[KEYS * (KEY_BYTES + 8) + 64];
    static char expected[KEYS * 6 + 10];
    size_t size = (size_t)sprintf(command, "*%d\r\n$6\r\nCANCEL\r\n$1\r\nt\r\n", KEYS + 2);
    size_t reply = (size_t)sprintf(expected, "*%d|", KEYS);

    for (int i = 0; i < KEYS; i++) {
        size += (size_t)sprintf(command + size, "$250\r\n%0250d\r\n", i);
        reply += (size_t)sprintf(expected + reply, "+gone|");
    }
    say_slowly(command, size);
    hear(&c, expected);
}

RESP_TEST(cancel_all)
{
    says("PUT t b IN 1h TAG x", "*2|:1|+scheduled|");
    says("PUT t b TAG x", "*2|:2|+scheduled|");
    says("PUT t b TAG y", "*2|:3|+scheduled|");
    says("PUT u b TAG x", "*2|:4|+scheduled|");
    says("CANCELALL t TAG x STATE delayed", "*4|$7|removed|:1|$7|running|:0|");
    begins(&c, "RESERVE t", "*1|*8|:2|");
    says("CANCELALL t TAG x", "*4|$7|removed|:0|$7|running|:1|");
    says("CANCELALL t", "*4|$7|removed|:1|$7|running|:0|");
    begins(&c, "HELLO 3", "%7|");
    says("CANCELALL u", "%2|$7|removed|:1|$7|running|:0|");
    says("CANCELALL u STATE cancelled",
         "-ERR a state is delayed, ready, reserved or buried, not 'cancelled'|");
    says("CANCELALL ''", "-ERR the name of a tube has 1 to 200 bytes: ''|");
    says("CANCELALL u TAG ''", "-ERR a tag has 1 to 250 bytes: ''|");
}

/* It goes on in slices; other connections are served meanwhile, and commands behind it wait. */
RESP_TEST(cancel_all_of_many)
{
    enum { JOBS = 3000 };
    struct client other;

    connect(&other);
    ask_many(&c, JOBS, "PUT t b IN 1h");
    ask(&c, "CANCELALL t");
    assert_int_not_equal(elapse__queue_jobs(f.engine.jobs), 0);
    ask(&c, "PING");
    ask(&other, "PUT u b");
    assert_int_not_equal(elapse__queue_jobs(f.engine.jobs), 0);
    hear(&c, "*4|$7|removed|:3000|$7|running|:0|+PONG|");
    assert_int_equal(elapse__queue_jobs(f.engine.jobs), 1);
    hear(&other, "*2|:3001|+scheduled|");
}

RESP_TEST(reschedule)
{
    says("PUT t b KEY k IN 1h", "*2|:1|+scheduled|");
    says("RESCHEDULE t k IN 2h", "+rescheduled|");
    assert_int_equal(look_at(1).due_ms, present().wall_ms + 7200000);
    says("RESCHEDULE t k at 1700000009000", "+rescheduled|");
    assert_int_equal(look_at(1).due_ms, 1700000009000);
    says("RESCHEDULEID 1 IN 0s", "+rescheduled|");
    begins(&c, "RESERVE t", "*1|*8|:1|");
    says("RESCHEDULE t k IN 1s", "+running|");
    says("RESCHEDULEID 1 AT 0", "+running|");
    says("RESCHEDULE t other IN 1s", "+gone|");
    says("RESCHEDULEID 7 IN 1s", "+gone|");
    says("RESCHEDULE t k AFTER 1s", "-ERR syntax error: IN or AT is expected, not 'AFTER'|");
    says("RESCHEDULEID x IN 1s", "-ERR not the id of a job: 'x'|");
    begins(&c, "RESCHEDULE t k IN", "-ERR wrong number of arguments for 'reschedule' command");
    begins(&c, "RESCHEDULEID 1 IN 1s 2s", "-ERR wrong number");
}

RESP_TEST(kick)
{
    says("PUT t b IN 3h", "*2|:1|+scheduled|");
    says("PUT t b IN 1h", "*2|:2|+scheduled|");
    says("PUT t b IN 2h", "*2|:3|+scheduled|");
    says("KICK t 1", ":1|");
    assert_int_equal(state_of(2), ELAPSE__QUEUE_READY);
    begins(&c, "RESERVE t", "*1|*8|:2|");
    says("BURY 2 1-1", "+ok|");
    says("KICK t 18446744073709551615", ":1|");
    assert_int_equal(state_of(2), ELAPSE__QUEUE_READY);
    says("KICK t 0", ":0|");
    says("KICK nowhere 1", ":0|");
    says("KICK t 5", ":2|");
    says("KICK t x", "-ERR not a number, or out of range: 'x'|");
    says("KICK t 1 x", "-ERR syntax error: there is no option 'x'|");
    says("PUT t b IN 1h", "*2|:4|+scheduled|");
    says("KICKID 4", "+ok|");
    /* "gone" would say that there is no such job. */
    says("KICKID 4", "+ok|");
    begins(&c, "RESERVE t COUNT 4", "*4|");
    says("KICKID 4", "+running|");
    says("KICKID 99", "+gone|");
    begins(&c, "KICKID x", "-ERR");
}

RESP_TEST(kick_of_buried_jobs_alone)
{
    says("PUT t b IN 1h", "*2|:1|+scheduled|");
    says("PUT t b", "*2|:2|+scheduled|");
    says("KICK t 5 BURIED", ":0|");
    begins(&c, "RESERVE t", "*1|*8|:2|");
    says("BURY 2 1-1", "+ok|");
    says("KICK t 5 buried", ":1|");
    says("KICK t 5 BURIED", ":0|");
    says("KICK nowhere 5 BURIED", ":0|");
    assert_int_equal(state_of(1), ELAPSE__QUEUE_DELAYED);
    says("KICK t 5", ":1|");
}

/* ---- a disk that becomes full in the middle of a command ---- */

static unsigned groups_left;
static int (*begin_group)(struct elapse__record_sink *sink, uint64_t bytes,
                          enum elapse__record_purpose purpose);

static int begin_some(struct elapse__record_sink *sink, uint64_t bytes,
                      enum elapse__record_purpose purpose)
{
    if (groups_left == 0)
        return f.engine.refused = ENOSPC;
    groups_left--;
    return begin_group(sink, bytes, purpose);
}

/* The journal takes so many more groups, and refuses those behind them. */
static void take_groups(unsigned groups)
{
    groups_left = groups;
    begin_group = f.engine.sink.begin;
    f.engine.sink.begin = begin_some;
}

static void take_all_groups(void)
{
    f.engine.sink.begin = begin_group;
}

#define DISK_IS_FULL "-DISKFULL the disk is full, and nothing has changed|"

RESP_TEST(kick_says_how_many_before_the_disk_was_full)
{
    for (unsigned buried = 0; buried < 2; buried++) {
        ask_many(&c, 5, "PUT t b IN 1h TTR 1h");
        if (buried > 0) {
            says("KICK t 5", ":5|");
            begins(&c, "RESERVE t COUNT 5", "*5|");
            for (unsigned id = 6; id <= 10; id++) {
                char words[40];
                (void)sprintf(words, "BURY %u 1-%u", id, id - 5);
                says(words, "+ok|");
            }
        }
        take_groups(0);
        says("KICK t 5", DISK_IS_FULL);
        groups_left = 2;
        says("KICK t 5", ":2|");
        take_all_groups();
        says("KICK t 5", ":3|");
        says("CANCELALL t", "*4|$7|removed|:5|$7|running|:0|");
    }
}

RESP_TEST(cancel_all_says_how_many_before_the_disk_was_full)
{
    enum { JOBS = 600 }; /* more than a step cancels */

    ask_many(&c, JOBS, "PUT t b IN 1h");
    take_groups(0);
    says("CANCELALL t", DISK_IS_FULL);
    groups_left = 10;
    says("CANCELALL t", "-DISKFULL the disk is full; before that, removed 10 and running 0|");
    groups_left = 300;
    says("CANCELALL t", "-DISKFULL the disk is full; before that, removed 300 and running 0|");
    take_all_groups();
    says("PUT t b", "*2|:601|+scheduled|");
    begins(&c, "RESERVE t", "*1|*8|:601|");
    says("CANCELALL t", "*4|$7|removed|:290|$7|running|:1|");
}

RESP_TEST(groups_that_a_limit_holds_back)
{
    says("LIMIT t GROUPRATE 1 PER 1m", "+ok|");
    says("PUT t 1 GROUP a", "*2|:1|+scheduled|");
    says("PUT t 2 GROUP b", "*2|:2|+scheduled|");
    says("PUT t 3 GROUP b", "*2|:3|+scheduled|");
    begins(&c, "RESERVE t COUNT 9", "*2|*8|:1|");
    pass(20000);
    says("GROUPS t HELD",
         "*2|:0|*1|*18|$5|group|$1|b|$7|delayed|:0|$5|ready|:1|$7|running|:1|$6|buried|:0|"
         "$4|held|:1|$7|held_by|$10|group_rate|$9|held_left|:40000|$7|overdue|:20000|");
    begins(&c, "GROUPS t", "*2|:0|*2|");
    says("GROUPS u HELD", "*2|:0|*0|");
    says("LIMIT t NONE", "+ok|");
    says("GROUPS t HELD", "*2|:0|*0|");
}

/* One command looks at 8,192 places of the table, the first of which is the tube's. */
RESP_TEST(groups_that_are_held_among_very_many)
{
    ask_many(&c, 8192, "PUT t b GROUP g%u");
    says("LIMIT t GROUPORDER", "+ok|");
    says("GROUPS t HELD", "*2|:8192|*0|");
    says("GROUPS t HELD CURSOR 8192", "*2|:0|*0|");
    begins(&c, "PUT t b GROUP g8190", "*2|");
    begins(&c, "PUT t b GROUP g8191", "*2|");
    begins(&c, "GROUPS t HELD", "*2|:8192|*1|*18|$5|group|$5|g8190|");
    begins(&c, "GROUPS t HELD CURSOR 8192", "*2|:0|*1|*18|$5|group|$5|g8191|");
}

RESP_TEST(pause_tube)
{
    says("PAUSE t 1h", "+gone|");
    says("PUT t b", "*2|:1|+scheduled|");
    says("PAUSE t 1h", "+ok|");
    says("RESERVE t", "*0|");
    says("PAUSE t 0s", "+ok|");
    begins(&c, "RESERVE t", "*1|");
    says("PAUSE t soon", "-ERR a number is missing: 'soon'|");
}

TEST_MAIN("change")
