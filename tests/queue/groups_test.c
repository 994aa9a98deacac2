/*
 * Groups: the groups of a tube take turns within a priority. Turns have no effect on a tube without
 * groups.
 */
#include "fixture.h"

#include "fields.h"
#include "tubes.h"

static struct elapse__queue_put grouped(const char *group)
{
    struct elapse__queue_put put = job("b");
    put.group = text(group);
    return put;
}

static uint64_t put_in(struct fixture *f, const char *group)
{
    return put(f, grouped(group), ELAPSE__QUEUE_SCHEDULED);
}

static uint64_t put_at(struct fixture *f, const char *group, uint32_t priority)
{
    struct elapse__queue_put some = grouped(group);
    some.priority = priority;
    return put(f, some, ELAPSE__QUEUE_SCHEDULED);
}

/* Takes a job, and expects that it is this one. */
static struct elapse__queue_handed expect(struct fixture *f, uint64_t id)
{
    struct elapse__queue_handed handed = take(f);
    assert_int_equal(handed.id, id);
    return handed;
}

static uint64_t count_groups(struct fixture *f)
{
    struct elapse__queue_statistics statistics;
    assert_ok(elapse__queue_tube_statistics(f->queue, f->now, text("t"), &statistics));
    return statistics.groups;
}

QUEUE_TEST(groups_take_turns)
{
    uint64_t a[3], b[2];
    for (size_t i = 0; i < 3; i++)
        a[i] = put_in(f, "a");
    for (size_t i = 0; i < 2; i++)
        b[i] = put_in(f, "b");
    expect(f, a[0]);
    expect(f, b[0]);
    expect(f, a[1]);
    expect(f, b[1]);
    expect(f, a[2]);
    nothing_ready(f);
}

QUEUE_TEST(jobs_without_a_group_take_one_turn_together)
{
    uint64_t alone[3], a[3];
    for (size_t i = 0; i < 3; i++) {
        alone[i] = put_in(f, "");
        a[i] = put_in(f, "a");
    }
    for (size_t i = 0; i < 3; i++) {
        expect(f, alone[i]);
        expect(f, a[i]);
    }
}

QUEUE_TEST(a_lesser_priority_comes_before_every_turn)
{
    uint64_t late = put_at(f, "a", 2);
    uint64_t other = put_at(f, "b", 2);
    uint64_t first = put_at(f, "a", 1);
    uint64_t second = put_at(f, "a", 1);
    expect(f, first);
    expect(f, second);
    /* A hand-out counts at whatever priority. */
    expect(f, other);
    expect(f, late);
}

QUEUE_TEST(a_group_that_empties_loses_its_turn)
{
    uint64_t a = put_in(f, "a");
    uint64_t b = put_in(f, "b");
    assert_int_equal(elapse__queue_cancel_id(f->queue, f->now, a).result, ELAPSE__QUEUE_REMOVED);
    a = put_in(f, "a");
    expect(f, b);
    expect(f, a);
}

QUEUE_TEST(an_undo_gives_the_turn_not_back)
{
    uint64_t a = put_in(f, "a");
    uint64_t b = put_in(f, "b");
    put_in(f, "a");
    struct elapse__queue_handed handed = expect(f, a);
    assert_ok(elapse__queue_lease_withdraw(f->queue, f->now, holder(&handed)).result);
    expect(f, b);
    expect(f, a);
}

QUEUE_TEST(of_two_tubes_the_older_first_job_comes_first)
{
    struct elapse__queue_put some = grouped("a");
    uint64_t first = put(f, some, ELAPSE__QUEUE_SCHEDULED);
    uint64_t second = put(f, some, ELAPSE__QUEUE_SCHEDULED);
    some.tube = text("u");
    uint64_t third = put(f, some, ELAPSE__QUEUE_SCHEDULED);
    some = grouped("b");
    uint64_t fourth = put(f, some, ELAPSE__QUEUE_SCHEDULED);
    const uint64_t expected[] = {first, third, fourth, second};
    struct elapse__queue_text names[] = {text("t"), text("u")};
    for (size_t i = 0; i < 4; i++) {
        struct elapse__queue_reserve reserve = {
            .tubes = names, .tube_count = 2, .count = 1, .begin = true};
        struct elapse__queue_handed handed;
        uint32_t count = 0;
        assert_ok(elapse__queue_reserve(f->queue, f->now, &reserve, &handed, &count).result);
        assert_int_equal(handed.id, expected[i]);
    }
}

