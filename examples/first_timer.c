/*
 * A first timer: there are three orders, each has half an hour to be paid, and one is paid. The
 * first page of the README tells the same story.
 */
#include <stdio.h>

#include <elapse/wheel.h>

/* The timer comes first: a cast finds the order. */
struct order {
    struct elapse_timer unpaid;
    int number;
};

int main(void)
{
    static struct elapse_wheel wheel;
    struct order orders[3] = {{.number = 1}, {.number = 2}, {.number = 3}};
    struct elapse_timer *timer;
    int expired = 0;

    /* It is now tick 0. The caller chooses the length of a tick: here a second. */
    if (elapse_wheel_init(&wheel, 0) != ELAPSE_OK)
        return 1;
    for (int i = 0; i < 3; i++)
        elapse_wheel_start(&wheel, &orders[i].unpaid, 1800 + (uint64_t)i);

    elapse_wheel_stop(&wheel, &orders[1].unpaid); /* order 2 is paid */

    /* Half an hour later. The wheel reads no clock: the caller passes the time in. */
    elapse_wheel_advance(&wheel, 1900);
    while ((timer = elapse_wheel_pop(&wheel)) != NULL) {
        printf("order %d was not paid\n", ((struct order *)timer)->number);
        expired++;
    }
    return expired == 2 ? 0 : 1;
}
