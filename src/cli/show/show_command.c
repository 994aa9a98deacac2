/*
 * elapse show: draws a timing wheel. This file reads the command line, and draws the pictures.
 */

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <elapse/timer.h>

#include "../../base/assert.h"
#include "../common/command.h"
#include "../common/options.h"
#include "../common/output.h"
#include "../common/random.h"
#include "../common/structure_choice.h"
#include "../common/text.h"
#include "canvas.h"
#include "draw.h"
#include "model.h"
#include "path.h"
#include "step.h"

#define RANDOM_MAX        100000
#define SLOTS_DRAWN_MAX   4096 /* slots of a level */
#define RANDOM_DELAY_BITS 20
#define PAUSE_DEFAULT_NS  UINT64_C(800000000)
#define PAUSE_MAX_NS      UINT64_C(3600000000000)

/* The default timers show three levels, slots with one timer and with several, a cascade that comes
 * soon (delays of 140 and 200), and a timer that moves down level by level (30050). */
static const uint64_t default_delays[] = {3, 300, 310, 370, 1000, 28000, 30000, 30050, 300000};

/* The default timer of --path is on level 2, so its way down has three stops. */
static const uint64_t default_path_delay = 20000;

enum { DEFAULT_COUNT = sizeof default_delays / sizeof default_delays[0] };

struct show_request {
    struct structure_choice choice;
    const char *structure; /* the value of --structure, or NULL */
    const char *slots;     /* the value of --slots, or NULL */
    char *choice_text;     /* both in one text; or NULL */
    uint64_t now;
    uint64_t random_count; /* 0: without --random */
    uint64_t seed;
    bool has_seed;
    bool all_slots;
    bool ascii_only;
    bool path;
    bool step;
    bool has_every;
    bool has_until;
    bool has_pause;
    struct show_steps steps;

    uint64_t *deadlines;
    size_t count;
};

/* ---- the command line ---- */

static const struct command_help help = {
    .usage = "Usage: elapse show [OPTION]... [TIMER]...\n"
             "       elapse show --path [OPTION]... [TIMER]...\n"
             "       elapse show --step [OPTION]... [TIMER]...\n",
    .purpose = "Draws a timing wheel: its levels, their slots, and the timers in them. A TIMER\n"
               "is a delay in ticks, or @TICK for a deadline. Without any, a few are made up.\n"
               "The last tick is 18446744073709551614; a timer that would be due later is never\n"
               "due.\n",
    .example = "Examples:\n"
               "  elapse show\n"
               "  elapse show 5 200 20000\n"
               "  elapse show --path 20000\n"
               "  elapse show --slots 10,10,10 2 15 250\n"
               "  elapse show --path --structure hashed:60 600\n"
               "  elapse show --step --pause 2s\n",
};

/* Reads a number. If the text is no number, prints a message that has `form` in it, such as "@
 * takes a tick". */
static enum exit_status read_number(const char *form, const char *text, uint64_t *number)
{
    if (parse_number(text, 0, UINT64_MAX, number))
        return STATUS_OK;
    if (*text == '\0' || text[strspn(text, "0123456789")] != '\0')
        return usage_error("%s, not %s", form, quote_string(text).text);
    return usage_error("%s: %s is above %" PRIu64, form, quote_string(text).text, UINT64_MAX);
}

/* Chooses the structure to draw from --structure and --slots. */
static enum exit_status choose_structure(struct show_request *request)
{
    const char *name = request->structure != NULL ? request->structure : "dials";
    struct structure_choice *choice = &request->choice;
    enum exit_status status;

    if (request->slots == NULL && request->structure == NULL)
        return STATUS_OK;
    if (request->slots == NULL) {
        status = structure_choice_parse(choice, "--structure", name);
    } else {
        if (strchr(name, ':') != NULL)
            return usage_error("--structure has slots already, and --slots has others");
        size_t bytes = strlen(name) + strlen(request->slots) + 2;
        request->choice_text = allocate(bytes);
        (void)snprintf(request->choice_text, bytes, "%s:%s", name, request->slots);
        status = structure_choice_parse(choice, "--slots", request->choice_text);
    }
    if (status != STATUS_OK)
        return status;
    if (choice->structure->is_bounded)
        return usage_error("--structure: the %s has no slots to draw", choice->structure->name);
    for (size_t level = 0; choice->shape != NULL && level < choice->shape->levels; level++) {
        if (choice->shape->slots[level] > SLOTS_DRAWN_MAX)
            return usage_error("%" PRIu32 " slots are too many to draw: up to %d",
                               choice->shape->slots[level], SLOTS_DRAWN_MAX);
    }
    return STATUS_OK;
}

