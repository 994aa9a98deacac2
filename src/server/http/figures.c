#include "figures.h"

#include <stdlib.h>
#include <string.h>

#include <elapse/version.h>

#include "../../base/assert.h"
#include "../../os/program.h"
#include "cores.h"
#include "window.h"

enum {
    QUIET_TUBES = 1000, /* more tubes are looked at only while somebody watches */
    ACTIVITIES = 1 << 16,
};

/* Totals since the start. */
struct totals {
    uint64_t put, cancelled, handed_out, acknowledged, due, syncs;
};

struct elapse__http_figures {
    struct elapse__loop *loop;
    struct event *second;
    struct event *slice;
    bool is_watched;
    bool is_passing; /* a pass over the tubes is under way */
    struct elapse__http_window lateness;
    struct elapse__http_window syncs;
    struct totals before;
    uint64_t before_ns;
    struct elapse__http_rates rates;
    double sync_rate;
    uint64_t tubes; /* in all cores */
    struct elapse__http_tubes slice_of_tubes;
    uint64_t began_ns, begun_before_ns; /* when this pass and the pass before began */
    struct elapse__http_tube found[ELAPSE__HTTP_STATUS_TUBES]; /* what this pass has found */
    struct elapse__http_tube shown[ELAPSE__HTTP_STATUS_TUBES]; /* what the last pass has found */
    unsigned order[ELAPSE__HTTP_STATUS_TUBES]; /* indexes into `found`, in the order of the page */
    size_t found_count, shown_count;
    uint64_t troubled_found, troubled_shown; /* tubes in trouble, also those that are not kept */
    /* The activity of a tube at the last look. The index is the hash of the tube's name. If two
     * names have the same hash, the page may show a tube instead of a busier one. */
    uint64_t activities[ACTIVITIES];
};

/* ---- rates ---- */

static double rate(uint64_t now, uint64_t before, double seconds)
{
    return now < before || seconds <= 0 ? 0 : (double)(now - before) / seconds;
}

/* What all cores together have counted. */
struct gathered {
    struct totals totals;
    struct elapse__histogram lateness, syncs;
    uint64_t tubes;
};

static void gather(struct elapse__loop *loop, void *argument)
{
    struct gathered *all = argument;
    const struct elapse__queue *queue = loop->store->engine.jobs;
    struct elapse__queue_statistics jobs = elapse__queue_statistics(queue);

    all->totals.put += jobs.total_jobs;
    all->totals.cancelled += jobs.cancelled;
    all->totals.handed_out += elapse__server_lateness(loop->server)->count;
    all->totals.acknowledged += jobs.deletes;
    all->totals.due += elapse__queue_came_due(queue);
    all->totals.syncs += loop->store->syncs.count;
    elapse__http_add_histogram(&all->lateness, elapse__server_lateness(loop->server));
    elapse__http_add_histogram(&all->syncs, &loop->store->syncs);
    all->tubes += elapse__queue_tube_count(queue);
}

static void sample(struct elapse__http_figures *figures)
{
    const struct totals *before = &figures->before;
    struct gathered all = {.tubes = 0};
    uint64_t now_ns = elapse__os_monotonic_ns();
    double seconds = (double)(now_ns - figures->before_ns) / 1e9;

    ELAPSE__ASSERT_THAT(figures->before_ns, <=, now_ns);
    elapse__http_each_core(figures->loop, gather, &all);
    elapse__http_window_add(&figures->lateness, &all.lateness);
    elapse__http_window_add(&figures->syncs, &all.syncs);
    figures->rates = (struct elapse__http_rates){
        .put = rate(all.totals.put, before->put, seconds),
        .cancelled = rate(all.totals.cancelled, before->cancelled, seconds),
        .handed_out = rate(all.totals.handed_out, before->handed_out, seconds),
        .acknowledged = rate(all.totals.acknowledged, before->acknowledged, seconds),
        .due = rate(all.totals.due, before->due, seconds),
    };
    figures->sync_rate = rate(all.totals.syncs, before->syncs, seconds);
    figures->tubes = all.tubes;
    figures->before = all.totals;
    figures->before_ns = now_ns;
}

