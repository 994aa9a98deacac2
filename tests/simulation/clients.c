#include "clients.h"
#include "commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    REPLIES_MAX = 256,
    LEASES_MAX = 24,
    TOLD_MAX = 1024,
    WAITS_MAX = 400, /* time enough to clean and retire a segment */
    LIVE_MAX = 120,
    FINISH_ROUNDS = 400,
    CONNECTIONS = 2,
    PAGE_BITS = 12,
    PLACES = 64
};

bool clients_trace;

struct reply {
    uint64_t gate, seq, id;
    unsigned connection; /* whose lease it is; 0: of none */
    bool hands_out;
    unsigned waits; /* so many times that it could leave, because its body is slow to read */
    struct elapse__queue_handed handed;
};

struct lease {
    uint64_t id;
    struct elapse__queue_lease lease;
};

static struct clients {
    struct reply replies[REPLIES_MAX];
    unsigned reply_count;
    struct lease leases[LEASES_MAX]; /* also old ones */
    unsigned lease_count;
    struct elapse__queue_lease told[TOLD_MAX]; /* the names of the last hand-outs, in all lives */
    unsigned told_count;
    struct place {
        uint64_t page; /* of the log, where a body could not be read; 0: none */
        int64_t since; /* t, when it was tried last by the rule */
    } places[PLACES];
    unsigned place_count; /* that were noted */
    uint32_t last_serial;
    uint32_t body_size; /* of all jobs; 0: of many sizes */
    bool set_limits;    /* whether clients send LIMIT */
    /* Leases end with their connection; number 0 stands for none. */
    struct elapse__queue_connection connections[1 + CONNECTIONS];
} clients;

void clients_begin(uint32_t body_size, bool set_limits)
{
    clients = (struct clients){.body_size = body_size, .set_limits = set_limits};
    clients_forget_replies();
}

void clients_forget_replies(void)
{
    clients.reply_count = 0;
    memset(clients.places, 0, sizeof clients.places);
    for (unsigned i = 0; i <= CONNECTIONS; i++)
        elapse__queue_connection_init(&clients.connections[i]);
}

/* ---- commands ---- */

/* A command was run, or a transaction: it may be refused only by a full disk. */
static void count_command(struct elapse__queue_answer answer)
{
    process_totals->commands++;
    if (answer.result != ELAPSE__QUEUE_REFUSED)
        return;
    process_totals->full++;
    if (process.engine.refused != ENOSPC && !process_ended())
        model_violate("a command is refused for no reason: %s", strerror(process.engine.refused));
}

static void await_reply(struct elapse__queue_answer answer, uint64_t id)
{
    model_read_drawn(process.engine.jobs, process_now());
    clients.replies[clients.reply_count++] =
        (struct reply){.gate = answer.position, .seq = model.seq, .id = id};
}

/* Runs a command. Returns whether the process took it. */
static bool run(const struct command *command)
{
    struct elapse__queue_answer answer;
    uint64_t refusals = process.refusals;
    if (clients.reply_count == REPLIES_MAX ||
        !elapse__engine_run(&process.engine, command_perform, command, &answer))
        return false;
    command_trace(command, answer);
    count_command(answer);
    command_judge(command, process.refusals != refusals, answer);
    await_reply(answer, answer.result == ELAPSE__QUEUE_GONE ? 0 : answer.id);
    return answer.result != ELAPSE__QUEUE_REFUSED;
}

/* ---- transactions ---- */

/* Runs commands all or nothing. Returns whether they were done. */
static bool run_transaction(struct transaction *transaction)
{
    struct elapse__queue_answer answer;
    uint64_t refusals = process.refusals, bytes = transaction_translate(transaction), id = 0;
    if (clients.reply_count == REPLIES_MAX ||
        bytes > elapse__engine_transaction_bytes_max(&process.engine) ||
        !elapse__engine_run(&process.engine, transaction_perform, &transaction, &answer))
        return false;
    TRACE("t %lld: transaction of %u: result %d\n", (long long)model.t, transaction->count,
          (int)answer.result);
    count_command(answer);
    model_begin_transaction();
    transaction_judge(transaction, process.refusals != refusals, answer);
    model_end_transaction();
    for (uint32_t i = 0; i < transaction->count && answer.result == ELAPSE__QUEUE_OK; i++)
        if (transaction->answers[i].result != ELAPSE__QUEUE_GONE && transaction->answers[i].id > id)
            id = transaction->answers[i].id;
    await_reply(answer, id);
    return answer.result == ELAPSE__QUEUE_OK;
}

