/*
 * The clock of runners.
 */
#include "../../os/os.h"
#include "runner.h"

enum { NS_PER_MS = 1000000 };

uint64_t elapse__runner_now_ms(void)
{
    return elapse__os->clock_ns(ELAPSE__OS_BOOTTIME) / NS_PER_MS;
}
