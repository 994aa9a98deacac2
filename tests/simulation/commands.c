#include "commands.h"

#include <string.h>

static struct elapse__queue_put inner_put(const struct model_put *put, struct texts *texts)
{
    static const char cron[] = "* * * * *";
    model_body(put, texts->body);
    return (struct elapse__queue_put){
        .tube = model_tube(put->tube),
        .body = {texts->body, put->body_size},
        .headers = {texts->headers, model_headers(put, texts->headers)},
        .key = model_key(put->key),
        .group = model_group(put),
        .token = model_token_text(put->token),
        .when = put->when,
        .await = put->await,
        .delay_ms = (uint64_t)put->delay,
        .at_ms = put->at,
        .period_ms = (uint64_t)put->period,
        .cron = {cron, put->when == ELAPSE__QUEUE_CRON ? sizeof cron - 1 : 0},
        .if_key = put->if_key,
        .debounce_max_ms = (uint64_t)put->debounce_max,
        .priority = put->priority,
        .ttr_ms = (uint64_t)put->ttr,
        .expire_ms = (uint64_t)put->expire,
        .retry = put->retry,
        .backoff_min_ms = (uint64_t)put->backoff_min,
        .backoff_max_ms = (uint64_t)put->backoff_max,
    };
}

static struct elapse__queue_holder inner_holder(const struct command *command, struct texts *texts)
{
    struct elapse__queue_holder holder = {.id = command->id, .lease = command->lease};
    if (command->error > 0)
        holder.error =
            (struct elapse__queue_text){texts->error, model_error(command->error, texts->error)};
    return holder;
}

static struct elapse__queue_arrival inner_arrival(const struct command *command)
{
    return (struct elapse__queue_arrival){
        .tube = model_tube(command->tube),
        .key = model_key(command->key),
        .count = command->count,
        .token = model_token_text(command->token),
    };
}

static struct elapse__queue_answer hold(struct elapse__queue *jobs, struct elapse__queue_now now,
                                        const struct command *command)
{
    struct texts texts;
    struct elapse__queue_holder holder = inner_holder(command, &texts);
    switch (command->holder_verb) {
    case MODEL_ACK:
        return elapse__queue_ack(jobs, now, holder);
    case MODEL_NACK:
        return elapse__queue_nack(jobs, now, holder);
    case MODEL_NACK_IN:
        return elapse__queue_nack_in(jobs, now, holder, (uint64_t)command->delay);
    case MODEL_EXTEND:
        return elapse__queue_extend(jobs, now, holder);
    default:
        return elapse__queue_bury(jobs, now, holder, NULL);
    }
}

struct elapse__queue_answer command_perform(struct elapse__queue *jobs,
                                            struct elapse__queue_now now, const void *arguments)
{
    const struct command *command = arguments;
    struct elapse__queue_arrival arrival;
    struct elapse__queue_put put;
    struct texts texts;
    switch (command->verb) {
    case PUT:
        put = inner_put(&command->put, &texts);
        return elapse__queue_put(jobs, now, &put);
    case ARRIVE:
        arrival = inner_arrival(command);
        return elapse__queue_arrive(jobs, now, &arrival);
    case CANCEL:
        return command->id != 0 ? elapse__queue_cancel_id(jobs, now, command->id)
                                : elapse__queue_cancel_key(jobs, now, model_tube(command->tube),
                                                           model_key(command->key));
    case RESCHEDULE:
        return command->id != 0
                   ? elapse__queue_reschedule_id(jobs, now, command->id, command->time)
                   : elapse__queue_reschedule_key(jobs, now, model_tube(command->tube),
                                                  model_key(command->key), command->time);
    case KICK:
        return elapse__queue_kick_id(jobs, now, command->id);
    case PAUSE:
        return elapse__queue_pause(jobs, now, model_tube(command->tube), (uint64_t)command->delay);
    case LIMIT:
        return elapse__queue_limit(jobs, now, model_tube(command->tube), &command->limits);
    default:
        return hold(jobs, now, command);
    }
}

void command_judge(const struct command *command, bool drops, struct elapse__queue_answer answer)
{
    model.drops = drops;
    switch (command->verb) {
    case PUT:
        model_do_put(&command->put, answer);
        break;
    case CANCEL:
        model_do_cancel(command->id, command->tube, command->key, answer);
        break;
    case RESCHEDULE:
        model_do_reschedule(command->id, command->tube, command->key, command->time, answer);
        break;
    case KICK:
        model_do_kick(command->id, answer);
        break;
    case PAUSE:
        model_do_pause(command->tube, command->delay, answer);
        break;
    case ARRIVE:
        process_totals->arrivals += answer.result == ELAPSE__QUEUE_OK;
        process_totals->gathered += answer.result == ELAPSE__QUEUE_OK && answer.left == 0;
        model_do_arrive(command->tube, command->key, command->count, command->token, answer);
        break;
    case LIMIT:
        process_totals->limits += answer.result == ELAPSE__QUEUE_OK;
        model_do_limit(command->tube, &command->limits, answer);
        break;
    case LEASED:
        break;
    default:
        model_do_holder(command->holder_verb, command->id, command->lease, command->delay,
                        drops ? 0 : command->error, answer);
        break;
    }
}