/* Refuses options that exclude each other. */
static enum exit_status check_options(const struct show_request *request, int timer_count)
{
    if (request->path && request->step)
        return usage_error("--path and --step do not go together");
    const char *step_option = request->has_every   ? "--every"
                              : request->has_until ? "--until"
                              : request->has_pause ? "--pause"
                                                   : NULL;
    if (step_option != NULL && !request->step)
        return usage_error("%s needs --step", step_option);
    if (request->all_slots && (request->path || request->step))
        return usage_error("--all goes neither with --path nor with --step");
    if (request->has_seed && request->random_count == 0)
        return usage_error("--seed needs --random");
    if (request->random_count > 0 && timer_count > 0)
        return usage_error("give timers or --random, not both");
    return STATUS_OK;
}

/* Returns a random delay. Each number of bits is equally likely. */
static uint64_t random_delay(struct random *random)
{
    uint64_t most_significant = UINT64_C(1) << random_below(random, RANDOM_DELAY_BITS);

    ELAPSE__ASSERT(random != NULL);
    return most_significant | (random_next(random) & (most_significant - 1));
}

/* Reads a TIMER into its deadline. A timer that would be due after the last tick is never due. */
static enum exit_status read_timer(const struct show_request *request, const char *text,
                                   uint64_t *deadline)
{
    bool is_deadline = *text == '@';
    const char *form =
        is_deadline ? "@ takes a tick" : "a timer is a delay in ticks, or @ and a tick";
    uint64_t ticks = 0;
    enum exit_status status = read_number(form, text + is_deadline, &ticks);

    *deadline = is_deadline ? ticks : elapse_deadline_after(request->now, ticks);
    return status;
}

/* Stores the deadlines: those of the TIMERs on the command line, random ones, or the default
 * ones. */
static enum exit_status choose_deadlines(struct show_request *request, int count, char **timers)
{
    struct random random = {request->seed};
    const uint64_t *defaults = request->path ? &default_path_delay : default_delays;
    size_t default_count = request->path ? 1 : DEFAULT_COUNT;
    enum exit_status status = STATUS_OK;

    request->count = count > 0                   ? (size_t)count
                     : request->random_count > 0 ? (size_t)request->random_count
                                                 : default_count;
    ELAPSE__ASSERT(request->count > 0);
    request->deadlines = allocate(request->count * sizeof *request->deadlines);
    for (size_t i = 0; i < request->count && status == STATUS_OK; i++) {
        uint64_t *deadline = &request->deadlines[i];
        if (count > 0)
            status = read_timer(request, timers[i], deadline);
        else if (request->random_count > 0)
            *deadline = elapse_deadline_after(request->now, random_delay(&random));
        else
            *deadline = elapse_deadline_after(request->now, defaults[i]);
    }
    return status;
}

/* ---- the pictures ---- */

static enum exit_status show_picture(const struct show_request *request,
                                     const struct show_look *look, const struct show_wheel *show)
{
    struct show_canvas canvas;
    struct show_snapshot snapshot = {.now = 0};

    ELAPSE__ASSERT(!request->path);
    show_snapshot_take(&snapshot, show);
    canvas_begin(&canvas, look);
    draw_wheel(&canvas, show, &snapshot, request->all_slots);
    canvas_end_line(&canvas);
    draw_legend(&canvas, show->geometry.design);
    canvas_print(&canvas);
    show_snapshot_free(&snapshot);
    return output_finish();
}

static enum exit_status show_paths(const struct show_request *request, const struct show_look *look)
{
    enum exit_status status = STATUS_OK;
    struct show_canvas canvas;

