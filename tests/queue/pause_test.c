/*
 * The settings of a tube lie on the disk: a pause goes on after a restart, and cleaning keeps it.
 */
#include "fixture.h"

#include "settings.h"

static struct elapse__queue_statistics statistics_of(struct fixture *f, const char *tube)
{
    struct elapse__queue_statistics statistics;
    assert_ok(elapse__queue_tube_statistics(f->queue, f->now, text(tube), &statistics));
    return statistics;
}

static void pause_tube(struct fixture *f, const char *tube, uint64_t delay_ms)
{
    assert_ok(elapse__queue_pause(f->queue, f->now, text(tube), delay_ms).result);
    ok(f);
}

static bool is_known(struct fixture *f, const char *tube)
{
    struct elapse__queue_statistics statistics;
    return elapse__queue_tube_statistics(f->queue, f->now, text(tube), &statistics) ==
           ELAPSE__QUEUE_OK;
}

/* Returns the live bytes of all TUBEs. */
static int64_t live_settings(const struct log *log)
{
    int64_t live = 0;
    for (size_t i = 0; i < log->count; i++)
        if (log->records[i].record.type == ELAPSE__RECORD_TUBE)
            live += log->records[i].live;
    return live;
}

QUEUE_TEST(a_pause_makes_no_job_come_due)
{
    put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    uint64_t news = elapse__queue_readied(f->queue);
    assert_int_equal(elapse__queue_came_due(f->queue), 1);
    assert_ok(elapse__queue_pause(f->queue, f->now, text("t"), 1000).result);
    pass(f, 1000);
    (void)take(f);
    assert_int_equal(elapse__queue_came_due(f->queue), 1);
    assert_int_equal(elapse__queue_readied(f->queue), news + 2); /* both may wake a reserve */
}

QUEUE_TEST(a_pause_goes_on_after_a_restart_and_ends_by_the_wall_clock)
{
    put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    pause_tube(f, "t", 60000);
    pass(f, 10000);
    restart(f, 20000);
    nothing_ready(f);
    assert_int_equal(statistics_of(f, "t").pause_ms, 60000);
    assert_int_equal(statistics_of(f, "t").pause_left_ms, 30000);
    restart(f, 0);
    pass(f, 29999);
    nothing_ready(f);
    pass(f, 1);
    take(f);
}

/* Their records are still in the log. */
QUEUE_TEST(tubes_whose_pause_has_ended_do_not_count_at_a_restart)
{
    static const char *const names[] = {"a", "b", "c"};

    f->options.tubes_max = 2;
    restart(f, 0);
    for (unsigned i = 0; i < 3; i++) {
        struct elapse__queue_put only = job("b");
        only.tube = text(names[i]);
        uint64_t id = put(f, only, ELAPSE__QUEUE_SCHEDULED);
        pause_tube(f, names[i], 10);
        assert_int_equal(elapse__queue_cancel_id(f->queue, f->now, id).result,
                         ELAPSE__QUEUE_REMOVED);
        pass(f, 20);
        assert_false(is_known(f, names[i]));
    }
    restart(f, 0);
    assert_int_equal(elapse__queue_tube_count(f->queue), 0);
}

QUEUE_TEST(a_pause_that_ended_meanwhile_is_over)
{
    put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    pause_tube(f, "t", 60000);
    restart(f, 60000);
    assert_int_equal(statistics_of(f, "t").pause_ms, 0);
    assert_int_equal(live_settings(&f->log), 0);
    take(f);
}

QUEUE_TEST(the_newest_pause_counts)
{
    put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    pause_tube(f, "t", 60000);
    pause_tube(f, "t", 5000);
    restart(f, 0);
    assert_int_equal(statistics_of(f, "t").pause_left_ms, 5000);
    pause_tube(f, "t", 0);
    restart(f, 0);
    assert_int_equal(statistics_of(f, "t").pause_ms, 0);
    assert_int_equal(live_settings(&f->log), 0);
    take(f);
}

QUEUE_TEST(a_tube_without_jobs_is_known_while_it_is_paused)
{
    uint64_t id = put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    pause_tube(f, "t", 60000);
    (void)elapse__queue_cancel_id(f->queue, f->now, id);
    restart(f, 1000);
    assert_int_equal(statistics_of(f, "t").pause_left_ms, 59000);
    pass(f, 59000);
    assert_false(is_known(f, "t"));
    assert_int_equal(elapse__queue_tube_count(f->queue), 0);
    assert_int_equal(elapse__queue_pause(f->queue, f->now, text("t"), 1).result,
                     ELAPSE__QUEUE_GONE);
}

QUEUE_TEST(cleaning_keeps_the_newest_settings_alone)
{
    put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    pause_tube(f, "t", 1000);
    pause_tube(f, "t", 60000);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(log_clean(&f->log, f->queue, f->now, f->log.count - f->log.tail));
        assert_int_equal(log_records(&f->log, ELAPSE__RECORD_TUBE), 1);
        ok(f);
    }
    restart(f, 1000);
    assert_int_equal(statistics_of(f, "t").pause_left_ms, 59000);
    nothing_ready(f);
    pass(f, 59000);
    assert_true(log_clean(&f->log, f->queue, f->now, f->log.count - f->log.tail));
    assert_int_equal(log_records(&f->log, ELAPSE__RECORD_TUBE), 0);
}