/* One customer has very many ready jobs, and 999 have ten each. */
QUEUE_TEST(a_customer_with_very_many_jobs_starves_nobody)
{
    enum { CUSTOMERS = 1000, EACH = 10, MANY = 3 * CUSTOMERS * EACH };
    char names[CUSTOMERS][8];
    uint32_t done = 0, hand_outs = 0;
    for (unsigned i = 0; i < CUSTOMERS; i++)
        (void)snprintf(names[i], sizeof names[i], "%u", i);
    struct elapse__queue_put some = grouped(names[0]);
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(elapse__queue_put(f->queue, f->now, &some).result,
                         ELAPSE__QUEUE_SCHEDULED);
    for (unsigned i = 0; i < (CUSTOMERS - 1) * EACH; i++) {
        some.group = text(names[1 + i % (CUSTOMERS - 1)]);
        assert_int_equal(elapse__queue_put(f->queue, f->now, &some).result,
                         ELAPSE__QUEUE_SCHEDULED);
    }
    while (done < (CUSTOMERS - 1) * EACH) {
        struct elapse__queue_text name = text("t");
        struct elapse__queue_reserve reserve = {
            .tubes = &name, .tube_count = 1, .count = 1, .begin = true};
        struct elapse__queue_handed handed;
        uint32_t count = 0;
        assert_ok(elapse__queue_reserve(f->queue, f->now, &reserve, &handed, &count).result);
        assert_int_equal(count, 1);
        hand_outs++;
        done += handed.id > MANY;
        assert_ok(elapse__queue_ack(f->queue, f->now, holder(&handed)).result);
    }
    assert_in_range(hand_outs, done, CUSTOMERS + CUSTOMERS * EACH);
    assert_int_equal(elapse__queue_check(f->queue), 0);
}

QUEUE_TEST(a_group_of_any_size_keeps_the_order_of_its_jobs)
{
    enum { JOBS = 600 };
    uint64_t ids[JOBS];
    for (uint32_t i = 0; i < JOBS; i++) {
        struct elapse__queue_put some = grouped("a");
        some.priority = (JOBS - i) / 3;
        ids[i] = elapse__queue_put(f->queue, f->now, &some).id;
    }
    ok(f);
    /* From the middle, too. */
    for (uint32_t i = 0; i < JOBS; i += 2)
        assert_int_equal(elapse__queue_cancel_id(f->queue, f->now, ids[i]).result,
                         ELAPSE__QUEUE_REMOVED);
    ok(f);
    uint64_t before = 0;
    uint32_t priority = 0;
    for (uint32_t i = 0; i < JOBS / 2; i++) {
        struct elapse__queue_handed handed = take(f);
        assert_true(handed.priority > priority ||
                    (handed.priority == priority && handed.id > before));
        before = handed.id;
        priority = handed.priority;
        if (i % 50 == 0)
            ok(f);
        assert_ok(elapse__queue_ack(f->queue, f->now, holder(&handed)).result);
    }
    nothing_ready(f);
}

QUEUE_TEST(groups_are_there_after_a_restart_and_after_cleaning)
{
    uint64_t a = put_in(f, "a");
    uint64_t second = put_in(f, "a");
    uint64_t b = put_in(f, "b");
    assert_true(log_clean(&f->log, f->queue, f->now, f->log.count));
    restart(f, 0);
    pass(f, 0);
    assert_int_equal(look(f, second).group.size, 1);
    assert_int_equal(count_groups(f), 2);
    expect(f, a);
    expect(f, b);
    expect(f, second);
}

QUEUE_TEST(debounce_and_replace_move_a_job_to_another_group)
{
    struct elapse__queue_put some = keyed("k", ELAPSE__QUEUE_DEBOUNCE);
    some.delay_ms = 1000;
    some.debounce_max_ms = 5000;
    some.group = text("a");
    uint64_t id = put(f, some, ELAPSE__QUEUE_SCHEDULED);
    some.group = text("b");
    put(f, some, ELAPSE__QUEUE_REPLACED);
    assert_memory_equal(look(f, id).group.bytes, "b", 1);
    assert_int_equal(count_groups(f), 1);
    some.if_key = ELAPSE__QUEUE_REPLACE;
    put(f, some, ELAPSE__QUEUE_REPLACED); /* the group lives on, although its last job has ended */
    assert_int_equal(count_groups(f), 1);
    some.group = text("");
    put(f, some, ELAPSE__QUEUE_REPLACED);
    assert_int_equal(count_groups(f), 0);
}

