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
