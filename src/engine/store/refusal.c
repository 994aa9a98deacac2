#include "refusal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Writes the path of a file of the queue, and returns the length of the path. The name "" stands
 * for the directory itself. The file `lock` and the folder `journal` lie in the directory. All
 * other files lie in `journal`. */
static size_t write_path(char *text, size_t size, const char *directory, const char *file)
{
    bool is_above = strcmp(file, "lock") == 0 || strcmp(file, "journal") == 0;
    const char *folder = file[0] == '\0' ? "" : is_above ? "/" : "/journal/";
    int length = snprintf(text, size, "%s%s%s", directory, folder, file);

    if (length < 0)
        return 0;
    return (size_t)length < size ? (size_t)length : size - 1;
}

enum elapse_error elapse__store_refusal(const struct elapse__journal_refusal *refusal,
                                        const char *directory, struct elapse_queue_fault *fault)
{
    struct elapse_queue_fault unwanted;
    char *text = fault == NULL ? unwanted.text : fault->text;
    size_t size = sizeof unwanted.text;
    const char *file = refusal->fault == ELAPSE__FAULT_LOCKED ? "" : refusal->file;
    size_t length = write_path(text, size, directory, file);

    text += length;
    size -= length;
    switch (refusal->fault) {
    case ELAPSE__FAULT_CALL:
        snprintf(text, size, ": %s%s", strerror(refusal->error),
                 refusal->error == ENOENT && file[0] == '\0' ? ": the directory above it is missing"
                                                             : "");
        if (refusal->error == ENOMEM)
            return ELAPSE_ERROR_MEMORY;
        return refusal->error == ENOSPC ? ELAPSE_ERROR_DISK_FULL : ELAPSE_ERROR_SYSTEM;
    case ELAPSE__FAULT_LOCKED:
        if (refusal->found == 0)
            snprintf(text, size, ": another process has opened this queue");
        else
            snprintf(text, size, ": process %" PRIu64 " has opened this queue", refusal->found);
        return ELAPSE_ERROR_IN_USE;
    case ELAPSE__FAULT_VERSION:
        snprintf(text, size, ": format version %" PRIu64 " is unknown to this program",
                 refusal->found);
        return ELAPSE_ERROR_FORMAT;
    case ELAPSE__FAULT_HEADER:
        snprintf(text, size, ": the header of the file is damaged");
        return ELAPSE_ERROR_DAMAGED;
    case ELAPSE__FAULT_FOREIGN:
        snprintf(text, size, ": the file belongs to another queue, or to another place");
        return ELAPSE_ERROR_DAMAGED;
    case ELAPSE__FAULT_MISSING_SEGMENT:
        snprintf(text, size, ": the file is missing");
        return ELAPSE_ERROR_DAMAGED;
    case ELAPSE__FAULT_OWNER:
        snprintf(text, size, ": at offset %" PRIu64 ": the record makes no sense: %s",
                 refusal->offset, strerror(refusal->error));
        return refusal->error == ENOMEM ? ELAPSE_ERROR_MEMORY : ELAPSE_ERROR_DAMAGED;
    case ELAPSE__FAULT_NO_PLACE:
        snprintf(text, size,
                 ": this queue is no part of a replicated one: begin with an empty directory, "
                 "and import its jobs");
        return ELAPSE_ERROR_FORMAT;
    default:
        snprintf(text, size, ": at offset %" PRIu64 ": the record is damaged", refusal->offset);
        return ELAPSE_ERROR_DAMAGED;
    }
}
