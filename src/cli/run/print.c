/*
 * A timer that fires prints one line of JSON.
 */
#include "print.h"

#include <string.h>

#include "../../base/assert.h"
#include "../common/json.h"
#include "timestamp.h"

/* Room for all of a line but its key and payload. */
enum { FRAME_ROOM = 256 };

static char *write_text(char *out, const char *text)
{
    while (*text != '\0')
        *out++ = *text++;
    return out;
}

static char *write_number(char *out, uint64_t number)
{
    char digits[20];
    size_t first = sizeof digits;

    do {
        digits[--first] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    memcpy(out, digits + first, sizeof digits - first);
    return out + (sizeof digits - first);
}

static char *write_moment(char *out, uint64_t unix_ns)
{
    *out++ = '"';
    timestamp_write(out, unix_ns);
    out += TIMESTAMP_BYTES;
    *out++ = '"';
    return out;
}

void run_print(void *context, const struct elapse_run *firing)
{
    const struct run_timer *timer = context;
    struct run *run = timer->run;
    struct run_times times = run_times_of(run, firing);
    size_t room = FRAME_ROOM + JSON_STRING_ROOM((size_t)timer->key_bytes) +
                  JSON_STRING_ROOM((size_t)timer->payload_bytes);
    char *line = run_writer_reserve(&run->writer, room);
    char *out = line;

    ELAPSE__ASSERT(run->options->program == NULL);
    ELAPSE__ASSERT(timer->key_bytes >= 1);
    out = write_text(out, "{\"key\":");
    out = json_write_string(out, timer->text, timer->key_bytes);
    out = write_text(out, ",\"due\":");
    out = write_moment(out, times.due_unix_ns);
    out = write_text(out, ",\"fired\":");
    out = write_moment(out, times.fired_unix_ns);
    out = write_text(out, ",\"late_us\":");
    out = write_number(out, times.late_us);
    out = write_text(out, ",\"run\":");
    out = write_number(out, firing->number);
    out = write_text(out, ",\"missed\":");
    out = write_number(out, firing->missed);
    out = write_text(out, ",\"payload\":");
    out = json_write_string(out, run_timer_payload(timer), timer->payload_bytes);
    out = write_text(out, "}\n");
    ELAPSE__ASSERT((size_t)(out - line) <= room);
    run_writer_commit(&run->writer, (size_t)(out - line));
}
