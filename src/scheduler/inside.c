#include "inside.h"

static _Thread_local const struct elapse__inside *innermost;

void elapse__enter(struct elapse__inside *inside, const struct elapse_scheduler *scheduler,
                   struct elapse_handle handle)
{
    *inside = (struct elapse__inside){innermost, scheduler, handle};
    innermost = inside;
}

void elapse__leave(const struct elapse__inside *inside)
{
    innermost = inside->outer;
}

void elapse__destroy(const struct elapse_scheduler *scheduler, elapse_destroy_function *destroy,
                     void *context)
{
    struct elapse__inside inside;
    if (destroy == NULL)
        return;
    elapse__enter(&inside, scheduler, (struct elapse_handle){0});
    destroy(context);
    elapse__leave(&inside);
}

void elapse__let_go(const struct elapse_scheduler *scheduler, const struct elapse__remains *remains)
{
    const struct elapse_allocator *memory = &scheduler->options.allocator;
    elapse__key_release(remains->key, memory);
    elapse__release(memory, remains->recurrence, sizeof *remains->recurrence);
    elapse__release(memory, remains->extra, sizeof *remains->extra);
    elapse__destroy(scheduler, remains->destroy, remains->context);
}

bool elapse__is_inside(const struct elapse_scheduler *scheduler)
{
    const struct elapse__inside *inside = innermost;
    while (inside != NULL && inside->scheduler != scheduler)
        inside = inside->outer;
    return inside != NULL;
}

bool elapse__is_inside_task(const struct elapse_scheduler *scheduler, struct elapse_handle handle)
{
    const struct elapse__inside *inside = innermost;
    while (inside != NULL &&
           (inside->scheduler != scheduler || inside->handle.index != handle.index ||
            inside->handle.generation != handle.generation || inside->handle.shard != handle.shard))
        inside = inside->outer;
    return inside != NULL;
}
