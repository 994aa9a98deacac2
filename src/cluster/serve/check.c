/*
 * Tests the invariants of those fields of a partition that its lock guards. S2 and S3 are rules of
 * inner.h.
 */
#include "base.h"

unsigned elapse__cluster_partition_check(struct elapse__cluster_partition *partition)
{
    unsigned broken = 0;

    elapse__lock(&partition->monitor.lock);
    if ((partition->is_owned || partition->has_core) && !partition->has_owned)
        broken = 1; /* S2: there is a core only after the callback `own` */
    else if (partition->is_opening && (partition->is_owned || partition->has_core))
        broken = 2; /* S2: the store is replaced only after the core was freed */
    else if (partition->is_opened_anew && (partition->is_opening || partition->has_owned))
        broken = 3; /* S3: a store that was opened anew waits for a new runner */
    else if (partition->notice_count > ELAPSE__CLUSTER_PARTITION_NOTICES)
        broken = 4;
    else if (partition->notices_lost > 0 &&
             partition->notice_count < ELAPSE__CLUSTER_PARTITION_NOTICES)
        broken = 5; /* a line is dropped only if there is no room */
    elapse__unlock(&partition->monitor.lock);
    return broken;
}
