/* A plug-in: a shared object that contains Elapse and offers one function. Compiled as C and as
 * C++. plugin.sh links and loads it. */
#include <elapse/scheduler.h>
#include <elapse/version.h>
#include <elapse/wheel.h>

#ifdef __cplusplus
extern "C"
#endif
    __attribute__((visibility("default"))) const char *
    plugin_version(void);

const char *plugin_version(void)
{
    static struct elapse_wheel wheel;
    static struct elapse_timer timer;
    struct elapse_scheduler_options options;

    if (elapse_wheel_init(&wheel, 0) != ELAPSE_OK)
        return "no wheel";
    elapse_timer_init(&timer);
    elapse_wheel_start(&wheel, &timer, elapse_deadline_after(elapse_wheel_now(&wheel), 5));
    elapse_wheel_advance(&wheel, 5);
    if (elapse_wheel_pop(&wheel) != &timer)
        return "no timer";
    elapse_scheduler_options_init(&options);
    return elapse_version();
}