/* ---- hand-outs ---- */

/* Takes over which jobs were put aside, because their place cannot be read now. */
static void read_aside(void)
{
    if (process_has_read_in_vain())
        process_totals->put_aside += model_read_aside(process.engine.jobs, process_now());
}

/* Returns whether no job is taken now. That is right for a second after a read that failed. */
static bool hand_outs_rest(void)
{
    if (!elapse__engine_rests(&process.engine))
        return false;
    process_totals->rested++;
    if (!process_has_read_in_vain() || model.t >= process.read_in_vain_at + 1000)
        model_violate("hand-outs rest although the disk reads");
    return true;
}

static struct place *find_place(uint64_t position)
{
    for (unsigned i = 0; i < PLACES; i++)
        if (clients.places[i].page == position >> PAGE_BITS)
            return &clients.places[i];
    return NULL;
}

/* A place that could not be read is left alone for a second. */
static void judge_place(const struct elapse__queue_handed *handed)
{
    const struct place *place = find_place(handed->position);
    if (place != NULL && model.t < place->since + 1000)
        model_violate("job %llu is tried again at once", (unsigned long long)handed->id);
}

static bool take(unsigned tubes, unsigned connection, unsigned waits)
{
    struct elapse__queue_text texts[MODEL_TUBES];
    struct elapse__queue_reserve reserve = {
        .tubes = texts,
        .count = 1,
        .connection = connection == 0 ? NULL : &clients.connections[connection],
    };
    struct elapse__queue_handed handed;
    enum elapse__queue_result result;
    uint64_t gate, refusals = process.refusals;
    if (clients.reply_count == REPLIES_MAX)
        return false;
    for (unsigned tube = 0; tube < MODEL_TUBES; tube++)
        if ((tubes >> tube & 1) != 0)
            texts[reserve.tube_count++] = model_tube(tube);
    /* With a clock that was set back, one turn is not enough. */
    while (elapse__queue_turn(process.engine.jobs, process_now()).more) {
    }
    bool taken = elapse__engine_take(&process.engine, &reserve, &handed, &result, &gate);
    bool refused = process.refusals != refusals;
    model_do_turn(refused);
    model_read_drawn(process.engine.jobs, process_now());
    uint64_t seq = model.seq;
    if (!taken && refused)
        return false;
    read_aside();
    if (!taken && hand_outs_rest())
        return false;
    if (taken)
        judge_place(&handed);
    model_do_take(tubes, connection, taken ? &handed : NULL);
    process_totals->held += !taken && model_has_ready(tubes);
    const struct model_job *job = taken ? model_find(handed.id) : NULL;
    if (job != NULL && model_writes_hand_out(&job->put))
        seq = model.seq;
    TRACE("t %lld: take from %u by %u: job %llu\n", (long long)model.t, tubes, connection,
          taken ? (unsigned long long)handed.id : 0ULL);
    clients.replies[clients.reply_count++] = (struct reply){.gate = gate,
                                                            .seq = seq,
                                                            .id = taken ? handed.id : 0,
                                                            .connection = connection,
                                                            .hands_out = taken,
                                                            .waits = taken ? waits : 0,
                                                            .handed = handed};
    return taken;
}

static bool same_text(struct elapse__queue_text one, struct elapse__queue_text other)
{
    return one.size == other.size &&
           (one.size == 0 || memcmp(one.bytes, other.bytes, one.size) == 0);
}

/* The job could not be read: it was buried, or taken back. If the journal refused that, its lease
 * has begun, and ends by itself. */
