/*
 * Asks for the memory of jobs before the commands that need it run.
 */
#include "tables.h"

struct elapse__queue_sought elapse__queue_seek_key(const struct elapse__queue *queue,
                                                   struct elapse__queue_text tube,
                                                   struct elapse__queue_text key)
{
    if (!elapse__queue_text_fits(tube, 1, ELAPSE__QUEUE_TUBE_BYTES_MAX) ||
        !elapse__queue_text_fits(key, 1, ELAPSE__QUEUE_KEY_BYTES_MAX))
        return (struct elapse__queue_sought){0};
    return (struct elapse__queue_sought){.hash = elapse__queue_key_hash(queue, tube, key).low};
}

void elapse__queue_fetch(const struct elapse__queue *queue,
                         const struct elapse__queue_sought *sought,
                         enum elapse__queue_fetch_step step)
{
    if (sought->id != 0) {
        elapse__queue_entry_fetch(&queue->jobs, sought->id, step);
        return;
    }
    if (step == ELAPSE__QUEUE_FETCH_TABLE) {
        elapse__queue_index_fetch(&queue->key_index, sought->hash);
        return;
    }
    uint32_t number = elapse__queue_index_first(&queue->key_index, sought->hash);
    if (number == 0)
        return;
    const struct elapse__queue_key *key = elapse__queue_key_at(queue, number);
    if (step == ELAPSE__QUEUE_FETCH_KEY)
        __builtin_prefetch(key, 1);
    else
        elapse__queue_fetch_entry(elapse__queue_entry_at(&queue->jobs, key->entry), step);
}
