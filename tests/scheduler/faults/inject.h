/*
 * Failures on demand: of the allocator that a scheduler is given, and of what it asks the
 * system for. Each such place is a site; the n-th call at one site fails, alone or
 * with all that follow.
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

/* From here on the n-th call at `site` fails, counted from 1, and if `onward` all after it. */
void inject(enum site site, uint64_t n, bool onward);

/* From here on nothing fails. */
void inject_nothing(void);

/* Whether anything has failed since inject. */
bool inject_has_failed(void);

/* How often anything has, since the process began. */
uint64_t inject_failures(void);

/*
 * An allocator that fails on demand. It aligns as it is asked to and no better, and ends
 * the process when it is given back anything but what it gave.
 */
struct elapse_allocator ledger_allocator(void);

/* Blocks that were not given back. */
uint64_t ledger_blocks(void);

/* Says what is wrong and where, and ends the process. */
_Noreturn void fault(const char *what);

#define MUST(condition) ((condition) ? (void)0 : fault(#condition))

#endif
