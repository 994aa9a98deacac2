/*
 * journal-crash [--seed N] [--runs N]: runs the journal alone. Its disk loses power at any moment,
 * also during a recovery of the journal. Each run has a seed of its own. The program prints the
 * seed of a run that fails, and `--seed N --runs 1` repeats that run.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numbered_owner.h"
#include "sim_disk.h"

enum { SEGMENT_BITS = 14, BACKUP_FILES = 16, LIVES_MAX = 6 };

struct run {
    struct owner owner;
    uint64_t now_ms;
    uint32_t interval_ms;
    uint64_t capacity;
    struct elapse__operation operations[ELAPSE__JOURNAL_LANES];
    int steps[ELAPSE__JOURNAL_LANES]; /* 0: none; 1: asked for; 2: performed */
    char backups[BACKUP_FILES][ELAPSE__FILE_NAME_BYTES];
    unsigned backup_count;
    const char *violation;
    bool is_quick; /* many small commands, so that groups are small */
};

/* The simulated disk, in some runs with pages. */
static struct elapse__files files;

static struct totals {
    uint64_t crashes, crashes_in_recovery, opens, commands, groups, rotations, full;
} totals;

static uint64_t below(uint64_t limit)
{
    return sim_disk_random() % limit;
}

static bool violate(struct run *run, const char *what)
{
    if (run->violation == NULL)
        run->violation = what;
    return false;
}

/* ---- one life ---- */

static bool open_journal(struct run *run, struct elapse__journal_refusal *refusal)
{
    totals.opens++;
    return owner_open(&run->owner, &files, SEGMENT_BITS, run->interval_ms, refusal);
}

/* Moves a lane by one step: an operation is asked for, performed, or completed. */
static bool step_lane(struct run *run, enum elapse__journal_lane lane)
{
    struct elapse__journal *journal = run->owner.journal;
    struct elapse__operation *operation = &run->operations[lane];
    switch (run->steps[lane]) {
    case 0:
        if (!elapse__journal_next_operation(journal, lane, operation))
            return false;
        run->steps[lane] = 1;
        return true;
    case 1:
        elapse__operation_perform(journal, operation);
        run->steps[lane] = 2;
        return true;
    default:
        run->steps[lane] = 0;
        elapse__journal_completed(journal, lane, operation);
        owner_acknowledge(&run->owner);
        return true;
    }
}

static bool process_ended(const struct run *run)
{
    return elapse__journal_error(run->owner.journal) != 0 || sim_disk_is_dead();
}

/* Returns whether a call has failed of which the journal does not know yet. */
static bool failure_is_under_way(const struct run *run)
{
    return (run->steps[0] == 2 && run->operations[0].error != 0) ||
           (run->steps[1] == 2 && run->operations[1].error != 0);
}

/* Lets the journal work until it has nothing more to do. */
static void work(struct run *run)
{
    bool goes_on = true;
    while (goes_on && !process_ended(run)) {
        goes_on = step_lane(run, ELAPSE__LANE_COMMIT);
        goes_on |= step_lane(run, ELAPSE__LANE_BACKGROUND);
    }
}

static uint32_t body_size(struct run *run)
{
    uint64_t kind = below(16);
    if (kind < 6)
        return (uint32_t)below(2) * 8; /* records of the size of a SEAL, and near it */
    if (kind < 14)
        return (uint32_t)below(run->is_quick ? 100 : 700);
    return (uint32_t)below(4000);
}

static void command(struct run *run)
{
    struct owner *owner = &run->owner;
    uint32_t job = owner_any_live(owner, sim_disk_random());
    uint64_t kind = below(10);
    int error;
    if (elapse__journal_is_full(owner->journal))
        return;
    if (job == OWNER_JOBS_MAX || kind < 5)
        error = owner_put(owner, body_size(run), ELAPSE__RECORD_FOR_GROWTH);
    else if (kind < 6)
        error = owner_change(owner, job, (uint32_t)sim_disk_random());
    else if (kind < 9)
        error = owner_delete(owner, job);
    else
        error = owner_replace(owner, job, body_size(run));
    totals.commands += error == 0;
    totals.full += error == ENOSPC;
    if (error != 0 && error != ENOSPC && error != EAGAIN && !process_ended(run))
        violate(run, "a command is refused for no reason");
}

