/*
 * The structures of the program elapse-broken, which replace those of the library. Each is the heap
 * with one broken promise, and its name says which.
 */
#include <string.h>

#include <elapse/heap.h>
#include <elapse/structure.h>

#define NO_FAULT_BELOW 100 /* a trace's first timers find nothing wrong */

static size_t storage_bytes_sound(const struct elapse_shape *shape, size_t capacity)
{
    (void)shape;
    return elapse_heap_storage_bytes(capacity);
}

static enum elapse_error init_sound(void *instance, const struct elapse_shape *shape, void *storage,
                                    size_t storage_bytes, uint64_t now)
{
    (void)shape;
    return elapse_heap_init(instance, storage, storage_bytes, now);
}

/* Leaves bytes behind that nobody may take for timers. */
static enum elapse_error init_refused(void *instance, const struct elapse_shape *shape,
                                      void *storage, size_t storage_bytes, uint64_t now)
{
    (void)shape;
    (void)now;
    memset(instance, 0xa5, sizeof(struct elapse_heap));
    memset(storage, 0xa5, storage_bytes);
    return ELAPSE_ERROR_STORAGE;
}

static void finish_sound(void *instance)
{
    (void)instance;
}

static enum elapse_error move_storage_sound(void *instance, void *storage, size_t storage_bytes)
{
    return elapse_heap_move_storage(instance, storage, storage_bytes);
}

static enum elapse_error start_sound(void *instance, struct elapse_timer *timer, uint64_t deadline)
{
    return elapse_heap_start(instance, timer, deadline);
}

static enum elapse_error start_late(void *instance, struct elapse_timer *timer, uint64_t deadline)
{
    return elapse_heap_start(instance, timer, deadline + 3);
}

static enum elapse_error start_early(void *instance, struct elapse_timer *timer, uint64_t deadline)
{
    return elapse_heap_start(instance, timer, deadline - 1);
}

static enum elapse_error start_refused(void *instance, struct elapse_timer *timer,
                                       uint64_t deadline)
{
    if (elapse_heap_count(instance) >= NO_FAULT_BELOW)
        return ELAPSE_ERROR_ABI;
    return elapse_heap_start(instance, timer, deadline);
}

static enum elapse_error start_lost(void *instance, struct elapse_timer *timer, uint64_t deadline)
{
    if (elapse_heap_count(instance) >= NO_FAULT_BELOW)
        return ELAPSE_OK;
    return elapse_heap_start(instance, timer, deadline);
}

static bool stop_sound(void *instance, struct elapse_timer *timer)
{
    return elapse_heap_stop(instance, timer);
}

static void advance_sound(void *instance, uint64_t now)
{
    elapse_heap_advance(instance, now);
}

static struct elapse_timer *pop_sound(void *instance)
{
    return elapse_heap_pop(instance);
}

static uint64_t next_sound(const void *instance)
{
    return elapse_heap_next(instance);
}

/* Nothing is ever due: what should have fired is found pending at the end. */
static uint64_t next_never(const void *instance)
{
    (void)instance;
    return ELAPSE_NEVER;
}

static size_t count_sound(const void *instance)
{
    return elapse_heap_count(instance);
}

static uint64_t moves_sound(const void *instance)
{
    return elapse_heap_moves(instance);
}

static void for_each_sound(void *instance, elapse_visit_function *visit, void *context)
{
    elapse_heap_for_each(instance, visit, context);
}

static void dump_sound(const void *instance, elapse_dump_function *describe, void *context)
{
    elapse_heap_dump(instance, describe, context);
}

/* A structure named after the promise that it breaks. It has the functions that a replay calls. */
#define BROKEN(NAME, INIT, START, NEXT)                                                   \
    {                                                                                     \
        .name = (NAME), .instance_bytes = sizeof(struct elapse_heap), .is_bounded = true, \
        .storage_bytes = storage_bytes_sound, .finish = finish_sound, .init = (INIT),     \
        .move_storage = move_storage_sound, .start = (START), .stop = stop_sound,         \
        .advance = advance_sound, .pop = pop_sound, .next = (NEXT), .count = count_sound, \
        .moves = moves_sound, .for_each = for_each_sound, .dump = dump_sound,             \
    }

static const struct elapse_structure structures[] = {
    BROKEN("sound", init_sound, start_sound, next_sound),
    BROKEN("init-refused", init_refused, start_sound, next_sound),
    BROKEN("late", init_sound, start_late, next_sound),
    BROKEN("late-at-the-end", init_sound, start_sound, next_never),
    BROKEN("early", init_sound, start_early, next_sound),
    BROKEN("start-refused", init_sound, start_refused, next_sound),
    BROKEN("start-lost", init_sound, start_lost, next_sound),
};

const struct elapse_structure *elapse_structure_at(size_t number)
{
    return number < sizeof structures / sizeof structures[0] ? &structures[number] : NULL;
}

const struct elapse_structure *elapse_structure_find(const char *name)
{
    for (size_t i = 0; i < sizeof structures / sizeof structures[0]; i++) {
        if (strcmp(structures[i].name, name) == 0)
            return &structures[i];
    }
    return NULL;
}
