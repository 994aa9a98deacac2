#include "power_clients.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replies.h"

enum {
    JOBS_MAX = 4096,
    HELD_MAX = 64,
    TUBES = 2,
    LEASE_BYTES = 48,
    LEASES_MAX = 1 << 15,
    BODY_MAX = 700,
    TOKENS_MAX = 4,
    CHAINS_MAX = 4096
};

/* What the clients know of a job. The body of a job begins with its number. */
static struct job {
    uint64_t id;       /* 0: not known */
    uint64_t due_ms;   /* nobody may get it before */
    uint64_t ended_at; /* the step of the first reply after which nobody gets it; 0: none */
    bool is_certain;   /* its put was acknowledged, or it was handed out */
    bool was_refused;
    bool may_be_ended; /* a command that ends it lost its connection before the reply */
    bool is_found;
    unsigned chain;   /* the transaction that puts it, from 1; 0: none */
    unsigned done_by; /* the transaction that ended it, guarded by its lease; 0: none */
} jobs[JOBS_MAX];
static unsigned job_count;

/* A transaction: the ack of a job, and puts of some others. Sent again, it puts other ones. */
static struct chain {
    unsigned ended, first, count; /* the job that it ends; those that it puts */
    bool is_guarded;              /* by LEASED */
    bool is_done;
} chains[CHAINS_MAX];
static unsigned chain_count; /* the first is not used */

/* Jobs that were handed out. A later command ends them or gives them back. */
static struct held {
    unsigned job;
    uint64_t id;
    char lease[LEASE_BYTES]; /* "": a lease of beanstalkd's protocol, which has no name */
    const struct power_client *client;
} held[HELD_MAX];
static unsigned held_count;

static char leases[LEASES_MAX][LEASE_BYTES];
static size_t lease_count;
static uint64_t step;

char power_violation[200];
struct power_figures power_figures;
uint64_t power_now_ms;

__attribute__((format(printf, 1, 2))) static void violate(const char *format, ...)
{
    va_list arguments;

    if (power_violation[0] != '\0')
        return;
    va_start(arguments, format);
    (void)vsnprintf(power_violation, sizeof power_violation, format, arguments);
    va_end(arguments);
}

void power_begin(void)
{
    memset(jobs, 0, sizeof jobs);
    memset(chains, 0, sizeof chains);
    job_count = held_count = 0;
    chain_count = 1;
    lease_count = 0;
    step = 0;
    power_now_ms = 0;
    power_violation[0] = '\0';
}

/* ---- the book of the jobs ---- */

static void end_job(unsigned number)
{
    power_figures.ended++;
    if (jobs[number].ended_at == 0)
        jobs[number].ended_at = step;
}

/* Notes that a transaction was done: so all of it was done (Q14), and it stays done. */
static void chain_is_done(unsigned number)
{
    struct chain *chain = &chains[number];
    struct job *ended = &jobs[chain->ended];

    if (chain->is_done || number == 0)
        return;
    chain->is_done = true;
    for (unsigned i = 0; i < chain->count; i++)
        jobs[chain->first + i].is_certain = true;
    if (!chain->is_guarded)
        return;
    if (ended->done_by != 0)
        violate("Q14 the step behind job %u was done twice", chain->ended);
    ended->done_by = number;
    end_job(chain->ended);
}

/* Notes that a transaction was refused: so nothing of it was done (Q14). */
static void chain_is_refused(const struct chain *chain)
{
    if (chain->is_done)
        violate("Q14 the transaction behind job %u was done, and refused", chain->ended);
    for (unsigned i = 0; i < chain->count; i++)
        jobs[chain->first + i].was_refused = true;
}

static void name(unsigned number, uint64_t id)
{
    struct job *job = &jobs[number];

    if (job->id == 0)
        for (unsigned i = 0; i < job_count; i++)
            if (jobs[i].id == id)
                violate("Q5 jobs %u and %u have the id %llu", i, number, (unsigned long long)id);
    if (job->id != 0 && job->id != id)
        violate("Q5 job %u has two ids: %llu, %llu", number, (unsigned long long)job->id,
                (unsigned long long)id);
    job->id = id;
    job->is_certain = true;
    chain_is_done(job->chain);
}

