#include "day_clients.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replies.h"

enum {
    OLD_TUBES_FROM = 6, /* the tubes that both protocols use; their jobs have no RETRY */
    MINUTE_MS = 60000,
    MINUTES_BACK = 8, /* after this time, all jobs of a tube that lasts a minute have ended */
    BODY_MAX = 300,
    TUBE_NAME_BYTES = 32, /* room for the name of a tube that lasts a minute */
};

struct day_plan day_plan;
struct random_source day_random;

static uint64_t last_key;

static uint64_t below(uint64_t limit)
{
    return random_below(&day_random, limit);
}

static bool one_in(uint64_t n)
{
    return random_one_in(&day_random, n);
}

/* ---- commands as bytes ---- */

/* A command of RESP that grows word by word. */
struct words {
    char bytes[DAY_COMMAND_BYTES - 16];
    size_t size;
    unsigned count;
};

__attribute__((format(printf, 2, 3))) static void word(struct words *words, const char *format, ...)
{
    char text[512];
    va_list arguments;

    va_start(arguments, format);
    int size = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    words->size += (size_t)snprintf(words->bytes + words->size, sizeof words->bytes - words->size,
                                    "$%d\r\n%s\r\n", size, text);
    words->count++;
}

static void option(struct words *words, const char *name, uint64_t ms)
{
    word(words, "%s", name);
    word(words, "%llums", (unsigned long long)ms);
}

static size_t write_words(const struct words *words, char *to)
{
    return (size_t)sprintf(to, "*%u\r\n%.*s", words->count, (int)words->size, words->bytes);
}

static void name_tube(char name[TUBE_NAME_BYTES], uint32_t tube, uint64_t minute)
{
    if (tube < DAY_TUBES)
        (void)snprintf(name, TUBE_NAME_BYTES, "t%u", tube);
    else
        (void)snprintf(name, TUBE_NAME_BYTES, "minute-%llu", (unsigned long long)minute);
}

static size_t write_body(char *body, const struct day_job *job)
{
    size_t size = (size_t)sprintf(body, "%u %u ", day_book_number(job), job->generation);
    size_t more = (size_t)below(one_in(4) ? BODY_MAX : 60);

    memset(body + size, 'x', more);
    body[size + more] = '\0';
    return size + more;
}

static void begin(struct day_client *client, enum day_verb verb, struct day_job *job)
{
    client->verb = verb;
    client->job = job;
    client->victim = NULL;
    client->said_ms = day_now_ms;
}

/* ---- producers ---- */

/* Returns the time until the next command of a producer. All producers together put as many jobs as
 * planned, in four waves of load a day. */
static uint64_t pause_ms(void)
{
    uint64_t mean_ms = 1000 * (DAY_PRODUCERS + DAY_OLD_PRODUCERS) * 10 / 8 / day_plan.puts_a_second;
    uint64_t wave_ms = 6 * day_plan.longest_ms;
    uint64_t half_ms = wave_ms / 2;
    uint64_t in_wave_ms = day_now_ms % wave_ms;
    uint64_t rising_ms = in_wave_ms < half_ms ? in_wave_ms : wave_ms - in_wave_ms;

    /* The pause goes from half of the mean to one and a half of it, and back. */
    mean_ms = mean_ms / 2 + mean_ms * rising_ms / (half_ms + 1);
    return 1 + below(2 * mean_ms + 1);
}

static uint64_t choose_delay_ms(void)
{
    switch (below(10)) {
    case 0:
    case 1:
    case 2:
        return 0;
    case 3:
        return below(day_plan.longest_ms);
    case 4:
    case 5:
        return below(day_plan.longest_ms / 12);
    default:
        return below(10000);
    }
}

