/*
 * Playing a wheel. On a terminal each picture replaces the one before, the cursor is hidden, and
 * keys are read. So the signals that would end or stop the program are taken between two pictures,
 * when the terminal can be restored. Elsewhere the pictures follow each other.
 */
#include "step.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../os/program.h"
#include "../common/output.h"
#include "draw.h"

/* The signals that are taken between two pictures. */
#define TAKEN_SIGNALS                                                            \
    (ELAPSE__OS_BIT(ELAPSE__OS_HANG_UP) | ELAPSE__OS_BIT(ELAPSE__OS_INTERRUPT) | \
     ELAPSE__OS_BIT(ELAPSE__OS_QUIT) | ELAPSE__OS_BIT(ELAPSE__OS_TERMINATE) |    \
     ELAPSE__OS_BIT(ELAPSE__OS_SUSPEND) | ELAPSE__OS_BIT(ELAPSE__OS_WINDOW_SIZE))

struct player {
    struct show_look look;
    struct show_steps steps;
    struct show_wheel *show;
    struct show_snapshot before;
    struct show_snapshot now;
    uint64_t step; /* the number of the picture; 0 is the beginning */

    struct show_timer **fired; /* at this step, in the order of firing */
    size_t fired_count;

    bool has_keys;       /* standard input is a terminal, too */
    bool is_playing;     /* without waiting for a key */
    uint64_t moves_seen; /* the moves that the pictures so far have shown */

    struct elapse__os_signals signals; /* on a terminal */
    size_t lines_drawn;                /* of the last picture, above the cursor */
};

/* ---- the effects of a step ---- */

/* Returns "level 2", or the name of a place beyond the levels. */
static struct show_phrase place_text(const struct show_geometry *geometry, unsigned level)
{
    struct show_phrase phrase;

    if (level < geometry->level_count)
        snprintf(phrase.text, sizeof phrase.text, "level %u", level);
    else if (geometry->design == SHOW_DIALS)
        snprintf(phrase.text, sizeof phrase.text, "the parked");
    else
        snprintf(phrase.text, sizeof phrase.text, "the due");
    return phrase;
}

/* Returns why a timer fires from a slot above level 0, once for each slot; otherwise "". */
static const char *slot_note(const struct show_geometry *geometry, const struct elapse_slot *slot,
                             const struct elapse_slot *previous)
{
    if (slot->level == 0 || slot == previous || geometry->design != SHOW_WHEEL)
        return "";
    return slot->count == 1 ? " (alone in its slot: no cascade needed)"
                            : " (the first due in its slot)";
}

static void draw_fired(struct player *player, struct show_canvas *canvas)
{
    const struct elapse_slot *previous = NULL;

    ELAPSE__ASSERT(player->step > 0);
    canvas_text(canvas, STYLE_FIRED, "  fires       ");
    for (size_t i = 0; i < player->fired_count; i++) {
        char text[160];
        char late[40] = "";
        const struct show_timer *timer = player->fired[i];
        const struct elapse_slot *slot =
            show_slot_of(&player->before, (size_t)(timer - player->show->timers));
        uint64_t late_ticks = player->now.now - timer->deadline;
        if (late_ticks > 0)
            snprintf(late, sizeof late, " (%" PRIu64 " late)", late_ticks);
        struct show_phrase place = place_text(&player->show->geometry, slot->level);
        int length = snprintf(text, sizeof text, "%" PRIu64 " from %s%s%s", timer->deadline,
                              place.text, late, slot_note(&player->show->geometry, slot, previous));
        if (!canvas_list_next(canvas, i == 0 ? NULL : ", ", i + 1 == player->fired_count,
                              (unsigned)length))
            break;
        canvas_text(canvas, STYLE_PLAIN, "%s", text);
        previous = slot;
    }
    if (player->fired_count == 0)
        canvas_text(canvas, STYLE_FAINT, "nothing");
    canvas_end_line(canvas);
}

/* Returns whether a timer is on another level than before. */
static bool is_seen_to_move(const struct player *player, size_t timer)
{
    const struct elapse_slot *from = show_slot_of(&player->before, timer);
    const struct elapse_slot *to = show_slot_of(&player->now, timer);

    return from != NULL && to != NULL && from->level != to->level;
}