static void take_back(const struct elapse__queue_handed *handed, bool buried, bool refused)
{
    const struct model_job *job = model_find(handed->id);
    model.drops = refused;
    if (refused && (job == NULL || job->state != ELAPSE__QUEUE_SHADOW))
        model_do_begin(handed->id, handed->lease);
    else if (buried)
        model_do_bury_unread(handed->id, handed->lease);
    else
        model_do_undo(handed->id, handed->lease);
}

/* Notes whether the place of a job could be read. */
static void note_place(uint64_t id, bool can_be_read)
{
    uint64_t position;
    uint32_t body_size;
    if (!elapse__queue_locate(process.engine.jobs, id, &position, &body_size))
        return;
    struct place *place = find_place(position);
    if (can_be_read && place != NULL)
        place->page = 0;
    /* What was taken before the place failed tells no more about it. */
    if (can_be_read || (place != NULL && model.t < place->since + 1000))
        return;
    if (place == NULL)
        place = &clients.places[clients.place_count++ % PLACES];
    *place = (struct place){position >> PAGE_BITS, model.t};
}

/* No other hand-out ever had this name, also in an earlier life. */
static void receive_lease(struct elapse__queue_lease lease)
{
    unsigned known = clients.told_count < TOLD_MAX ? clients.told_count : TOLD_MAX;
    for (unsigned i = 0; i < known; i++)
        if (clients.told[i].life == lease.life && clients.told[i].number == lease.number)
            model_violate("a lease has the name %u-%llu again", (unsigned)lease.life,
                          (unsigned long long)lease.number);
    clients.told[clients.told_count++ % TOLD_MAX] = lease;
}

static void receive_job(const struct reply *reply)
{
    const struct elapse__queue_handed *handed = &reply->handed;
    struct elapse__engine_job job;
    uint8_t body[MODEL_BODY_MAX], headers[MODEL_HEADERS_MAX];
    const struct model_job *expected = model_find(handed->id);
    bool runs = expected != NULL && expected->state == ELAPSE__QUEUE_RESERVED &&
                model_holds(handed->id, handed->lease);
    uint64_t refusals = process.refusals;
    int error = elapse__engine_hand_over(&process.engine, handed, &job);
    if (error != 0) {
        bool buried = runs && error == ENOENT;
        process_totals->unread += error == EIO;
        if (error == EIO)
            note_place(handed->id, false);
        if (buried && !expected->is_damaged)
            model_violate("job %llu is buried although its body is whole",
                          (unsigned long long)handed->id);
        else if (!buried && runs && !(error == EIO && process_has_read_in_vain()))
            model_violate("job %llu cannot be handed out", (unsigned long long)handed->id);
        process_totals->buried += buried;
        take_back(handed, buried, process.refusals != refusals);
        read_aside();
        return;
    }
    note_place(handed->id, true);
    if (!runs) {
        model_violate("job %llu is handed out although it was cancelled",
                      (unsigned long long)handed->id);
    } else {
        model_body(&expected->put, body);
        size_t headers_size = model_headers(&expected->put, headers);
        if (!same_text(job.tube, model_tube(expected->put.tube)) ||
            !same_text(job.key, model_key(expected->put.key)) ||
            !same_text(job.group, model_group(&expected->put)) ||
            !same_text(job.headers, (struct elapse__queue_text){headers, headers_size}) ||
            !same_text(job.body, (struct elapse__queue_text){body, expected->put.body_size}))
            model_violate("job %llu is handed out with other bytes",
                          (unsigned long long)handed->id);
        model_do_begin(handed->id, handed->lease);
    }
    free(job.memory);
    receive_lease(handed->lease);
    unsigned place = clients.lease_count < LEASES_MAX ? clients.lease_count++
                                                      : (unsigned)(handed->id % LEASES_MAX);
    clients.leases[place] = (struct lease){handed->id, handed->lease};
}