static void choose_options(struct day_job *job, struct words *words)
{
    job->ttr_ms = 5000 + below(DAY_TTR_MS_MAX - 5000);
    option(words, "TTR", job->ttr_ms);
    if (job->tube < OLD_TUBES_FROM && one_in(4)) {
        job->retry = 1 + (uint32_t)below(3);
        job->backoff_min_ms = 100 + below(1000);
        job->backoff_max_ms = job->backoff_min_ms + below(20000);
        word(words, one_in(2) ? "ATTEMPTS" : "RETRY");
        word(words, "%u", job->retry);
        word(words, "BACKOFF");
        word(words, "%llums", (unsigned long long)job->backoff_min_ms);
        word(words, "%llums", (unsigned long long)job->backoff_max_ms);
    } else if (job->tube < OLD_TUBES_FROM) {
        job->retry = 20;
        job->backoff_min_ms = 1000;
        job->backoff_max_ms = 600000;
    } else {
        word(words, "ATTEMPTS");
        word(words, "0");
        word(words, "BACKOFF");
        word(words, "0s");
        word(words, "0s");
    }
    if (job->period_ms == 0 && one_in(20)) {
        job->expire_ms = 500 + below(60000);
        option(words, "EXPIRE", job->expire_ms);
    }
    if (one_in(3)) {
        word(words, "PRIORITY");
        word(words, "%u", (unsigned)below(5));
    }
    if (one_in(10)) {
        word(words, "TOKEN");
        word(words, "token-%u-%u", day_book_number(job), job->generation);
        if (one_in(2))
            option(words, "FOR", 1000 + below(599000));
    }
}

/* Gives the job a key: a new one, or that of a job that waits in the same tube. */
static void choose_key(struct day_client *client, struct day_job *job, struct words *words)
{
    struct day_job *other = one_in(3) ? day_book_some(DAY_WAITS, below(DAY_JOBS)) : NULL;

    /* No second put may take the key of a job that is about to be replaced: it would replace the
     * first put. */
    if (other != NULL && other->key != 0 && other->tube == job->tube && other->id != 0 &&
        !other->is_asked_to_end) {
        client->victim = other;
        other->is_asked_to_end = true;
        job->key = other->key;
    } else {
        job->key = ++last_key;
    }
    word(words, "KEY");
    word(words, "key-%llu", (unsigned long long)job->key);
}

static uint64_t recurring;

static size_t say_put(struct day_client *client, char *to)
{
    struct words words = {.size = 0};
    struct day_job *job = day_book_take();
    char name[TUBE_NAME_BYTES];
    char body[BODY_MAX + 40];

    if (job == NULL)
        return 0;
    begin(client, DAY_PUT, job);
    bool recurs = recurring < day_plan.recurring;
    bool in_minute = !recurs && one_in(20);
    job->tube = in_minute ? DAY_TUBES : (uint32_t)below(DAY_TUBES);
    uint64_t delay_ms = in_minute ? below(5000) : choose_delay_ms();
    name_tube(name, job->tube, day_now_ms / MINUTE_MS);
    (void)write_body(body, job);
    word(&words, "PUT");
    word(&words, "%s", name);
    word(&words, "%s", body);
    if (recurs) {
        recurring++;
        delay_ms = job->period_ms = 10000 + below(day_plan.longest_ms / 2);
        option(&words, "EVERY", job->period_ms);
    } else if (one_in(5)) {
        word(&words, "AT");
        word(&words, "%llu", (unsigned long long)(UINT64_C(1700000000000) + day_now_ms + delay_ms));
    } else {
        option(&words, "IN", delay_ms);
    }
    job->due_ms = day_now_ms + delay_ms;
    job->latest_ms = job->due_ms;
    choose_options(job, &words);
    if (!in_minute && one_in(3))
        choose_key(client, job, &words);
    return write_words(&words, to);
}

/* Writes a command about a job that waits. Returns its bytes. */
static size_t say_of_waiting(struct day_client *client, char *to)
{
    struct words words = {.size = 0};
    struct day_job *job = day_book_some(DAY_WAITS, below(DAY_JOBS));
    char name[TUBE_NAME_BYTES];

    if (job == NULL || job->id == 0 || job->period_ms > 0)
        return 0;
    uint64_t kind = below(3);
    begin(client, kind == 0 ? DAY_CANCEL : kind == 1 ? DAY_MOVE : DAY_LOOK, job);
    if (kind == 0 && job->key != 0 && !job->is_asked_to_end) {
        name_tube(name, job->tube, 0);
        word(&words, "CANCEL");
        word(&words, "%s", name);
        word(&words, "key-%llu", (unsigned long long)job->key);
    } else {
        static const char *const names[] = {"CANCELID", "RESCHEDULEID", "LOOKUPID"};
        word(&words, "%s", names[kind]);
        word(&words, "%llu", (unsigned long long)job->id);
    }
    job->is_asked_to_end |= kind == 0;
    if (kind == 1) {
        client->value = below(60000);
        option(&words, "IN", client->value);
        if (day_now_ms + client->value < job->due_ms)
            job->due_ms = day_now_ms + client->value;
    }
    return write_words(&words, to);
}

