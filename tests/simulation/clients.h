/*
 * The clients of the simulation: they send commands, wait for replies, work on jobs, and lose
 * their connections. All that they do follows from one random number a step.
 */
#ifndef ELAPSE_TESTS_CLIENTS_H
#define ELAPSE_TESTS_CLIENTS_H

#include "process.h"
#include "random.h"

extern bool clients_trace; /* print each command and each reply */

/* `body_size`: of all jobs; 0: of many sizes. `set_limits`: whether clients limit tubes. */
void clients_begin(uint32_t body_size, bool set_limits);

/* One client sends one command. */
void clients_send(struct random_source *random);

/* Replies whose causes are durable leave. */
void clients_receive(void);

/* A connection breaks: a reply that waits never leaves. Some connections have leases, which end. */
void clients_lose_connection(struct random_source *random);

/* The process has ended: no reply that waits will come. */
void clients_forget_replies(void);

/* Time has passed: the process does what it asks for. */
void clients_turn(void);

/* Takes jobs that are ready. Requires that no call fails. */
void clients_take_all(void);

/* Nothing fails any more: every job must be handed out. */
void clients_finish(void);

#endif
