/*
 * simulate [--seed N] [--runs N] [--seconds S] [--trace] [--no-shrink]
 *
 * Runs the durable queue and its journal over a disk that fails, again and again, and checks the
 * promises. seeds.h tells what becomes of a run that fails.
 */
#include <stdio.h>
#include <string.h>

#include "clients.h"
#include "seeds.h"

enum { CRASHES_MAX = 3 };

static unsigned count_steps(struct random_source *random)
{
    return 20 +
           (unsigned)random_below(random, random_one_in(random, 3) ? 200 : SEEDED_STEPS_MAX - 20);
}

/* What a run likes to do. */
struct habits {
    bool sets_clock, has_faults;
    unsigned crash_in;     /* one step in so many */
    unsigned receive_in;   /* replies leave after so many steps */
    unsigned send, commit; /* of a hundred steps: commands, and steps of the commit lane */
};

static struct habits begin_run(uint64_t seed)
{
    struct random_source random = {.state = seed ^ UINT64_C(0x5DEECE66D)};
    sim_disk_begin(random_next(&random));
    model_begin();
    /* Where all jobs have one size, records begin again where those of an earlier life did. */
    uint32_t body_size =
        random_one_in(&random, 3) ? 8 * (1 + (uint32_t)random_below(&random, 6)) : 0;
    clients_begin(body_size, random_one_in(&random, 2));
    process = (struct process){
        .booted_at = model.t,
        .capacity = random_one_in(&random, 2) ? 0 : (7 + random_below(&random, 10)) << 14,
        .interval_ms = random_one_in(&random, 6) ? 20 : 0,
    };
    model.keeps_all = process.interval_ms > 0;
    bool is_restless = random_one_in(&random, 3), is_patient = random_one_in(&random, 3);
    bool commits_seldom = random_one_in(&random, 3), has_faults = !random_one_in(&random, 4);
    process.reads_badly = has_faults && random_one_in(&random, 3);
    return (struct habits){
        .sets_clock = random_one_in(&random, 3),
        .has_faults = has_faults,
        .crash_in = is_restless ? 10 + (unsigned)random_below(&random, 60)
                                : 60 + (unsigned)random_below(&random, 800),
        .receive_in = is_patient ? 2 + (unsigned)random_below(&random, 60) : 1,
        .send = commits_seldom ? 54 : 34,
        .commit = commits_seldom ? 10 : 30,
    };
}

/* The process ended, or is ended: opens it again. */
static void crash(struct random_source *random, unsigned depth)
{
    bool failed = elapse__journal_error(process.engine.journal) != 0 || process_is_failing();
    bool loses_power = sim_disk_is_dead() || random_below(random, 3) > 0;
    bool may_lose = (loses_power || failed) && process.interval_ms > 0;
    uint64_t least = may_lose ? 0 : model.certain;
    if (clients_trace)
        (void)printf("t %lld: the process ends%s; certain %llu, last %llu\n", (long long)model.t,
                     loses_power ? " by a power cut" : "", (unsigned long long)model.certain,
                     (unsigned long long)model.seq);
    clients_forget_replies();
    process_kill();
    process_totals->crashes++;
    model.t += (int64_t)random_below(random, random_one_in(random, 4) ? 700000 : 500);
    if (loses_power) {
        sim_disk_lose_power();
        process.booted_at = model.t;
    } else {
        sim_disk_end_process();
    }
    if (random_one_in(random, 3))
        sim_disk_evict();
    if (!process_open(least, random_one_in(random, 2)) || depth == CRASHES_MAX)
        return;
    /* What ends a process often ends the next one at once. */
    if (random_one_in(random, 3))
        crash(random, depth + 1);
}

/* Stops the process as a careful owner does. */
static void stop(void)
{
    process_set_faults(false, false, false);
    elapse__queue_stop(process.engine.jobs, process_now());
    elapse__journal_stop(process.engine.journal);
    /* A lane that has nothing to do may have given the other one a group. */
    for (unsigned rests = 0; rests < 3 && !process_ended(); rests++) {
        while (process_step(ELAPSE__LANE_COMMIT) || process_step(ELAPSE__LANE_BACKGROUND))
            rests = 0;
        bool was_quiet = elapse__journal_is_quiet(process.engine.journal);
        clients_receive();
        /* A lease that is taken back, because the disk cannot read, is written, too. */
        if (was_quiet && !elapse__journal_is_quiet(process.engine.journal))
            rests = 0;
    }
    if (process_ended())
        return;
    if (!elapse__journal_is_quiet(process.engine.journal) && process.capacity == 0)
        model_violate("a clean stop leaves something to do");
    clients_receive();
    clients_forget_replies();
}

