/*
 * Keeps the marks and leavings of a connection. marks.h says what these are.
 */
#include <stdlib.h>
#include <string.h>

#include "marks.h"

/* ---- rings of memory ---- */

/* Returns item number `place`, counted from 0. Each item has `bytes` bytes. */
static void *item_at(const struct elapse__items *items, uint32_t place, size_t bytes)
{
    ELAPSE__ASSERT_THAT(place, <, items->count);
    return (unsigned char *)items->memory + ((items->first + place) & (items->room - 1)) * bytes;
}

/* Doubles the room. Returns false if there is no memory. */
static bool grow(struct elapse__items *items, size_t bytes)
{
    const uint32_t room_min = 16;
    uint32_t more = items->room == 0 ? room_min : items->room * 2;

    if (more < items->room)
        return false;
    unsigned char *grown = malloc(more * bytes);
    if (grown == NULL)
        return false;
    size_t behind = (items->room - items->first) * bytes;
    if (items->room > 0) {
        memcpy(grown, (unsigned char *)items->memory + items->first * bytes, behind);
        memcpy(grown + behind, items->memory, items->first * bytes);
    }
    free(items->memory);
    *items = (struct elapse__items){.memory = grown, .count = items->count, .room = more};
    return true;
}

/* Adds an item at the end. Returns the address of the item; NULL if there is no memory. */
static void *add_item(struct elapse__items *items, size_t bytes)
{
    if (items->count == items->room && !grow(items, bytes))
        return NULL;
    items->count++;
    return item_at(items, items->count - 1, bytes);
}

/* Drops the first item. If no item is left, frees the memory, but keeps memory of at most `kept`
 * bytes. */
static void drop_first(struct elapse__items *items, size_t bytes, size_t kept)
{
    ELAPSE__ASSERT_THAT(items->count, >, 0);
    items->first = (items->first + 1) & (items->room - 1);
    if (--items->count == 0 && items->room * bytes > kept) {
        free(items->memory);
        *items = (struct elapse__items){.memory = NULL};
    }
}

/* ---- marks ---- */

struct elapse__reply_mark *elapse__reply_marks_at(const struct elapse__connection *connection,
                                                  uint32_t place)
{
    return item_at(&connection->marks, place, sizeof(struct elapse__reply_mark));
}

static bool add_mark(struct elapse__connection *connection, struct elapse__reply_mark mark)
{
    struct elapse__reply_mark *place = add_item(&connection->marks, sizeof *place);

    if (place != NULL)
        *place = mark;
    return place != NULL;
}

/* When no mark is left, large memory is freed, because only a long pipeline needs many marks. */
void elapse__reply_marks_drop_first(struct elapse__connection *connection)
{
    drop_first(&connection->marks, sizeof(struct elapse__reply_mark), ELAPSE__BUFFER_KEPT);
}

void elapse__reply_marks_close_reply(struct elapse__connection *connection)
{
    uint64_t gate = connection->server->engine->last_position;
    uint64_t end = connection->held_gone + elapse__buffer_size(&connection->held);

    ELAPSE__ASSERT(connection->writing == &connection->held);
    ELAPSE__ASSERT_THAT(end, >=, connection->held_end);
    connection->reply_begin = elapse__buffer_size(&connection->held);
    if (end == connection->held_end)
        return;
    connection->held_end = end;
    if (connection->marks.count > 0) {
        struct elapse__reply_mark *last =
            elapse__reply_marks_at(connection, connection->marks.count - 1);
        ELAPSE__ASSERT_THAT(last->end, <, end);
        ELAPSE__ASSERT(last->reply != NULL || last->gate <= gate);
        /* All records of the group that forms become durable at once. So the replies to a pipeline
         * have one mark for each group, and not one for each record. */
        if (last->reply == NULL &&
            (last->gate == gate ||
             last->gate > elapse__journal_forming(connection->server->engine->journal))) {
            last->end = end;
            last->gate = gate;
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
    struct elapse__leaving *place = add_item(&connection->leavings, sizeof *place);

    ELAPSE__ASSERT_THAT(handed->lease.number, !=, 0);
    ELAPSE__ASSERT_THAT(connection->out_end, >, connection->sent);
    if (place == NULL)
        return false;
    *place = (struct elapse__leaving){
        .end = connection->out_end,
        .holder = {.id = handed->id, .lease = handed->lease},
    };
    return true;
}

struct elapse__leaving *elapse__leavings_first(const struct elapse__connection *connection)
{
    return item_at(&connection->leavings, 0, sizeof(struct elapse__leaving));
}

void elapse__leavings_drop_first(struct elapse__connection *connection)
{
    drop_first(&connection->leavings, sizeof(struct elapse__leaving), 0);
}
