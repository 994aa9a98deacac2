/*
 * A timer that fires prints one line of JSON.
 */
#include "print.h"

#include "../../base/assert.h"
#include "../common/json.h"
#include "json_line.h"

/* Room for all of a line but its key and payload. */
enum { FRAME_ROOM = 256 };

void run_print(void *context, const struct elapse_run *firing)
{
    const struct run_timer *timer = context;
    struct run *run = timer->run;
    struct run_times times = run_times_of(timer, firing);
    size_t room = FRAME_ROOM + JSON_STRING_ROOM((size_t)timer->key_bytes) +
                  JSON_STRING_ROOM((size_t)timer->payload_bytes);
    char *line = run_writer_reserve(&run->writer, room);
    char *out = line;

    ELAPSE__ASSERT(run->options->program == NULL);
    ELAPSE__ASSERT(timer->key_bytes >= 1);
    out = json_line_text(out, "{\"key\":");
    out = json_write_string(out, timer->text, timer->key_bytes);
    out = json_line_text(out, ",\"due\":");
    out = json_line_time(out, times.due_unix_ns);
    out = json_line_text(out, ",\"fired\":");
    out = json_line_time(out, times.fired_unix_ns);
    out = json_line_text(out, ",\"late_us\":");
    out = json_line_number(out, times.late_us);
    out = json_line_text(out, ",\"run\":");
    out = json_line_number(out, firing->number);
    out = json_line_text(out, ",\"missed\":");
    out = json_line_number(out, firing->missed);
    if (timer->is_durable)
        out = json_line_text(out,
                             timer->may_repeat ? ",\"repetition\":true" : ",\"repetition\":false");
    out = json_line_text(out, ",\"payload\":");
    out = json_write_string(out, run_timer_payload(timer), timer->payload_bytes);
    out = json_line_text(out, "}\n");
    ELAPSE__ASSERT((size_t)(out - line) <= room);
    run_writer_commit(&run->writer, (size_t)(out - line));
}
