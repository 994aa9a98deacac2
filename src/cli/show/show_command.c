/*
 * elapse show: a timing wheel, drawn.
 *
 * The command line is read here; show_model looks at the wheel, show_draw draws
 * it, and show_path and show_step tell what happens in it as time goes by.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <elapse/timer.h>

#include "../common/command.h"
#include "../common/duration.h"
#include "../common/message.h"
#include "../common/random.h"
#include "../common/text.h"
#include "canvas.h"
#include "draw.h"
#include "model.h"
#include "path.h"
#include "step.h"

#define RANDOM_MAX        100000
#define SLOTS_DRAWN_MAX   4096 /* on a level */
#define RANDOM_DELAY_BITS 20
#define PAUSE_DEFAULT_NS  UINT64_C(800000000)
#define PAUSE_MAX_NS      UINT64_C(3600000000000)

/* Three levels; slots with one timer and with several; company that takes others
 * down, 140 and 200 soon, and one timer, 30050, level by level. */
static const uint64_t default_delays[] = {3, 130, 140, 200, 1000, 28000, 30000, 30050, 300000};

/* On level 2, so that its way down has three stops. */
static const uint64_t default_path_delay = 20000;

enum { DEFAULT_COUNT = sizeof default_delays / sizeof default_delays[0] };

enum show_option {
    OPTION_STRUCTURE = 256,
    OPTION_SLOTS,
    OPTION_NOW,
    OPTION_RANDOM,
    OPTION_SEED,
    OPTION_ALL,
    OPTION_ASCII,
    OPTION_PATH,
    OPTION_STEP,
    OPTION_EVERY,
    OPTION_UNTIL,
    OPTION_PAUSE,
};

struct show_request {
    const char *program;
    struct structure_choice choice;
    const char *structure; /* as given, or NULL */
    const char *slots;     /* as given, or NULL */
    char *choice_text;     /* what both come to */
    uint64_t now;
    uint64_t random_count; /* 0: not asked for */
    uint64_t seed;
    bool has_seed;
    bool all_slots;
    bool ascii_only;
    bool path;
    bool step;
    const char *step_option; /* the first one given that needs --step, or NULL */
    struct show_steps steps;

    uint64_t *deadlines;
    size_t count;
};

static enum exit_status print_help(void)
{
    fputs("Usage: elapse show [OPTION]... [TIMER]...\n"
          "       elapse show --path [OPTION]... [TIMER]...\n"
          "       elapse show --step [OPTION]... [TIMER]...\n"
          "\n"
          "Draws a timing wheel: its levels, their slots, and the timers in them. A TIMER is\n"
          "a delay in ticks, or @TICK for a deadline. Without any, a few are made up. The last\n"
          "tick is 18446744073709551614; a timer that would be due later is never due.\n"
          "\n"
          "Options:\n"
          "  --structure NAME what to draw: wheel (default), dials or hashed; with the slots of\n"
          "                   its levels, dials:60,60,24,30 or hashed:10; dials:10 grow\n"
          "  --slots LIST     the slots of its levels, apart from the name; alone: of dials\n"
          "  --now T          the tick at which the timers are started (default 0)\n"
          "  --random N       N timers with random delays, 1 to 100000, as many short as long\n"
          "  --seed S         another seed gives other delays (default 1)\n"
          "  --all            list every occupied slot\n"
          "  --ascii          plain ASCII on a terminal too; NO_COLOR=1 goes without colour\n"
          "  --help           show this\n"
          "\n"
          "  --path           show the way of each timer down the levels until it fires\n"
          "\n"
          "  --step           play it, from wake-up to wake-up\n"
          "  --every TICKS    with --step: from one tick to another, so far apart\n"
          "  --until TICK     with --step: no further than this tick\n"
          "  --pause TIME     with --step, between pictures on a terminal (default 800ms)\n"
          "\n"
          "Examples:\n"
          "  elapse show\n"
          "  elapse show 5 200 20000\n"
          "  elapse show --path 20000\n"
          "  elapse show --slots 10,10,10 2 15 250\n"
          "  elapse show --path --structure hashed:60 600\n"
          "  elapse show --step --pause 2s\n",
          stdout);
    return finish_output();
}

/* ---- the command line ---- */

static bool parse_pause(const char *text, uint64_t *pause_ns)
{
    uint64_t duration_ns;

    if (duration_parse(text, &duration_ns) != NULL || duration_ns > PAUSE_MAX_NS)
        return false;
    *pause_ns = duration_ns;
    return true;
}