/* Draws the timers that are on another level than before. */
static void draw_moved(struct player *player, struct show_canvas *canvas)
{
    const struct show_wheel *show = player->show;
    const char *separator = NULL;

    ELAPSE__ASSERT(player->step > 0);
    canvas_text(canvas, STYLE_TIMER, "  cascades    ");
    for (size_t i = 0; i < show->timer_count; i++) {
        char text[96];
        const struct show_timer *timer = &show->timers[i];
        const struct elapse_slot *from = show_slot_of(&player->before, i);
        const struct elapse_slot *to = show_slot_of(&player->now, i);
        if (!is_seen_to_move(player, i))
            continue;
        int length = snprintf(text, sizeof text, "%" PRIu64 " from %s to %s%u", timer->deadline,
                              place_text(&show->geometry, from->level).text,
                              from->level < show->geometry.level_count ? "" : "level ", to->level);
        if (!canvas_list_next(canvas, separator, false, (unsigned)length))
            break;
        canvas_text(canvas, STYLE_PLAIN, "%s", text);
        separator = ", ";
    }
    if (separator == NULL)
        canvas_text(canvas, STYLE_FAINT, "nothing");
    canvas_end_line(canvas);
}

static void draw_picture(struct player *player, struct show_canvas *canvas, unsigned level_limit,
                         bool has_legend)
{
    canvas_begin(canvas, &player->look);
    if (player->step == 0)
        canvas_text(canvas, STYLE_STRONG, "-- start, tick %" PRIu64 " --", player->now.now);
    else
        canvas_text(canvas, STYLE_STRONG, "-- %s %" PRIu64 ", tick %" PRIu64 " --",
                    player->steps.every_ticks == 0 ? "wake-up" : "step", player->step,
                    player->now.now);
    canvas_end_line(canvas);
    if (player->step > 0) {
        draw_fired(player, canvas);
        draw_moved(player, canvas);
    }
    draw_wheel_briefly(canvas, player->show, &player->now, level_limit);
    if (has_legend)
        draw_legend(canvas, player->show->geometry.design);
    if (!player->is_playing) {
        canvas_text(canvas, STYLE_FAINT, "space: step   b: back   p: play   q: quit");
        canvas_end_line(canvas);
    }
}

/* ---- the terminal ---- */

/* Returns the highest level below `limit` that has timers; 0 if there is none. */
static unsigned highest_occupied_below(const struct show_snapshot *snapshot, unsigned limit)
{
    unsigned highest = 0;

    for (size_t i = 0; i < snapshot->slot_count && snapshot->slots[i].level < limit; i++)
        highest = snapshot->slots[i].level;
    return highest;
}

/* Returns whether the window is large enough. The cursor takes its last line. */
static bool fits_window(const struct player *player, const struct show_canvas *canvas)
{
    const struct show_look *look = &player->look;
    size_t lines = 0;

    for (size_t i = 0; i < canvas->text.end; i++)
        lines += canvas->text.bytes[i] == '\n';
    return !look->is_narrow && (look->rows == 0 || lines < look->rows);
}

/* Draws as much as fits into the window: leaves out the legend, then the upper levels, and at last
 * everything but the reason. */
static void draw_fitting_picture(struct player *player, struct show_canvas *canvas)
{
    unsigned limit = player->show->geometry.level_count;
    bool is_whole = true;

    ELAPSE__ASSERT(player->look.is_animated);
    draw_picture(player, canvas, limit, true);
    while (!fits_window(player, canvas) && limit > 0) {
        canvas_free(canvas);
        limit = is_whole ? limit : highest_occupied_below(&player->now, limit);
        is_whole = false;
        draw_picture(player, canvas, limit, false);
    }
    if (fits_window(player, canvas))
        return;
    canvas_free(canvas);
    canvas_begin(canvas, &player->look);
    canvas_text(canvas, STYLE_STRONG, "%s", player->look.is_narrow ? "Too narrow" : "Too low");
    canvas_end_line(canvas);
}

/* Writes the picture over the last one. */
static void print_in_place(struct player *player, struct show_canvas *canvas)
{
    const char *line = buffer_string(&canvas->text);
    size_t lines = 0;

    if (player->lines_drawn > 0)
        output_add_format("\033[%zuA", player->lines_drawn);
    for (; *line != '\0'; lines++) {
        const char *end = strchr(line, '\n');
        output_add_format("%.*s\033[K\n", (int)(end - line), line);
        line = end + 1;
    }
    output_add_text("\033[J");
    player->lines_drawn = lines;
}

static enum exit_status show_picture(struct player *player)
{
    struct show_canvas canvas;