static void note_lease(const char *lease)
{
    for (size_t i = 0; i < lease_count; i++)
        if (strcmp(leases[i], lease) == 0)
            violate("Q6 the lease %s has come twice", lease);
    if (lease_count == LEASES_MAX)
        abort(); /* no run has so many leases */
    (void)snprintf(leases[lease_count++], LEASE_BYTES, "%s", lease);
}

/* Notes a job that was handed out, and checks the promises. Its reserve was sent in step `sent`. */
static void take(struct power_client *client, uint64_t sent, uint64_t id, const char *lease,
                 const char *body, size_t size)
{
    unsigned number = size > 1 && body[0] == 'j' ? (unsigned)strtoul(body + 1, NULL, 10) : JOBS_MAX;

    power_figures.handed_out++;
    if (number >= job_count) {
        violate("Q2 nobody has put %.*s", (int)(size < 20 ? size : 20), body);
        return;
    }
    struct job *job = &jobs[number];
    name(number, id);
    if (job->was_refused)
        violate("Q5 job %u was refused, and is there", number);
    if (job->ended_at != 0 && job->ended_at < sent)
        violate("Q3 job %u (%llu) was ended, and is back", number, (unsigned long long)id);
    if (power_now_ms < job->due_ms)
        violate("Q1 job %u comes %llu ms early", number,
                (unsigned long long)(job->due_ms - power_now_ms));
    if (lease[0] != '\0')
        note_lease(lease);
    job->is_found = true;
    if (held_count == HELD_MAX)
        held[0] = held[--held_count];
    held[held_count] = (struct held){.job = number, .id = id, .client = client};
    (void)snprintf(held[held_count++].lease, LEASE_BYTES, "%s", lease);
}

void power_look_for_all(void)
{
    for (unsigned i = 0; i < job_count; i++)
        jobs[i].is_found = false;
}

void power_find_missing(void)
{
    for (unsigned i = 0; i < job_count; i++) {
        const struct job *job = &jobs[i];
        if (job->is_certain && job->ended_at == 0 && !job->may_be_ended && !job->is_found)
            violate("Q2 job %u (%llu) is lost", i, (unsigned long long)job->id);
    }
}

/* ---- sending ---- */

void power_connect(struct power_client *client, bool speaks_resp)
{
    for (; client->count > 0; client->count--) {
        const struct power_command *command = &client->commands[client->first];
        if (command->verb == POWER_END)
            jobs[command->job].may_be_ended = true;
        if (command->verb == POWER_EXEC)
            jobs[chains[command->job].ended].may_be_ended = true;
        client->first = (client->first + 1) % POWER_UNDER_WAY;
    }
    for (unsigned i = 0; i < held_count;) {
        if (held[i].client == client && held[i].lease[0] == '\0')
            held[i] = held[--held_count];
        else
            i++;
    }
    client->speaks_resp = speaks_resp;
    client->first = 0;
    client->heard_size = 0;
}

static void remember(struct power_client *client, enum power_verb verb, unsigned job)
{
    unsigned place = (client->first + client->count++) % POWER_UNDER_WAY;

    client->commands[place] = (struct power_command){.verb = verb, .job = job, .step = ++step};
    power_figures.commands++;
}

static size_t write_words(const struct power_client *client, char *to, const char *words)
{
    char copy[256], text[512];
    size_t size = 0;
    unsigned count = 0;

    if (!client->speaks_resp)
        return (size_t)sprintf(to, "%s\r\n", words);
    (void)snprintf(copy, sizeof copy, "%s", words);
    for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " "), count++)
        size += (size_t)sprintf(text + size, "$%zu\r\n%s\r\n", strlen(word), word);
    return (size_t)sprintf(to, "*%u\r\n%.*s", count, (int)size, text);
}

