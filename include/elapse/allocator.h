/*
 * Elapse: the allocator. The scheduler and dials that grow allocate memory by the functions of this
 * allocator, which the caller gives to them.
 *
 *     static void *allocate(size_t alignment, size_t bytes, void *context)
 *     {
 *         (void)context;
 *         // C11 requires a multiple of the alignment.
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
 * An allocator: two functions, and a context that is passed to both. Any thread may call the
 * functions of a scheduler's allocator, and several threads may call them at the same time. The
 * functions of a structure's allocator are called only by the thread that uses the structure,
 * during its calls. The functions of an allocator may not call a function of Elapse. Since 0.2.
 */
struct elapse_allocator {
    /* Returns `bytes` bytes of memory, aligned to `alignment`, which is a power of two up to 64.
     * Returns NULL if there is no memory. */
    void *(*allocate)(size_t alignment, size_t bytes, void *context);
    /* Takes back memory that `allocate` returned. `bytes` is the size that `allocate` was asked
     * for. */
    void (*release)(void *memory, size_t bytes, void *context);
    void *context; /* passed to both functions */
};

#ifdef __cplusplus
}
#endif

#endif