QUEUE_TEST(cleaning_drops_what_says_that_a_pause_ended)
{
    put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    pause_tube(f, "t", 60000);
    pause_tube(f, "t", 0);
    assert_int_equal(log_records(&f->log, ELAPSE__RECORD_TUBE), 2);
    assert_true(log_clean(&f->log, f->queue, f->now, f->log.count - f->log.tail));
    assert_int_equal(log_records(&f->log, ELAPSE__RECORD_TUBE), 0);
}

QUEUE_TEST(settings_count_as_what_they_take)
{
    put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    for (unsigned i = 0; i < 3; i++) {
        pause_tube(f, "t", 60000);
        const struct log_record *record = &f->log.records[f->log.count - 1];
        assert_int_equal(record->record.type, ELAPSE__RECORD_TUBE);
        assert_int_equal(live_settings(&f->log),
                         elapse__frame_bytes(record->record.fields_size, 0));
        restart(f, 0);
        assert_int_equal(live_settings(&f->log),
                         elapse__frame_bytes(record->record.fields_size, 0));
    }
    pass(f, 60000);
    assert_int_equal(live_settings(&f->log), 0);
}

QUEUE_TEST(a_clock_that_was_set_back_makes_a_pause_no_longer)
{
    put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    pause_tube(f, "t", 60000);
    restart(f, -10 * 3600000);
    assert_int_equal(statistics_of(f, "t").pause_left_ms, 60000);
}

QUEUE_TEST(a_pause_that_cannot_be_written_changes_nothing)
{
    put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    f->log.refusals = 1;
    assert_int_equal(elapse__queue_pause(f->queue, f->now, text("t"), 60000).result,
                     ELAPSE__QUEUE_REFUSED);
    ok(f);
    pause_tube(f, "t", 60000);
    assert_int_equal(f->log.purpose, ELAPSE__RECORD_FOR_SETTING);
    f->log.refusals = 1;
    assert_int_equal(elapse__queue_pause(f->queue, f->now, text("t"), 0).result,
                     ELAPSE__QUEUE_REFUSED);
    assert_int_equal(statistics_of(f, "t").pause_left_ms, 60000);
    assert_int_equal(statistics_of(f, "t").pauses, 1);
}

QUEUE_TEST(an_old_log_gets_no_settings)
{
    f->options.old_records = true;
    restart(f, 0);
    put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    pause_tube(f, "t", 60000);
    nothing_ready(f);
    pause_tube(f, "t", 0);
    pause_tube(f, "t", 60000);
    assert_int_equal(log_records(&f->log, ELAPSE__RECORD_TUBE), 0);
    restart(f, 0);
    take(f);
}

QUEUE_TEST(a_tube_with_settings_counts_against_the_limit_of_tubes)
{
    put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    pause_tube(f, "t", 60000);
    struct elapse__queue_options options = f->options;
    options.tubes_max = 1;
    struct elapse__queue *other = elapse__queue_new(&options);
    for (size_t i = 0; i < f->log.count; i++)
        f->log.records[i].live = 0;
    assert_ok(log_replay(&f->log, other));
    assert_int_equal(elapse__queue_tube_count(other), 1);
    elapse__queue_free(other);
    restart(f, 0);
}

/* ---- the record ---- */

static bool is_taken(const unsigned char *fields, size_t size)
{
    struct elapse__queue_settings settings;
    struct elapse__queue_text name;
    const struct elapse__record record = {
        .type = ELAPSE__RECORD_TUBE, .fields_size = (uint16_t)size, .fields = fields};
    return elapse__queue_settings_decode(&settings, &name, &record);
}

TEST(what_no_tube_has_written_is_refused)
{
    unsigned char bytes[ELAPSE__QUEUE_SETTINGS_BYTES_MAX + 1] = {0};
    const struct elapse__queue_settings settings = {.pause_ms = 5, .pause_end_ms = 7};
    uint16_t size = elapse__queue_settings_encode(&settings, text("tube"), bytes);
    assert_int_equal(size, 4 + 1 + 4 + 8 + 8);
    for (size_t cut = 0; cut <= size + 1U; cut++)
        assert_int_equal(is_taken(bytes, cut), cut == size);
    bytes[3] = 0x80; /* a setting that nobody knows */
    assert_false(is_taken(bytes, size));
    bytes[3] = 0;
    bytes[0] = 1; /* a pause without an end */
    assert_false(is_taken(bytes, size - 8));
    bytes[0] = 3;
    bytes[size - 1] = 0x40; /* an end that is out of range */
    assert_false(is_taken(bytes, size));
    bytes[size - 1] = 0;
    assert_true(is_taken(bytes, size));
    memset(bytes + size - 8, 0, 8); /* 0 is not written */
    assert_false(is_taken(bytes, size));
    bytes[0] = 0;
    assert_true(is_taken(bytes, 9));
}

TEST_MAIN("pause")