static size_t say_put(struct power_client *client, struct random_source *random, char *to)
{
    char body[BODY_MAX + 16];
    struct job *job = &jobs[job_count];
    unsigned delay_s = random_one_in(random, 2) ? (unsigned)random_below(random, 4) : 0;
    size_t size = (size_t)sprintf(body, "j%u ", job_count);
    size_t more = random_index(random, random_one_in(random, 3) ? BODY_MAX : 20);

    memset(body + size, 'x', more);
    size += more;
    job->due_ms = power_now_ms + delay_s * UINT64_C(1000);
    remember(client, POWER_PUT, job_count++);
    if (client->speaks_resp)
        return (size_t)sprintf(
            to,
            "*10\r\n$3\r\nPUT\r\n$1\r\nt\r\n$%zu\r\n%.*s\r\n$2\r\nIN\r\n$2\r\n%us"
            "\r\n$3\r\nTTR\r\n$2\r\n5s\r\n$7\r\nBACKOFF\r\n$2\r\n0s\r\n$2\r\n0s\r\n",
            size, (int)size, body, delay_s);
    return (size_t)sprintf(to, "put 5 %u 5 %zu\r\n%.*s\r\n", delay_s, size, (int)size, body);
}

size_t power_say_reserve(struct power_client *client, char *to)
{
    remember(client, POWER_RESERVE, 0);
    return write_words(
        client, to, client->speaks_resp ? "RESERVE t default COUNT 5" : "reserve-with-timeout 0");
}

static bool may_name(const struct power_client *client, const struct held *one)
{
    return client->speaks_resp ? one->lease[0] != '\0'
                               : one->lease[0] == '\0' && one->client == client;
}

/* Ends a job that was handed out, or gives it back. */
static size_t say_of_held(struct power_client *client, struct random_source *random, char *to)
{
    char words[128];
    unsigned place = (unsigned)random_below(random, held_count);
    bool ends = !random_one_in(random, 4);

    /* Takes the first job from `place` on that the client may name. */
    for (unsigned i = 0; i < held_count && !may_name(client, &held[place]); i++)
        place = (place + 1) % held_count;
    struct held one = held[place];
    if (!may_name(client, &one))
        return 0;
    held[place] = held[--held_count];
    if (client->speaks_resp)
        (void)snprintf(words, sizeof words, "%s %llu %s", ends ? "ACK" : "NACK",
                       (unsigned long long)one.id, one.lease);
    else
        (void)snprintf(words, sizeof words, ends ? "delete %llu" : "release %llu 5 0",
                       (unsigned long long)one.id);
    remember(client, ends ? POWER_END : POWER_OTHER, one.job);
    return write_words(client, to, words);
}

/* Writes a transaction: a job that was handed out ends, and the next ones begin. Often a client
 * keeps the lease, and tries again later: that must not put more. */
static size_t say_chain(struct power_client *client, struct random_source *random, char *to)
{
    char words[128];
    struct chain *chain = &chains[chain_count];
    unsigned place = (unsigned)random_below(random, held_count);
    const struct held one = held[place];
    size_t size = 0;

    chain->count = 1 + (unsigned)random_below(random, 3);
    if (!client->speaks_resp || one.lease[0] == '\0' || chain_count == CHAINS_MAX - 1 ||
        job_count + chain->count > JOBS_MAX || client->count + chain->count + 4 > POWER_UNDER_WAY)
        return 0;
    if (random_one_in(random, 2))
        held[place] = held[--held_count];
    chain->is_guarded = !random_one_in(random, 4);
    chain->ended = one.job;
    chain->first = job_count;
    size += write_words(client, to + size, "MULTI");
    remember(client, POWER_OTHER, 0);
    for (unsigned i = 0; i < 2; i++) {
        if (i == 0 && !chain->is_guarded)
            continue;
        (void)snprintf(words, sizeof words, "%s %llu %s", i == 0 ? "LEASED" : "ACK",
                       (unsigned long long)one.id, one.lease);
        size += write_words(client, to + size, words);
        remember(client, POWER_OTHER, 0);
    }
    for (unsigned i = 0; i < chain->count; i++) {
        jobs[job_count].due_ms = power_now_ms;
        jobs[job_count].chain = chain_count;
        (void)snprintf(words, sizeof words, "PUT t j%u TTR 5s BACKOFF 0s 0s", job_count++);
        size += write_words(client, to + size, words);
        remember(client, POWER_OTHER, 0);
    }
    size += write_words(client, to + size, "EXEC");
    remember(client, POWER_EXEC, chain_count++);
    return size;
}

