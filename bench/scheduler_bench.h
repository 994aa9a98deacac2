/*
 * The common part of the scheduler's workloads (S1 to S6) and their floors. Unlike the workloads
 * of the structures, these use real time and real threads.
 */
#ifndef BENCH_SCHEDULER_BENCH_H
#define BENCH_SCHEDULER_BENCH_H

#include <elapse/scheduler.h>

#include "contender.h"
#include "measure.h"

enum {
    S1_SCHEDULE,
    S1_TWO_THREADS,
    S1_SPEED_UP,
};
enum {
    S3_EARLIEST,
    S3_MEDIAN,
    S3_P99,
    S3_P999,
    S3_LATEST,
    S3_CPU,
    S3_SCHEDULING_CPU,
};
enum { S4_CPU, S4_WAKE_UPS };
enum { S5_COUNTED, S5_RESIDENT, S5_KEYED_COUNTED, S5_KEYED_RESIDENT };

#define FAR_DELAY_NS        (1800 * ELAPSE_SECOND_NS) /* half an hour */
#define FAR_SPAN_NS         (60 * ELAPSE_SECOND_NS)
#define RESCHEDULE_DELAY_NS (60 * ELAPSE_SECOND_NS)
#define COARSE_TICK_NS      ELAPSE_MILLISECOND_NS
#define FINE_TICK_NS        (50 * ELAPSE_MICROSECOND_NS)

enum {
    RESCHEDULES_MOST = 5000000,
    RESCHEDULES_AT_ONCE = 1000, /* between two looks at the clock */
};

/* Returns the next far delay of S1, S2, S4 and S5. */
static inline uint64_t far_delay_ns(struct generator *generator)
{
    return FAR_DELAY_NS + below(generator, FAR_SPAN_NS);
}

static inline double seconds_to_ns(double seconds)
{
    return seconds * 1e9;
}

/* Returns the processor time of the whole process. */
static inline uint64_t process_cpu_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* One timer of S3: its deadline, and when and how often it ran. */
struct note {
    uint64_t deadline_ns;
    uint64_t noted_ns; /* when its action read the clock */
    uint64_t runs;
};

/* Sleeps until this time, as precisely as the system allows for the calling thread. */
void sleep_until_ns(uint64_t time_ns);

/* Computes the least lateness of the notes, its quantiles and the most. Ends the program with a
 * message if a note did not run exactly once, or ran early. */
void figure_lateness(const char *contender, const struct note *notes, size_t count,
                     double *figures);

/* Runs S4: measures processor time and wake-ups of the process while the caller sleeps. */
void figure_idleness(double seconds, double *figures);

/* Gives free memory back to the system, so that the next measurement touches fresh pages, whatever
 * ran before it. */
void forget_free_memory(void);

workload_function run_floor_schedule, run_floor_cancel, run_floor_deliver, run_floor_deliver_fine,
    run_floor_sleep, run_floor_reschedule;
workload_function run_schedule, run_cancel, run_memory, run_reschedule;
workload_function run_deliver, run_deliver_fine, run_deliver_workers, run_sleep;

/* ---- schedulers to measure ---- */

/* Ends the program with a message unless `error` is ELAPSE_OK. */
void must(enum elapse_error error, const char *what);

/* Returns a started scheduler. */
struct elapse_scheduler *begin_scheduler(uint64_t tick_ns, unsigned workers);
void end_scheduler(struct elapse_scheduler *scheduler);

/* The action of far tasks. It is never called: the tasks are gone before they are due. */
elapse_action_function never_run;

/* Schedules far tasks; `handles` may be NULL. */
void schedule_far(struct elapse_scheduler *scheduler, struct generator *generator, size_t count,
                  struct elapse_handle *handles);

/* Ends the program with a message unless so many tasks are pending and none has begun. */
void check_all_pending(struct elapse_scheduler *scheduler, const char *workload, size_t count);

#endif