    ELAPSE__ASSERT(request->path);
    for (size_t i = 0; i < request->count && status == STATUS_OK; i++) {
        status = show_path(look, &request->choice, request->now, request->deadlines[i]);
        output_add_text("\n");
        if (status == STATUS_OK)
            status = output_finish();
    }
    if (status != STATUS_OK)
        return status;
    canvas_begin(&canvas, look);
    draw_legend(&canvas, show_design_of(request->choice.structure));
    canvas_print(&canvas);
    return output_finish();
}

static enum exit_status show_requested(const struct show_request *request)
{
    struct show_look look = show_look_of_output(request->ascii_only);

    if (request->path)
        return show_paths(request, &look);
    struct show_wheel *show =
        show_wheel_new(&request->choice, request->now, request->deadlines, request->count);
    if (show == NULL)
        return STATUS_FAILED;
    struct show_steps steps = request->steps;
    steps.plays = request->has_pause;
    enum exit_status status =
        request->step ? show_step(&look, &steps, show) : show_picture(request, &look, show);
    show_wheel_free(show);
    return status;
}

static enum exit_status show_with(struct show_request *request, const struct command_line *line)
{
    enum exit_status status = check_options(request, line->argument_count);

    if (status == STATUS_OK)
        status = choose_structure(request);
    if (status == STATUS_OK)
        status = choose_deadlines(request, line->argument_count, line->arguments);
    if (status == STATUS_OK)
        status = show_requested(request);
    free(request->deadlines);
    free(request->choice_text);
    return status;
}

/* Reads the command line. Returns what options_read does. */
static bool read_options(struct show_request *request, struct command_line *line, int argc,
                         char **argv, enum exit_status *status)
{
    const struct command_option table[] = {
        option_text("structure", "NAME", &request->structure,
                    "what to draw: wheel (the default), dials or hashed, or with the slots of the "
                    "levels: dials:60,60,24,30 or hashed:10; dials:10 grow"),
        option_text(
            "slots", "LIST", &request->slots,
            "the slots of the levels, finest first; dials unless --structure says otherwise"),
        option_number("now", "TICK", &request->now, 0, ELAPSE_TIME_MAX,
                      "the tick at which the timers are started (default 0)"),
        option_number("random", "N", &request->random_count, 1, RANDOM_MAX,
                      "draw N timers with random delays, 1 to 100000, as many short as long"),
        option_noting(&request->has_seed,
                      option_number("seed", "S", &request->seed, 0, UINT64_MAX,
                                    "another seed gives other delays (default 1)")),
        option_noting(&request->has_every,
                      option_number("every", "TICKS", &request->steps.every_ticks, 1,
                                    ELAPSE_TIME_MAX,
                                    "with --step: one picture every so many ticks")),
        option_noting(&request->has_until,
                      option_number("until", "TICK", &request->steps.until, 0, ELAPSE_TIME_MAX,
                                    "with --step: no picture after this tick")),
        option_noting(
            &request->has_pause,
            option_duration(
                "pause", &request->steps.pause_ns, 0, PAUSE_MAX_NS,
                "with --step: play at once on a terminal, with this pause (800ms after p)")),
        option_flag("all", &request->all_slots, "list every occupied slot"),
        option_flag("ascii", &request->ascii_only,
                    "use plain ASCII on a terminal too; NO_COLOR=1 leaves out colour"),
        option_flag("path", &request->path,
                    "show the way of each timer down the levels until it fires"),
        option_flag(
            "step", &request->step,
            "show the wheel from wake-up to wake-up; on a terminal: space steps, b goes back, "
            "p plays, q quits"),
    };

    *line = (struct command_line)COMMAND_LINE(help, table);
    return options_read(line, argc, argv, status);
}

enum exit_status show_command(int argc, char **argv)
{
    struct show_request request = {
        .seed = 1,
        .steps = {.until = ELAPSE_NEVER, .pause_ns = PAUSE_DEFAULT_NS},
    };
    struct command_line line;
    enum exit_status status;

    structure_choice_default(&request.choice);
    if (!read_options(&request, &line, argc, argv, &status))
        return status;
    return show_with(&request, &line);
}