void clients_receive(void)
{
    unsigned kept = 0, count = clients.reply_count;
    for (unsigned i = 0; i < count; i++) {
        struct reply reply = clients.replies[i];
        bool may_leave = elapse__engine_may_reply(&process.engine, reply.gate);
        if (!may_leave || reply.waits > 0) {
            reply.waits -= may_leave;
            clients.replies[kept++] = reply;
            continue;
        }
        model_reply(reply.seq);
        process_totals->replies++;
        if (reply.id > model.told_id)
            model.told_id = reply.id;
        if (reply.hands_out)
            receive_job(&reply);
    }
    clients.reply_count = kept;
}

/* Returns the job whose lease has ended since the model saw it, or 0. */
static uint64_t ended_lease(unsigned connection)
{
    struct elapse__queue_view view;
    for (unsigned i = 0; i < model.job_count; i++) {
        const struct model_job *job = model_at(i);
        if (!model_is_held_by(job, connection) || job->state != ELAPSE__QUEUE_RESERVED)
            continue;
        if (elapse__queue_look_up_id(process.engine.jobs, process_now(), job->id, &view) !=
                ELAPSE__QUEUE_OK ||
            view.state != ELAPSE__QUEUE_RESERVED)
            return job->id;
    }
    return 0;
}

/* A connection breaks that has leases: each of them ends, in a group of its own. */
static void close_connection(unsigned number)
{
    struct elapse__queue_connection *connection = &clients.connections[number];
    bool is_closed = false;
    TRACE("t %lld: connection %u breaks\n", (long long)model.t, number);
    model_do_close();
    uint64_t refusals_before = process.refusals;
    for (unsigned i = 0; !is_closed && i <= LIVE_MAX * 2; i++) {
        uint64_t refusals = process.refusals;
        is_closed =
            elapse__queue_connection_close(process.engine.jobs, process_now(), connection, 1);
        uint64_t id = ended_lease(number);
        if (id != 0)
            model_do_end_of_connection(id, process.refusals != refusals);
        model_read_drawn(process.engine.jobs, process_now());
    }
    model.drops = process.refusals != refusals_before;
    if (!is_closed || !model_do_closed(number))
        model_violate("connection %u has leases after it was closed", number);
    unsigned kept = 0;
    for (unsigned i = 0; i < clients.reply_count; i++)
        if (clients.replies[i].connection != number)
            clients.replies[kept++] = clients.replies[i];
    clients.reply_count = kept;
}

void clients_lose_connection(struct random_source *random)
{
    if (random_one_in(random, 3)) {
        close_connection(1 + (unsigned)random_below(random, CONNECTIONS));
        return;
    }
    if (clients.reply_count == 0)
        return;
    unsigned place = (unsigned)random_below(random, clients.reply_count);
    struct reply reply = clients.replies[place];
    if (reply.connection != 0) {
        close_connection(reply.connection);
        return;
    }
    clients.reply_count--;
    memmove(clients.replies + place, clients.replies + place + 1,
            (clients.reply_count - place) * sizeof *clients.replies);
    TRACE("t %lld: a connection breaks\n", (long long)model.t);
    if (!reply.hands_out)
        return;
    uint64_t refusals = process.refusals;
    elapse__engine_take_back(&process.engine, &reply.handed);
    take_back(&reply.handed, false, process.refusals != refusals);
}

void clients_turn(void)
{
    uint64_t refusals = process.refusals;
    while (elapse__queue_turn(process.engine.jobs, process_now()).more) {
    }
    model_do_turn(process.refusals != refusals);
    model_compare(process.engine.jobs, process_now());
}

/* ---- what clients like to send ---- */

static int64_t some_delay(struct random_source *random)
{
    static const int64_t most[] = {1, 50, 2000, 60000, 400000};
    return (int64_t)random_below(random, (uint64_t)most[random_below(random, 5)]);
}

static uint32_t some_body_size(struct random_source *random)
{
    uint32_t size = (uint32_t)random_below(random, random_one_in(random, 8) ? 3000 : 300);
    return clients.body_size == 0 ? size : clients.body_size;
}

