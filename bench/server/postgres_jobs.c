#include "postgres_jobs.h"

#include <stdlib.h>

#include "peer.h"

void jobs_begin(struct jobs *jobs)
{
    array_begin(&jobs->due, ARRAY_TIME);
    array_begin(&jobs->body, ARRAY_BYTES);
    array_begin(&jobs->key, ARRAY_TEXT);
    array_begin(&jobs->id, ARRAY_INT8);
}

void jobs_free(struct jobs *jobs)
{
    free(jobs->due.at);
    free(jobs->body.at);
    free(jobs->key.at);
    free(jobs->id.at);
}

void jobs_add(struct jobs *jobs, int64_t due_ms)
{
    char body[PEER_BODY_BYTES];

    peer_write_body(body, due_ms);
    array_add(&jobs->body, body, sizeof body);
    jobs_add_due(jobs, due_ms);
}

void jobs_add_due(struct jobs *jobs, int64_t due_ms)
{
    array_add_time(&jobs->due, due_ms);
}

void jobs_add_key(struct jobs *jobs, uint64_t number)
{
    char key[PEER_KEY_BYTES];

    peer_write_key(key, number);
    array_add(&jobs->key, key, sizeof key);
}

void jobs_add_id(struct jobs *jobs, uint64_t id)
{
    array_add_int8(&jobs->id, (int64_t)id);
}

void jobs_put(const struct jobs *jobs, struct link *link)
{
    link_send(link, "put", 2, (const struct array *[]){&jobs->due, &jobs->body});
}

void jobs_put_with_key(const struct jobs *jobs, struct link *link)
{
    link_send(link, "put-key", 3, (const struct array *[]){&jobs->due, &jobs->body, &jobs->key});
}

void jobs_delete(const struct jobs *jobs, struct link *link)
{
    link_send(link, "delete", 1, (const struct array *[]){&jobs->id});
}

void jobs_cancel(const struct jobs *jobs, struct link *link)
{
    link_send(link, "cancel", 1, (const struct array *[]){&jobs->key});
}

void jobs_reschedule(const struct jobs *jobs, struct link *link)
{
    link_send(link, "reschedule", 2, (const struct array *[]){&jobs->key, &jobs->due});
}
