/*
 * Playing a wheel. On a terminal each picture takes the place of the one before;
 * the signals that would end or stop the program are taken between pictures, so
 * that the cursor, hidden meanwhile, comes back. Elsewhere one picture follows
 * the other.
 */
#include "step.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "draw.h"

struct player {
    struct show_look look;
    struct show_steps steps;
    struct show_wheel *show;
    struct show_snapshot before;
    struct show_snapshot now;
    uint64_t step; /* number of the picture; 0 is the beginning */

    struct show_timer **fired; /* at this step, in the order they came */
    size_t fired_count;

    sigset_t signals; /* taken between pictures */
    sigset_t signals_before;
    size_t lines_drawn; /* of the last picture, above the cursor */
};

/* ---- what a step did ---- */

/* "level 2", or what is beyond the levels. */
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

/* Why a timer fires out of a slot above level 0, once for each slot. */
static const char *slot_note(const struct show_geometry *geometry, const struct elapse_slot *slot,
                             const struct elapse_slot *previous)
{
    if (slot->level == 0 || slot == previous || geometry->design != SHOW_WHEEL)
        return "";
    return slot->count == 1 ? " (alone in its slot: no need to come down)"
                            : " (the first due in its slot)";
}

static void draw_fired(struct player *player, struct show_canvas *canvas)
{
    const struct elapse_slot *previous = NULL;

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

/* The timers that are on another level than before. */
static void draw_moved(struct player *player, struct show_canvas *canvas)
{
    const struct show_wheel *show = player->show;
    const char *separator = NULL;

    canvas_text(canvas, STYLE_TIMER, "  comes down  ");
    for (size_t i = 0; i < show->timer_count; i++) {
        char text[96];
        const struct show_timer *timer = &show->timers[i];
        const struct elapse_slot *from = show_slot_of(&player->before, i);
        const struct elapse_slot *to = show_slot_of(&player->now, i);
        if (from == NULL || to == NULL || from->level == to->level)
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
    canvas_finish(canvas);
}

/* ---- the terminal ---- */

/* The highest level with timers below `limit`; 0 if there is none. */
static unsigned highest_occupied_below(const struct show_snapshot *snapshot, unsigned limit)
{
    unsigned highest = 0;

    for (size_t i = 0; i < snapshot->slot_count && snapshot->slots[i].level < limit; i++)
        highest = snapshot->slots[i].level;
    return highest;
}

/* Whether the window is large enough; the cursor takes its last line. */
static bool fits_window(const struct player *player, const struct show_canvas *canvas)
{
    const struct show_look *look = &player->look;
    size_t lines = 0;

    for (size_t i = 0; i < canvas->bytes; i++)
        lines += canvas->text[i] == '\n';
    return !look->is_narrow && (look->rows == 0 || lines < look->rows);
}

/* Draws as much as the window has room for: without the legend, without the upper
 * levels, or just why there is nothing. */
static void draw_fitting_picture(struct player *player, struct show_canvas *canvas)
{
    unsigned limit = player->show->geometry.level_count;
    bool is_whole = true;

    draw_picture(player, canvas, limit, true);
    while (!fits_window(player, canvas) && limit > 0) {
        free(canvas->text);
        limit = is_whole ? limit : highest_occupied_below(&player->now, limit);
        is_whole = false;
        draw_picture(player, canvas, limit, false);
    }
    if (fits_window(player, canvas))
        return;
    free(canvas->text);
    canvas_begin(canvas, &player->look);
    canvas_text(canvas, STYLE_STRONG, "%s", player->look.is_narrow ? "Too narrow" : "Too low");
    canvas_end_line(canvas);
    canvas_finish(canvas);
}

/* Writes the picture over the last one. */
static void print_in_place(struct player *player, const struct show_canvas *canvas)
{
    const char *line = canvas->text;
    size_t lines = 0;

    if (player->lines_drawn > 0)
        printf("\033[%zuA", player->lines_drawn);
    for (; *line != '\0'; lines++) {
        const char *end = strchr(line, '\n');
        printf("%.*s\033[K\n", (int)(end - line), line);
        line = end + 1;
    }
    fputs("\033[J", stdout);
    player->lines_drawn = lines;
}

static enum exit_status show_picture(struct player *player)
{
    struct show_canvas canvas;

    if (player->look.is_animated) {
        draw_fitting_picture(player, &canvas);
        print_in_place(player, &canvas);
    } else {
        draw_picture(player, &canvas, player->show->geometry.level_count, player->step == 0);
        fwrite(canvas.text, 1, canvas.bytes, stdout);
        putchar('\n');
    }
    free(canvas.text);
    return finish_output();
}

static void enter_terminal(struct player *player)
{
    static const int taken[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH};

    sigemptyset(&player->signals);
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
        sigaddset(&player->signals, taken[i]);
    sigprocmask(SIG_BLOCK, &player->signals, &player->signals_before);
    fputs("\033[?25l", stdout);
}

static void leave_terminal(struct player *player)
{
    fputs("\033[?25h", stdout);
    fflush(stdout);
    sigprocmask(SIG_SETMASK, &player->signals_before, NULL);
}

/* Waits for the next picture's time, and does meanwhile what signals ask for: to
 * end or stop the program, or to draw the picture anew in another size. */
static enum exit_status wait_for_next(struct player *player)
{
    uint64_t pause_ns = player->steps.pause_ns;
    const struct timespec pause = {(time_t)(pause_ns / 1000000000), (long)(pause_ns % 1000000000)};

    for (;;) {
        int number = sigtimedwait(&player->signals, NULL, &pause);
        if (number < 0 && errno == EAGAIN)
            return STATUS_OK;
        if (number < 0)
            continue;
        if (number != SIGWINCH) {
            leave_terminal(player);
            raise(number == SIGTSTP ? SIGSTOP : number);
            enter_terminal(player);
        }
        /* Where the lines of the last picture are now is not known. */
        show_look_measure(&player->look);
        fputs("\033[H", stdout);
        player->lines_drawn = 0;
        enum exit_status status = show_picture(player);
        if (status != STATUS_OK)
            return status;
    }
}

/* ---- playing ---- */

/* The tick of the next picture; ELAPSE_NEVER when there is none. */
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

    player->fired[player->fired_count++] = timer;
}

static void advance_to(struct player *player, uint64_t tick)
{
    struct show_snapshot spare = player->before;

    player->before = player->now;
    player->now = spare;
    player->step++;
    player->fired_count = 0;
    show_wheel_advance(player->show, tick, note_fired, player);
    show_snapshot_take(&player->now, player->show);
}

static void print_end(const struct player *player)
{
    const struct show_snapshot *now = &player->now;
    struct show_canvas canvas;

    canvas_begin(&canvas, &player->look);
    canvas_text(&canvas, STYLE_STRONG, "After %s:",
                amount_of(player->step, player->steps.every_ticks == 0 ? "wake-up" : "step").text);
    canvas_text(&canvas, STYLE_PLAIN, " %zu fired, %zu still pending, %s",
                player->show->timer_count - now->pending, now->pending,
                amount_of(now->moves, "move").text);
    canvas_end_line(&canvas);
    canvas_print(&canvas);
}

static enum exit_status play(struct player *player)
{
    enum exit_status status = show_picture(player);

    while (status == STATUS_OK) {
        uint64_t tick = next_tick(player);
        if (tick == ELAPSE_NEVER || tick > player->steps.until)
            break;
        if (player->look.is_animated)
            status = wait_for_next(player);
        if (status != STATUS_OK)
            break;
        advance_to(player, tick);
        status = show_picture(player);
    }
    return status;
}

enum exit_status show_step(const struct show_look *look, const struct show_steps *steps,
                           struct show_wheel *show)
{
    struct player player = {.look = *look, .steps = *steps, .show = show};

    player.fired = allocate((show->timer_count + 1) * sizeof(struct show_timer *));
    show_snapshot_take(&player.now, show);

    if (player.look.is_animated)
        enter_terminal(&player);
    enum exit_status status = play(&player);
    if (player.look.is_animated)
        leave_terminal(&player);
    if (status == STATUS_OK) {
        print_end(&player);
        status = finish_output();
    }
    free(player.fired);
    show_snapshot_free(&player.before);
    show_snapshot_free(&player.now);
    return status;
}
