/*
 * Rule R12 of partition.h: keeps the cluster's time, and decides whose wall clock is wrong.
 */
#include "clock.h"

#include "../../base/assert.h"

/* A range of milliseconds. */
struct range {
    int64_t least, most;
};

/* Returns the value of the range that is nearest to `wanted`. */
static int64_t nearest(struct range range, int64_t wanted)
{
    ELAPSE__ASSERT_THAT(range.least, <=, range.most);
    if (wanted < range.least)
        return range.least;
    return wanted > range.most ? range.most : wanted;
}

static bool is_within(int64_t difference_ms, int64_t limit_ms)
{
    return difference_ms >= -limit_ms && difference_ms <= limit_ms;
}

static bool is_apart(const struct elapse__clock *clock)
{
    return !is_within(clock->ahead_ms, ELAPSE__CLOCK_APART_MS);
}

/* ---- looks ---- */

/* Returns the possible values of the database's clock minus this node's boot-time clock. The
 * database read its clock for the first time after this node sent the statement, and for the last
 * time before this node received the answer. All times are whole milliseconds. */
static struct range offsets(const struct elapse__clock_look *look)
{
    return (struct range){
        .least = look->last_ms - (int64_t)look->received_ms - 1,
        .most = look->first_ms - (int64_t)look->sent_ms + 1,
    };
}

static void note_ahead(struct elapse__clock *clock, const struct elapse__clock_look *look,
                       struct range range)
{
    clock->wall_offset_ms = look->wall_ms - (int64_t)look->received_ms;
    struct range ahead = {clock->wall_offset_ms - range.most, clock->wall_offset_ms - range.least};
    int64_t moved_ms = nearest(ahead, clock->ahead_ms) - clock->ahead_ms;

    clock->ahead_ms = nearest(ahead, 0);
    if (is_apart(clock) && is_within(moved_ms, ELAPSE__CLOCK_JUMP_MS))
        return;
    clock->is_judged = clock->is_wrong = false;
    clock->apart_since_ms = look->received_ms;
}

/* Follows the database's clock. After a jump, this node follows the database's clock only if that
 * clock agrees with this node's wall clock. When this node sees the database's clock for the first
 * time, it follows that clock for now, because the due times in the log are most likely of that
 * clock. */
static void follow(struct elapse__clock *clock, struct range range)
{
    struct elapse__clock_time *time = &clock->time;
    int64_t gap_ms = nearest(range, time->offset_ms) - time->offset_ms;
    /* Wall clocks of nodes, where they are right, differ less from each other than the nodes'
     * estimates of the database's clock do. */
    int64_t first_ms =
        clock->ahead_ms == 0 ? clock->wall_offset_ms : range.least + (range.most - range.least) / 2;

    if (time->is_known && is_within(gap_ms, ELAPSE__CLOCK_JUMP_MS)) {
        if (!is_within(gap_ms, ELAPSE__CLOCK_SLACK_MS))
            time->offset_ms += gap_ms;
    } else if (!is_apart(clock) || !time->is_known) {
        time->offset_ms = first_ms;
        time->is_borrowed = true;
    }
    time->is_borrowed = time->is_borrowed && is_apart(clock);
    time->is_known = true;
}

void elapse__clock_begin(struct elapse__clock *clock, const struct elapse__clock_time *time)
{
    ELAPSE__ASSERT(!clock->time.is_known && !clock->has_look);
    ELAPSE__ASSERT(time->is_known || !time->is_borrowed);
    clock->time = *time;
}

void elapse__clock_take(struct elapse__clock *clock, const struct elapse__clock_look *look)
{
    struct range range = offsets(look);
    if (look->wall_ms == 0 || range.least > range.most || look->last_ms < look->first_ms)
        return;
    note_ahead(clock, look, range);
    follow(clock, range);
    clock->has_look = true;
    ELAPSE__ASSERT(!clock->is_wrong || clock->is_judged);
}

/* ---- the other nodes ---- */

uint64_t elapse__clock_ask_ms(const struct elapse__clock *clock)
{
    bool has_news = !is_within(clock->ahead_ms - clock->told_ahead_ms, ELAPSE__CLOCK_WARN_MS);
    if (!clock->has_look)
        return UINT64_MAX;
    return has_news ? 0 : clock->ask_ms;
}

void elapse__clock_asked(struct elapse__clock *clock, uint64_t now_ms, uint32_t lease_ms)
{
    clock->told_ahead_ms = clock->ahead_ms;
    clock->ask_ms = now_ms + lease_ms / 2;
}

void elapse__clock_hear(struct elapse__clock *clock, uint64_t sent_ms, uint32_t lease_ms,
                        const struct elapse__clock_others *others)
{
    ELAPSE__ASSERT_THAT(others->right, <=, others->living);
    ELAPSE__ASSERT_THAT(others->agreeing, <=, others->living);
    if (!is_apart(clock) || sent_ms < clock->apart_since_ms + lease_ms)
        return;
    /* This node counts, too: it lives, and it agrees with itself. */
    bool most_agree = 2 * (others->agreeing + 1) > others->living + 1;
    clock->is_judged = true;
    clock->is_wrong = others->right > 0 || !most_agree;
    if (clock->time.is_borrowed && !clock->is_wrong && others->agreeing > 0) {
        clock->time.offset_ms = clock->wall_offset_ms;
        clock->time.is_borrowed = false;
    }
}

enum elapse__clock_verdict elapse__clock_verdict(const struct elapse__clock *clock)
{
    if (is_within(clock->ahead_ms, ELAPSE__CLOCK_WARN_MS))
        return ELAPSE__CLOCK_RIGHT;
    if (!is_apart(clock))
        return ELAPSE__CLOCK_OFF;
    if (!clock->is_judged)
        return ELAPSE__CLOCK_APART;
    return clock->is_wrong ? ELAPSE__CLOCK_WRONG : ELAPSE__CLOCK_DATABASE;
}

bool elapse__clock_permits(enum elapse__clock_verdict verdict)
{
    return verdict != ELAPSE__CLOCK_APART && verdict != ELAPSE__CLOCK_WRONG;
}

bool elapse__clock_may_take(const struct elapse__clock *clock)
{
    return elapse__clock_permits(elapse__clock_verdict(clock));
}