/* Links a sealed segment elsewhere. From now on the file must not be changed. */
static void back_up(struct run *run)
{
    struct elapse__journal_figures figures;
    elapse__journal_figures(run->owner.journal, &figures);
    if (run->backup_count == BACKUP_FILES || figures.tail >= figures.head)
        return;
    /* Also one that is about to be used again. */
    uint64_t number = figures.tail - below(2) + below(figures.head - figures.tail);
    char *name = run->backups[run->backup_count];
    (void)snprintf(name, ELAPSE__FILE_NAME_BYTES, "%llu.log", (unsigned long long)number);
    size_t size;
    if (sim_disk_content("backup", name, &size) == NULL &&
        sim_disk_link("data/journal", name, "backup"))
        run->backup_count++;
}

static void check_backups(struct run *run)
{
    if (sim_disk_has_changed_linked())
        violate(run, "a file of a backup has changed");
    for (unsigned i = 0; i < run->backup_count; i++)
        (void)sim_disk_remove("backup", run->backups[i]);
    run->backup_count = 0;
}

static void turn(struct run *run)
{
    uint64_t kind = below(64);
    if (kind < 18)
        command(run);
    else if (kind < 44)
        (void)step_lane(run, ELAPSE__LANE_COMMIT);
    else if (kind < 60)
        (void)step_lane(run, ELAPSE__LANE_BACKGROUND);
    else if (kind < 62)
        run->now_ms += below(80);
    else if (kind == 62)
        elapse__journal_tick(run->owner.journal, run->now_ms);
    else if (below(4) == 0)
        back_up(run);
}

/* Ends this life: what was under way gets no result any more. */
static void end_life(struct run *run)
{
    struct elapse__journal_figures figures;
    elapse__journal_figures(run->owner.journal, &figures);
    totals.groups += figures.groups;
    for (int lane = 0; lane < ELAPSE__JOURNAL_LANES; lane++) {
        struct elapse__operation *operation = &run->operations[lane];
        if (run->steps[lane] != 0) {
            bool created = run->steps[lane] == 2 && operation->error == 0 &&
                           operation->kind == ELAPSE__OPERATION_CREATE;
            if (created)
                sim_disk_files.close(operation->file);
            operation->error = EIO;
            elapse__journal_completed(run->owner.journal, (enum elapse__journal_lane)lane,
                                      operation);
        }
        run->steps[lane] = 0;
    }
    elapse__journal_free(run->owner.journal);
    run->owner.journal = NULL;
}

static void no_faults(const struct run *run)
{
    sim_disk_set_faults(&(struct sim_disk_faults){.capacity = run->capacity, .short_write_in = 9});
}