/* ---- tubes ---- */

static uint64_t activity_of(const struct elapse__queue_statistics *counts)
{
    return counts->total_jobs + counts->deletes + counts->cancelled + counts->timeouts;
}

static uint64_t *place_of(struct elapse__http_figures *figures, struct elapse__queue_text name)
{
    const unsigned char *bytes = name.bytes;
    uint32_t hash = 2166136261U; /* FNV-1a */

    for (size_t i = 0; i < name.size; i++)
        hash = (hash ^ bytes[i]) * 16777619U;
    return &figures->activities[(hash ^ hash >> 16) % ACTIVITIES];
}

/* Returns whether one tube is shown before the other. Tubes in trouble come first. Then comes the
 * tube in which more has happened since the last look. If that is equal, the tube with more ready
 * and reserved jobs comes first, and then the tube with more delayed jobs. */
static bool comes_before(const struct elapse__http_tube *one, const struct elapse__http_tube *other)
{
    uint64_t waiting = one->counts.ready + one->counts.reserved;
    uint64_t others = other->counts.ready + other->counts.reserved;

    if (one->is_in_trouble != other->is_in_trouble)
        return one->is_in_trouble;
    if (one->change != other->change)
        return one->change > other->change;
    if (waiting != others)
        return waiting > others;
    return one->counts.delayed > other->counts.delayed;
}

/* If the tube is among the first ones so far, keeps it in its order, and drops the last one. */
static void keep(struct elapse__http_figures *figures, const struct elapse__http_tube *tube)
{
    struct elapse__http_tube *found = figures->found;
    unsigned *order = figures->order;
    size_t place = figures->found_count;
    unsigned kept = (unsigned)place;

    ELAPSE__ASSERT_THAT(place, <=, ELAPSE__HTTP_STATUS_TUBES);
    if (place == ELAPSE__HTTP_STATUS_TUBES) {
        kept = order[--place];
        if (!comes_before(tube, &found[kept]))
            return;
    } else {
        figures->found_count++;
    }
    for (; place > 0 && comes_before(tube, &found[order[place - 1]]); place--)
        order[place] = order[place - 1];
    order[place] = kept;
    found[kept] = *tube;
    ELAPSE__ASSERT_THAT(place, <, figures->found_count);
    ELAPSE__ASSERT(place == 0 || !comes_before(tube, &found[order[place - 1]]));
}

static void look_at_tube(void *argument, struct elapse__queue_text name,
                         const struct elapse__queue_statistics *counts)
{
    struct elapse__http_figures *figures = argument;
    struct elapse__http_tube tube = {.name_size = name.size, .counts = *counts};
    uint64_t *activity = place_of(figures, name);

    ELAPSE__ASSERT(figures->is_passing);
    ELAPSE__ASSERT(name.size > 0 && name.size <= sizeof tube.name);
    memcpy(tube.name, name.bytes, name.size);
    tube.oldest_overdue_ms = tube.counts.overdue_ms;
    uint64_t present = activity_of(&tube.counts);
    tube.is_in_trouble = elapse__server_is_in_trouble(counts);
    figures->troubled_found += tube.is_in_trouble;
    tube.change = present > *activity ? present - *activity : 0;
    *activity = present;
    keep(figures, &tube);
}

static const struct elapse__http_tube *find_shown(const struct elapse__http_figures *figures,
                                                  const struct elapse__http_tube *tube)
{
    for (size_t i = 0; i < figures->shown_count; i++) {
        const struct elapse__http_tube *shown = &figures->shown[i];
        if (shown->name_size == tube->name_size &&
            memcmp(shown->name, tube->name, tube->name_size) == 0)
            return shown;
    }
    return NULL;
}

