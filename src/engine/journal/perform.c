/*
 * The core's operations, performed through the table of files.
 */
#include <errno.h>

#include "../../base/assert.h"
#include "core.h"

void elapse__operation_perform(struct elapse__journal *journal, struct elapse__operation *operation)
{
    const struct elapse__files *files = journal->files;
    int directory = journal->directory;
    operation->done = 0;
    operation->error = 0;
    switch (operation->kind) {
    case ELAPSE__OPERATION_WRITE:
        operation->error = files->write_at(operation->file, operation->offset, operation->bytes,
                                           operation->count, &operation->done);
        break;
    case ELAPSE__OPERATION_FILL:
        operation->error =
            files->fill(operation->file, operation->offset, operation->count, &operation->done);
        break;
    case ELAPSE__OPERATION_READ:
        operation->error = files->read_at(operation->file, operation->offset, operation->bytes,
                                          operation->count, &operation->done);
        break;
    case ELAPSE__OPERATION_SYNC:
        operation->error = files->sync(operation->file);
        break;
    case ELAPSE__OPERATION_SYNC_DIRECTORY:
        operation->error = files->sync_directory(directory);
        break;
    case ELAPSE__OPERATION_CREATE:
        operation->error =
            files->open(directory, operation->name, ELAPSE__FILE_CREATE, &operation->file);
        break;
    case ELAPSE__OPERATION_RENAME:
        operation->error = files->rename(directory, operation->name, operation->to);
        break;
    case ELAPSE__OPERATION_UNLINK:
        operation->error = files->unlink(directory, operation->name);
        break;
    case ELAPSE__OPERATION_STATUS:
        operation->error = files->status(operation->file, &operation->status);
        break;
    case ELAPSE__OPERATION_SUBMIT:
        elapse__journal_log_perform(journal, operation);
        break;
    }
    ELAPSE__ASSERT_THAT(operation->done, <=, operation->count);
}

bool elapse__journal_work(struct elapse__journal *journal)
{
    struct elapse__operation operation;
    bool worked = false;
    for (unsigned i = 0; i < ELAPSE__JOURNAL_LANES; i++) {
        enum elapse__journal_lane lane = (enum elapse__journal_lane)i;
        if (!elapse__journal_next_operation(journal, lane, &operation))
            continue;
        elapse__operation_perform(journal, &operation);
        elapse__journal_completed(journal, lane, &operation);
        worked = true;
    }
    return worked;
}

/* Reads so many bytes. What lies behind the end of the file reads as zeros. */
int elapse__journal_read_all(const struct elapse__files *files, int file, uint64_t offset,
                             void *bytes, size_t count)
{
    uint8_t *to = bytes;
    while (count > 0) {
        size_t done = 0;
        int error = files->read_at(file, offset, to, count, &done);
        if (error != 0)
            return error;
        if (done == 0) {
            for (size_t i = 0; i < count; i++)
                to[i] = 0;
            return 0;
        }
        to += done;
        offset += done;
        count -= done;
    }
    return 0;
}

int elapse__fill_all(const struct elapse__files *files, int file, uint64_t count)
{
    for (uint64_t filled = 0; filled < count;) {
        size_t done = 0;
        int error = files->fill(file, filled, count - filled, &done);
        if (error != 0)
            return error;
        if (done == 0)
            return EIO;
        filled += done;
    }
    return 0;
}

int elapse__write_all(const struct elapse__files *files, int file, uint64_t offset,
                      const void *bytes, size_t count)
{
    const uint8_t *from = bytes;
    while (count > 0) {
        size_t done = 0;
        int error = files->write_at(file, offset, from, count, &done);
        if (error != 0)
            return error;
        if (done == 0)
            return EIO;
        from += done;
        offset += done;
        count -= done;
    }
    return 0;
}
