/*
 * A textbook hierarchical timing wheel, kept here only to compare with.
 *
 * It has four levels of 256 slots, and each slot is a plain doubly linked list. The delay of a
 * timer chooses its level: below 2^8 ticks level 0, below 2^16 level 1, and so on. The clock
 * advances tick by tick. When level 0 has gone round, the timers of the next slot of level 1
 * cascade: they are placed again. Higher levels do the same. The wheel does not know which slots
 * are empty. So a jump of the clock costs as many ticks, and the wheel cannot say when the next
 * timer is due.
 *
 * Source: G. Varghese and T. Lauck, "Hashed and Hierarchical Timing Wheels", SOSP
 * 1987, scheme 7, with the 8-bit digits of the kernels that took it up.
 */
#ifndef BENCH_TEXTBOOK_WHEEL_H
#define BENCH_TEXTBOOK_WHEEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TEXTBOOK_DIGIT_BITS = 8,
    TEXTBOOK_SLOTS = 1 << TEXTBOOK_DIGIT_BITS,
    TEXTBOOK_LEVELS = 4,
};

struct textbook_link {
    struct textbook_link *next; /* NULL: idle */
    struct textbook_link *previous;
};

struct textbook_timer {
    struct textbook_link link;
    uint64_t deadline;
};

struct textbook_wheel {
    uint64_t now;
    uint64_t moves;
    struct textbook_link due;
    struct textbook_link slots[TEXTBOOK_LEVELS][TEXTBOOK_SLOTS];
};

void textbook_wheel_init(struct textbook_wheel *wheel);

/* Starts an idle timer or restarts a pending one. Delays from 2^32 on wait in the last slot. */
void textbook_wheel_start(struct textbook_wheel *wheel, struct textbook_timer *timer,
                          uint64_t deadline);

bool textbook_wheel_stop(struct textbook_timer *timer);

/* Cascades the timers of level 1 and above that must move down now. */
void textbook_wheel_cascade(struct textbook_wheel *wheel);

/* Makes the timers in the present slot of level 0 due. */
void textbook_wheel_expire(struct textbook_wheel *wheel, struct textbook_link *slot);

static inline void textbook_wheel_tick(struct textbook_wheel *wheel)
{
    wheel->now++;
    size_t digit = wheel->now % TEXTBOOK_SLOTS;
    if (digit == 0)
        textbook_wheel_cascade(wheel);
    struct textbook_link *slot = &wheel->slots[0][digit];
    if (slot->next != slot)
        textbook_wheel_expire(wheel, slot);
}

static inline void textbook_wheel_advance(struct textbook_wheel *wheel, uint64_t now)
{
    while (wheel->now < now)
        textbook_wheel_tick(wheel);
}

static inline void textbook_unlink(struct textbook_link *link)
{
    link->previous->next = link->next;
    link->next->previous = link->previous;
    link->next = NULL;
}

static inline struct textbook_timer *textbook_wheel_pop(struct textbook_wheel *wheel)
{
    struct textbook_link *oldest = wheel->due.next;
    if (oldest == &wheel->due)
        return NULL;
    textbook_unlink(oldest);
    return (struct textbook_timer *)oldest;
}

#endif
