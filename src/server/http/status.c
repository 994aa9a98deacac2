#include "status.h"

#include "../../base/assert.h"

static void write_rates(struct elapse__json *json, const struct elapse__http_rates *rates)
{
    elapse__json_open_member(json, "rates");
    elapse__json_real_member(json, "put", rates->put);
    elapse__json_real_member(json, "cancelled", rates->cancelled);
    elapse__json_real_member(json, "handed_out", rates->handed_out);
    elapse__json_real_member(json, "acknowledged", rates->acknowledged);
    elapse__json_real_member(json, "due", rates->due);
    elapse__json_close(json, '}');
}

static void write_storage(struct elapse__json *json, const struct elapse__http_status *status)
{
    const struct elapse__journal_figures *journal = &status->server.journal;

    ELAPSE__ASSERT_THAT(journal->tail, <=, journal->head + 1);
    elapse__json_open_member(json, "storage");
    elapse__json_text_member(json, "durability", status->durability);
    elapse__json_unsigned_member(json, "segments", journal->head - journal->tail + 1);
    elapse__json_unsigned_member(json, "segment_bytes", journal->log_bytes);
    elapse__json_unsigned_member(json, "live_bytes", journal->live_bytes);
    elapse__json_name(json, "disk_free_bytes");
    if (status->has_disk)
        elapse__json_unsigned(json, status->disk_free_bytes);
    else
        elapse__json_null(json);
    elapse__json_unsigned_member(json, "damaged", journal->damaged_bodies);
    elapse__json_unsigned_member(json, "unread_places", journal->unread_places);
    elapse__json_boolean_member(json, "disk_full", journal->disk_is_full);
    elapse__json_close(json, '}');
}

static void write_states(struct elapse__json *json, const struct elapse__queue_statistics *counts)
{
    elapse__json_unsigned_member(json, "delayed", counts->delayed);
    elapse__json_unsigned_member(json, "ready", counts->ready);
    elapse__json_unsigned_member(json, "reserved", counts->reserved);
    elapse__json_unsigned_member(json, "buried", counts->buried);
}

static void write_tube(struct elapse__json *json, int64_t now_ms,
                       const struct elapse__http_tube *tube)
{
    ELAPSE__ASSERT(tube->name_size > 0 && tube->name_size <= sizeof tube->name);
    elapse__json_open(json, '{');
    elapse__json_bytes_member(json, "name", tube->name, tube->name_size);
    write_states(json, &tube->counts);
    elapse__json_unsigned_member(json, "held", tube->counts.held);
    if (tube->counts.held_by.size > 0)
        elapse__json_bytes_member(json, "held_by", tube->counts.held_by.bytes,
                                  tube->counts.held_by.size);
    elapse__json_name(json, "paused_until_ms");
    if (tube->counts.pause_left_ms == 0)
        elapse__json_null(json);
    else
        elapse__json_signed(json, now_ms + (int64_t)tube->counts.pause_left_ms);
    write_rates(json, &tube->rates);
    elapse__json_unsigned_member(json, "oldest_overdue_ms", tube->oldest_overdue_ms);
    elapse__json_close(json, '}');
}

static void write_counts(struct elapse__json *json, const char *name, const uint64_t *counts,
                         size_t count)
{
    elapse__json_name(json, name);
    elapse__json_open(json, '[');
    for (size_t i = 0; i < count; i++)
        elapse__json_unsigned(json, counts[i]);
    elapse__json_close(json, ']');
}

void elapse__http_write_forecast(struct elapse__json *json,
                                 const struct elapse__queue_forecast *forecast, bool is_long)
{
    write_counts(json, "seconds", forecast->seconds, ELAPSE__QUEUE_FORECAST_SECONDS);
    write_counts(json, "minutes", forecast->minutes, ELAPSE__QUEUE_FORECAST_MINUTES);
    if (!is_long)
        return;
    write_counts(json, "hours", forecast->hours, ELAPSE__QUEUE_FORECAST_HOURS);
    write_counts(json, "days", forecast->days, ELAPSE__QUEUE_FORECAST_DAYS);
}

/* Writes a quantile, or null if nothing was counted. */
static void quantile(struct elapse__json *json, const char *name,
                     const struct elapse__http_window *window, unsigned percent)
{
    elapse__json_name(json, name);
    if (window->count == 0)
        elapse__json_null(json);
    else
        elapse__json_unsigned(json, elapse__http_window_quantile(window, percent));
}

