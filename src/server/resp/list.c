/*
 * Runs LIST, RECURRING and FIND.
 */
#include <stdlib.h>
#include <string.h>

#include "../../queue/find.h"
#include "commands.h"
#include "options.h"
#include "paging.h"
#include "reply.h"

enum {
    LIST_NAMES = 100,           /* the most jobs of one LIST with KEYS or BODY that has no order */
    LIST_NAMES_BYTES = 1 << 20, /* the most bytes of bodies, which are read with the texts */
    LIST_BATCH = 32,
    LIST_COST = 500,       /* a LIST takes as long as this many short commands */
    FIND_PLACES = 1 << 14, /* places of tubes that one FIND looks at */
    FIND_COUNT = 100,
};

/* The arguments of a LIST. */
struct list {
    struct elapse__queue_filter filter;
    bool in_order;
    enum elapse__queue_order order; /* the order, if `in_order` is true */
    bool reads;                     /* the LIST has KEYS or BODY */
    uint32_t body_bytes; /* how many bytes of each body BODY shows; 0: there is no BODY */
    uint32_t cursor;
    uint32_t count;
};

/* ---- jobs without their texts ---- */

/* Replies with the next jobs, but at most `most`. Returns how many jobs there were. */
static uint32_t list_batch(const struct elapse__resp_call *call,
                           const struct elapse__queue_filter *filter, uint32_t *cursor,
                           uint32_t most)
{
    struct elapse__queue_view views[LIST_BATCH];
    uint32_t room = most < LIST_BATCH ? most : LIST_BATCH;
    uint32_t listed = elapse__queue_list(elapse__session_queue(call->connection),
                                         elapse__session_now(call->connection), filter, cursor,
                                         ELAPSE__LIST_PLACES / 16, views, room);

    ELAPSE__ASSERT_THAT(listed, <=, room);
    for (uint32_t i = 0; i < listed; i++)
        elapse__resp_reply_view(call, &views[i]);
    return listed;
}

/* Finds up to `most` jobs, but stops when the bodies of these jobs have LIST_NAMES_BYTES bytes
 * together. Returns how many jobs were found. */
static uint32_t find_named(const struct elapse__resp_call *call,
                           const struct elapse__queue_filter *filter, uint32_t *cursor,
                           struct elapse__queue_view *views, uint32_t most)
{
    uint64_t body_max = elapse__session_options(call->connection)->body_bytes_max;
    uint64_t bytes = 0;
    uint32_t found = 0;

    ELAPSE__ASSERT_THAT(body_max, >, 0);
    for (uint32_t calls = 0; calls < 16 && found < most && bytes < LIST_NAMES_BYTES; calls++) {
        uint64_t fits = (LIST_NAMES_BYTES - bytes) / body_max;
        uint64_t room = most - found;
        room = fits >= room ? room : fits > 0 ? fits : 1;
        uint32_t some = elapse__queue_list(elapse__session_queue(call->connection),
                                           elapse__session_now(call->connection), filter, cursor,
                                           ELAPSE__LIST_PLACES / 16, views + found, (uint32_t)room);
        for (uint32_t i = 0; i < some; i++)
            bytes += views[found + i].body_size;
        found += some;
        if (*cursor == 0)
            break;
    }
    ELAPSE__ASSERT_THAT(found, <=, most);
    return found;
}

/* Replies with jobs without their texts. */
static void list_views(const struct elapse__resp_call *call, struct list *list)
{
    uint32_t listed = 0;

    if (!elapse__resp_begin_page(call))
        return;
    for (uint32_t calls = 0; calls < 16 && listed < list->count; calls++) {
        listed += list_batch(call, &list->filter, &list->cursor, list->count - listed);
        if (list->cursor == 0)
            break;
    }
    ELAPSE__ASSERT_THAT(listed, <=, list->count);
    elapse__resp_end_page(call, list->cursor, listed);
}

/* ---- jobs with texts: texts lie on the disk, and the core reads each job by itself ---- */

static uint64_t context_of(const struct elapse__resp_call *call, const struct list *list)
{
    ELAPSE__ASSERT_THAT(list->body_bytes, <=, (uint32_t)ELAPSE__RESP_BODY_MAX);
    return ELAPSE__RESP_CONTEXT_LOOK | ELAPSE__RESP_CONTEXT_ITEM |
           (call->session->resp3 ? ELAPSE__RESP_CONTEXT_RESP3 : 0) |
           (uint64_t)list->body_bytes << ELAPSE__RESP_CONTEXT_BODY_SHIFT;
}

/* Returns the bits that the first of `count` items has in its context: they say that the head of
 * the list comes before the item. */
static uint64_t head_of(uint32_t count, uint32_t cursor)
{
    ELAPSE__ASSERT_THAT(count, <=, (uint32_t)ELAPSE__RESP_COUNT_MAX); /* it has 16 bits */
    return ELAPSE__RESP_CONTEXT_FIRST | (uint64_t)count << ELAPSE__RESP_CONTEXT_COUNT_SHIFT |
           (uint64_t)cursor << ELAPSE__RESP_CONTEXT_CURSOR_SHIFT;
}