/* Opens after a crash, with crashes and failures in between. Returns false on a violation. */
static bool recover(struct run *run, uint32_t oldest)
{
    struct elapse__journal_refusal refusal;
    for (unsigned attempt = 0;; attempt++) {
        struct sim_disk_faults faults = {.capacity = run->capacity, .short_write_in = 9};
        if (attempt < 4 && below(2) == 0)
            faults.crash_after_calls = 1 + below(120);
        if (attempt < 4 && below(4) == 0)
            faults.failed_sync_in = 4;
        sim_disk_set_faults(&faults);
        if (open_journal(run, &refusal))
            break;
        if (run->owner.broken != NULL)
            return violate(run, run->owner.broken);
        if (refusal.fault != ELAPSE__FAULT_CALL) {
            fprintf(stderr, "refusal %d, %s at %llu\n", (int)refusal.fault, refusal.file,
                    (unsigned long long)refusal.offset);
            return violate(run, "open refuses after an ordinary crash");
        }
        if (attempt >= 4)
            return violate(run, "open fails without a failing call");
        totals.crashes_in_recovery++;
        if (!sim_disk_is_dead() && below(2) == 0) {
            sim_disk_end_process();
            continue;
        }
        sim_disk_lose_power();
        if (run->interval_ms > 0)
            oldest = 0;
    }
    if (run->owner.broken != NULL)
        return violate(run, run->owner.broken);
    if (!owner_matches(&run->owner, oldest)) {
        uint32_t acknowledged = run->owner.acknowledged;
        fprintf(stderr, "acknowledged %u of %u commands\n", acknowledged,
                run->owner.command_count - 1);
        return violate(run, "the jobs are not those after any command that may be the last");
    }
    return true;
}

/* What must hold when nothing fails any more, and the journal has had its time. */
static void check_rest(struct run *run)
{
    struct elapse__journal_figures figures;
    no_faults(run);
    for (unsigned i = 0; i < 30 && !process_ended(run); i++) {
        run->now_ms += 1100;
        elapse__journal_tick(run->owner.journal, run->now_ms);
        work(run);
    }
    if (process_ended(run)) {
        violate(run, "the journal ends without a failing call");
        return;
    }
    if (!elapse__journal_is_quiet(run->owner.journal) ||
        run->owner.acknowledged + 1 != run->owner.command_count)
        violate(run, "not everything became durable");
    elapse__journal_figures(run->owner.journal, &figures);
    uint64_t live_bytes = run->owner.live_bytes;
    if (figures.live_bytes != (live_bytes < figures.log_bytes ? live_bytes : figures.log_bytes))
        violate(run, "live bytes are counted wrongly");
    /* A reading of the tail that failed has pinned it. */
    if (!figures.disk_is_full && !figures.is_pinned &&
        figures.log_bytes > 2 * figures.live_bytes + (UINT64_C(1) << SEGMENT_BITS))
        violate(run, "an idle journal does not clean");
    const char *wrong = owner_read_all(&run->owner);
    if (wrong != NULL)
        violate(run, wrong);
}

static void pass_time(struct run *run)
{
    for (unsigned i = 0; i < 4 && !process_ended(run); i++) {
        run->now_ms += 1100;
        elapse__journal_tick(run->owner.journal, run->now_ms);
        work(run);
    }
}

/* Appends changes, which end no job, until some segments are full of them or the disk refuses. */
static void change_on_full_disk(struct run *run)
{
    struct owner *owner = &run->owner;
    for (unsigned i = 0; i < 2000 && owner->live_count > 0; i++) {
        (void)owner_change(owner, owner_any_live(owner, sim_disk_random()), 2);
        if (below(8) == 0)
            work(run);
    }
    work(run);
}

/* Fills the disk to the brim. Deletes must be possible all the time, and then there is space again.
 */
static void check_full_disk(struct run *run)
{
    struct owner *owner = &run->owner;
    uint32_t most = OWNER_COMMANDS_MAX / 2 - 2;
    int error = 0;
    while (error != ENOSPC && owner->command_count < most && owner->live_count < most) {
        error = owner_put(owner, 900, ELAPSE__RECORD_FOR_GROWTH);
        work(run);
        if (error != 0)
            pass_time(run);
    }
    if (run->is_quick)
        change_on_full_disk(run);
    while (owner->live_count > 0 && owner->command_count < OWNER_COMMANDS_MAX) {
        error = owner_delete(owner, owner_any_live(owner, 0));
        for (unsigned i = 0; i < 5 && error != 0; i++) {
            pass_time(run);
            error = owner_delete(owner, owner_any_live(owner, 0));
        }
        work(run);
        if (process_ended(run)) {
            violate(run, "the journal ends on a full disk");
            return;
        }
        if (error != 0) {
            violate(run, "a full disk refuses a delete");
            return;
        }
    }
    pass_time(run);
    if (owner->command_count < OWNER_COMMANDS_MAX &&
        owner_put(owner, 100, ELAPSE__RECORD_FOR_GROWTH) != 0)
        violate(run, "no space comes back after deletes");
}

