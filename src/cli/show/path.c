/*
 * Draws the way of a timer in a real wheel.
 *
 * A classical wheel cascades a slot whenever time reaches the first tick of the slot. To cascade a
 * slot means to move its timers down a level. This wheel cascades a slot only when a timer in it is
 * due. So a timer that is alone fires from the slot into which it was put. The timer moves down
 * level by level only if another timer, its companion, is due at the first tick of each slot. Dials
 * and hashed wheels are classical, and need no companions.
 */
#include "path.h"

#include <inttypes.h>

#include "../../base/assert.h"
#include "draw.h"
#include "model.h"

/* How many visits to a slot are shown one by one. */
enum { VISITS_SHOWN = 12 };

struct path {
    struct show_canvas canvas;
    const struct structure_choice *choice;
    struct show_wheel *show; /* a wheel that has only the followed timer */
    struct show_snapshot snapshot;
    unsigned wake_ups;
    unsigned stops; /* in how many slots the timer has been */

    /* The companions: one timer for each slot on the way. */
    struct elapse_timer companions[SHOW_LEVELS_MAX];
    unsigned companion_count;
};

static const struct show_timer *followed(const struct path *path)
{
    ELAPSE__ASSERT(path->show->timer_count == 1);
    return &path->show->timers[0];
}

static void draw_tick(struct path *path)
{
    canvas_text(&path->canvas, STYLE_STRONG, "  tick %-10" PRIu64, path->snapshot.now);
}

/* Draws a visit to the slot at which the timer was not due. */
static void draw_visit(struct path *path)
{
    uint64_t rounds =
        show_rounds_left(&path->show->geometry, path->snapshot.now, followed(path)->deadline);

    ELAPSE__ASSERT(path->wake_ups > 0);
    if (path->wake_ups > VISITS_SHOWN)
        return;
    draw_tick(path);
    if (path->wake_ups == VISITS_SHOWN)
        canvas_text(&path->canvas, STYLE_PLAIN, " and so on");
    else
        canvas_text(&path->canvas, STYLE_PLAIN, " is visited, and stays: %s left",
                    amount_of(rounds, "round").text);
    canvas_end_line(&path->canvas);
}

/* Draws where the timer is now, and the strip of its level. */
static void draw_stop(struct path *path, const struct elapse_slot *slot)
{
    const struct show_geometry *geometry = &path->show->geometry;

    if (geometry->design == SHOW_HASHED && path->wake_ups > 0) {
        draw_visit(path);
        return;
    }
    draw_tick(path);
    if (slot->level == geometry->level_count) {
        canvas_text(&path->canvas, STYLE_PLAIN, " %s",
                    followed(path)->deadline == ELAPSE_NEVER ? "is kept apart" : "is parked");
        canvas_end_line(&path->canvas);
        return;
    }
    canvas_text(&path->canvas, STYLE_PLAIN, " %s ",
                path->wake_ups == 0 ? "starts on" : "cascades to");
    canvas_text(&path->canvas, STYLE_TIMER, "level %u, slot %u", slot->level, slot->slot);
    canvas_text(&path->canvas, STYLE_PLAIN, " %s",
                range_text(slot->first_tick, slot->last_tick).text);
    canvas_end_line(&path->canvas);
    draw_strip(&path->canvas, geometry, slot->level, &path->snapshot);
}

static void draw_firing(struct path *path)
{
    uint64_t late = path->snapshot.now - followed(path)->deadline;

    ELAPSE__ASSERT(path->snapshot.now >= followed(path)->deadline);
    ELAPSE__ASSERT(path->stops > 0);
    draw_tick(path);
    canvas_text(&path->canvas, STYLE_FIRED, " fires,");
    if (late == 0)
        canvas_text(&path->canvas, STYLE_PLAIN, " on time:");
    else
        canvas_text(&path->canvas, STYLE_PLAIN, " %s late:", amount_of(late, "tick").text);
    canvas_text(&path->canvas, STYLE_PLAIN, " after %s and %s",
                amount_of(path->wake_ups, "wake-up").text, amount_of(path->stops - 1, "move").text);
    canvas_end_line(&path->canvas);
}

/* Starts another timer at the first tick of the slot, unless that tick has passed. */
static void add_companion(struct path *path, const struct elapse_slot *slot)
{
    if (slot->first_tick <= path->snapshot.now || slot->first_tick == followed(path)->deadline)
        return;
    ELAPSE__ASSERT(path->companion_count < SHOW_LEVELS_MAX);
    struct elapse_timer *companion = &path->companions[path->companion_count++];
    elapse_timer_init(companion);
    /* A wheel never refuses a timer. */
    (void)!path->show->structure->start(path->show->instance, companion, slot->first_tick);
}