    if (player->look.is_animated) {
        draw_fitting_picture(player, &canvas);
        print_in_place(player, &canvas);
        canvas_free(&canvas);
    } else {
        draw_picture(player, &canvas, player->show->geometry.level_count, player->step == 0);
        canvas_print(&canvas);
        output_add_text("\n");
    }
    return output_finish();
}

/* Prepares the terminal: no cursor, and keys at once. */
static void take_terminal(struct player *player)
{
    output_add_text("\033[?25l");
    if (player->has_keys && elapse__os_keys_open(ELAPSE__OS_INPUT) != 0) {
        player->has_keys = false;
        player->is_playing = true;
    }
}

static void restore_terminal(const struct player *player)
{
    output_add_text("\033[?25h");
    (void)output_finish();
    if (player->has_keys)
        elapse__os_keys_close(ELAPSE__OS_INPUT);
}

/* Ends or stops the program as the signal would have done. Returns when it is continued. */
static void obey(struct player *player, enum elapse__os_signal signal)
{
    ELAPSE__ASSERT(signal != ELAPSE__OS_WINDOW_SIZE);
    restore_terminal(player);
    elapse__os_signals_release(&player->signals, TAKEN_SIGNALS);
    elapse__os_signal_raise(signal);
    elapse__os_signals_hold(&player->signals, TAKEN_SIGNALS);
    take_terminal(player);
}

/* Draws the picture again, in a window whose contents and size are unknown. */
static enum exit_status redraw(struct player *player)
{
    ELAPSE__ASSERT(player->look.is_animated);
    show_look_measure(&player->look);
    output_add_text("\033[H");
    player->lines_drawn = 0;
    return show_picture(player);
}

/* What follows a picture. */
enum choice { CHOICE_NONE, CHOICE_STEP, CHOICE_BACK, CHOICE_QUIT };

static enum choice read_key(struct player *player)
{
    char key;
    size_t got;

    ELAPSE__ASSERT(player->has_keys);
    if (elapse__os_read(ELAPSE__OS_INPUT, &key, 1, &got) != 0 || got == 0)
        return CHOICE_QUIT; /* the terminal is gone */
    switch (key) {
    case ' ':
        player->is_playing = false;
        return CHOICE_STEP;
    case 'b':
        player->is_playing = false;
        return CHOICE_BACK;
    case 'p':
        player->is_playing = !player->is_playing;
        return player->is_playing ? CHOICE_STEP : CHOICE_NONE;
    case 'q':
        return CHOICE_QUIT;
    default:
        return CHOICE_NONE;
    }
}

/* Waits until it is clear what comes after this picture. Meanwhile it obeys signals. */
static enum choice wait_for_next(struct player *player, enum exit_status *status)
{
    enum { SIGNALS, KEYS, WATCH_COUNT };

    while (*status == STATUS_OK) {
        struct elapse__os_watch watches[WATCH_COUNT] = {
            [SIGNALS] = {.file = player->signals.file, .for_data = true},
            [KEYS] = {.file = player->has_keys ? ELAPSE__OS_INPUT : -1, .for_data = true},
        };
        uint64_t timeout_ns = player->is_playing ? player->steps.pause_ns : ELAPSE__OS_FOREVER;
        if (elapse__os_wait(watches, WATCH_COUNT, timeout_ns) == ETIMEDOUT)
            return CHOICE_STEP;
        if (watches[KEYS].ready) {
            enum choice choice = read_key(player);
            if (choice != CHOICE_NONE)
                return choice;
            *status = show_picture(player);
            continue;
        }
        enum elapse__os_signal signal = elapse__os_signals_take(&player->signals);
        if (signal == ELAPSE__OS_NO_SIGNAL)
            continue;
        if (signal != ELAPSE__OS_WINDOW_SIZE)
            obey(player, signal);
        *status = redraw(player);
    }
    return CHOICE_QUIT;
}

/* ---- playing ---- */

/* Returns the tick of the next picture; ELAPSE_NEVER if there is none. */
static uint64_t next_tick(const struct player *player)
{
    if (player->now.next == ELAPSE_NEVER || player->steps.every_ticks == 0)
        return player->now.next;
    uint64_t tick = elapse_deadline_after(player->now.now, player->steps.every_ticks);
    return tick < ELAPSE_NEVER ? tick : ELAPSE_TIME_MAX;
}

static void note_fired(struct show_timer *timer, void *context)
{
    struct player *player = context;

    ELAPSE__ASSERT(player->fired_count < player->show->timer_count);
    player->fired[player->fired_count++] = timer;
}