static size_t say_look_around(struct day_client *client, char *to)
{
    struct words words = {.size = 0};

    begin(client, DAY_OTHER, NULL);
    switch (below(3)) {
    case 0:
        word(&words, "STATS");
        break;
    case 1:
        word(&words, "TUBES");
        break;
    default:
        word(&words, "LIST");
        word(&words, "t%u", (unsigned)below(DAY_TUBES));
        word(&words, "COUNT");
        word(&words, "20");
    }
    return write_words(&words, to);
}

static size_t produce(struct day_client *client, char *to)
{
    uint64_t kind = below(100);

    client->wake_ms = day_now_ms + pause_ms();
    if (!day_plan.puts)
        return 0;
    if (kind < 80)
        return say_put(client, to);
    return kind < 98 ? say_of_waiting(client, to) : say_look_around(client, to);
}

static size_t produce_old(struct day_client *client, char *to)
{
    char body[BODY_MAX + 40];

    client->wake_ms = day_now_ms + pause_ms();
    if (!day_plan.puts)
        return 0;
    if (client->tube == 0 || one_in(20)) {
        begin(client, DAY_OTHER, NULL);
        client->tube = OLD_TUBES_FROM + (uint32_t)below(DAY_TUBES - OLD_TUBES_FROM);
        return (size_t)sprintf(to, "use t%u\r\n", client->tube);
    }
    struct day_job *job = day_book_take();
    if (job == NULL)
        return 0;
    begin(client, DAY_PUT, job);
    uint64_t delay_s = choose_delay_ms() / 1000;
    uint64_t ttr_s = 5 + below(DAY_TTR_MS_MAX / 1000 - 5);
    size_t size = write_body(body, job);
    job->tube = client->tube;
    job->ttr_ms = ttr_s * 1000;
    job->due_ms = day_now_ms + delay_s * 1000;
    job->latest_ms = job->due_ms;
    return (size_t)sprintf(to, "put %u %llu %llu %zu\r\n%s\r\n", (unsigned)below(5),
                           (unsigned long long)delay_s, (unsigned long long)ttr_s, size, body);
}

/* ---- workers ---- */

/* Moves a held job whose time has come from `held` to `acting`. Returns false if there is none. */
static bool take_held(struct day_client *client)
{
    uint64_t soonest = UINT64_MAX;

    for (unsigned i = 0; i < client->held_count; i++) {
        if (client->held[i].act_ms <= day_now_ms) {
            client->acting = client->held[i];
            client->held[i] = client->held[--client->held_count];
            return true;
        }
        if (client->held[i].act_ms < soonest)
            soonest = client->held[i].act_ms;
    }
    client->wake_ms = soonest;
    return false;
}

/* Notes the new state of a job when the worker sends its command. Another worker may get the job
 * before this one hears the reply. */
static void give_back(const struct day_client *client)
{
    struct day_job *job = client->job;

    if (client->verb == DAY_FAIL)
        day_failed(job, client->acting.attempt, 0);
    else if (client->verb == DAY_RELEASE)
        day_waits(job, client->value, client->value);
    else if (client->verb == DAY_BURY)
        day_is_buried(job, day_now_ms);
    else if (client->verb == DAY_END && job->period_ms > 0)
        day_waits(job, 0, job->period_ms);
}

static size_t say_of_held(struct day_client *client, char *to)
{
    struct words words = {.size = 0};
    const struct day_held *held = &client->acting;
    /* A job of a tube that lasts a minute ends at once. */
    uint64_t kind = held->job->tube == DAY_TUBES ? 99 : below(100);
    bool extends = kind < 4 && !held->was_extended;

    begin(client,
          extends     ? DAY_EXTEND
          : kind < 10 ? DAY_FAIL
          : kind < 14 ? DAY_RELEASE
          : kind < 16 ? DAY_BURY
                      : DAY_END,
          held->job);
    word(&words, "%s", extends ? "EXTEND" : kind < 14 ? "NACK" : kind < 16 ? "BURY" : "ACK");
    word(&words, "%llu", (unsigned long long)held->id);
    word(&words, "%s", held->lease);
    if (client->verb == DAY_RELEASE) {
        client->value = below(30000);
        option(&words, "IN", client->value);
    }
    give_back(client);
    return write_words(&words, to);
}

