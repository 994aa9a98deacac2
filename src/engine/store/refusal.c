#include "refusal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum elapse_error elapse__store_refusal(const struct elapse__journal_refusal *refusal,
                                        const char *directory, struct elapse_queue_fault *fault)
{
    struct elapse_queue_fault unwanted;
    char *text = fault == NULL ? unwanted.text : fault->text;
    size_t size = sizeof unwanted.text;

    switch (refusal->fault) {
    case ELAPSE__FAULT_CALL:
        snprintf(text, size, "%s/%s: %s", directory, refusal->file, strerror(refusal->error));
        if (refusal->error == ENOMEM)
            return ELAPSE_ERROR_MEMORY;
        return refusal->error == ENOSPC ? ELAPSE_ERROR_DISK_FULL : ELAPSE_ERROR_SYSTEM;
    case ELAPSE__FAULT_LOCKED:
        if (refusal->found == 0)
            snprintf(text, size, "%s: another process has opened this queue", directory);
        else
            snprintf(text, size, "%s: process %" PRIu64 " has opened this queue", directory,
                     refusal->found);
        return ELAPSE_ERROR_IN_USE;
    case ELAPSE__FAULT_VERSION:
        snprintf(text, size, "%s/%s: format version %" PRIu64 " is unknown to this program",
                 directory, refusal->file, refusal->found);
        return ELAPSE_ERROR_FORMAT;
    case ELAPSE__FAULT_HEADER:
        snprintf(text, size, "%s/%s: the header of the file is damaged", directory, refusal->file);
        return ELAPSE_ERROR_DAMAGED;
    case ELAPSE__FAULT_FOREIGN:
        snprintf(text, size, "%s/%s: the file belongs to another queue, or to another place",
                 directory, refusal->file);
        return ELAPSE_ERROR_DAMAGED;
    case ELAPSE__FAULT_MISSING_SEGMENT:
        snprintf(text, size, "%s/%s: the file is missing", directory, refusal->file);
        return ELAPSE_ERROR_DAMAGED;
    case ELAPSE__FAULT_OWNER:
        snprintf(text, size, "%s/%s: at offset %" PRIu64 ": the record makes no sense: %s",
                 directory, refusal->file, refusal->offset, strerror(refusal->error));
        return refusal->error == ENOMEM ? ELAPSE_ERROR_MEMORY : ELAPSE_ERROR_DAMAGED;
    case ELAPSE__FAULT_NO_PLACE:
        snprintf(text, size,
                 "%s/%s: this queue is no part of a replicated one: begin with an empty directory, "
                 "and import its jobs",
                 directory, refusal->file);
        return ELAPSE_ERROR_FORMAT;
    default:
        snprintf(text, size, "%s/%s: at offset %" PRIu64 ": the record is damaged", directory,
                 refusal->file, refusal->offset);
        return ELAPSE_ERROR_DAMAGED;
    }
}