static void stop_and_start(struct random_source *random)
{
    stop();
    if (process_ended() || model.violation[0] != '\0')
        return;
    uint64_t least = elapse__journal_is_quiet(process.engine.journal) ? model.seq : model.certain;
    process_kill();
    sim_disk_end_process();
    model.t += (int64_t)random_below(random, 5000);
    (void)process_open(least, false);
}

static void arm_faults(const struct habits *habits, struct random_source *random)
{
    if (habits->has_faults)
        process_set_faults(random_one_in(random, 2), random_one_in(random, 3),
                           random_one_in(random, 8));
}

/* Links a segment elsewhere, as a backup does, or removes an old backup. From now on nobody may
 * change the file. */
static void back_up(struct random_source *random)
{
    static const char backup[] = "backup";
    struct elapse__journal_figures figures;
    char name[ELAPSE__FILE_NAME_BYTES];
    size_t size;
    elapse__journal_figures(process.engine.journal, &figures);
    if (figures.tail >= figures.head)
        return;
    /* Also one below the tail, which is about to be used again. */
    uint64_t number =
        figures.tail - random_below(random, 2) + random_below(random, figures.head - figures.tail);
    (void)snprintf(name, sizeof name, "%llu.log", (unsigned long long)number);
    bool is_there = sim_disk_content(backup, name, &size) != NULL;
    if (is_there)
        (void)sim_disk_remove(backup, name);
    else if (sim_disk_link("data/journal", name, backup) && clients_trace)
        (void)printf("t %lld: a backup links %s\n", (long long)model.t, name);
}

/* The disk cannot read for a while: not at all, or one page of each file. */
static void lose_readings(struct random_source *random)
{
    process.unreadable_page = random_one_in(random, 2) ? 0 : 1 + random_below(random, 3);
    process.unreadable_until =
        model.t + (int64_t)random_below(random, random_one_in(random, 4) ? 90000 : 3000);
    process_totals->outages++;
    if (clients_trace)
        (void)printf("t %lld: the disk cannot read until %lld, page %llu\n", (long long)model.t,
                     (long long)process.unreadable_until,
                     (unsigned long long)process.unreadable_page);
}

static void rare_step(const struct habits *habits, struct random_source *random)
{
    switch (random_below(random, 8)) {
    case 7:
        if (process.reads_badly)
            lose_readings(random);
        break;
    case 5:
        back_up(random);
        break;
    case 0:
        clients_lose_connection(random);
        break;
    case 1:
        model.t += (int64_t)random_below(random, random_one_in(random, 8) ? 900000 : 30000);
        break;
    case 2:
        if (habits->sets_clock && random_one_in(random, 2))
            model_set_wall(model.offset + (int64_t)random_below(random, 400000) - 200000);
        break;
    case 3:
        arm_faults(habits, random);
        break;
    case 4:
        if (random_one_in(random, 4))
            sim_disk_evict();
        break;
    default:
        if (random_one_in(random, 12))
            stop_and_start(random);
        break;
    }
}

static void step(const struct habits *habits, uint64_t number)
{
    struct random_source random = {.state = number};
    uint64_t kind = random_below(&random, 100);
    if (random_one_in(&random, habits->crash_in) || process_ended()) {
        crash(&random, 1);
        return;
    }
    if (kind < habits->send)
        clients_send(&random);
    else if (kind < habits->send + habits->commit)
        (void)process_step(ELAPSE__LANE_COMMIT);
    else if (kind < 80)
        (void)process_step(ELAPSE__LANE_BACKGROUND);
    else if (kind < 86)
        model.t += (int64_t)random_below(&random, 60);
    else if (kind < 90)
        process_tick();
    else if (kind < 95)
        clients_turn();
    else
        rare_step(habits, &random);
    if (process.is_open && !process_ended() && random_one_in(&random, habits->receive_in) &&
        !random_one_in(&random, 4))
        clients_receive();
}

/* ---- the end of a run ---- */

struct names {
    char names[64][48];
    unsigned count;
};

static void add_name(void *context, const char *name)
{
    struct names *names = context;
    if (names->count < 64)
        (void)snprintf(names->names[names->count++], sizeof names->names[0], "%s", name);
}

/* Damages a file of a process that was stopped; then open refuses, or has everything. Bodies that
 * are damaged are told apart. The only file is not removed: a directory without files is new. */