/* Computes the rates of a tube that the page will show. */
static void complete(struct elapse__http_figures *figures, struct elapse__http_tube *tube)
{
    const struct elapse__http_tube *before = find_shown(figures, tube);
    double seconds = (double)(figures->began_ns - figures->begun_before_ns) / 1e9;

    if (before != NULL)
        tube->rates = (struct elapse__http_rates){
            .put = rate(tube->counts.total_jobs, before->counts.total_jobs, seconds),
            .cancelled = rate(tube->counts.cancelled, before->counts.cancelled, seconds),
            .acknowledged = rate(tube->counts.deletes, before->counts.deletes, seconds),
        };
}

static void end_pass(struct elapse__http_figures *figures)
{
    ELAPSE__ASSERT(figures->is_passing);
    ELAPSE__ASSERT_THAT(figures->begun_before_ns, <=, figures->began_ns);
    for (size_t i = 0; i < figures->found_count; i++)
        complete(figures, &figures->found[i]);
    for (size_t i = 1; i < figures->found_count; i++)
        ELAPSE__ASSERT(!comes_before(&figures->found[figures->order[i]],
                                     &figures->found[figures->order[i - 1]]));
    for (size_t i = 0; i < figures->found_count; i++)
        figures->shown[i] = figures->found[figures->order[i]];
    figures->shown_count = figures->found_count;
    figures->troubled_shown = figures->troubled_found;
    figures->begun_before_ns = figures->began_ns;
    figures->is_passing = false;
}

static void on_slice(evutil_socket_t descriptor, short what, void *argument)
{
    struct elapse__http_figures *figures = argument;
    const struct timeval soon = {.tv_usec = 0};

    ELAPSE__ASSERT(figures->is_passing);
    (void)descriptor;
    (void)what;
    if (!elapse__http_next_tubes(figures->loop, &figures->slice_of_tubes, look_at_tube, figures))
        end_pass(figures);
    else if (event_add(figures->slice, &soon) != 0)
        figures->is_passing = false;
}

static void begin_pass(struct elapse__http_figures *figures)
{
    if (figures->is_passing || (figures->tubes > QUIET_TUBES && !figures->is_watched))
        return;
    figures->is_passing = true;
    figures->slice_of_tubes.core = figures->slice_of_tubes.cursor = 0;
    figures->found_count = 0;
    figures->troubled_found = 0;
    figures->began_ns = elapse__os_monotonic_ns();
    on_slice(-1, 0, figures);
}

static void on_second(evutil_socket_t descriptor, short what, void *argument)
{
    struct elapse__http_figures *figures = argument;

    (void)descriptor;
    (void)what;
    ELAPSE__ASSERT(figures->is_passing == evtimer_pending(figures->slice, NULL));
    sample(figures);
    begin_pass(figures);
}

/* ---- the present state ---- */

static void take(struct elapse__loop *loop, void *argument)
{
    struct elapse__http_status *status = argument;
    struct elapse__queue *jobs = loop->store->engine.jobs;
    struct elapse__queue_now now = elapse__store_now();

    status->now_ms = now.wall_ms;
    elapse__server_statistics(loop->server, now, &status->server);
    status->tubes_total = elapse__queue_tube_count(jobs);
    status->oldest_overdue_ms = elapse__queue_overdue_ms(jobs, now);
    status->wheel_ms = elapse__queue_draw(jobs, status->levels);
    elapse__queue_foresee(jobs, now, status->has_long_forecast, &status->forecast);
}

/* Adds the state of another partition. Wheels are not added up: the page shows the wheel of the
 * last partition. */
static void take_more(struct elapse__loop *loop, void *argument)
{
    struct elapse__http_status *status = argument;
    struct elapse__http_status one = {.has_long_forecast = status->has_long_forecast};

    take(loop, &one);
    status->tubes_total += one.tubes_total;
    if (one.oldest_overdue_ms > status->oldest_overdue_ms)
        status->oldest_overdue_ms = one.oldest_overdue_ms;
    status->wheel_ms = one.wheel_ms;
    memcpy(status->levels, one.levels, sizeof status->levels);
    elapse__http_add_server(&status->server, &one.server);
    elapse__http_add_forecast(&status->forecast, &one.forecast);
}