static void list_texts(const struct elapse__resp_call *call, struct list *list)
{
    struct elapse__queue_view views[LIST_NAMES];
    uint64_t context = context_of(call, list);
    uint32_t found = find_named(call, &list->filter, &list->cursor, views,
                                list->count < LIST_NAMES ? list->count : LIST_NAMES);
    uint64_t head = head_of(found, list->cursor);

    ELAPSE__ASSERT_THAT(found, <=, (uint32_t)LIST_NAMES);
    if (found == 0)
        elapse__resp_begin_items(call->connection, head);
    for (uint32_t i = 0; i < found; i++)
        elapse__session_look_at_item(call->connection, &views[i], context | (i == 0 ? head : 0));
}

/* ---- SOONEST and NEWEST ---- */

/* Looks up a job that was found before. Returns false if the job is no longer in the state that the
 * LIST asks for. */
static bool look_again(const struct elapse__resp_call *call, const struct list *list, uint64_t id,
                       struct elapse__queue_view *view)
{
    return elapse__queue_look_up_id(elapse__session_queue(call->connection),
                                    elapse__session_now(call->connection), id,
                                    view) == ELAPSE__QUEUE_OK &&
           view->state == list->filter.state;
}

/* Leaves out the jobs that are no longer in the state that the LIST asks for. A LIST with texts
 * ends when its bodies have LIST_NAMES_BYTES bytes together, and the jobs after that are left out
 * too. */
static void keep_shown(const struct elapse__resp_call *call, const struct list *list,
                       struct elapse__queue_first *first)
{
    struct elapse__queue_view view;
    uint64_t bytes = 0;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < first->count; i++) {
        if (!look_again(call, list, first->ids[i], &view))
            continue;
        bytes += view.body_size;
        if (list->reads && kept > 0 && bytes > LIST_NAMES_BYTES)
            break;
        first->ids[kept++] = first->ids[i];
    }
    first->count = kept;
}

static void reply_first(const struct elapse__resp_call *call, const struct list *list,
                        const struct elapse__queue_first *first)
{
    struct elapse__queue_view view;
    uint64_t context = context_of(call, list);
    uint64_t head = head_of(first->count, 0);

    if (!list->reads && !elapse__resp_begin_page(call))
        return;
    if (list->reads && first->count == 0)
        elapse__resp_begin_items(call->connection, head);
    for (uint32_t i = 0; i < first->count; i++) {
        bool is_there = look_again(call, list, first->ids[i], &view);
        ELAPSE__ASSERT(is_there);
        (void)is_there;
        if (list->reads)
            elapse__session_look_at_item(call->connection, &view, context | (i == 0 ? head : 0));
        else
            elapse__resp_reply_view(call, &view);
    }
    if (!list->reads)
        elapse__resp_end_page(call, 0, first->count);
}

static enum elapse__session_step list_first(const struct elapse__resp_call *call,
                                            const struct list *list)
{
    struct elapse__resp_session *session = call->session;

    if (session->first == NULL) {
        session->first = calloc(1, sizeof *session->first);
        if (session->first == NULL)
            return elapse__resp_reply_error(call->connection, "OOM there is no memory", NULL);
        session->first->order = list->order;
        session->first->most = list->count;
    }
    ELAPSE__ASSERT(session->first->order == list->order); /* the same command goes on */
    ELAPSE__ASSERT_THAT(session->first->most, ==, list->count);
    session->first->tube = list->filter.tube;
    if (!elapse__queue_find_first(elapse__session_queue(call->connection),
                                  elapse__session_now(call->connection), session->first,
                                  ELAPSE__LIST_PLACES)) {
        elapse__session_spend(call->connection, LIST_COST / 4);
        return ELAPSE__STEP_MORE;
    }
    keep_shown(call, list, session->first);
    elapse__session_count(call->connection, ELAPSE__VERB_LIST);
    elapse__session_spend(call->connection, LIST_COST);
    reply_first(call, list, session->first);
    return ELAPSE__STEP_RAN;
}

/* ---- LIST ---- */

/* The options. The command RECURRING has the options before LOOKS. LIST has all of them. */
enum { CURSOR, COUNT, KEYS, BODY, LOOKS, STATE = LOOKS, TAG, RECURRING, SOONEST, NEWEST, OPTIONS };

static const struct elapse__wire_resp_option list_options[OPTIONS] = {
    [CURSOR] = {"CURSOR", 1},       [COUNT] = {"COUNT", 1},     [KEYS] = {"KEYS", 0},
    [BODY] = {"BODY", 1},           [STATE] = {"STATE", 1},     [TAG] = {"TAG", 1},
    [RECURRING] = {"RECURRING", 0}, [SOONEST] = {"SOONEST", 0}, [NEWEST] = {"NEWEST", 0}};

/* Reads the option SOONEST or NEWEST. If the option does not fit the other options, replies with an
 * error and returns false. */
static bool read_order(const struct elapse__resp_call *call, const uint32_t *places,
                       struct list *list)
{
    const char *fault = NULL;

