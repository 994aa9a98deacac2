/*
 * A first timer: three orders, half an hour to pay each, and one is paid. As on the first page
 * of the README.
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

    /* It is now tick 0. What a tick is, is the caller's choice: here a second. */
    if (elapse_wheel_init(&wheel, 0) != ELAPSE_OK)
        return 1;
    for (int i = 0; i < 3; i++)
        elapse_wheel_start(&wheel, &orders[i].unpaid, 1800 + (uint64_t)i);

    elapse_wheel_stop(&wheel, &orders[1].unpaid); /* order 2 is paid */

    /* Half an hour later. The wheel reads no clock: it is told the time. */
    elapse_wheel_advance(&wheel, 1900);
    while ((timer = elapse_wheel_pop(&wheel)) != NULL) {
        printf("order %d was not paid\n", ((struct order *)timer)->number);
        expired++;
    }
    return expired == 2 ? 0 : 1;
}
