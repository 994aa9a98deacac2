/*
 * The commands that the clients of the simulation send: how the queue gets them, alone and in a
 * transaction, and how the model judges the answers.
 */
#ifndef ELAPSE_TESTS_SIMULATION_COMMANDS_H
#define ELAPSE_TESTS_SIMULATION_COMMANDS_H

#include <stdio.h>

#include "../../src/queue/transact.h"
#include "clients.h"
#include "model.h"

#define TRACE(...)                     \
    do {                               \
        if (clients_trace)             \
            (void)printf(__VA_ARGS__); \
    } while (0)

enum verb { PUT, CANCEL, RESCHEDULE, KICK, PAUSE, ARRIVE, HOLDER, LEASED, LIMIT };

struct command {
    enum verb verb;
    struct model_put put;
    uint64_t id;
    unsigned tube, key;
    struct elapse__queue_time time;
    enum model_verb holder_verb;
    struct elapse__queue_lease lease;
    int64_t delay;
    int32_t error;  /* the number of what the worker tells; 0: nothing */
    uint32_t count; /* how many arrive */
    unsigned token; /* of the arrival; 0: none */
    struct elapse__queue_limits limits;
};

/* Runs a command. `arguments` is a struct command. The function is an elapse__engine_command. */
struct elapse__queue_answer command_perform(struct elapse__queue *jobs,
                                            struct elapse__queue_now now, const void *arguments);

/* The model judges the answer. `drops`: the journal has refused a group, and so may have left out
 * the error. */
void command_judge(const struct command *command, bool drops, struct elapse__queue_answer answer);

void command_trace(const struct command *command, struct elapse__queue_answer answer);

/* ---- transactions ---- */

enum { CHANGES_MAX = 4 };

/* The bytes that a command has. */
struct texts {
    uint8_t body[MODEL_BODY_MAX], headers[MODEL_HEADERS_MAX], error[MODEL_ERROR_MAX];
};

struct transaction {
    struct command commands[CHANGES_MAX];
    struct texts texts[CHANGES_MAX];
    struct elapse__queue_change changes[CHANGES_MAX];
    struct elapse__queue_answer answers[CHANGES_MAX];
    uint32_t count;
};

/* Translates the commands of a transaction. Returns how many bytes their records take at most. */
uint64_t transaction_translate(struct transaction *transaction);

/* Runs a transaction that was translated. `arguments` points to a pointer to it. */
struct elapse__queue_answer transaction_perform(struct elapse__queue *jobs,
                                                struct elapse__queue_now now,
                                                const void *arguments);

/* Judges whether a transaction should have been done, and what its changes have answered. */
void transaction_judge(const struct transaction *transaction, bool drops,
                       struct elapse__queue_answer answer);

#endif
