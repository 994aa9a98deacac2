/*
 * The textbook wheel: placing and cascading.
 */
#include "textbook_wheel.h"

static void make_empty(struct textbook_link *list)
{
    list->next = list;
    list->previous = list;
}

void textbook_wheel_init(struct textbook_wheel *wheel)
{
    wheel->now = 0;
    wheel->moves = 0;
    make_empty(&wheel->due);
    for (size_t level = 0; level < TEXTBOOK_LEVELS; level++) {
        for (size_t slot = 0; slot < TEXTBOOK_SLOTS; slot++)
            make_empty(&wheel->slots[level][slot]);
    }
}

static struct textbook_link *list_for(struct textbook_wheel *wheel, uint64_t deadline)
{
    const uint64_t range = UINT64_C(1) << (TEXTBOOK_LEVELS * TEXTBOOK_DIGIT_BITS);
    uint64_t delay = deadline - wheel->now;
    if (delay >= range) {
        delay = range - 1;
        deadline = wheel->now + delay;
    }
    size_t level = 0;
    while (delay >= TEXTBOOK_SLOTS) {
        delay >>= TEXTBOOK_DIGIT_BITS;
        deadline >>= TEXTBOOK_DIGIT_BITS;
        level++;
    }
    return &wheel->slots[level][deadline % TEXTBOOK_SLOTS];
}

static void append(struct textbook_link *list, struct textbook_link *link)
{
    link->previous = list->previous;
    link->next = list;
    list->previous->next = link;
    list->previous = link;
}

void textbook_wheel_start(struct textbook_wheel *wheel, struct textbook_timer *timer,
                          uint64_t deadline)
{
    if (timer->link.next != NULL)
        textbook_unlink(&timer->link);
    timer->deadline = deadline;
    /* The slot of the present tick has already been emptied. */
    append(deadline <= wheel->now ? &wheel->due : list_for(wheel, deadline), &timer->link);
}

bool textbook_wheel_stop(struct textbook_timer *timer)
{
    if (timer->link.next == NULL)
        return false;
    textbook_unlink(&timer->link);
    return true;
}

static void place_again(struct textbook_wheel *wheel, struct textbook_link *slot)
{
    struct textbook_link *link = slot->next;
    make_empty(slot);
    while (link != slot) {
        struct textbook_link *next = link->next;
        append(list_for(wheel, ((struct textbook_timer *)link)->deadline), link);
        wheel->moves++;
        link = next;
    }
}

void textbook_wheel_cascade(struct textbook_wheel *wheel)
{
    uint64_t digits = wheel->now;
    for (size_t level = 1; level < TEXTBOOK_LEVELS; level++) {
        digits >>= TEXTBOOK_DIGIT_BITS;
        place_again(wheel, &wheel->slots[level][digits % TEXTBOOK_SLOTS]);
        if (digits % TEXTBOOK_SLOTS != 0)
            return;
    }
}

void textbook_wheel_expire(struct textbook_wheel *wheel, struct textbook_link *slot)
{
    struct textbook_link *due = &wheel->due;
    slot->next->previous = due->previous;
    due->previous->next = slot->next;
    slot->previous->next = due;
    due->previous = slot->previous;
    make_empty(slot);
}
