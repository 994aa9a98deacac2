/*
 * Looks ahead in a pipeline of commands. A job can lie anywhere in memory, so a command waits three
 * or four times for memory that is in no cache: for the table of ids or keys, for the job, and for
 * the jobs beside the job in its wheel. These functions prefetch the memory for a whole batch of
 * commands before the first command runs. So the waits of all these commands pass at the same time.
 */
#include "ahead.h"

#include "../../protocol/ahead.h"

enum { BATCH = 32 };

/* Notes which job a command names. Returns whether it names one. */
static bool note(const struct elapse__queue *jobs, const struct elapse__wire_ahead *ahead,
                 struct elapse__queue_sought *sought)
{
    *sought = (struct elapse__queue_sought){.id = ahead->id};
    if (ahead->key.size > 0)
        *sought = elapse__queue_seek_key(
            jobs, (struct elapse__queue_text){ahead->tube.bytes, ahead->tube.size},
            (struct elapse__queue_text){ahead->key.bytes, ahead->key.size});
    return ahead->id != 0 || ahead->key.size > 0;
}

size_t elapse__look_ahead(const struct elapse__connection *connection, const uint8_t *bytes,
                          size_t size)
{
    const struct elapse__queue *jobs = connection->server->engine->jobs;
    struct elapse__queue_sought sought[BATCH];
    uint32_t count = 0;
    size_t done = 0;

    if (elapse__queue_jobs(jobs) < ELAPSE__QUEUE_FETCH_JOBS_MIN)
        return size;
    for (uint32_t i = 0; i < BATCH && done < size; i++) {
        struct elapse__wire_ahead ahead = elapse__wire_look_ahead(bytes + done, size - done);
        if (ahead.size == 0)
            break;
        done += ahead.size;
        count += note(jobs, &ahead, &sought[count]);
    }
    for (unsigned step = 0; step < ELAPSE__QUEUE_FETCH_STEPS && count > 1; step++)
        for (uint32_t i = 0; i < count; i++)
            elapse__queue_fetch(jobs, &sought[i], (enum elapse__queue_fetch_step)step);
    /* If no command of the batch names a job, the rest of the bytes counts as looked at, because
     * the commands behind the batch mostly name no job either. */
    return count == 0 ? size : done;
}
