/*
 * Plays a wheel. On a terminal each picture replaces the one before, the cursor is hidden, and keys
 * are read (screen.h). Elsewhere the pictures are printed one after the other.
 */
#include "step.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../common/output.h"
#include "../common/screen.h"
#include "draw.h"

struct player {
    struct show_look look;
    struct show_steps steps;
    struct show_wheel *show;
    struct show_snapshot before;
    struct show_snapshot now;
    uint64_t step; /* the number of the picture; 0 is the beginning */

    struct show_timer **fired; /* the timers that fired at this step, in their order */
    size_t fired_count;

    bool is_playing;     /* the next picture does not wait for a key */
    uint64_t moves_seen; /* how many moves the pictures so far have shown */

    struct screen screen; /* valid on a terminal */
    size_t lines_drawn;   /* how many lines of the last picture are above the cursor */
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

/* Returns why a timer fires from a slot above level 0. Returns it once for each slot, and else
 * "". */
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

/* Returns the highest level below `limit` that has timers, or 0 if there is none. */
static unsigned highest_occupied_below(const struct show_snapshot *snapshot, unsigned limit)
{
    unsigned highest = 0;

    for (size_t i = 0; i < snapshot->slot_count && snapshot->slots[i].level < limit; i++)
        highest = snapshot->slots[i].level;
    return highest;
}

/* Returns whether the window is large enough. The last line is for the cursor. */
static bool fits_window(const struct player *player, const struct show_canvas *canvas)
{
    const struct show_look *look = &player->look;
    size_t lines = 0;

    for (size_t i = 0; i < canvas->text.end; i++)
        lines += canvas->text.bytes[i] == '\n';
    return !look->is_narrow && (look->rows == 0 || lines < look->rows);
}

/* Draws as much as fits into the window. First leaves out the legend, then the upper levels, and at
 * last everything except the reason. */
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

/* Draws the picture again, in a window whose contents and size are unknown. */
static enum exit_status redraw(struct player *player)
{
    ELAPSE__ASSERT(player->look.is_animated);
    show_look_measure(&player->look);
    output_add_text("\033[H");
    player->lines_drawn = 0;
    return show_picture(player);
}

/* What the user wants after a picture. */
enum choice { CHOICE_NONE, CHOICE_STEP, CHOICE_BACK, CHOICE_QUIT };

static enum choice choice_of_key(struct player *player, char key)
{
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

/* Waits until the user has chosen what comes after this picture, or its time is over. */
static enum choice wait_for_next(struct player *player, enum exit_status *status)
{
    enum choice choice;
    char key;

    while (*status == STATUS_OK) {
        uint64_t timeout_ns = player->is_playing ? player->steps.pause_ns : ELAPSE__OS_FOREVER;
        switch (screen_wait(&player->screen, timeout_ns, &key)) {
        case SCREEN_TIMEOUT:
            return CHOICE_STEP;
        case SCREEN_KEY:
            choice = choice_of_key(player, key);
            if (choice != CHOICE_NONE)
                return choice;
            *status = show_picture(player);
            break;
        case SCREEN_REDRAW:
            /* Without keys the user cannot step, so the pictures play. */
            player->is_playing = player->is_playing || !player->screen.has_keys;
            *status = redraw(player);
            break;
        case SCREEN_NOTHING:
            break;
        }
    }
    return CHOICE_QUIT;
}

/* ---- playing ---- */

/* Returns the tick of the next picture, or ELAPSE_NEVER if there is none. */
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

/* Goes back by one picture. A structure cannot go back, so this makes a new one and advances it. */
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
    /* The caller keeps the pointer `show`, so the contents of the two structs are exchanged. */
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
    enum exit_status status = screen_open(&player->screen, "\033[?25l", "\033[?25h");

    ELAPSE__ASSERT(player->look.is_animated);
    if (status != STATUS_OK)
        return status;
    player->is_playing = player->steps.plays || !player->screen.has_keys;
    status = play(player);
    screen_close(&player->screen);
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
