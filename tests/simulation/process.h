/*
 * The process of the simulation: the queue and the journal, joined as in the store, over a disk in
 * memory. What threads do there are steps here:
 *
 *      lane     ask for an operation -> perform it -> complete it     one step each
 *      clock    turn, tick
 *
 * Between two steps it may be killed, or lose its power.
 */
#ifndef ELAPSE_TESTS_PROCESS_H
#define ELAPSE_TESTS_PROCESS_H

#include "../../src/engine/engine.h"
#include "model.h"
#include "sim_disk.h"

struct process {
    struct elapse__engine engine;
    struct elapse__record_sink counter;
    uint64_t refusals; /* of the journal's sink */
    bool is_open;
    int64_t booted_at; /* t */
    struct elapse__operation operations[ELAPSE__JOURNAL_LANES];
    int steps[ELAPSE__JOURNAL_LANES]; /* 0: none; 1: asked for; 2: performed */
    uint64_t capacity;
    uint32_t interval_ms;
    uint32_t greatest_life;
    bool is_damaged;          /* the files were damaged on purpose */
    bool reads_badly;         /* the disk cannot read now and then, and later it can */
    int64_t unreadable_until; /* t: until then it cannot read */
    uint64_t unreadable_page; /* this page of each file; 0: any */
    int64_t read_in_vain_at;  /* t, when a read failed last */
};

extern struct process process;

extern struct process_totals {
    uint64_t runs, crashes, in_recovery, opens, commands, replies, full, damages, refused_damages,
        groups, outages, unread, put_aside, rested, buried;
} * process_totals;

struct elapse__queue_now process_now(void);

/* Opens, and looks at everything; crashes and failures in between if `faults`. `least`: what may
 * not be lost. Returns false if it stays closed. */
bool process_open(uint64_t least, bool faults);

/* One step of a lane. Returns false if it has nothing to do. */
bool process_step(enum elapse__journal_lane lane);
void process_tick(void);

/* Returns whether the process has ended by itself, or its disk is dead. */
bool process_ended(void);

/* Returns whether a call has failed of which the journal does not know yet. */
bool process_is_failing(void);

/* Ends it: what was under way gets no result. */
void process_kill(void);

/* Returns whether the disk could not read in this life. */
bool process_has_read_in_vain(void);

void process_set_faults(bool crash, bool syncs, bool calls);

#endif
