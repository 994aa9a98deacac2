#include "rabbitmq_link.h"

#include <amqp_tcp_socket.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "client.h"
#include "peer.h"

enum { CHANNEL = 1, FRAME_BYTES_MAX = 131072 };

static const struct timeval no_time = {.tv_sec = 0};

/* ---- failures ---- */

static _Noreturn void fail_closed(const char *what, const amqp_method_t *method)
{
    amqp_bytes_t text = amqp_cstring_bytes("an unexpected method");

    if (method->id == AMQP_CHANNEL_CLOSE_METHOD)
        text = ((const amqp_channel_close_t *)method->decoded)->reply_text;
    if (method->id == AMQP_CONNECTION_CLOSE_METHOD)
        text = ((const amqp_connection_close_t *)method->decoded)->reply_text;
    peer_fail("%s: %.*s", what, (int)text.len, (const char *)text.bytes);
}

static void check_reply(const char *what, amqp_rpc_reply_t reply)
{
    if (reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION)
        peer_fail("%s: %s", what, amqp_error_string2(reply.library_error));
    if (reply.reply_type == AMQP_RESPONSE_SERVER_EXCEPTION)
        fail_closed(what, &reply.reply);
    if (reply.reply_type != AMQP_RESPONSE_NORMAL)
        peer_fail("%s: no reply", what);
}

static void check_status(const char *what, int status)
{
    if (status != AMQP_STATUS_OK)
        peer_fail("%s: %s", what, amqp_error_string2(status));
}

/* ---- connections ---- */

/* Logs in as the user that a new server has. Returns whether the server was there. */
static bool open_channel(amqp_connection_state_t link, const char *host, uint16_t port, bool must)
{
    amqp_socket_t *connecting = amqp_tcp_socket_new(link);
    int status = amqp_socket_open(connecting, host, port);

    if (status != AMQP_STATUS_OK) {
        if (must)
            check_status("connect", status);
        return false;
    }
    amqp_rpc_reply_t reply =
        amqp_login(link, "/", 0, FRAME_BYTES_MAX, 0, AMQP_SASL_METHOD_PLAIN, "guest", "guest");
    if (!must && reply.reply_type != AMQP_RESPONSE_NORMAL)
        return false;
    check_reply("log in", reply);
    (void)amqp_channel_open(link, CHANNEL);
    check_reply("open a channel", amqp_get_rpc_reply(link));
    return true;
}

amqp_connection_state_t link_open(const char *address, bool must)
{
    char host[64];
    const char *colon = strrchr(address, ':');

    if (colon == NULL || (size_t)(colon - address) >= sizeof host)
        peer_fail("not host:port: %s", address);
    memcpy(host, address, (size_t)(colon - address));
    host[colon - address] = '\0';
    amqp_connection_state_t link = amqp_new_connection();
    if (open_channel(link, host, (uint16_t)strtoul(colon + 1, NULL, 10), must))
        return link;
    (void)amqp_destroy_connection(link);
    return NULL;
}

void link_close(amqp_connection_state_t link)
{
    (void)amqp_connection_close(link, AMQP_REPLY_SUCCESS);
    (void)amqp_destroy_connection(link);
}

void links_wait(const amqp_connection_state_t *links, size_t count, int wait_ms)
{
    struct pollfd *polled = peer_allocate(count, sizeof *polled);

    for (size_t i = 0; i < count; i++)
        polled[i] = (struct pollfd){.fd = amqp_get_sockfd(links[i]), .events = POLLIN};
    if (poll(polled, count, wait_ms) < 0 && errno != EINTR)
        stop("poll");
    free(polled);
}

/* ---- queues ---- */

static amqp_table_entry_t text_entry(const char *name, const char *value)
{
    return (amqp_table_entry_t){
        .key = amqp_cstring_bytes(name),
        .value = {.kind = AMQP_FIELD_KIND_UTF8, .value.bytes = amqp_cstring_bytes(value)},
    };
}

static uint64_t declare(amqp_connection_state_t link, const char *name, bool is_passive,
                        amqp_table_t arguments)
{
    const amqp_queue_declare_ok_t *declared = amqp_queue_declare(
        link, CHANNEL, amqp_cstring_bytes(name), is_passive, true, false, false, arguments);

    check_reply("declare a queue", amqp_get_rpc_reply(link));
    return declared->message_count;
}

void link_declare_ready(amqp_connection_state_t link)
{
    (void)declare(link, READY_QUEUE, false, amqp_empty_table);
}

/* The time to live belongs to the queue: messages of one queue with different times wait for the
 * one at the head. So each delay has a queue. */
void link_declare_delay(amqp_connection_state_t link, int64_t delay_ms)
{
    char name[32];
    amqp_table_entry_t entries[] = {
        text_entry("x-dead-letter-exchange", ""),
        text_entry("x-dead-letter-routing-key", READY_QUEUE),
        {.key = amqp_cstring_bytes("x-message-ttl"),
         .value = {.kind = AMQP_FIELD_KIND_I64, .value.i64 = delay_ms}},
    };

    (void)snprintf(name, sizeof name, "delay-%lld", (long long)delay_ms);
    (void)declare(link, name, false,
                  (amqp_table_t){(int)(sizeof entries / sizeof *entries), entries});
}