static size_t say_reserve(struct day_client *client, char *to)
{
    struct words words = {.size = 0};
    uint64_t minute = day_now_ms / MINUTE_MS;
    char name[TUBE_NAME_BYTES];

    begin(client, DAY_RESERVE, NULL);
    word(&words, "RESERVE");
    for (uint32_t tube = 0; tube < DAY_TUBES; tube++)
        word(&words, "t%u", tube);
    for (uint64_t back = 0; back <= MINUTES_BACK && back <= minute; back++) {
        name_tube(name, DAY_TUBES, minute - back);
        word(&words, "%s", name);
    }
    word(&words, "COUNT");
    word(&words, "%u", 1 + (unsigned)below(DAY_AT_ONCE));
    option(&words, "WAIT", 1000 + below(20000));
    return write_words(&words, to);
}

static size_t work(struct day_client *client, char *to)
{
    if (client->held_count > 0)
        return take_held(client) ? say_of_held(client, to) : 0;
    client->wake_ms = day_now_ms + below(30);
    return day_plan.takes ? say_reserve(client, to) : 0;
}

static size_t work_old(struct day_client *client, char *to)
{
    static const char *const first[] = {"watch t6\r\n", "watch t7\r\n", "ignore default\r\n"};

    client->wake_ms = day_now_ms + below(30);
    if (client->tube < sizeof first / sizeof *first) {
        begin(client, DAY_OTHER, NULL);
        return (size_t)sprintf(to, "%s", first[client->tube++]);
    }
    if (client->held_count > 0) {
        if (!take_held(client))
            return 0;
        uint64_t kind = below(100);
        unsigned long long id = client->acting.id;
        begin(client, kind < 80 ? DAY_END : kind < 95 ? DAY_RELEASE : DAY_BURY, client->acting.job);
        client->value = below(20) * 1000;
        give_back(client);
        if (kind < 80)
            return (size_t)sprintf(to, "delete %llu\r\n", id);
        if (kind < 95)
            return (size_t)sprintf(to, "release %llu 3 %u\r\n", id, (unsigned)client->value / 1000);
        return (size_t)sprintf(to, "bury %llu 3\r\n", id);
    }
    if (!day_plan.takes)
        return 0;
    begin(client, DAY_RESERVE, NULL);
    return (size_t)sprintf(to, "reserve-with-timeout %u\r\n", 1 + (unsigned)below(20));
}

/* ---- the keeper ---- */

static size_t keep(struct day_client *client, char *to)
{
    struct words words = {.size = 0};

    client->wake_ms = day_now_ms + 1000 + below(30000);
    if (day_plan.takes && one_in(20)) {
        begin(client, DAY_OTHER, NULL);
        word(&words, "PAUSE");
        word(&words, "t%u", (unsigned)below(DAY_TUBES));
        word(&words, "%us", 1 + (unsigned)below(10));
        return write_words(&words, to);
    }
    client->tube = (client->tube + 1) % DAY_TUBES;
    if (!day_has_buried(client->tube))
        return 0;
    begin(client, DAY_KICK, NULL);
    word(&words, "KICK");
    word(&words, "t%u", client->tube);
    word(&words, "100000");
    day_kicked(client->tube);
    return write_words(&words, to);
}

/* ---- the life of a client ---- */

void day_client_begin(struct day_client *client, unsigned number)
{
    memset(client, 0, sizeof *client);
    client->role = number < DAY_PRODUCERS                         ? DAY_PRODUCER
                   : (number -= DAY_PRODUCERS) < DAY_WORKERS      ? DAY_WORKER
                   : (number -= DAY_WORKERS) < DAY_OLD_PRODUCERS  ? DAY_OLD_PRODUCER
                   : number - DAY_OLD_PRODUCERS < DAY_OLD_WORKERS ? DAY_OLD_WORKER
                                                                  : DAY_KEEPER;
    if (number == 0 && client->role == DAY_PRODUCER) {
        recurring = 0;
        last_key = 0;
    }
}

void day_client_reconnect(struct day_client *client)
{
    for (unsigned i = 0; i < client->held_count; i++) {
        struct day_job *job = client->held[i].job;
        if (client->role == DAY_OLD_WORKER)
            day_waits(job, 0, 0); /* the leases of an old worker end with its connection */
        else
            day_failed(job, client->held[i].attempt,
                       job->due_ms > day_now_ms ? job->due_ms - day_now_ms : 0);
    }
    client->held_count = 0;
    client->verb = DAY_NONE;
    client->tube = 0;
    client->heard_size = 0;
}