/* Writes a command that ends a job, or looks at it, by its id. The job may be in any state. */
static size_t say_of_any(struct power_client *client, struct random_source *random, char *to)
{
    char words[64];
    unsigned number = (unsigned)random_below(random, job_count);
    bool ends = random_one_in(random, 2);

    if (jobs[number].id == 0)
        return 0;
    (void)snprintf(words, sizeof words, "%s %llu",
                   client->speaks_resp ? ends ? "CANCELID" : "LOOKUPID"
                   : ends              ? "delete"
                                       : "peek",
                   (unsigned long long)jobs[number].id);
    remember(client, ends ? POWER_END : POWER_LOOK, number);
    return write_words(client, to, words);
}

size_t power_say(struct power_client *client, struct random_source *random, char *to)
{
    if (client->count == POWER_UNDER_WAY)
        return 0;
    switch (random_below(random, 12)) {
    case 0:
    case 1:
    case 2:
    case 3:
        return job_count < JOBS_MAX ? say_put(client, random, to) : 0;
    case 4:
    case 5:
        return power_say_reserve(client, to);
    case 6:
    case 7:
    case 8:
        return held_count > 0 ? say_of_held(client, random, to) : 0;
    case 9:
    case 10:
        return held_count > 0 ? say_chain(client, random, to) : 0;
    default:
        return job_count > 0 ? say_of_any(client, random, to) : 0;
    }
}

/* ---- replies ---- */

static void hear_put(const struct power_command *command, const char *line, bool good, uint64_t id)
{
    if (good) {
        power_figures.acknowledged++;
        name(command->job, id);
    } else if (reply_begins(line, "-DISKFULL") || reply_begins(line, "OUT_OF_MEMORY")) {
        jobs[command->job].was_refused = true;
    } else {
        violate("a put is answered by %.30s", line);
    }
}

/* Takes the jobs of the reply to a RESERVE, once it is whole. */
static void hear_jobs(struct power_client *client, struct reply *reply, uint64_t sent)
{
    struct reply whole = *reply;
    size_t size;

    (void)reply_skip(&whole);
    if (whole.is_short) {
        reply->is_short = true;
        return;
    }
    const char *line = reply_line(reply, &size);
    if (line[0] != '*')
        violate("a reserve is answered by %.30s", line);
    for (unsigned long left = strtoul(line + 1, NULL, 10); left > 0 && line[0] == '*'; left--) {
        char lease[LEASE_BYTES];
        size_t lease_size, body_size;
        (void)reply_line(reply, &size); /* how many fields */
        uint64_t id = strtoull(reply_value(reply, &size), NULL, 10);
        const char *text = reply_value(reply, &lease_size);
        (void)snprintf(lease, sizeof lease, "%.*s", (int)lease_size, text);
        (void)reply_value(reply, &size); /* tube, key */
        (void)reply_value(reply, &size);
        const char *body = reply_value(reply, &body_size);
        for (int i = 0; i < 3; i++) /* due, attempt, missed */
            (void)reply_value(reply, &size);
        take(client, sent, id, lease, body, body_size);
    }
}

/* Takes the reply to EXEC, of which `items` is what stands behind its first line. */
static void hear_exec(unsigned number, const char *line, struct reply *items)
{
    const struct chain *chain = &chains[number];
    size_t size;

    if (line[0] != '*' || line[1] == '-') {
        if (line[0] == '-' && !reply_begins(line, "-DISKFULL"))
            violate("a transaction is answered by %.30s", line);
        power_figures.stopped++;
        chain_is_refused(chain);
        return;
    }
    power_figures.chained++;
    if (chain->is_guarded)
        (void)reply_skip(items);
    (void)reply_line(items, &size);
    if (reply_begins(reply_line(items, &size), "+ok\r"))
        end_job(chain->ended);
    else if (chain->is_guarded)
        violate("Q14 a lease that guards had ended");
    for (unsigned i = 0; i < chain->count; i++) {
        (void)reply_line(items, &size);
        power_figures.acknowledged++;
        name(chain->first + i, strtoull(reply_value(items, &size), NULL, 10));
        (void)reply_line(items, &size);
    }
}

