/*
 * The loads of PostgreSQL: those that change jobs, and those that hand them out.
 */
#ifndef ELAPSE_BENCH_SERVER_POSTGRES_LOADS_H
#define ELAPSE_BENCH_SERVER_POSTGRES_LOADS_H

#include "arguments.h"

void load_put(struct arguments *arguments);
void load_put_key(struct arguments *arguments);
void load_put_now(struct arguments *arguments);
void load_delete(struct arguments *arguments);
void load_cancel(struct arguments *arguments);
void load_reschedule(struct arguments *arguments);
void load_story(struct arguments *arguments);
void load_heartbeat(struct arguments *arguments);
void load_churn(struct arguments *arguments);

void load_drain(struct arguments *arguments);
void load_timers(struct arguments *arguments);

#endif