static void live(struct run *run)
{
    uint64_t turns = 100 + below(2500);
    struct sim_disk_faults faults = {
        .capacity = run->capacity,
        .short_write_in = 9,
        .failed_sync_in = below(3) == 0 ? 60 : 0,
        .failed_call_in = below(8) == 0 ? 300 : 0,
        .crash_after_calls = below(4) == 0 ? 0 : 1 + below(600),
    };
    sim_disk_set_faults(&faults);
    for (uint64_t i = 0; i < turns && !process_ended(run) && run->violation == NULL; i++)
        turn(run);
}

static bool run_once(struct run *run, uint64_t seed)
{
    static const size_t pages[] = {0, 0, 512, ELAPSE__FILE_PAGE_MAX};
    sim_disk_begin(seed);
    files = sim_disk_files;
    files.page_bytes = pages[seed % 4];
    memset(run, 0, sizeof *run);
    owner_begin(&run->owner);
    run->interval_ms = below(6) == 0 ? 20 : 0;
    run->capacity = below(2) == 0 ? 0 : (7 + below(12)) << SEGMENT_BITS;
    run->is_quick = below(2) == 0;
    uint64_t lives = 1 + below(LIVES_MAX);
    uint32_t oldest = 0;
    for (uint64_t i = 0; i < lives && recover(run, oldest); i++) {
        run->now_ms = 0;
        live(run);
        if (run->violation != NULL ||
            (i + 1 == lives && !process_ended(run) && !failure_is_under_way(run)))
            break;
        bool loses_power = sim_disk_is_dead() || below(3) > 0;
        /* With an interval only a crash of the process alone loses nothing. */
        bool may_lose = loses_power || elapse__journal_error(run->owner.journal) != 0;
        oldest = may_lose && run->interval_ms > 0 ? 0 : run->owner.acknowledged;
        end_life(run);
        totals.crashes++;
        if (loses_power)
            sim_disk_lose_power();
        else
            sim_disk_end_process();
        if (below(3) == 0)
            sim_disk_evict();
        if (i + 1 == lives)
            (void)recover(run, oldest);
    }
    if (run->owner.journal != NULL && run->violation == NULL) {
        check_backups(run); /* they take space */
        check_rest(run);
        if (run->violation == NULL && run->capacity > 0)
            check_full_disk(run);
    }
    check_backups(run);
    if (run->owner.journal != NULL)
        end_life(run);
    sim_disk_end();
    return run->violation == NULL;
}

int main(int argc, char **argv)
{
    uint64_t seed = 1, runs = 300;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--seed") == 0)
            seed = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--runs") == 0)
            runs = strtoull(argv[i + 1], NULL, 10);
    }
    struct run *run = malloc(sizeof *run);
    if (run == NULL)
        return 1;
    for (uint64_t i = 0; i < runs; i++) {
        uint64_t run_seed = seed + i;
        if (!run_once(run, run_seed)) {
            fprintf(stderr, "%s; repeat it by --seed %llu --runs 1\n", run->violation,
                    (unsigned long long)run_seed);
            free(run);
            return 1;
        }
    }
    free(run);
    uint64_t crashes = totals.crashes + totals.crashes_in_recovery;
    printf("%llu crashes, %llu of them during recovery, %llu opens; %llu commands in %llu groups, "
           "%llu refused by a full disk\n",
           (unsigned long long)crashes, (unsigned long long)totals.crashes_in_recovery,
           (unsigned long long)totals.opens, (unsigned long long)totals.commands,
           (unsigned long long)totals.groups, (unsigned long long)totals.full);
    return 0;
}
