/*
 * Only the thread of the loop writes the log. Other threads leave their lines here, and the loop
 * logs them.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../../base/assert.h"
#include "base.h"

/* Returns a place for a notice. The caller holds the lock. If no place is left, drops the oldest
 * notice. The newest stay, because they say why a partition has stopped. */
static struct elapse__cluster_notice *next_notice(struct elapse__cluster_partition *partition)
{
    ELAPSE__ASSERT_LOCK_HELD(&partition->monitor.lock);
    if (partition->notice_count == ELAPSE__CLUSTER_PARTITION_NOTICES) {
        memmove(&partition->notices[0], &partition->notices[1],
                (ELAPSE__CLUSTER_PARTITION_NOTICES - 1) * sizeof partition->notices[0]);
        partition->notice_count--;
        partition->notices_lost++;
    }
    return &partition->notices[partition->notice_count++];
}

void elapse__cluster_partition_say(struct elapse__cluster_partition *partition,
                                   enum elapse__logger_level level, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    elapse__lock(&partition->monitor.lock);
    struct elapse__cluster_notice *notice = next_notice(partition);
    notice->level = level;
    (void)vsnprintf(notice->text, sizeof notice->text, format, arguments);
    elapse__unlock(&partition->monitor.lock);
    va_end(arguments);
    elapse__cluster_partition_wake_loop(partition);
}

/* Takes the oldest notice, and stores how many notices before it were dropped. Returns false if
 * there is no notice. */
static bool take(struct elapse__cluster_partition *partition, struct elapse__cluster_notice *notice,
                 unsigned *lost)
{
    elapse__lock(&partition->monitor.lock);
    bool has_one = partition->notice_count > 0;
    ELAPSE__ASSERT(partition->notice_count > 0 || partition->notices_lost == 0);
    *lost = partition->notices_lost;
    partition->notices_lost = 0;
    if (has_one) {
        *notice = partition->notices[0];
        partition->notice_count--;
        memmove(&partition->notices[0], &partition->notices[1],
                partition->notice_count * sizeof partition->notices[0]);
    }
    elapse__unlock(&partition->monitor.lock);
    return has_one;
}

void elapse__cluster_partition_log(struct elapse__cluster_partition *partition)
{
    struct elapse__logger *logger = elapse__cluster_logger(partition->cluster);
    struct elapse__cluster_notice notice;
    unsigned lost;

    while (take(partition, &notice, &lost)) {
        if (lost > 0)
            elapse__logger(logger, ELAPSE__LOGGER_WARNING, ELAPSE__EVENT_CLUSTER,
                           "partition %" PRIu32 ": %u lines before the next one were lost",
                           partition->number, lost);
        elapse__logger(logger, notice.level, ELAPSE__EVENT_CLUSTER, "%s", notice.text);
    }
}