static void write_times(struct elapse__json *json, const struct elapse__http_status *status)
{
    elapse__json_open_member(json, "lateness");
    elapse__json_unsigned_member(json, "count", status->lateness->count);
    quantile(json, "p50_ms", status->lateness, 50);
    quantile(json, "p99_ms", status->lateness, 99);
    quantile(json, "max_ms", status->lateness, 100);
    elapse__json_close(json, '}');
    elapse__json_unsigned_member(json, "oldest_overdue_ms", status->oldest_overdue_ms);
    elapse__json_open_member(json, "fsync");
    quantile(json, "p50_us", status->sync_times, 50);
    quantile(json, "p99_us", status->sync_times, 99);
    elapse__json_real_member(json, "count_per_s", status->syncs);
    elapse__json_close(json, '}');
}

/* Writes a level of the wheel. A hexadecimal digit has four slots, the first slot in its lowest
 * bit. */
static void write_level(struct elapse__json *json, const struct elapse__queue_wheel_level *level)
{
    char digits[ELAPSE__QUEUE_WHEEL_SLOTS / 4];
    size_t count = level->slots / 4;

    ELAPSE__ASSERT_THAT(count, <=, sizeof digits);
    ELAPSE__ASSERT_THAT(level->position, <, level->slots);
    for (size_t i = 0; i < count; i++)
        digits[i] = "0123456789abcdef"[level->occupied[i / 16] >> i % 16 * 4 & 15];
    elapse__json_open(json, '{');
    elapse__json_unsigned_member(json, "slots", level->slots);
    elapse__json_unsigned_member(json, "slot_ms", level->slot_ms);
    elapse__json_unsigned_member(json, "position", level->position);
    elapse__json_name(json, "occupied");
    elapse__json_string(json, digits, count);
    elapse__json_close(json, '}');
}

static void write_wheel(struct elapse__json *json, const struct elapse__http_status *status)
{
    elapse__json_open_member(json, "wheel");
    elapse__json_unsigned_member(json, "tick_ms", 1);
    elapse__json_unsigned_member(json, "now_tick", status->wheel_ms);
    elapse__json_name(json, "levels");
    elapse__json_open(json, '[');
    for (unsigned i = 0; i < ELAPSE__QUEUE_WHEEL_LEVELS; i++)
        if (status->levels[i].slots > 0) /* a node that owns no partition has no wheel */
            write_level(json, &status->levels[i]);
    elapse__json_close(json, ']');
    elapse__json_close(json, '}');
}

void elapse__http_write_status(struct elapse__json *json, const struct elapse__http_status *status)
{
    ELAPSE__ASSERT_THAT(status->tube_count, <=, ELAPSE__HTTP_STATUS_TUBES);
    elapse__json_open(json, '{');
    elapse__json_name(json, "now_ms");
    elapse__json_signed(json, status->now_ms);
    elapse__json_text_member(json, "version", status->version);
    elapse__json_unsigned_member(json, "uptime_ms", status->server.uptime_ms);
    elapse__json_boolean_member(json, "draining", status->server.draining);
    write_storage(json, status);
    write_times(json, status);
    write_rates(json, &status->rates);
    elapse__json_unsigned_member(json, "connections", status->server.connections);
    elapse__json_unsigned_member(json, "workers_waiting", status->server.waiting);
    elapse__json_unsigned_member(json, "memory_bytes", status->memory_bytes);
    elapse__json_open_member(json, "forecast");
    elapse__http_write_forecast(json, &status->forecast, status->has_long_forecast);
    elapse__json_close(json, '}');
    write_wheel(json, status);
    elapse__json_open_member(json, "jobs");
    write_states(json, &status->server.jobs);
    elapse__json_close(json, '}');
    elapse__json_name(json, "tubes");
    elapse__json_open(json, '[');
    for (size_t i = 0; i < status->tube_count; i++)
        write_tube(json, status->now_ms, &status->tubes[i]);
    elapse__json_close(json, ']');
    elapse__json_unsigned_member(json, "tubes_total", status->tubes_total);
    elapse__json_unsigned_member(json, "tubes_in_trouble", status->tubes_in_trouble);
    if (status->cluster != NULL) {
        elapse__json_name(json, "cluster");
        elapse__http_write_cluster(json, status->cluster);
    }
    elapse__json_close(json, '}');
}
