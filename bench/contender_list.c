/*
 * A plain list that every poll walks from end to end, as a contender: the simplest solution. It
 * is for few timers only; with more, a workload takes minutes.
 */
#include "textbook_wheel.h"
#include "workload.h"

#define CONTENDER_NAME       "list"
#define CONTENDER_IDLE_TICKS 2000
#define CONTENDER_HAS_NEXT

typedef struct textbook_timer node_type;

static struct textbook_link pending_list;
static struct textbook_link due_list;

static inline void make_empty(struct textbook_link *list)
{
    list->next = list;
    list->previous = list;
}

static inline void append(struct textbook_link *list, struct textbook_link *link)
{
    link->previous = list->previous;
    link->next = list;
    list->previous->next = link;
    list->previous = link;
}

static inline void structure_reset(struct workspace *workspace)
{
    (void)workspace;
    make_empty(&pending_list);
    make_empty(&due_list);
}

static inline void structure_start(node_type *node, uint64_t deadline)
{
    if (node->link.next != NULL)
        textbook_unlink(&node->link);
    node->deadline = deadline;
    append(&pending_list, &node->link);
}

static inline bool structure_stop(node_type *node)
{
    if (node->link.next == NULL)
        return false;
    textbook_unlink(&node->link);
    return true;
}

static inline void structure_advance(uint64_t now)
{
    for (struct textbook_link *link = pending_list.next, *next; link != &pending_list;
         link = next) {
        next = link->next;
        if (((node_type *)link)->deadline <= now) {
            textbook_unlink(link);
            append(&due_list, link);
        }
    }
}

static inline node_type *structure_pop(void)
{
    struct textbook_link *oldest = due_list.next;
    if (oldest == &due_list)
        return NULL;
    textbook_unlink(oldest);
    return (node_type *)oldest;
}

static inline uint64_t structure_moves(void)
{
    return 0;
}

static inline uint64_t structure_next(void)
{
    uint64_t earliest = UINT64_MAX;
    for (struct textbook_link *link = pending_list.next; link != &pending_list; link = link->next) {
        uint64_t deadline = ((node_type *)link)->deadline;
        earliest = deadline < earliest ? deadline : earliest;
    }
    return earliest;
}

#include "workloads.h"

const struct contender contender_list = {
    .name = CONTENDER_NAME,
    .title = "plain list, all of it walked at every poll",
    .node_bytes = sizeof(node_type),
    .run = CONTENDER_RUNS,
    .most_timers =
        {
            [WORKLOAD_DRAIN] = 100,
            [WORKLOAD_DRAIN_SHUFFLED] = 100,
            [WORKLOAD_RESTART] = 10000,
            [WORKLOAD_RESTART_ANY] = 10000,
            [WORKLOAD_PAIR] = 10000,
            [WORKLOAD_BURST] = 1000,
            [WORKLOAD_BURST_SHUFFLED] = 1000,
            [WORKLOAD_ONE_TTL] = 10000,
            [WORKLOAD_IDLE] = 10000,
            [WORKLOAD_WORST] = 100,
            [WORKLOAD_TAIL_DRAIN] = 100,
            [WORKLOAD_TAIL_BURST] = 100,
            [WORKLOAD_TAIL_DRAIN_OBJECTS] = 100,
            [WORKLOAD_TAIL_BURST_OBJECTS] = 100,
            [WORKLOAD_TAIL_MIX] = 100,
        },
};
