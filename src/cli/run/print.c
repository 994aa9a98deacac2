/*
 * Prints one line of JSON for each timer that fires.
 */
#include "print.h"

#include "../../base/assert.h"
#include "../common/timestamp.h"

void run_print(void *context, const struct elapse_run *firing)
{
    const struct run_timer *timer = context;
    struct run *run = timer->run;
    struct run_times times = run_times_of(timer, firing);

    ELAPSE__ASSERT(run->options->program == NULL);
    ELAPSE__ASSERT(timer->key_bytes >= 1);
    struct elapse__json *json = run_writer_begin(&run->writer);
    elapse__json_name(json, "key");
    elapse__json_string(json, timer->text, timer->key_bytes);
    timestamp_add_member(json, "due", times.due_unix_ns);
    timestamp_add_member(json, "fired", times.fired_unix_ns);
    elapse__json_unsigned_member(json, "late_us", times.late_us);
    elapse__json_unsigned_member(json, "run", firing->number);
    elapse__json_unsigned_member(json, "missed", firing->missed);
    if (timer->is_durable)
        elapse__json_boolean_member(json, "repetition", timer->may_repeat);
    elapse__json_name(json, "payload");
    elapse__json_string(json, run_timer_payload(timer), timer->payload_bytes);
    run_writer_end(&run->writer);
}
