/*
 * Begins the next segment. The order of the steps makes its existence certain (F1, F2 of
 * journal.h): a durable header, a durable name, a durable SEAL, and only then a group.
 */
#include <errno.h>
#include <string.h>

#include "../../base/assert.h"
#include "lanes.h"

/* Begins the next segment if there is a spare. */
bool elapse__rotate_start(struct elapse__journal *journal)
{
    ELAPSE__ASSERT_THAT(journal->written, ==, journal->durable);
    ELAPSE__ASSERT_THAT(journal->commit_state, ==, ELAPSE__COMMIT_IDLE);
    if (!elapse__spare_take(journal, &journal->taken))
        return false;
    journal->commit_state = ELAPSE__ROTATE_STATUS;
    return true;
}

/* Adds zeros to the block up to the end of a page. The block has `bytes` bytes, and is written at
 * this offset. */
static void pad_block(struct elapse__journal *journal, size_t bytes, uint64_t offset)
{
    size_t padding = elapse__rest_of_page(journal, offset + bytes);
    memset(journal->block + bytes, 0, padding);
    journal->block_bytes = bytes + padding;
}

static void encode_header(struct elapse__journal *journal)
{
    struct elapse__segment_header header = {
        .is_placed = journal->is_placed,
        .identity = journal->identity,
        .segment_bits = journal->segment_bits,
        .number = journal->head + 1,
        .tail = journal->durable_tail,
    };
    journal->owner.facts(journal->owner.context, &header.next_id, &header.wall_ms);
    elapse__segment_header_encode(&header, journal->block);
    pad_block(journal, ELAPSE__SEGMENT_HEADER_BYTES, 0);
}

static void encode_seal(struct elapse__journal *journal)
{
    uint64_t position = journal->written;
    ELAPSE__ASSERT_THAT(journal->commit_state, ==, ELAPSE__ROTATE_NAME_SYNC); /* F1 */
    struct elapse__commit commit = {.durable = journal->durable, .tail = journal->durable_tail};
    ELAPSE__ASSERT_THAT(elapse__segment_of(journal, position), ==, journal->head);
    ELAPSE__ASSERT_THAT(elapse__offset_of(journal, position) + ELAPSE__SEAL_GROUP_BYTES, <=,
                        elapse__segment_bytes(journal));
    elapse__seal_encode(journal->head + 1, position, journal->seed, journal->block);
    elapse__commit_encode(&commit, position + ELAPSE__SEAL_BYTES, journal->seed,
                          journal->block + ELAPSE__SEAL_BYTES);
    pad_block(journal, ELAPSE__SEAL_GROUP_BYTES, position);
}

static void write_block(struct elapse__journal *journal, struct elapse__operation *operation,
                        int file, uint64_t offset)
{
    operation->kind = ELAPSE__OPERATION_WRITE;
    operation->file = file;
    operation->offset = offset + journal->progress;
    operation->bytes = journal->block + journal->progress;
    operation->count = journal->block_bytes - (size_t)journal->progress;
}

void elapse__rotate_next(struct elapse__journal *journal, struct elapse__operation *operation)
{
    const struct elapse__segment *head = elapse__segments_find(journal, journal->head);
    operation->file = journal->taken.file;
    switch (journal->commit_state) {
    case ELAPSE__ROTATE_STATUS:
        operation->kind = ELAPSE__OPERATION_STATUS;
        break;
    case ELAPSE__ROTATE_DISCARD:
        operation->kind = ELAPSE__OPERATION_UNLINK;
        elapse__name_spare(operation->name, journal->taken.number);
        break;
    case ELAPSE__ROTATE_HEADER:
        write_block(journal, operation, journal->taken.file, 0);
        break;
    case ELAPSE__ROTATE_HEADER_SYNC:
        operation->kind = ELAPSE__OPERATION_SYNC;
        break;
    case ELAPSE__ROTATE_NAME:
        operation->kind = ELAPSE__OPERATION_RENAME;
        elapse__name_spare(operation->name, journal->taken.number);
        elapse__name_segment(operation->to, journal->head + 1);
        break;
    case ELAPSE__ROTATE_NAME_SYNC:
        operation->kind = ELAPSE__OPERATION_SYNC_DIRECTORY;
        break;
    case ELAPSE__ROTATE_SEAL:
        write_block(journal, operation, head->file, elapse__offset_of(journal, journal->written));
        break;
    default:
        ELAPSE__ASSERT(journal->commit_state == ELAPSE__ROTATE_SEAL_SYNC);
        operation->kind = ELAPSE__OPERATION_SYNC;
        operation->file = head->file;
        break;
    }
}

/* Enters the state `next` when all bytes are written. */
static void block_is_written(struct elapse__journal *journal,
                             const struct elapse__operation *operation,
                             enum elapse__commit_state next)
{
    journal->progress += operation->done;
    if (operation->done == 0)
        elapse__journal_fail(journal, EIO);
    else if (journal->progress == journal->block_bytes)
        journal->commit_state = next;
}

/* Called when the SEAL is durable. The next segment exists now, and takes the next group. */
static void head_is_sealed(struct elapse__journal *journal)
{
    struct elapse__segment *next = elapse__segments_find(journal, journal->head + 1);
    ELAPSE__ASSERT(next != NULL && next->file == ELAPSE__NO_FILE);
    ELAPSE__ASSERT_THAT(journal->written, ==, journal->durable); /* F2 */
    next->file = journal->taken.file;
    journal->taken.file = ELAPSE__NO_FILE;
    journal->head++;
    journal->written += ELAPSE__SEAL_GROUP_BYTES;
    journal->durable = journal->written;
    journal->commit_state = ELAPSE__COMMIT_IDLE;
}

/* Decides whether the spare may be written. A backup may have linked the file since the file became
 * a spare. */
static void judge_spare(struct elapse__journal *journal, const struct elapse__file_status *status)
{
    journal->progress = 0;
    if (!elapse__journal_file_is_reusable(journal, status)) {
        journal->commit_state = ELAPSE__ROTATE_DISCARD;
        return;
    }
    encode_header(journal);
    journal->commit_state = ELAPSE__ROTATE_HEADER;
}

void elapse__rotate_completed(struct elapse__journal *journal,
                              const struct elapse__operation *operation)
{
    switch (journal->commit_state) {
    case ELAPSE__ROTATE_STATUS:
        judge_spare(journal, &operation->status);
        break;
    case ELAPSE__ROTATE_DISCARD:
        journal->files->close(journal->taken.file);
        journal->taken.file = ELAPSE__NO_FILE;
        journal->commit_state = ELAPSE__COMMIT_IDLE;
        break;
    case ELAPSE__ROTATE_HEADER:
        block_is_written(journal, operation, ELAPSE__ROTATE_HEADER_SYNC);
        break;
    case ELAPSE__ROTATE_HEADER_SYNC:
        journal->commit_state = ELAPSE__ROTATE_NAME;
        break;
    case ELAPSE__ROTATE_NAME:
        journal->commit_state = ELAPSE__ROTATE_NAME_SYNC;
        break;
    case ELAPSE__ROTATE_NAME_SYNC:
        journal->progress = 0;
        encode_seal(journal);
        journal->commit_state = ELAPSE__ROTATE_SEAL;
        break;
    case ELAPSE__ROTATE_SEAL:
        block_is_written(journal, operation, ELAPSE__ROTATE_SEAL_SYNC);
        break;
    default:
        ELAPSE__ASSERT(journal->commit_state == ELAPSE__ROTATE_SEAL_SYNC);
        head_is_sealed(journal);
        break;
    }
}