static struct model_put some_put(struct random_source *random)
{
    struct model_put put = {
        .tube = (unsigned)random_below(random, MODEL_TUBES),
        .key = random_one_in(random, 2) ? (unsigned)random_below(random, MODEL_KEYS) : 0,
        .token = random_one_in(random, 6) ? (unsigned)random_below(random, MODEL_TOKENS) : 0,
        .serial = ++clients.last_serial,
        .body_size = some_body_size(random),
        .delay = some_delay(random),
        .ttr = 1 + some_delay(random),
        .if_key = (enum elapse__queue_if_key)random_below(random, 4),
        .priority = (uint32_t)random_below(random, 3),
    };
    uint64_t kind = random_below(random, 10);
    if (kind == 0)
        put.when = ELAPSE__QUEUE_CRON;
    else if (kind == 1)
        put.when = ELAPSE__QUEUE_EVERY;
    else if (kind < 4)
        put.when = ELAPSE__QUEUE_AT;
    put.at = model_wall() + some_delay(random) - 20;
    put.period = 100 + some_delay(random);
    if (random_one_in(random, 4))
        put.expire = 1 + some_delay(random);
    if (random_one_in(random, 3))
        put.retry = 1 + (uint32_t)random_below(random, 3);
    if (random_one_in(random, 2)) {
        put.backoff_min = some_delay(random);
        put.backoff_max = put.backoff_min + some_delay(random);
    }
    if (put.if_key == ELAPSE__QUEUE_DEBOUNCE && (put.key == 0 || put.when != ELAPSE__QUEUE_IN))
        put.if_key = ELAPSE__QUEUE_REPLACE;
    put.debounce_max = put.delay + some_delay(random);
    bool recurs = put.when == ELAPSE__QUEUE_EVERY || put.when == ELAPSE__QUEUE_CRON;
    if (put.key != 0 && !recurs && put.if_key != ELAPSE__QUEUE_DEBOUNCE &&
        random_one_in(random, 2)) {
        put.await = 1 + (uint32_t)random_below(random, 4);
        if (random_one_in(random, 3))
            put.when = ELAPSE__QUEUE_NO_TIME;
    }
    return put;
}

/* Any job, also one that has ended. */
static uint64_t some_id(struct random_source *random)
{
    if (model.job_count == 0 || random_one_in(random, 8))
        return 1 + random_below(random, model.greatest_id + 1);
    return model_at((unsigned)random_below(random, model.job_count))->id;
}

static struct command some_named(struct random_source *random, enum verb verb)
{
    struct command command = {.verb = verb};
    if (verb == KICK || random_one_in(random, 2)) {
        command.id = some_id(random);
    } else {
        command.tube = (unsigned)random_below(random, MODEL_TUBES);
        command.key = 1 + (unsigned)random_below(random, MODEL_KEYS - 1);
    }
    command.time.when = random_one_in(random, 2) ? ELAPSE__QUEUE_IN : ELAPSE__QUEUE_AT;
    command.time.delay_ms = (uint64_t)some_delay(random);
    command.time.at_ms = model_wall() + some_delay(random) - 20;
    return command;
}

/* Most arrivals are at a job that waits for them. */
static struct command some_arrival(struct random_source *random)
{
    struct command command = {
        .verb = ARRIVE,
        .tube = (unsigned)random_below(random, MODEL_TUBES),
        .key = 1 + (unsigned)random_below(random, MODEL_KEYS - 1),
        .count = 1 + (uint32_t)random_below(random, 2),
        .token = (unsigned)random_below(random, MODEL_ARRIVAL_TOKENS),
    };
    unsigned first = model.job_count == 0 ? 0 : (unsigned)random_below(random, model.job_count);
    for (unsigned i = 0; i < model.job_count && !random_one_in(random, 100); i++) {
        const struct model_job *job = model_at((first + i) % model.job_count);
        if (!job->waits)
            continue;
        command.tube = job->put.tube;
        command.key = job->put.key;
        break;
    }
    return command;
}

static void send(struct command command)
{
    (void)run(&command);
}

static void send_pause(struct random_source *random)
{
    struct command command = {
        .verb = PAUSE,
        .tube = (unsigned)random_below(random, MODEL_TUBES),
        .delay = random_one_in(random, 2) ? 0 : some_delay(random),
    };
    if (model_takes_pauses(command.tube))
        (void)run(&command);
}