uint64_t link_ready_jobs(amqp_connection_state_t link)
{
    return declare(link, READY_QUEUE, true, amqp_empty_table);
}

/* ---- publishing ---- */

void publisher_open(struct publisher *publisher, const char *address, uint64_t window,
                    struct histogram *times)
{
    *publisher = (struct publisher){
        .link = link_open(address, true),
        .window = window,
        .lowest = 1,
        .sent_ns = peer_allocate(window, sizeof *publisher->sent_ns),
        .times = times,
    };
    (void)amqp_confirm_select(publisher->link, CHANNEL);
    check_reply("ask for confirms", amqp_get_rpc_reply(publisher->link));
}

void publisher_close(struct publisher *publisher)
{
    link_close(publisher->link);
    free(publisher->sent_ns);
}

bool publisher_has_room(const struct publisher *publisher)
{
    return publisher->published + 1 - publisher->lowest < publisher->window;
}

static void cork(struct publisher *publisher, int on)
{
    (void)setsockopt(amqp_get_sockfd(publisher->link), IPPROTO_TCP, TCP_CORK, &on, sizeof on);
}

void publisher_hold(struct publisher *publisher)
{
    cork(publisher, 1);
}

void publisher_release(struct publisher *publisher)
{
    cork(publisher, 0);
}

/* Mandatory: a message that no queue takes comes back, instead of being confirmed only. */
void publisher_put(struct publisher *publisher, const char *queue, char *body)
{
    const amqp_basic_properties_t properties = {
        ._flags = AMQP_BASIC_DELIVERY_MODE_FLAG,
        .delivery_mode = AMQP_DELIVERY_PERSISTENT,
    };

    publisher->published++;
    publisher->sent_ns[publisher->published % publisher->window] = now_ns();
    check_status("publish", amqp_basic_publish(publisher->link, CHANNEL, amqp_empty_bytes,
                                               amqp_cstring_bytes(queue), true, false, &properties,
                                               (amqp_bytes_t){PEER_BODY_BYTES, body}));
}

static void confirm(struct publisher *publisher, uint64_t tag, uint64_t read_ns)
{
    uint64_t *sent_ns = &publisher->sent_ns[tag % publisher->window];

    if (*sent_ns == 0)
        return;
    histogram_add(publisher->times, read_ns - *sent_ns, 1);
    *sent_ns = 0;
    publisher->confirmed++;
}

static void take_confirm(struct publisher *publisher, const amqp_basic_ack_t *ack, uint64_t read_ns)
{
    if (ack->delivery_tag < publisher->lowest || ack->delivery_tag > publisher->published)
        peer_fail("a confirm of no message under way");
    for (uint64_t tag = ack->multiple ? publisher->lowest : ack->delivery_tag;
         tag <= ack->delivery_tag; tag++)
        confirm(publisher, tag, read_ns);
    while (publisher->lowest <= publisher->published &&
           publisher->sent_ns[publisher->lowest % publisher->window] == 0)
        publisher->lowest++;
}

void publisher_receive(struct publisher *publisher)
{
    uint64_t read_ns = 0;
    amqp_frame_t frame;
    int status;

    while ((status = amqp_simple_wait_frame_noblock(publisher->link, &frame, &no_time)) ==
           AMQP_STATUS_OK) {
        if (frame.frame_type != AMQP_FRAME_METHOD)
            peer_fail("an unexpected frame");
        if (frame.payload.method.id != AMQP_BASIC_ACK_METHOD)
            fail_closed("not confirmed", &frame.payload.method);
        if (read_ns == 0)
            read_ns = now_ns();
        take_confirm(publisher, frame.payload.method.decoded, read_ns);
    }
    if (status != AMQP_STATUS_TIMEOUT)
        check_status("receive", status);
    amqp_maybe_release_buffers(publisher->link);
}

/* ---- consuming ---- */

void consumer_begin(amqp_connection_state_t link, uint64_t window)
{
    /* 0 would be without a limit. */
    (void)amqp_basic_qos(link, CHANNEL, 0, (uint16_t)(window < UINT16_MAX ? window : UINT16_MAX),
                         false);
    check_reply("limit the window", amqp_get_rpc_reply(link));
    (void)amqp_basic_consume(link, CHANNEL, amqp_cstring_bytes(READY_QUEUE), amqp_empty_bytes,
                             false, false, false, amqp_empty_table);
    check_reply("consume", amqp_get_rpc_reply(link));
}

bool consumer_take(amqp_connection_state_t link, uint64_t *tag, char *body)
{
    amqp_envelope_t envelope;
    amqp_rpc_reply_t reply = amqp_consume_message(link, &envelope, &no_time, 0);

    if (reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION &&
        reply.library_error == AMQP_STATUS_TIMEOUT) {
        amqp_maybe_release_buffers(link);
        return false;
    }
    check_reply("take a job", reply);
    if (envelope.message.body.len != PEER_BODY_BYTES)
        peer_fail("a body of %zu bytes", envelope.message.body.len);
    *tag = envelope.delivery_tag;
    memcpy(body, envelope.message.body.bytes, PEER_BODY_BYTES);
    amqp_destroy_envelope(&envelope);
    return true;
}

void consumer_acknowledge(amqp_connection_state_t link, uint64_t tag)
{
    check_status("acknowledge", amqp_basic_ack(link, CHANNEL, tag, true));
}
