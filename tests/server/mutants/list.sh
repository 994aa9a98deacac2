# shellcheck shell=bash
# The mutants. Each call plants one fault:
#
#     mutant NAME FILE ORIGINAL REPLACEMENT
#
# ORIGINAL must occur in FILE exactly once; it may span lines. If the code changes so that it does
# not, the script says so: then plant the same fault in the new code.

# ---- gates ----

mutant reply_leaves_before_it_is_durable src/server/marks.c \
    'for (; mark->reply == NULL && mark->gate <= server->durable;' \
    'for (; mark->reply == NULL;'
mutant hand_out_leaves_before_it_is_durable src/server/hand_over.c \
    'case ELAPSE__REPLY_READY:
            if (reply->gate > server->durable)
                return false;' \
    'case ELAPSE__REPLY_READY:'
mutant nothing_leaves_before_it_is_durable src/server/hand_over.c \
    'case ELAPSE__REPLY_NOTHING:
            if (reply->gate > server->durable)
                return false;' \
    'case ELAPSE__REPLY_NOTHING:'

# ---- leases ----

mutant lease_begins_when_the_job_is_taken src/server/reserve.c \
    '    add_hand(reply, &handed);
    /* The leases' \
    '    add_hand(reply, &handed);
    (void)elapse__queue_lease_begin(joint->jobs, reply->connection->server->now,
        (struct elapse__queue_holder){.id = handed.id, .lease = handed.lease});
    /* The leases'
mutant unsent_hand_out_is_forgotten src/server/connection.c \
    'if (!undo_leavings(connection) || !undo_replies' \
    'if (!undo_replies'
mutant unwritten_hand_out_is_forgotten src/server/hand_over.c \
    'elapse__joint_take_back(server->joint, &hand->job.handed);' \
    ''
mutant leases_outlive_their_connection src/server/connection.c \
    ' || !end_leases(connection))' \
    ' || (false && !end_leases(connection)))'
mutant wholly_sent_means_partly_sent src/server/marks.c \
    'leavings->items[leavings->first].end <= connection->sent' \
    'leavings->items[leavings->first].end <= connection->sent + 1'

# ---- order and fairness ----

mutant waiter_is_served_out_of_order src/server/tubes.c \
    'elapse__ring_append(&waiter->tube->waiters, &waiter->link);' \
    'elapse__ring_prepend(&waiter->tube->waiters, &waiter->link);'
mutant tube_asks_once_alone src/server/tubes.c \
    'if (!elapse__ring_empty(&tube->waiters))
            elapse__queue_watch_ask(server->joint->jobs, watch);' \
    ''
mutant slice_has_no_end src/server/server.c \
    'server->budget = quantum;' \
    'server->budget = UINT32_MAX / 2;'

# ---- limits ----

mutant back_pressure_is_missing src/server/run.c \
    ' && !elapse__connection_is_choked(connection);' \
    ';'
mutant replies_without_bytes_cost_nothing src/server/connection.c \
    'sizeof(struct elapse__mark) + connection->reply_bytes >=' \
    'sizeof(struct elapse__mark) >='
mutant one_connection_too_many src/server/connection.c \
    'figures->connections < server->options.connections_max' \
    'figures->connections <= server->options.connections_max'
mutant input_has_no_bound src/server/connection.c \
    'return there < most ? most - there : 0;' \
    'return most;'
mutant idle_closes_waiting_reserves src/server/server.c \
    'connection->waiting > 0 ||' \
    ''
