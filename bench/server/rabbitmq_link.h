/*
 * Connections to RabbitMQ: one publishes and awaits confirms, another consumes. A failure ends the
 * process.
 */
#ifndef ELAPSE_BENCH_SERVER_RABBITMQ_LINK_H
#define ELAPSE_BENCH_SERVER_RABBITMQ_LINK_H

#include <amqp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arguments.h"

/* Jobs that are ready wait in the queue of this name. */
#define READY_QUEUE "ready"

/* Returns a connection with its channel 1, or NULL if `must` is false and nothing listens. The
 * address is host:port. */
amqp_connection_state_t link_open(const char *address, bool must);
void link_close(amqp_connection_state_t link);

/* Make the queue of ready jobs, and one whose jobs move there after so many milliseconds. */
void link_declare_ready(amqp_connection_state_t link);
void link_declare_delay(amqp_connection_state_t link, int64_t delay_ms);

/* Returns how many ready jobs the queue holds, after all that was sent before. */
uint64_t link_ready_jobs(amqp_connection_state_t link);

/* Waits until one of these has input, or so long. */
void links_wait(const amqp_connection_state_t *links, size_t count, int wait_ms);

/* ---- publishing ---- */

struct publisher {
    amqp_connection_state_t link;
    uint64_t window;
    uint64_t published, lowest; /* tags: the last, and the first without a confirm */
    uint64_t confirmed;
    uint64_t *sent_ns; /* of each tag of the window; 0: confirmed */
    struct histogram *times;
};

void publisher_open(struct publisher *publisher, const char *address, uint64_t window,
                    struct histogram *times);
void publisher_close(struct publisher *publisher);
bool publisher_has_room(const struct publisher *publisher);

/* Between these two the system sends full packets only. */
void publisher_hold(struct publisher *publisher);
void publisher_release(struct publisher *publisher);

/* Publishes a persistent message with this body of PEER_BODY_BYTES to a queue. */
void publisher_put(struct publisher *publisher, const char *queue, char *body);

/* Takes the confirms that have come. */
void publisher_receive(struct publisher *publisher);

/* ---- consuming ---- */

/* Asks for jobs, with up to so many that are not acknowledged. */
void consumer_begin(amqp_connection_state_t link, uint64_t window);

/* Takes a job if one has come. Stores its tag, and its body of PEER_BODY_BYTES. */
bool consumer_take(amqp_connection_state_t link, uint64_t *tag, char *body);

/* Acknowledges all jobs up to this tag. The server does not answer. */
void consumer_acknowledge(amqp_connection_state_t link, uint64_t tag);

#endif
