#include <stdio.h>
#include <string.h>

#include "../journal/backup.h"
#include "data.h"

bool elapse__upkeep_backup(const char *directory, const char *target,
                           struct elapse__upkeep_backup *backup, struct elapse__upkeep_fault *fault)
{
    struct elapse__backup made;
    struct elapse__journal_refusal refusal;

    if (!elapse__journal_backup(&elapse__files_linux, directory, target, &made, &refusal)) {
        if (refusal.fault == ELAPSE__FAULT_CALL && refusal.file[0] == '\0')
            return elapse__upkeep_fail(fault, target, strerror(refusal.error));
        return elapse__upkeep_refuse(fault, directory, &refusal);
    }
    *backup = (struct elapse__upkeep_backup){
        .segments = made.segments, .linked = made.linked, .copied_bytes = made.copied_bytes};
    return true;
}
