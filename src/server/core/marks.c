/*
 * Marks and leavings: which bytes have which gate, and which leases are on their way.
 */
#include <stdlib.h>
#include <string.h>

#include "marks.h"

/* ---- rings of memory ---- */

/* Doubles a ring of items. Returns the new memory, with the first item at its begin; NULL: there is
 * none. */
static void *grow_ring(void *items, uint32_t first, uint32_t *room, size_t item_bytes)
{
    const uint32_t room_min = 16;
    uint32_t more = *room == 0 ? room_min : *room * 2;

    if (more < *room)
        return NULL;
    unsigned char *grown = malloc(more * item_bytes);
    if (grown == NULL)
        return NULL;
    size_t behind = (*room - first) * item_bytes;
    if (*room > 0) {
        memcpy(grown, (unsigned char *)items + first * item_bytes, behind);
        memcpy(grown + behind, items, first * item_bytes);
    }
    free(items);
    *room = more;
    return grown;
}

struct elapse__reply_mark *elapse__reply_marks_at(const struct elapse__connection *connection,
                                                  uint32_t place)
{
    const struct elapse__reply_marks *marks = &connection->marks;
    ELAPSE__ASSERT_THAT(place, <, marks->count);
    return &marks->items[(marks->first + place) & (marks->room - 1)];
}

static bool add_mark(struct elapse__connection *connection, struct elapse__reply_mark mark)
{
    struct elapse__reply_marks *marks = &connection->marks;

    if (marks->count == marks->room) {
        void *grown = grow_ring(marks->items, marks->first, &marks->room, sizeof *marks->items);
        if (grown == NULL)
            return false;
        marks->items = grown;
        marks->first = 0;
    }
    marks->count++;
    *elapse__reply_marks_at(connection, marks->count - 1) = mark;
    return true;
}

void elapse__reply_marks_drop_first(struct elapse__connection *connection)
{
    struct elapse__reply_marks *marks = &connection->marks;

    ELAPSE__ASSERT_THAT(marks->count, >, 0);
    marks->first = (marks->first + 1) & (marks->room - 1);
    marks->count--;
    /* A long pipeline needs many; a quiet connection none. */
    if (marks->count == 0 && marks->room * sizeof *marks->items > ELAPSE__BUFFER_KEPT) {
        free(marks->items);
        *marks = (struct elapse__reply_marks){.items = NULL};
    }
}

/* ---- marks ---- */

void elapse__reply_marks_close_reply(struct elapse__connection *connection)
{
    uint64_t gate = connection->server->engine->last_position;
    uint64_t end = connection->held_gone + elapse__buffer_size(&connection->held);

    connection->reply_begin = elapse__buffer_size(&connection->held);
    if (end == connection->held_end)
        return;
    connection->held_end = end;
    if (connection->marks.count > 0) {
        struct elapse__reply_mark *last =
            elapse__reply_marks_at(connection, connection->marks.count - 1);
        if (last->reply == NULL && last->gate == gate) {
            last->end = end;
            return;
        }
    }
    if (!add_mark(connection, (struct elapse__reply_mark){.end = end, .gate = gate}))
        elapse__connection_fail(connection);
}

bool elapse__reply_marks_add_reply(struct elapse__connection *connection,
                                   struct elapse__server_reply *reply)
{
    ELAPSE__ASSERT_THAT(connection->reply_begin, ==, elapse__buffer_size(&connection->held));
    return add_mark(connection,
                    (struct elapse__reply_mark){.end = connection->held_end, .reply = reply});
}

void elapse__reply_marks_drop_last(struct elapse__connection *connection)
{
    ELAPSE__ASSERT_THAT(connection->marks.count, >, 0);
    connection->marks.count--;
}

bool elapse__reply_marks_wait_for_journal(const struct elapse__connection *connection)
{
    if (connection->marks.count == 0)
        return false;
    const struct elapse__reply_mark *mark = elapse__reply_marks_at(connection, 0);
    uint64_t gate = mark->gate;
    if (mark->reply != NULL) {
        if (mark->reply->state == ELAPSE__REPLY_WAITING ||
            mark->reply->state == ELAPSE__REPLY_READING)
            return false;
        gate = mark->reply->gate;
    }
    return gate > connection->server->durable;
}

/* ---- leavings ---- */

bool elapse__leavings_add(struct elapse__connection *connection,
                          const struct elapse__queue_handed *handed)
{
    struct elapse__leavings *leavings = &connection->leavings;

    if (leavings->count == leavings->room) {
        void *grown =
            grow_ring(leavings->items, leavings->first, &leavings->room, sizeof *leavings->items);
        if (grown == NULL)
            return false;
        leavings->items = grown;
        leavings->first = 0;
    }
    uint32_t place = (leavings->first + leavings->count++) & (leavings->room - 1);
    leavings->items[place] = (struct elapse__leaving){
        .end = connection->out_end,
        .holder = {.id = handed->id, .lease = handed->lease},
    };
    return true;
}

struct elapse__leaving *elapse__leavings_first(const struct elapse__connection *connection)
{
    const struct elapse__leavings *leavings = &connection->leavings;

    ELAPSE__ASSERT_THAT(leavings->count, >, 0);
    return &leavings->items[leavings->first];
}

void elapse__leavings_drop_first(struct elapse__connection *connection)
{
    struct elapse__leavings *leavings = &connection->leavings;

    ELAPSE__ASSERT_THAT(leavings->count, >, 0);
    leavings->first = (leavings->first + 1) & (leavings->room - 1);
    if (--leavings->count == 0) {
        free(leavings->items);
        *leavings = (struct elapse__leavings){.items = NULL};
    }
}
