/*
 * Lines for the log from threads that are not the loop's.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "inner.h"

/* Under the lock. The oldest one makes room: the last ones say why a partition has stopped. */
static struct elapse__cluster_notice *next_notice(struct elapse__cluster_part *part)
{
    if (part->notice_count == ELAPSE__PART_NOTICES) {
        memmove(&part->notices[0], &part->notices[1],
                (ELAPSE__PART_NOTICES - 1) * sizeof part->notices[0]);
        part->notice_count--;
        part->notices_lost++;
    }
    return &part->notices[part->notice_count++];
}

void elapse__part_say(struct elapse__cluster_part *part, enum elapse__log_level level,
                      const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    elapse__lock(&part->lock);
    struct elapse__cluster_notice *notice = next_notice(part);
    notice->level = level;
    (void)vsnprintf(notice->text, sizeof notice->text, format, arguments);
    elapse__unlock(&part->lock);
    va_end(arguments);
    elapse__part_wake_loop(part);
}

/* Takes the oldest one. Returns false if there is none. */
static bool take(struct elapse__cluster_part *part, struct elapse__cluster_notice *notice,
                 unsigned *lost)
{
    elapse__lock(&part->lock);
    bool has_one = part->notice_count > 0;
    *lost = part->notices_lost;
    part->notices_lost = 0;
    if (has_one) {
        *notice = part->notices[0];
        part->notice_count--;
        memmove(&part->notices[0], &part->notices[1], part->notice_count * sizeof part->notices[0]);
    }
    elapse__unlock(&part->lock);
    return has_one;
}

void elapse__part_log(struct elapse__cluster_part *part)
{
    struct elapse__log *log = elapse__cluster_log(part->cluster);
    struct elapse__cluster_notice notice;
    unsigned lost;

    while (take(part, &notice, &lost)) {
        if (lost > 0)
            elapse__log(log, ELAPSE__LOG_WARNING, ELAPSE__EVENT_CLUSTER,
                        "partition %" PRIu32 ": %u lines before the next one were lost", part->part,
                        lost);
        elapse__log(log, notice.level, ELAPSE__EVENT_CLUSTER, "%s", notice.text);
    }
}
