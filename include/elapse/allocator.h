/*
 * Elapse: where memory comes from, for the parts that allocate: the scheduler, and
 * dials that grow.
 *
 *     static void *allocate(size_t alignment, size_t bytes, void *context)
 *     {
 *         (void)context;
 *         // C11 wants a multiple of the alignment.
 *         return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
 *     }
 *
 *     static void release(void *memory, size_t bytes, void *context)
 *     {
 *         (void)bytes, (void)context;
 *         free(memory);
 *     }
 *
 *     const struct elapse_allocator allocator = {.allocate = allocate, .release = release};
 */
#ifndef ELAPSE_ALLOCATOR_H
#define ELAPSE_ALLOCATOR_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Two functions and what is passed on to them. Those of a scheduler may be called by
 * any thread, several at a time; those of a structure are called by the thread that
 * uses the structure, inside its calls. Neither may call back into Elapse.
 * Since 0.1.
 */
struct elapse_allocator {
    /* `bytes` bytes aligned to `alignment`, a power of two up to 64; NULL if there
     * are none. */
    void *(*allocate)(size_t alignment, size_t bytes, void *context);
    /* Takes back what allocate gave, of which the bytes are told again. */
    void (*release)(void *memory, size_t bytes, void *context);
    void *context; /* passed on to both */
};

#ifdef __cplusplus
}
#endif

#endif
