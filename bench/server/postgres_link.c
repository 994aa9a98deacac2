#include "postgres_link.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "peer.h"
#include "postgres_sql.h"

/* From 1970 to 2000, where times of PostgreSQL begin. */
#define EPOCH_MS INT64_C(946684800000)

/* ---- arrays ---- */

/* Of pg_type; they are part of the protocol. */
static const uint32_t element_types[] = {
    [ARRAY_TEXT] = 25, [ARRAY_BYTES] = 17,  [ARRAY_INT8] = 20,
    [ARRAY_INT4] = 23, [ARRAY_TIME] = 1184,
};

static void add_bytes(struct array *array, const void *bytes, size_t count)
{
    if (array->room - array->size < count) {
        array->room = 2 * (array->size + count);
        array->at = realloc(array->at, array->room);
        if (array->at == NULL)
            peer_fail("there is no memory for an array of %zu bytes", array->room);
    }
    memcpy(array->at + array->size, bytes, count);
    array->size += count;
}

/* One dimension, no nulls, the type, the length, which is stored as elements are added, and the
 * lowest index. */
void array_begin(struct array *array, enum array_type type)
{
    uint32_t head[] = {htonl(1), 0, htonl(element_types[type]), 0, htonl(1)};

    array->size = 0;
    array->length = 0;
    add_bytes(array, head, sizeof head);
}

void array_add(struct array *array, const char *value, size_t bytes)
{
    const size_t length_at = 3 * sizeof(uint32_t);
    uint32_t size = htonl((uint32_t)bytes), length = htonl(++array->length);

    add_bytes(array, &size, sizeof size);
    add_bytes(array, value, bytes);
    memcpy(array->at + length_at, &length, sizeof length);
}

void array_add_int8(struct array *array, int64_t value)
{
    uint64_t wire = htobe64((uint64_t)value);
    array_add(array, (const char *)&wire, sizeof wire);
}

void array_add_int4(struct array *array, int32_t value)
{
    uint32_t wire = htonl((uint32_t)value);
    array_add(array, (const char *)&wire, sizeof wire);
}

void array_add_time(struct array *array, int64_t wall_ms)
{
    array_add_int8(array, (wall_ms - EPOCH_MS) * 1000);
}

/* ---- links ---- */

static _Noreturn void fail_link(const struct link *link, const char *what)
{
    peer_fail("%s: %s", what, PQerrorMessage(link->connection));
}

static void prepare(struct link *link, const char *name, const char *text)
{
    PGresult *result = PQprepare(link->connection, name, text, 0, NULL);
    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        fail_link(link, name);
    PQclear(result);
}

static void connect_link(struct link *link, const char *directory)
{
    const char *const names[] = {"host", "user", "dbname", NULL};
    const char *const values[] = {directory, "elapse", "postgres", NULL};

    link->connection = PQconnectdbParams(names, values, 0);
    if (PQstatus(link->connection) != CONNECTION_OK)
        fail_link(link, "connect");
}

void link_open(struct link *link, const char *directory, uint64_t units_max, uint64_t batch)
{
    char hand_out[512];

    *link =
        (struct link){.units = peer_allocate(units_max, sizeof *link->units), .room = units_max};
    connect_link(link, directory);
    for (size_t i = 0; i < statement_count; i++)
        prepare(link, statements[i].name, statements[i].text);
    write_hand_out(hand_out, sizeof hand_out, batch);
    prepare(link, "hand-out", hand_out);
    if (PQenterPipelineMode(link->connection) != 1 || PQsetnonblocking(link->connection, 1) != 0)
        fail_link(link, "pipeline");
}

void link_close(struct link *link)
{
    PQfinish(link->connection);
    free(link->units);
}

void link_send(struct link *link, const char *statement, unsigned count,
               const struct array *const *parameters)
{
    const char *values[PARAMETERS_MAX];
    int lengths[PARAMETERS_MAX], formats[PARAMETERS_MAX];

    for (unsigned i = 0; i < count; i++) {
        values[i] = parameters[i]->at;
        lengths[i] = (int)parameters[i]->size;
        formats[i] = 1;
    }
    if (PQsendQueryPrepared(link->connection, statement, (int)count, values, lengths, formats, 1) !=
        1)
        fail_link(link, statement);
}

static void flush(struct link *link)
{
    int left = PQflush(link->connection);
    if (left < 0)
        fail_link(link, "send");
    link->wants_write = left > 0;
}

void link_end_unit(struct link *link, struct unit unit)
{
    if (link->under_way == link->room)
        peer_fail("more than %zu units under way", link->room);
    unit.sent_ns = now_ns();
    unit.affected = 0;
    link->units[(link->first + link->under_way) % link->room] = unit;
    link->under_way++;
    link->jobs += unit.jobs;
    if (PQpipelineSync(link->connection) != 1)
        fail_link(link, "send");
    flush(link);
}

static void end_first_unit(struct link *link, const struct receiver *receiver)
{
    struct unit unit = link->units[link->first];

    if (unit.affected != unit.rows)
        peer_fail("%u rows were affected, and not %u", unit.affected, unit.rows);
    link->first = (link->first + 1) % link->room;
    link->under_way--;
    link->jobs -= unit.jobs;
    receiver->end_unit(receiver->context, &unit);
}

/* The rows of a hand-out are jobs, and may be fewer than asked for. All others count. */
static void take_result(struct link *link, PGresult *result, const struct receiver *receiver)
{
    struct unit *unit = &link->units[link->first];

    switch (PQresultStatus(result)) {
    case PGRES_PIPELINE_SYNC:
        end_first_unit(link, receiver);
        break;
    case PGRES_TUPLES_OK:
        if (unit->is_hand_out)
            receiver->take_rows(receiver->context, result);
        else
            unit->affected += (uint32_t)PQntuples(result);
        break;
    case PGRES_COMMAND_OK:
        unit->affected += (uint32_t)strtoul(PQcmdTuples(result), NULL, 10);
        break;
    default:
        peer_fail("%s", PQresultErrorMessage(result));
    }
}

void link_receive(struct link *link, const struct receiver *receiver)
{
    if (PQconsumeInput(link->connection) != 1)
        fail_link(link, "receive");
    while (link->under_way > 0 && !PQisBusy(link->connection)) {
        PGresult *result = PQgetResult(link->connection);
        /* NULL comes between the results of two statements. */
        if (result != NULL)
            take_result(link, result, receiver);
        PQclear(result);
    }
    flush(link);
}

void links_wait(struct link *const *links, size_t count, int wait_ms)
{
    struct pollfd *polled = peer_allocate(count, sizeof *polled);

    for (size_t i = 0; i < count; i++)
        polled[i] = (struct pollfd){
            .fd = PQsocket(links[i]->connection),
            .events = (short)(POLLIN | (links[i]->wants_write ? POLLOUT : 0)),
        };
    if (poll(polled, count, wait_ms) < 0 && errno != EINTR)
        stop("poll");
    for (size_t i = 0; i < count; i++)
        links[i]->is_ready = polled[i].revents != 0;
    free(polled);
}
