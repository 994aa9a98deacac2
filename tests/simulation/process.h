/*
 * The process of the simulation: the queue and the journal, joined as in the store, over a disk in
 * memory. What threads do there are steps here:
 *
 *      lane     ask for an operation -> perform it -> complete it     one step each
 *      clock    turn, tick
 *
 * Between two steps the process may be killed, or the machine may lose its power.
 */
#ifndef ELAPSE_TESTS_PROCESS_H
#define ELAPSE_TESTS_PROCESS_H

#include "../../src/engine/engine.h"
#include "model.h"
#include "sim_disk.h"

/* What a lane does with its operation, `operations[lane]`. */
enum process_lane_step { STEP_IDLE, STEP_ASKED, STEP_PERFORMED };

struct process {
    struct elapse__engine engine;
    struct elapse__record_sink counter;
    uint64_t refusals; /* calls of begin that the journal's sink refused */
    bool is_open;
    int64_t booted_at; /* as model.t */
    struct elapse__operation operations[ELAPSE__JOURNAL_LANES];
    enum process_lane_step steps[ELAPSE__JOURNAL_LANES];
    uint64_t capacity;
    uint32_t interval_ms;
    uint32_t greatest_life;
    bool is_damaged;          /* the files were damaged on purpose */
    bool reads_badly;         /* reads fail for some time, now and then */
    int64_t unreadable_until; /* as model.t: reads fail until then */
    uint64_t unreadable_page; /* only reads of this page of a file fail; 0: all reads */
    int64_t read_in_vain_at;  /* as model.t: when a read failed last */
};

extern struct process process;

extern struct process_totals {
    uint64_t runs, crashes, in_recovery, opens, commands, replies, full, damages, refused_damages,
        groups, arrivals, gathered, transactions, limits, held, outages, unread, put_aside, rested,
        buried;
} * process_totals;

struct elapse__queue_now process_now(void);

/* Opens the journal, and compares all jobs with the model. If `faults`, crashes and failed calls
 * may come before. `least` is the number of a command of the model: what the commands up to it did
 * may not be lost. Returns false if the journal cannot be opened, or the jobs are wrong. */
bool process_open(uint64_t least, bool faults);

/* Removes all files of backups: they take space as long as the backup holds them. Returns whether
 * there were any. */
bool process_remove_backups(void);

/* Does one step of a lane. Returns false if the lane has nothing to do. */
bool process_step(enum elapse__journal_lane lane);
void process_tick(void);

/* Returns whether the process has ended by itself, or its disk is dead. */
bool process_ended(void);

/* Returns whether a call has failed of which the journal does not know yet. */
bool process_is_failing(void);

/* Ends the process. Operations that were under way fail with EIO. */
void process_kill(void);

/* Returns whether a read has failed since the journal was opened. */
bool process_has_read_in_vain(void);

void process_set_faults(bool crash, bool syncs, bool calls);

#endif