    list->in_order = places[SOONEST] != 0 || places[NEWEST] != 0;
    list->order = places[SOONEST] != 0 ? ELAPSE__QUEUE_SOONEST : ELAPSE__QUEUE_NEWEST;
    if (!list->in_order)
        return true;
    if (places[SOONEST] != 0 && places[NEWEST] != 0)
        fault = "ERR syntax error: SOONEST and NEWEST exclude each other";
    else if (places[SOONEST] != 0 && list->filter.state != ELAPSE__QUEUE_DELAYED)
        fault = "ERR SOONEST needs STATE delayed";
    else if (places[NEWEST] != 0 && list->filter.state != ELAPSE__QUEUE_BURIED)
        fault = "ERR NEWEST needs STATE buried";
    else if (places[TAG] != 0 || places[RECURRING] != 0 || list->cursor != 0)
        fault = "ERR SOONEST and NEWEST stand without TAG and RECURRING, and without a CURSOR but "
                "0";
    if (fault != NULL)
        (void)elapse__resp_reply_error(call->connection, fault, NULL);
    return fault == NULL;
}

/* Reads the options that LIST and RECURRING have: how much of the jobs is shown, and which page. */
static bool read_looks(const struct elapse__resp_call *call, const uint32_t *places,
                       struct list *list)
{
    uint64_t bytes = 0;

    if (!elapse__resp_read_page(call, places[CURSOR], places[COUNT], &list->cursor, &list->count))
        return false;
    if (places[BODY] != 0 && (!elapse__resp_read_number(call, places[BODY], UINT64_MAX, &bytes) ||
                              bytes == 0 || bytes > ELAPSE__RESP_BODY_MAX)) {
        if (elapse__reply_size(call->connection) == 0)
            (void)elapse__resp_reply_error(call->connection, "ERR BODY is 1 to 1024", NULL);
        return false;
    }
    list->body_bytes = (uint32_t)bytes;
    list->reads = places[KEYS] != 0 || bytes > 0;
    return true;
}

static void list_page(const struct elapse__resp_call *call, struct list *list)
{
    elapse__session_count(call->connection, ELAPSE__VERB_LIST);
    elapse__session_spend(call->connection, LIST_COST);
    if (list->reads)
        list_texts(call, list);
    else
        list_views(call, list);
}

enum elapse__session_step elapse__resp_list(const struct elapse__resp_call *call)
{
    struct list list = {.count = ELAPSE__RESP_LIST_COUNT};
    uint32_t places[OPTIONS];

    if (!elapse__resp_find_options(call, 2, list_options, OPTIONS, places) ||
        !elapse__resp_read_filter(call, places[STATE], places[TAG], &list.filter) ||
        !read_looks(call, places, &list) || !read_order(call, places, &list))
        return ELAPSE__STEP_RAN;
    list.filter.recurring = places[RECURRING] != 0;
    if (list.in_order)
        return list_first(call, &list);
    list_page(call, &list);
    return ELAPSE__STEP_RAN;
}

/* ---- RECURRING ---- */

enum elapse__session_step elapse__resp_recurring(const struct elapse__resp_call *call)
{
    struct list list = {.filter = {.state = ELAPSE__QUEUE_FREE, .recurring = true},
                        .count = ELAPSE__RESP_LIST_COUNT};
    uint32_t places[LOOKS];

    if (elapse__resp_find_options(call, 1, list_options, LOOKS, places) &&
        read_looks(call, places, &list))
        list_page(call, &list);
    return ELAPSE__STEP_RAN;
}

/* ---- FIND ---- */

enum elapse__session_step elapse__resp_find_key(const struct elapse__resp_call *call)
{
    static const struct elapse__wire_resp_option options[] = {{"CURSOR", 1}, {"COUNT", 1}};
    struct elapse__queue_text key = elapse__resp_text(call->arguments[1]);
    struct elapse__queue_view view;
    uint32_t places[2];
    uint32_t cursor = 0;
    uint32_t count = FIND_COUNT;
    uint32_t most = FIND_PLACES;
    uint32_t found = 0;

    if (!elapse__resp_find_options(call, 2, options, 2, places) ||
        !elapse__resp_read_page(call, places[0], places[1], &cursor, &count))
        return ELAPSE__STEP_RAN;
    if (key.size == 0 || key.size > ELAPSE__QUEUE_KEY_BYTES_MAX)
        return elapse__resp_reply_error(call->connection,
                                        "ERR a key has 1 to 250 bytes:", &call->arguments[1]);
    if (!elapse__resp_begin_page(call))
        return ELAPSE__STEP_RAN;
    do {
        if (elapse__queue_find_key(elapse__session_queue(call->connection),
                                   elapse__session_now(call->connection), key, &cursor, &most,
                                   &view)) {
            elapse__resp_reply_view(call, &view);
            found++;
        }
    } while (cursor != 0 && found < count && most > 0);
    ELAPSE__ASSERT_THAT(found, <=, count);
    elapse__session_count(call->connection, ELAPSE__VERB_LIST);
    elapse__session_spend(call->connection, LIST_COST);
    elapse__resp_end_page(call, cursor, found);
    return ELAPSE__STEP_RAN;
}