/* Takes the state of a node. It has the sums over the partitions that the node owns, perhaps none,
 * and the figures of the router, which has the clients. */
static void take_node(struct elapse__http_figures *figures, struct elapse__http_status *status)
{
    struct elapse__loop_router router;

    status->now_ms = elapse__store_now().wall_ms;
    status->server.journal.tail = 1; /* together with a head of 0: no segment */
    elapse__http_each_core(figures->loop, take_more, status);
    ELAPSE__ASSERT_THAT(status->cluster->partitions, >, 0);
    status->cluster->router(status->cluster->context, &router);
    elapse__http_use_router(&status->server, &router);
}

bool elapse__http_has_disk(const struct elapse__loop *loop)
{
    return loop->options->durability != ELAPSE__LOOP_MEMORY;
}

static void describe(const struct elapse__http_figures *figures, struct elapse__http_status *status)
{
    static const char *const names[] = {
        [ELAPSE__LOOP_SYNC] = "sync",
        [ELAPSE__LOOP_INTERVAL] = "interval",
        [ELAPSE__LOOP_MEMORY] = "memory",
    };
    const struct elapse__loop_options *options = figures->loop->options;

    ELAPSE__ASSERT_THAT(options->durability, <, sizeof names / sizeof *names);
    status->version = elapse_version();
    status->durability = names[options->durability];
    status->memory_bytes = elapse__os_memory_bytes();
    status->has_disk = elapse__http_has_disk(figures->loop) &&
                       elapse__os_disk_free(options->directory, &status->disk_free_bytes) == 0;
}

void elapse__http_figures_look(struct elapse__http_figures *figures, bool is_long,
                               struct elapse__http_status *status)
{
    ELAPSE__ASSERT_THAT(figures->shown_count, <=, ELAPSE__HTTP_STATUS_TUBES);
    *status = (struct elapse__http_status){.has_long_forecast = is_long};
    describe(figures, status);
    status->rates = figures->rates;
    status->syncs = figures->sync_rate;
    status->lateness = &figures->lateness;
    status->sync_times = &figures->syncs;
    status->tubes = figures->shown;
    status->tube_count = figures->shown_count;
    status->tubes_in_trouble = figures->troubled_shown;
    status->cluster = figures->loop->cluster;
    if (status->cluster != NULL)
        take_node(figures, status);
    else
        elapse__loop_with_core(figures->loop, take, status);
}

void elapse__http_figures_set_watched(struct elapse__http_figures *figures, bool is_watched)
{
    bool was_watched = figures->is_watched;

    figures->is_watched = is_watched;
    if (is_watched && !was_watched)
        begin_pass(figures);
}

/* ---- life ---- */

static void begin(struct elapse__http_figures *figures)
{
    struct gathered all = {.tubes = 0};

    elapse__http_each_core(figures->loop, gather, &all);
    figures->tubes = all.tubes;
    figures->before = all.totals;
    figures->before_ns = elapse__os_monotonic_ns();
    elapse__http_window_add(&figures->syncs, &all.syncs);
}

struct elapse__http_figures *elapse__http_figures_open(struct elapse__loop *loop)
{
    const struct timeval second = {.tv_sec = 1};
    struct elapse__http_figures *figures = calloc(1, sizeof *figures);

    if (figures == NULL)
        return NULL;
    figures->loop = loop;
    figures->second =
        elapse__loop_event(loop->peers.base, -1, EV_PERSIST, &second, on_second, figures);
    figures->slice = event_new(loop->peers.base, -1, 0, on_slice, figures);
    if (figures->second == NULL || figures->slice == NULL) {
        elapse__http_figures_close(figures);
        return NULL;
    }
    begin(figures);
    return figures;
}

void elapse__http_figures_close(struct elapse__http_figures *figures)
{
    if (figures == NULL)
        return;
    elapse__loop_event_free(figures->second);
    elapse__loop_event_free(figures->slice);
    free(figures);
}