static void advance_to(struct player *player, uint64_t tick)
{
    struct show_snapshot spare = player->before;

    ELAPSE__ASSERT(tick >= player->now.now);
    player->before = player->now;
    player->now = spare;
    player->step++;
    player->fired_count = 0;
    show_wheel_advance(player->show, tick, note_fired, player);
    show_snapshot_take(&player->now, player->show);
    for (size_t i = 0; i < player->show->timer_count; i++)
        player->moves_seen += is_seen_to_move(player, i);
}

/* Goes back by a picture. A structure cannot go back, so a new one is advanced. */
static enum exit_status go_back(struct player *player)
{
    struct show_wheel *show = player->show;
    uint64_t steps = player->step > 0 ? player->step - 1 : 0;
    uint64_t *deadlines = allocate((show->timer_count + 1) * sizeof *deadlines);

    for (size_t i = 0; i < show->timer_count; i++)
        deadlines[i] = show->timers[i].deadline;
    struct show_wheel *fresh =
        show_wheel_new(show->choice, show->started_at, deadlines, show->timer_count);
    free(deadlines);
    if (fresh == NULL)
        return STATUS_FAILED;
    /* The caller keeps `show`, so the contents change places. */
    struct show_wheel old = *show;
    *show = *fresh;
    *fresh = old;
    show_wheel_free(fresh);
    show_snapshot_take(&player->now, show);
    player->step = 0;
    player->fired_count = 0;
    player->moves_seen = 0;
    while (player->step < steps)
        advance_to(player, next_tick(player));
    ELAPSE__ASSERT(player->step == steps);
    return STATUS_OK;
}

static void print_end(const struct player *player)
{
    const struct show_snapshot *now = &player->now;
    struct show_canvas canvas;

    ELAPSE__ASSERT(now->pending <= player->show->timer_count);
    canvas_begin(&canvas, &player->look);
    canvas_text(&canvas, STYLE_STRONG, "After %s:",
                amount_of(player->step, player->steps.every_ticks == 0 ? "wake-up" : "step").text);
    canvas_text(&canvas, STYLE_PLAIN, " %zu fired, %zu still pending, %s",
                player->show->timer_count - now->pending, now->pending,
                amount_of(now->moves, "move").text);
    if (now->moves > player->moves_seen)
        canvas_text(&canvas, STYLE_PLAIN, " (%" PRIu64 " fired at once)",
                    now->moves - player->moves_seen);
    canvas_end_line(&canvas);
    canvas_print(&canvas);
}

static enum exit_status play(struct player *player)
{
    enum exit_status status = show_picture(player);

    while (status == STATUS_OK) {
        uint64_t tick = next_tick(player);
        bool is_last = tick == ELAPSE_NEVER || tick > player->steps.until;
        enum choice choice = CHOICE_STEP;
        if (is_last && player->is_playing)
            break;
        if (player->look.is_animated)
            choice = wait_for_next(player, &status);
        if (choice == CHOICE_QUIT || (is_last && choice == CHOICE_STEP))
            break;
        if (choice == CHOICE_BACK)
            status = go_back(player);
        else
            advance_to(player, tick);
        if (status == STATUS_OK)
            status = show_picture(player);
    }
    return status;
}

static enum exit_status play_on_terminal(struct player *player)
{
    int error = elapse__os_signals_open(&player->signals, TAKEN_SIGNALS);

    ELAPSE__ASSERT(player->look.is_animated);
    if (error != 0) {
        print_error("cannot take signals: %s", elapse__os_error_text(error));
        return STATUS_FAILED;
    }
    player->has_keys = elapse__os_is_terminal(ELAPSE__OS_INPUT);
    player->is_playing = player->steps.plays || !player->has_keys;
    take_terminal(player);
    enum exit_status status = play(player);
    restore_terminal(player);
    elapse__os_signals_release(&player->signals, TAKEN_SIGNALS);
    elapse__os_signals_close(&player->signals);
    return status;
}

enum exit_status show_step(const struct show_look *look, const struct show_steps *steps,
                           struct show_wheel *show)
{
    struct player player = {.look = *look, .steps = *steps, .show = show, .is_playing = true};

    player.fired = allocate((show->timer_count + 1) * sizeof(struct show_timer *));
    show_snapshot_take(&player.now, show);
    enum exit_status status = look->is_animated ? play_on_terminal(&player) : play(&player);
    if (status == STATUS_OK) {
        print_end(&player);
        status = output_finish();
    }
    free(player.fired);
    show_snapshot_free(&player.before);
    show_snapshot_free(&player.now);
    return status;
}