static void damage(struct random_source *random)
{
    struct names names = {.count = 0};
    stop();
    if (process_ended() || !elapse__journal_is_quiet(process.engine.journal) ||
        model.violation[0] != '\0')
        return;
    process_kill();
    sim_disk_end_process();
    sim_disk_names("data/journal", add_name, &names);
    const char *name = names.names[random_below(random, names.count)];
    size_t size = 0;
    uint8_t *bytes = sim_disk_content("data/journal", name, &size);
    process.is_damaged = true;
    process_totals->damages++;
    if (size == 0 || (names.count > 1 && random_one_in(random, 4))) {
        (void)sim_disk_remove("data/journal", name);
    } else {
        uint64_t place = random_below(random, random_one_in(random, 2) ? size : 1 + size / 8);
        bytes[place] ^= (uint8_t)(1U << random_below(random, 8));
    }
    if (clients_trace)
        (void)printf("t %lld: %s is damaged\n", (long long)model.t, name);
    if (!process_open(model.seq, false))
        process_totals->refused_damages++;
    else
        clients_take_all();
}

static void end_run(struct random_source *random)
{
    if (process_ended() || process_is_failing())
        crash(random, 1);
    if (!process.is_open || model.violation[0] != '\0')
        return;
    process_set_faults(false, false, false);
    (void)process_remove_backups();
    if (random_one_in(random, 3)) {
        damage(random);
        return;
    }
    clients_finish();
    if (model.violation[0] != '\0')
        return;
    struct elapse__journal_figures figures;
    for (unsigned i = 0; i < 20; i++) {
        model.t += 4000; /* longer in all than cleaning waits for a disk that could not read */
        process_tick();
        while (process_step(ELAPSE__LANE_COMMIT) || process_step(ELAPSE__LANE_BACKGROUND)) {
        }
    }
    elapse__journal_figures(process.engine.journal, &figures);
    if (!figures.disk_is_full && figures.log_bytes > 2 * figures.live_bytes + (UINT64_C(1) << 14))
        model_violate("an idle process does not clean");
}

static void run_plan(const struct seeded_plan *plan, struct seeded_run *run)
{
    struct habits habits = begin_run(plan->seed);
    struct random_source random = {.state = plan->seed};
    bool opened = process_open(0, false);
    if (opened)
        arm_faults(&habits, &random);
    for (unsigned i = 0; i < plan->count && process.is_open && model.violation[0] == '\0'; i++) {
        run->step = i;
        step(&habits, plan->steps[i]);
    }
    if (model.violation[0] == '\0' && process.is_open)
        end_run(&random);
    if (model.violation[0] == '\0' && sim_disk_has_changed_linked())
        model_violate("a file of a backup has changed");
    process_kill();
    sim_disk_end();
    model_end();
    process_totals->runs++;
    _Static_assert(sizeof run->violation == sizeof model.violation, "it fits");
    memcpy(run->violation, model.violation, sizeof run->violation);
}

static void print_totals(void)
{
    const struct process_totals *totals = process_totals;
    (void)printf("%llu runs: %llu crashes, %llu more during recovery, %llu starts; %llu commands, "
                 "%llu replies, %llu groups, %llu refused by a full disk; %llu arrivals, %llu "
                 "gathered, %llu transactions; %llu limits, %llu times all ready jobs were held; "
                 "%llu damaged, %llu of "
                 "them refused, %llu jobs buried; %llu times the disk could not read: %llu "
                 "hand-outs in vain, %llu "
                 "jobs put aside, %llu rests\n",
                 (unsigned long long)totals->runs, (unsigned long long)totals->crashes,
                 (unsigned long long)totals->in_recovery, (unsigned long long)totals->opens,
                 (unsigned long long)totals->commands, (unsigned long long)totals->replies,
                 (unsigned long long)totals->groups, (unsigned long long)totals->full,
                 (unsigned long long)totals->arrivals, (unsigned long long)totals->gathered,
                 (unsigned long long)totals->transactions, (unsigned long long)totals->limits,
                 (unsigned long long)totals->held, (unsigned long long)totals->damages,
                 (unsigned long long)totals->refused_damages, (unsigned long long)totals->buried,
                 (unsigned long long)totals->outages, (unsigned long long)totals->unread,
                 (unsigned long long)totals->put_aside, (unsigned long long)totals->rested);
}

static void count_in(void *totals)
{
    process_totals = totals;
}

int main(int argc, char **argv)
{
    static const struct seeded_program program = {
        .name = "simulate",
        .trace = &clients_trace,
        .count_steps = count_steps,
        .run = run_plan,
        .totals_bytes = sizeof *process_totals,
        .count_in = count_in,
        .print_totals = print_totals,
    };
    return seeded_main(&program, argc, argv);
}