size_t day_client_say(struct day_client *client, char *to)
{
    static size_t (*const roles[])(struct day_client *, char *) = {
        [DAY_PRODUCER] = produce,    [DAY_WORKER] = work, [DAY_OLD_PRODUCER] = produce_old,
        [DAY_OLD_WORKER] = work_old, [DAY_KEEPER] = keep,
    };

    if (client->verb != DAY_NONE || day_now_ms < client->wake_ms)
        return 0;
    return roles[client->role](client, to);
}

/* ---- replies ---- */

/* A worker gets a job with this body. */
static void take_job(struct day_client *client, uint64_t id, uint64_t due_ms, uint32_t attempt,
                     const char *lease, size_t lease_size, const char *body)
{
    char *next;
    uint32_t number = (uint32_t)strtoul(body, &next, 10);
    struct day_job *job = day_handed_out(number, (uint32_t)strtoul(next, NULL, 10), id, due_ms);

    if (job == NULL)
        return;
    /* Sometimes a worker dies on a job: it never answers, and the lease of the job runs out. */
    if (client->role == DAY_WORKER && one_in(50)) {
        day_failed(job, attempt, job->ttr_ms - DAY_UNDER_WAY_MS);
        job->latest_ms += DAY_UNDER_WAY_MS;
        job->since_ms += DAY_UNDER_WAY_MS;
        return;
    }
    if (client->held_count == DAY_AT_ONCE) {
        day_violate("more jobs come than were asked for");
        return;
    }
    struct day_held *held = &client->held[client->held_count++];
    *held = (struct day_held){
        .job = job,
        .id = id,
        .attempt = attempt,
        .act_ms = day_now_ms + below(one_in(100) ? job->ttr_ms / 2 : 300),
    };
    (void)snprintf(held->lease, sizeof held->lease, "%.*s", (int)lease_size, lease);
    client->wake_ms = day_now_ms;
}

/* Returns whether the reply was whole. */
static bool hear_jobs(struct day_client *client, struct reply *reply)
{
    struct reply whole = *reply;
    size_t size, lease_size;

    (void)reply_skip(&whole);
    if (whole.is_short)
        return false;
    const char *line = reply_line(reply, &size);
    if (line[0] != '*')
        day_violate("a reserve is answered by %.40s", line);
    for (unsigned long left = strtoul(line + 1, NULL, 10); left > 0; left--) {
        (void)reply_line(reply, &size); /* how many fields */
        uint64_t id = strtoull(reply_value(reply, &size), NULL, 10);
        const char *lease = reply_value(reply, &lease_size);
        (void)reply_value(reply, &size); /* tube, key */
        (void)reply_value(reply, &size);
        const char *body = reply_value(reply, &size);
        uint64_t due_ms = strtoull(reply_value(reply, &size), NULL, 10) - UINT64_C(1700000000000);
        uint32_t attempt = (uint32_t)strtoul(reply_value(reply, &size), NULL, 10);
        (void)reply_value(reply, &size); /* missed */
        take_job(client, id, due_ms, attempt, lease, lease_size, body);
    }
    *reply = whole;
    return true;
}

/* A job was cancelled or replaced. If a worker holds it, the job is a shadow until the worker ends
 * it. */
static void end_elsewhere(struct day_job *job)
{
    if (job->state == DAY_HELD)
        job->is_shadow = true;
    else
        day_ended(job);
}

static void hear_put(struct day_client *client, const char *line, const char *word, uint64_t id)
{
    struct day_job *victim = client->victim;

    if (line[0] != '*' && !reply_begins(line, "INSERTED ")) {
        day_violate("a put is answered by %.40s", line);
        return;
    }
    day_stored(client->job, id);
    if (!reply_begins(word, "+replaced"))
        return;
    if (victim == NULL) {
        day_violate("Q5 a job was replaced that had another key");
        return;
    }
    day_figures.replaced++;
    end_elsewhere(victim);
}

static void hear_end(struct day_client *client, const char *word)
{
    struct day_job *job = client->job;

    if (!reply_begins(word, "+ok") && !reply_begins(word, "DELETED") && !job->is_shadow)
        day_violate("Q6 the lease of job %u is gone before its time: %.20s", day_book_number(job),
                    word);
    else if (job->period_ms == 0 || job->is_shadow)
        day_ended(job);
}

static void hear_cancel(struct day_client *client, const char *word)
{
    struct day_job *job = client->job;

    if (!reply_begins(word, "+gone")) {
        day_figures.cancelled++;
        end_elsewhere(job);
    }
}