static struct elapse__queue_rate some_rate(struct random_source *random)
{
    static const struct elapse__queue_rate rates[] = {
        {1, 5, 1},     {3, 100, 1},   {7, 1000, 1},   {2, 2000, 1},
        {3, 10000, 1}, {1, 60000, 1}, {2, 150000, 1}, {1, 90000, 1},
    };
    struct elapse__queue_rate rate = rates[random_below(random, 8)];
    rate.burst += random_below(random, 3);
    return rate;
}

/* All limits of a tube, or none; now and then some are as they were. */
static void send_limits(struct random_source *random)
{
    struct command command = {.verb = LIMIT, .tube = (unsigned)random_below(random, MODEL_TUBES)};
    struct elapse__queue_limits *limits = &command.limits;
    bool keeps = random_one_in(random, 3), is_none = random_one_in(random, 4);
    if (!clients.set_limits || !model_takes_limits(command.tube))
        return;
    if (!is_none) {
        limits->concurrency = random_one_in(random, 3) ? 1 + (uint32_t)random_below(random, 3) : 0;
        limits->group_concurrency =
            random_one_in(random, 3) ? 1 + (uint32_t)random_below(random, 2) : 0;
        limits->group_order = random_one_in(random, 4);
        if (random_one_in(random, 4))
            limits->rate = some_rate(random);
        if (random_one_in(random, 4))
            limits->group_rate = some_rate(random);
        if (keeps) {
            limits->rate = model_limits_of(command.tube)->rate;
            limits->group_rate = model_limits_of(command.tube)->group_rate;
        }
    }
    (void)run(&command);
}

/* What a worker says about a job that it has or had. */
static struct command some_holder(struct random_source *random, unsigned place)
{
    static const enum model_verb verbs[] = {MODEL_ACK,  MODEL_ACK,     MODEL_ACK,    MODEL_ACK,
                                            MODEL_NACK, MODEL_NACK_IN, MODEL_EXTEND, MODEL_BURY};
    struct command command = {
        .verb = HOLDER,
        .holder_verb = verbs[random_below(random, 8)],
        .id = clients.leases[place].id,
        .lease = clients.leases[place].lease,
        .delay = some_delay(random),
    };
    if (command.holder_verb != MODEL_ACK && command.holder_verb != MODEL_EXTEND &&
        random_one_in(random, 2))
        command.error = 1 + (int32_t)random_below(random, 1000000);
    return command;
}

static void send_holder(struct random_source *random)
{
    if (clients.lease_count == 0)
        return;
    unsigned place = (unsigned)random_below(random, clients.lease_count);
    struct command command = some_holder(random, place);
    bool taken = run(&command);
    /* Old leases are kept now and then, to be used again. */
    if (taken && command.holder_verb != MODEL_EXTEND && !random_one_in(random, 4))
        clients.leases[place] = clients.leases[--clients.lease_count];
}

/* A transaction cannot name the id of a job that it makes itself. */
static bool is_known(const struct command *command)
{
    return command->id <= model.greatest_id;
}

/* Two to four changes; most name the lease of a job whose work they end. */
static void send_transaction(struct random_source *random)
{
    static struct transaction transaction;
    uint32_t wanted = 2 + (uint32_t)random_below(random, CHANGES_MAX - 1);
    transaction.count = 0;
    if (clients.lease_count > 0 && !random_one_in(random, 4)) {
        unsigned place = (unsigned)random_below(random, clients.lease_count);
        struct command leased = some_holder(random, place);
        transaction.commands[transaction.count++] = leased;
        leased.verb = LEASED;
        leased.error = 0;
        transaction.commands[transaction.count++] = leased;
    }
    while (transaction.count < wanted) {
        uint64_t kind = random_below(random, 10);
        struct command command = {.verb = PUT};
        if (kind < 4)
            command = some_arrival(random);
        else if (kind < 6)
            command = some_named(random, random_one_in(random, 2) ? CANCEL : RESCHEDULE);
        else
            command.put = some_put(random);
        if (is_known(&command))
            transaction.commands[transaction.count++] = command;
    }
    if (model_live() < LIVE_MAX)
        (void)run_transaction(&transaction);
}