/* Reads a number for what `form` says ("--now takes a tick"). */
static enum exit_status read_number(const char *program, const char *form, const char *text,
                                    uint64_t least, uint64_t most, uint64_t *number)
{
    if (parse_number(text, least, most, number))
        return STATUS_OK;
    if (*text == '\0' || text[strspn(text, "0123456789")] != '\0')
        return usage_error(program, "%s, not %s", form, quote_string(text).text);
    bool is_below = parse_number(text, 0, most, number);
    return usage_error(program, "%s: %s is %s %" PRIu64, form, quote_string(text).text,
                       is_below ? "below" : "above", is_below ? least : most);
}

static enum exit_status apply_option(struct show_request *request, int option, const char *value)
{
    const char *program = request->program;
    struct show_steps *steps = &request->steps;

    switch (option) {
    case OPTION_STRUCTURE:
        request->structure = value;
        return STATUS_OK;
    case OPTION_SLOTS:
        request->slots = value;
        return STATUS_OK;
    case OPTION_NOW:
        return read_number(program, "--now takes a tick", value, 0, ELAPSE_TIME_MAX, &request->now);
    case OPTION_RANDOM:
        return read_number(program, "--random takes a number from 1 to 100000", value, 1,
                           RANDOM_MAX, &request->random_count);
    case OPTION_SEED:
        request->has_seed = true;
        return read_number(program, "--seed takes a number", value, 0, UINT64_MAX, &request->seed);
    case OPTION_EVERY:
        request->step_option = "--every";
        return read_number(program, "--every takes a number of ticks from 1", value, 1,
                           ELAPSE_TIME_MAX, &steps->every_ticks);
    case OPTION_UNTIL:
        request->step_option = "--until";
        return read_number(program, "--until takes a tick", value, 0, ELAPSE_TIME_MAX,
                           &steps->until);
    case OPTION_PAUSE:
        request->step_option = "--pause";
        if (parse_pause(value, &steps->pause_ns))
            return STATUS_OK;
        return usage_error(program,
                           "--pause takes a duration up to 1h, such as 200ms or 1.5s, not %s",
                           quote_string(value).text);
    case OPTION_ALL:
        request->all_slots = true;
        return STATUS_OK;
    case OPTION_ASCII:
        request->ascii_only = true;
        return STATUS_OK;
    case OPTION_PATH:
        request->path = true;
        return STATUS_OK;
    default:
        request->step = true;
        return STATUS_OK;
    }
}

/* The structure to draw, out of --structure and --slots. */
static enum exit_status choose_structure(struct show_request *request)
{
    const char *name = request->structure != NULL ? request->structure : "dials";
    struct structure_choice *choice = &request->choice;
    enum exit_status status;

    if (request->slots == NULL && request->structure == NULL)
        return STATUS_OK;
    if (request->slots == NULL) {
        status = structure_choice_parse(choice, request->program, "--structure", name);
    } else {
        if (strchr(name, ':') != NULL)
            return usage_error(request->program, "the slots are in --structure already, and in "
                                                 "--slots again");
        request->choice_text = allocate(strlen(name) + strlen(request->slots) + 2);
        sprintf(request->choice_text, "%s:%s", name, request->slots);
        status = structure_choice_parse(choice, request->program, "--slots", request->choice_text);
    }
    if (status != STATUS_OK)
        return status;
    if (choice->structure->is_bounded)
        return usage_error(request->program, "--structure: the %s has no slots to draw",
                           choice->structure->name);
    for (size_t level = 0; choice->shape != NULL && level < choice->shape->levels; level++) {
        if (choice->shape->slots[level] > SLOTS_DRAWN_MAX)
            return usage_error(request->program, "%" PRIu32 " slots are too many to draw: up to %d",
                               choice->shape->slots[level], SLOTS_DRAWN_MAX);
    }
    return STATUS_OK;
}

/* The options that do not go together. */
static enum exit_status check_options(const struct show_request *request, int timer_count)
{
    const char *program = request->program;

    if (request->path && request->step)
        return usage_error(program, "--path and --step do not go together");
    if (request->step_option != NULL && !request->step)
        return usage_error(program, "%s needs --step", request->step_option);
    if (request->all_slots && (request->path || request->step))
        return usage_error(program, "--all goes neither with --path nor with --step");
    if (request->has_seed && request->random_count == 0)
        return usage_error(program, "--seed needs --random");
    if (request->random_count > 0 && timer_count > 0)
        return usage_error(program, "give timers or --random, not both");
    return STATUS_OK;
}