static void hear_resp(struct power_client *client, const struct power_command *command,
                      struct reply *reply)
{
    static const char *const words[] = {"+ok\r", "+removed\r", "+running\r"};
    struct reply second = *reply;
    size_t size;

    if (command->verb == POWER_RESERVE) {
        hear_jobs(client, reply, command->step);
        return;
    }
    const char *line = reply_skip(reply);
    if (reply->is_short)
        return;
    (void)reply_line(&second, &size);
    switch (command->verb) {
    case POWER_EXEC:
        hear_exec(command->job, line, &second);
        break;
    case POWER_PUT:
        hear_put(command, line, line[0] == '*', strtoull(second.at + 1, NULL, 10));
        break;
    case POWER_END:
        /* "+running" means that the job ends with its lease, and nobody else gets it. "+gone" ends
         * nothing: in the reply to an ACK it says only that the lease is gone. */
        for (int i = 0; line[0] == '*' && i < 3; i++)
            if (reply_begins(second.at, words[i]))
                end_job(command->job);
        break;
    case POWER_LOOK:
        /* The reply is a null: the job is gone for good. */
        if (line[0] == '_' || reply_begins(line, "$-1"))
            end_job(command->job);
        break;
    default:
        break;
    }
}

static void hear_line(struct power_client *client, const struct power_command *command,
                      struct reply *reply)
{
    size_t size;
    const char *line = reply_line(reply, &size);
    bool has_body = reply_begins(line, "RESERVED ") || reply_begins(line, "FOUND ");
    const char *body = "";
    char *next = NULL;
    uint64_t id = 0;
    size_t body_size = 0;

    if (reply->is_short)
        return;
    if (has_body) {
        id = strtoull(strchr(line, ' ') + 1, &next, 10);
        body_size = strtoul(next, NULL, 10);
        body = reply_bytes(reply, body_size);
        if (reply->is_short)
            return;
    }
    if (command->verb == POWER_PUT)
        hear_put(command, line, reply_begins(line, "INSERTED "), strtoull(line + 9, NULL, 10));
    else if (command->verb == POWER_RESERVE && has_body)
        take(client, command->step, id, "", body, body_size);
    else if (command->verb == POWER_RESERVE && !reply_begins(line, "TIMED_OUT") &&
             !reply_begins(line, "DEADLINE_SOON"))
        violate("a reserve is answered by %.30s", line);
    else if ((command->verb == POWER_END && reply_begins(line, "DELETED")) ||
             (command->verb == POWER_LOOK && reply_begins(line, "NOT_FOUND")))
        end_job(command->job);
}

void power_hear(struct power_client *client, const void *bytes, size_t size)
{
    if (size > sizeof client->heard - client->heard_size) {
        violate("too many bytes come");
        return;
    }
    memcpy(client->heard + client->heard_size, bytes, size);
    client->heard_size += size;
    while (client->heard_size > 0 && power_violation[0] == '\0') {
        struct reply reply = {client->heard, client->heard + client->heard_size, false};
        if (client->count == 0) {
            violate("a reply comes that nobody has asked for");
            return;
        }
        struct power_command command = client->commands[client->first];
        step++;
        if (client->speaks_resp)
            hear_resp(client, &command, &reply);
        else
            hear_line(client, &command, &reply);
        if (reply.is_short)
            return;
        power_figures.replies++;
        client->first = (client->first + 1) % POWER_UNDER_WAY;
        client->count--;
        client->heard_size = (size_t)(reply.end - reply.at);
        memmove(client->heard, reply.at, client->heard_size);
    }
}