/* Hears the reply to a worker that gave a job back. */
static void hear_given_back(struct day_client *client, const char *word)
{
    struct day_job *job = client->job;

    if (reply_begins(word, "+cancelled"))
        day_ended(job);
    else if (!reply_begins(word, "+ok") && !reply_begins(word, "RELEASED") &&
             !reply_begins(word, "BURIED") && !job->is_shadow && job->state != DAY_ENDED)
        day_violate("Q6 the lease of job %u is gone before its time: %.20s", day_book_number(job),
                    word);
}

static void hear_extend(struct day_client *client, const char *word)
{
    struct day_held *held = &client->acting;

    if (!reply_begins(word, "+ok")) {
        day_ended(held->job);
        return;
    }
    held->was_extended = true;
    held->job->due_ms = day_now_ms + held->job->ttr_ms - DAY_UNDER_WAY_MS;
    held->act_ms = day_now_ms + below(1000);
    client->held[client->held_count++] = *held;
}

/* `line` is the first line of the reply. `word` is its first word: for an array, that of the first
 * item. */
static void hear_word(struct day_client *client, const char *line, const char *word, uint64_t id)
{
    struct day_job *job = client->job;

    switch (client->verb) {
    case DAY_PUT:
        hear_put(client, line, word, id);
        break;
    case DAY_END:
        hear_end(client, word);
        break;
    case DAY_CANCEL:
        hear_cancel(client, word);
        break;
    case DAY_FAIL:
    case DAY_RELEASE:
    case DAY_BURY:
        hear_given_back(client, word);
        break;
    case DAY_EXTEND:
        hear_extend(client, word);
        break;
    case DAY_MOVE:
        if (reply_begins(word, "+rescheduled") && job->state == DAY_WAITS) {
            job->due_ms = client->said_ms + client->value;
            job->latest_ms = day_now_ms + client->value;
        }
        break;
    case DAY_LOOK:
        if (line[0] != '*' && job->state == DAY_WAITS && !job->is_asked_to_end &&
            job->expire_ms == 0)
            day_violate("Q2 job %u is gone", day_book_number(job));
        break;
    default:
        if (line[0] == '-')
            day_violate("an error: %.40s", line);
    }
}

/* Returns whether a reply was whole. */
static bool hear_resp(struct day_client *client, struct reply *reply)
{
    struct reply inside = *reply;
    size_t size;

    if (client->verb == DAY_RESERVE)
        return hear_jobs(client, reply);
    const char *line = reply_skip(reply);
    if (reply->is_short)
        return false;
    const char *word = line;
    uint64_t id = 0;
    if (line[0] == '*') {
        (void)reply_line(&inside, &size);
        word = inside.at;
        if (client->verb == DAY_PUT) {
            id = strtoull(reply_value(&inside, &size), NULL, 10);
            word = inside.at;
        }
    }
    hear_word(client, line, word, id);
    return true;
}

static bool hear_old(struct day_client *client, struct reply *reply)
{
    size_t size;
    const char *line = reply_line(reply, &size);

    if (reply->is_short)
        return false;
    if (client->verb == DAY_RESERVE && reply_begins(line, "RESERVED ")) {
        char *next;
        uint64_t id = strtoull(line + strlen("RESERVED "), &next, 10);
        const char *body = reply_bytes(reply, strtoul(next, NULL, 10));
        if (reply->is_short)
            return false;
        take_job(client, id, 0, 1, "", 0, body);
    } else if (client->verb == DAY_RESERVE) {
        if (!reply_begins(line, "TIMED_OUT"))
            day_violate("a reserve is answered by %.40s", line);
    } else {
        hear_word(client, line, line,
                  client->verb == DAY_PUT ? strtoull(line + strlen("INSERTED "), NULL, 10) : 0);
    }
    return true;
}

void day_client_hear(struct day_client *client, const void *bytes, size_t size)
{
    bool is_old = client->role == DAY_OLD_PRODUCER || client->role == DAY_OLD_WORKER;

    if (client->verb == DAY_NONE || size > sizeof client->heard - client->heard_size - 1) {
        day_violate("bytes come that nobody has asked for");
        return;
    }
    memcpy(client->heard + client->heard_size, bytes, size);
    client->heard_size += size;
    client->heard[client->heard_size] = '\0';
    struct reply reply = {client->heard, client->heard + client->heard_size, false};
    if (!(is_old ? hear_old : hear_resp)(client, &reply))
        return;
    if (reply.at != reply.end)
        day_violate("more bytes come than were asked for");
    client->verb = DAY_NONE;
    client->heard_size = 0;
}