/* A delay that is as likely to have few bits as many. */
static uint64_t random_delay(struct random *random)
{
    uint64_t most_significant = UINT64_C(1) << random_below(random, RANDOM_DELAY_BITS);

    return most_significant | (random_next(random) & (most_significant - 1));
}

/* Reads a TIMER; one that is due after the last tick is never due. */
static enum exit_status read_timer(const struct show_request *request, const char *text,
                                   uint64_t *deadline)
{
    bool is_deadline = *text == '@';
    const char *form =
        is_deadline ? "@ takes a tick" : "a timer is a delay in ticks, or @ and a tick";
    uint64_t ticks = 0;
    enum exit_status status =
        read_number(request->program, form, text + is_deadline, 0, UINT64_MAX, &ticks);
    *deadline = is_deadline ? ticks : elapse_deadline_after(request->now, ticks);
    return status;
}

/* TIMERs are read into deadlines; others are drawn, or those by default taken. */
static enum exit_status choose_deadlines(struct show_request *request, int count, char **timers)
{
    struct random random = {request->seed};
    const uint64_t *defaults = request->path ? &default_path_delay : default_delays;
    size_t default_count = request->path ? 1 : DEFAULT_COUNT;
    enum exit_status status = STATUS_OK;

    request->count = count > 0                   ? (size_t)count
                     : request->random_count > 0 ? (size_t)request->random_count
                                                 : default_count;
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

    show_snapshot_take(&snapshot, show);
    canvas_begin(&canvas, look);
    draw_wheel(&canvas, show, &snapshot, request->all_slots);
    canvas_end_line(&canvas);
    draw_legend(&canvas, show->geometry.design);
    canvas_print(&canvas);
    show_snapshot_free(&snapshot);
    return finish_output();
}

static enum exit_status show_paths(const struct show_request *request, const struct show_look *look)
{
    enum exit_status status = STATUS_OK;
    struct show_canvas canvas;

    for (size_t i = 0; i < request->count && status == STATUS_OK; i++) {
        status = show_path(look, &request->choice, request->now, request->deadlines[i]);
        putchar('\n');
        if (status == STATUS_OK)
            status = finish_output();
    }
    if (status != STATUS_OK)
        return status;
    canvas_begin(&canvas, look);
    draw_legend(&canvas, show_design_of(request->choice.structure));
    canvas_print(&canvas);
    return finish_output();
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
    enum exit_status status = request->step ? show_step(&look, &request->steps, show)
                                            : show_picture(request, &look, show);
    show_wheel_free(show);
    return status;
}

enum exit_status show_command(int argc, char **argv)
{
    static const struct option options[] = {
        {"structure", required_argument, NULL, OPTION_STRUCTURE},
        {"slots", required_argument, NULL, OPTION_SLOTS},
        {"now", required_argument, NULL, OPTION_NOW},
        {"random", required_argument, NULL, OPTION_RANDOM},
        {"seed", required_argument, NULL, OPTION_SEED},
        {"all", no_argument, NULL, OPTION_ALL},
        {"ascii", no_argument, NULL, OPTION_ASCII},
        {"path", no_argument, NULL, OPTION_PATH},
        {"step", no_argument, NULL, OPTION_STEP},
        {"every", required_argument, NULL, OPTION_EVERY},
        {"until", required_argument, NULL, OPTION_UNTIL},
        {"pause", required_argument, NULL, OPTION_PAUSE},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct show_request request = {
        .program = argv[0],
        .seed = 1,
        .steps = {.until = ELAPSE_NEVER, .pause_ns = PAUSE_DEFAULT_NS},
    };
    int option;

    structure_choice_default(&request.choice);
    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (option == 'h')
            return print_help();
        if (option == '?')
            return usage_hint(argv[0]);
        enum exit_status fault = apply_option(&request, option, optarg);
        if (fault != STATUS_OK)
            return fault;
    }
    enum exit_status status = check_options(&request, argc - optind);
    if (status == STATUS_OK)
        status = choose_structure(&request);
    if (status == STATUS_OK)
        status = choose_deadlines(&request, argc - optind, argv + optind);
    if (status == STATUS_OK)
        status = show_requested(&request);
    free(request.deadlines);
    free(request.choice_text);
    return status;
}
