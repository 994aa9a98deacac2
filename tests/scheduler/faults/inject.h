/*
 * Makes calls fail on demand: calls of the allocator that a scheduler is given, and calls of the
 * system. Each kind of call is a site. The n-th call at one site fails, alone or with all calls
 * that follow.
 */
#ifndef ELAPSE_TESTS_INJECT_H
#define ELAPSE_TESTS_INJECT_H

#include <elapse/scheduler.h>

enum site {
    SITE_ALLOCATE,
    SITE_THREAD,
    SITE_LOCK,
    SITE_CONDITION,
    SITE_RANDOM,
    SITE_ALARM_OPEN,
    SITE_ALARM_SET,
    SITE_ALARMS_WAIT,
    SITE_ALARM_RESET,
    SITE_ALARMS_WATCH,
    SITE_COUNT,
};

/* Puts a table of functions that fail on demand in place of the system's. Requires that there is
 * no scheduler yet. */
void inject_into_os(void);

const char *site_name(enum site site);

/* Makes the n-th call at `site` from now on fail, counted from 1; if `onward`, also all calls after
 * it.
 */
void inject(enum site site, uint64_t n, bool onward);

/* Makes no call fail from now on. */
void inject_nothing(void);

/* Returns whether a call has failed since inject. */
bool inject_has_failed(void);

/* Returns how many calls have failed since the process began. */
uint64_t inject_failures(void);

/*
 * Returns an allocator that fails on demand. It aligns memory no better than it is asked to, and
 * ends the process when it is given back memory that it did not give.
 */
struct elapse_allocator ledger_allocator(void);

/* Returns how many blocks were not given back. */
uint64_t ledger_blocks(void);

/* Says what is wrong and where, and ends the process. */
_Noreturn void fault(const char *what);

#define MUST(condition) ((condition) ? (void)0 : fault(#condition))

#endif