/* Draws every wake-up until the timer has fired, if it ever does. */
static void follow(struct path *path, bool has_companions)
{
    for (;;) {
        show_snapshot_take(&path->snapshot, path->show);
        if (!elapse_timer_pending(&followed(path)->timer))
            break;
        const struct elapse_slot *slot = show_slot_of(&path->snapshot, 0);
        if (has_companions) {
            add_companion(path, slot);
            show_snapshot_take(&path->snapshot, path->show);
            slot = show_slot_of(&path->snapshot, 0);
        }
        ELAPSE__ASSERT(slot != NULL);
        draw_stop(path, slot);
        path->stops++;
        if (path->snapshot.next == ELAPSE_NEVER)
            return;
        show_wheel_advance(path->show, path->snapshot.next, NULL, NULL);
        path->wake_ups++;
    }
    draw_firing(path);
}

/* Follows a new timer in a new wheel, and frees the wheel. Stores in `*start` the slot into which
 * the timer was put. After an error prints a message and returns false. */
static bool follow_in_new_wheel(struct path *path, uint64_t now, uint64_t deadline,
                                bool has_companions, struct elapse_slot *start)
{
    path->show = show_wheel_new(path->choice, now, &deadline, 1);
    if (path->show == NULL)
        return false;
    path->wake_ups = 0;
    path->stops = 0;
    path->companion_count = 0;
    show_snapshot_take(&path->snapshot, path->show);
    *start = path->snapshot.slots[0];
    follow(path, has_companions);
    show_wheel_free(path->show);
    return true;
}

static void draw_text(struct path *path, const char *text)
{
    canvas_text(&path->canvas, STYLE_PLAIN, "%s", text);
    canvas_end_line(&path->canvas);
}

/* Draws the way of the timer alone, and in a wheel also its way with companions. Returns false
 * after an error. */
static bool draw_ways(struct path *path, uint64_t now, uint64_t deadline)
{
    struct elapse_slot start;
    bool is_wheel = path->choice->structure->shape_levels_max == 0;

    canvas_text(&path->canvas, STYLE_STRONG, is_wheel ? "Alone in the wheel" : "Its way");
    canvas_end_line(&path->canvas);
    if (!follow_in_new_wheel(path, now, deadline, false, &start))
        return false;
    if (deadline == ELAPSE_NEVER) {
        draw_text(path, "  There it stays: no time reaches its deadline.");
        return true;
    }
    if (!is_wheel)
        return true;
    if (start.level == 0) {
        draw_text(path, "  A slot of level 0 is one tick: there is no way further down.");
        return true;
    }
    draw_text(path, "  One wake-up is enough: the wheel knows the least deadline in each slot, and "
                    "jumps to it; no level in between has to be visited.");
    if (start.first_tick == deadline) {
        draw_text(path,
                  "  The deadline is the first tick of its slot, so company changes nothing.");
        return true;
    }
    canvas_end_line(&path->canvas);
    canvas_text(&path->canvas, STYLE_STRONG, "In company:");
    canvas_text(&path->canvas, STYLE_PLAIN,
                " another timer is due at the first tick of each slot on the way");
    canvas_end_line(&path->canvas);
    return follow_in_new_wheel(path, now, deadline, true, &start);
}

enum exit_status show_path(const struct show_look *look, const struct structure_choice *choice,
                           uint64_t now, uint64_t deadline)
{
    struct path path = {.choice = choice};

    canvas_begin(&path.canvas, look);
    canvas_text(&path.canvas, STYLE_STRONG, "A timer started at tick %" PRIu64 ",", now);
    if (deadline == ELAPSE_NEVER)
        canvas_text(&path.canvas, STYLE_PLAIN, " never due");
    else if (deadline < now)
        canvas_text(&path.canvas, STYLE_PLAIN,
                    " due at tick %" PRIu64 ", as tick %" PRIu64 " has passed", now, deadline);
    else
        canvas_text(&path.canvas, STYLE_PLAIN, " due at tick %" PRIu64, deadline);
    canvas_end_line(&path.canvas);
    canvas_end_line(&path.canvas);
    bool is_drawn = draw_ways(&path, now, deadline);
    canvas_print(&path.canvas);
    show_snapshot_free(&path.snapshot);
    return is_drawn ? STATUS_OK : STATUS_FAILED;
}