static void trace_limits(const struct elapse__queue_limits *limits)
{
    TRACE("t %lld: concurrency %u, rate %llu in %llu burst %llu; of groups: concurrency %u, rate "
          "%llu in %llu burst %llu%s\n",
          (long long)model.t, limits->concurrency, (unsigned long long)limits->rate.count,
          (unsigned long long)limits->rate.period_ms, (unsigned long long)limits->rate.burst,
          limits->group_concurrency, (unsigned long long)limits->group_rate.count,
          (unsigned long long)limits->group_rate.period_ms,
          (unsigned long long)limits->group_rate.burst, limits->group_order ? ", an order" : "");
}

void command_trace(const struct command *command, struct elapse__queue_answer answer)
{
    static const char *const verbs[] = {"put",    "cancel", "reschedule", "kick", "pause",
                                        "arrive", "lease",  "leased",     "limit"};
    if (command->verb == PAUSE)
        TRACE("t %lld: pause for %lld ms\n", (long long)model.t, (long long)command->delay);
    if (command->verb == LIMIT)
        trace_limits(&command->limits);
    TRACE("t %lld: %s (%d) job %llu tube %u key %u: result %d, job %llu\n", (long long)model.t,
          verbs[command->verb],
          command->verb == HOLDER ? (int)command->holder_verb : (int)command->put.when,
          (unsigned long long)command->id, command->verb == PUT ? command->put.tube : command->tube,
          command->verb == PUT ? command->put.key : command->key, (int)answer.result,
          (unsigned long long)answer.id);
}

/* ---- transactions ---- */

static void translate(struct elapse__queue_change *change, const struct command *command,
                      struct texts *texts)
{
    static const enum elapse__queue_verb holder_verbs[] = {
        [MODEL_ACK] = ELAPSE__QUEUE_ACK,         [MODEL_NACK] = ELAPSE__QUEUE_NACK,
        [MODEL_NACK_IN] = ELAPSE__QUEUE_NACK_IN, [MODEL_EXTEND] = ELAPSE__QUEUE_EXTEND,
        [MODEL_BURY] = ELAPSE__QUEUE_BURY,
    };
    bool has_id = command->id != 0;
    memset(change, 0, sizeof *change);
    if (command->verb == PUT) {
        change->verb = ELAPSE__QUEUE_PUT;
        change->put = inner_put(&command->put, texts);
    } else if (command->verb == ARRIVE) {
        change->verb = ELAPSE__QUEUE_ARRIVE;
        change->arrival = inner_arrival(command);
    } else if (command->verb == HOLDER || command->verb == LEASED) {
        bool waits = command->verb == HOLDER && command->holder_verb == MODEL_NACK_IN;
        change->verb =
            command->verb == LEASED ? ELAPSE__QUEUE_LEASED : holder_verbs[command->holder_verb];
        change->held.holder = inner_holder(command, texts);
        change->held.delay_ms = waits ? (uint64_t)command->delay : 0;
    } else {
        bool cancels = command->verb == CANCEL;
        change->verb = cancels && has_id ? ELAPSE__QUEUE_CANCEL_ID
                       : cancels         ? ELAPSE__QUEUE_CANCEL
                       : has_id          ? ELAPSE__QUEUE_RESCHEDULE_ID
                                         : ELAPSE__QUEUE_RESCHEDULE;
        change->named = (struct elapse__queue_change_named){.tube = model_tube(command->tube),
                                                            .key = model_key(command->key),
                                                            .id = command->id,
                                                            .time = command->time};
    }
}

uint64_t transaction_translate(struct transaction *transaction)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < transaction->count; i++) {
        translate(&transaction->changes[i], &transaction->commands[i], &transaction->texts[i]);
        bytes += elapse__queue_change_bytes(&transaction->changes[i]);
    }
    return bytes;
}

struct elapse__queue_answer transaction_perform(struct elapse__queue *jobs,
                                                struct elapse__queue_now now, const void *arguments)
{
    struct transaction *const *transaction = arguments;
    return elapse__queue_transact(jobs, now, (*transaction)->changes, (*transaction)->count,
                                  (*transaction)->answers);
}

void transaction_judge(const struct transaction *transaction, bool drops,
                       struct elapse__queue_answer answer)
{
    bool is_leased = true;
    for (uint32_t i = 0; i < transaction->count; i++) {
        const struct command *command = &transaction->commands[i];
        const struct model_job *job = model_find(command->id);
        if (command->verb == LEASED)
            is_leased &= job != NULL && job->state == ELAPSE__QUEUE_RESERVED &&
                         model_holds(command->id, command->lease);
    }
    if (answer.result == ELAPSE__QUEUE_REFUSED)
        return;
    if (answer.result != (is_leased ? ELAPSE__QUEUE_OK : ELAPSE__QUEUE_GONE)) {
        model_violate("a transaction answers %d although its leases %s", (int)answer.result,
                      is_leased ? "go on" : "have ended");
        return;
    }
    process_totals->transactions += is_leased;
    for (uint32_t i = 0; i < transaction->count && is_leased; i++) {
        command_trace(&transaction->commands[i], transaction->answers[i]);
        command_judge(&transaction->commands[i], drops, transaction->answers[i]);
    }
}