void clients_send(struct random_source *random)
{
    uint64_t kind = random_below(random, 100);
    if (kind < 36 && model_live() < LIVE_MAX)
        (void)run(&(struct command){.verb = PUT, .put = some_put(random)});
    else if (kind < 40)
        send(some_arrival(random));
    else if (kind < 45)
        send_transaction(random);
    else if (kind < 53)
        send(some_named(random, CANCEL));
    else if (kind < 57)
        send(some_named(random, RESCHEDULE));
    else if (kind < 59)
        send(some_named(random, KICK));
    else if (kind < 61)
        send_pause(random);
    else if (kind < 63)
        send_limits(random);
    else if (kind < 78)
        (void)take(1 + (unsigned)random_below(random, (1 << MODEL_TUBES) - 1),
                   random_one_in(random, 2) ? 0 : 1 + (unsigned)random_below(random, CONNECTIONS),
                   random_one_in(random, 8) ? (unsigned)random_below(random, WAITS_MAX) : 0);
    else
        send_holder(random);
}

/* ---- the end ---- */

static void work_until_idle(void)
{
    bool goes_on = true;
    while (goes_on && !process_ended() && model.violation[0] == '\0') {
        goes_on = process_step(ELAPSE__LANE_COMMIT);
        goes_on |= process_step(ELAPSE__LANE_BACKGROUND);
        clients_receive();
    }
}

static void acknowledge_all(void)
{
    while (clients.lease_count > 0 && model.violation[0] == '\0') {
        const struct lease *lease = &clients.leases[clients.lease_count - 1];
        struct command ack = {
            .verb = HOLDER, .holder_verb = MODEL_ACK, .id = lease->id, .lease = lease->lease};
        if (!run(&ack))
            break;
        clients.lease_count--;
    }
}

static void finish_round(void)
{
    acknowledge_all();
    for (unsigned i = 0; i < model.job_count && model.violation[0] == '\0'; i++) {
        const struct model_job *job = model_at(i);
        struct command command = {.verb = KICK, .id = job->id};
        if (job->put.when == ELAPSE__QUEUE_EVERY || job->put.when == ELAPSE__QUEUE_CRON)
            command.verb = CANCEL;
        if ((command.verb == CANCEL || job->state == ELAPSE__QUEUE_BURIED || job->waits) &&
            job->state != ELAPSE__QUEUE_FREE)
            (void)run(&command);
    }
    clients_turn();
    while (clients.lease_count < LEASES_MAX && model.violation[0] == '\0' &&
           take((1 << MODEL_TUBES) - 1, 0, 0)) {
        work_until_idle();
        acknowledge_all();
    }
}

void clients_take_all(void)
{
    clients_turn();
    while (clients.lease_count < LEASES_MAX && !process_ended() && model.violation[0] == '\0' &&
           take((1 << MODEL_TUBES) - 1, 0, 0))
        work_until_idle();
    clients_turn();
}

/* Returns whether a job may have to wait for longer than a minute for its turn. */
static bool has_slow_rate(void)
{
    bool any = false;
    for (unsigned tube = 0; tube < MODEL_TUBES; tube++)
        any |= model_has_slow_rate(tube);
    return any;
}

void clients_finish(void)
{
    for (unsigned i = 0; i < clients.reply_count; i++)
        clients.replies[i].waits = 0;
    process.unreadable_until = 0;
    for (unsigned round = 0; model.violation[0] == '\0'; round++) {
        work_until_idle();
        if (process_ended()) {
            model_violate("the process ends though no call fails");
            return;
        }
        if (model_live() == 0 && clients.reply_count == 0)
            return;
        if (round == FINISH_ROUNDS) {
            model_violate("%u jobs are never handed out", model_live());
            return;
        }
        model.t += has_slow_rate() ? 90000 : 10000;
        process_tick();
        finish_round();
    }
}
