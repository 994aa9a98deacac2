/*
 * The wheel of the queue as a picture: which of its slots have timers.
 */
#ifndef ELAPSE__QUEUE_PICTURE_H
#define ELAPSE__QUEUE_PICTURE_H

#include "queue.h"

enum { ELAPSE__QUEUE_WHEEL_LEVELS = 6, ELAPSE__QUEUE_WHEEL_SLOTS = 256 };

/* One level of the wheel by the boot-time clock: a ring of slots, and the slot at the present. */
struct elapse__queue_wheel_level {
    uint64_t slot_ms;
    uint32_t slots;
    uint32_t position;
    uint64_t occupied[ELAPSE__QUEUE_WHEEL_SLOTS / 64]; /* bit s % 64 of word s / 64 */
};

/* Fills `levels` with the levels of the wheel by the boot-time clock, the lowest first. Returns the
 * position of the wheel, in milliseconds. */
uint64_t elapse__queue_draw(const struct elapse__queue *queue,
                            struct elapse__queue_wheel_level levels[ELAPSE__QUEUE_WHEEL_LEVELS]);

#endif
