/*
 * Performs the core's operations with the table of files.
 */
#include <errno.h>

#include "../../base/assert.h"
#include "lanes.h"

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