QUEUE_TEST(groups_are_listed_with_their_jobs)
{
    struct elapse__queue_group_view view;
    struct elapse__queue_put later = grouped("a");
    uint32_t cursor = 0, most = 100;
    later.delay_ms = 1000;
    put_in(f, "a");
    put(f, later, ELAPSE__QUEUE_SCHEDULED);
    uint64_t cancelled = put_in(f, "a");
    take(f);
    struct elapse__queue_handed handed = take(f);
    assert_int_equal(handed.id, cancelled);
    elapse__queue_cancel_id(f->queue, f->now, cancelled);
    put_in(f, "");
    assert_true(elapse__queue_groups(f->queue, f->now, text("t"), &cursor, &most, &view));
    assert_memory_equal(view.name.bytes, "a", 1);
    assert_int_equal(view.delayed, 1);
    assert_int_equal(view.ready, 0);
    assert_int_equal(view.running, 2);
    assert_int_equal(view.buried, 0);
    assert_false(elapse__queue_groups(f->queue, f->now, text("t"), &cursor, &most, &view));
    assert_int_equal(cursor, 0);
    assert_false(elapse__queue_groups(f->queue, f->now, text("none"), &cursor, &most, &view));
}

QUEUE_TEST(jobs_of_groups_are_found_by_their_tube)
{
    struct elapse__queue_filter filter = {.tube = text("t")};
    struct elapse__queue_kick kick = {.tube = text("t"), .wanted = 5};
    struct elapse__queue_view views[8];
    struct elapse__queue_put later = grouped("a");
    uint32_t cursor = 0;
    uint64_t removed = 0, running = 0;
    later.delay_ms = 1000;
    put(f, later, ELAPSE__QUEUE_SCHEDULED);
    put_in(f, "b");
    put_in(f, "");
    assert_int_equal(elapse__queue_list(f->queue, f->now, &filter, &cursor, 100, views, 8), 3);
    assert_ok(elapse__queue_kick(f->queue, f->now, &kick));
    assert_int_equal(kick.kicked, 1);
    elapse__queue_kick_end(f->queue, &kick);
    assert_ok(elapse__queue_cancel_all(f->queue, f->now, &filter, &cursor, 100, &removed, &running)
                  .result);
    assert_int_equal(removed, 3);
    assert_int_equal(elapse__queue_tube_count(f->queue), 0);
}

QUEUE_TEST(groups_have_limits)
{
    char letters[ELAPSE__QUEUE_KEY_BYTES_MAX + 1];
    struct elapse__queue_put some = job("b");
    memset(letters, 'g', sizeof letters);
    some.group = (struct elapse__queue_text){letters, sizeof letters};
    assert_string_equal(elapse__queue_put(f->queue, f->now, &some).fault,
                        "a group has at most 250 bytes");
    some.group.size--;
    put(f, some, ELAPSE__QUEUE_SCHEDULED);
    f->options.groups_max = 2;
    restart(f, 0);
    put_in(f, "b");
    put(f, grouped("c"), ELAPSE__QUEUE_GROUPS_FULL);
    put_in(f, "b");
    put_in(f, "");
    /* A restart takes what there is. */
    f->options.groups_max = 1;
    restart(f, 0);
    assert_int_equal(count_groups(f), 2);
    put(f, grouped("c"), ELAPSE__QUEUE_GROUPS_FULL);
}

QUEUE_TEST(old_logs_get_no_groups)
{
    f->options.old_records = true;
    restart(f, 0);
    struct elapse__queue_put some = grouped("a");
    assert_string_equal(elapse__queue_put(f->queue, f->now, &some).fault,
                        "upgrade all nodes first");
}

QUEUE_TEST(partitions_take_groups_in_braces)
{
    static const char *const not_in_braces[] = {"a{}", "a{", "a}b{", "{}x{eu}"};
    f->options.partitions = 2;
    restart(f, 0);
    struct elapse__queue_put some = grouped("a");
    assert_string_equal(
        elapse__queue_put(f->queue, f->now, &some).fault,
        "groups and limits need a queue with one partition, or one made with --hash-tags");
    f->options.hash_tags = true;
    restart(f, 0);
    assert_string_equal(
        elapse__queue_put(f->queue, f->now, &some).fault,
        "with several partitions, groups and limits need a tube with braces in its name, "
        "such as mails{eu}");
    for (size_t i = 0; i < sizeof not_in_braces / sizeof *not_in_braces; i++) {
        some.tube = text(not_in_braces[i]);
        assert_non_null(elapse__queue_put(f->queue, f->now, &some).fault);
    }
    some.tube = text("mails{eu}");
    assert_null(elapse__queue_put(f->queue, f->now, &some).fault);
}

TEST_MAIN("queue_groups")
