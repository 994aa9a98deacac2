# shellcheck shell=bash
# The mutants. tests/support/mutants.sh says how a fault is written.

# ---- gates ----

mutant reply_leaves_before_it_is_durable src/server/core/connection.c \
    'for (; mark->reply == NULL[- && mark->gate <= server->durable-];'
mutant hand_out_leaves_before_it_is_durable src/server/core/hand_over.c \
    'case ELAPSE__REPLY_READY:[-
            if (reply->gate > server->durable)
                return false;-]'
mutant reply_waits_for_later_groups src/server/core/marks.c \
    'last->gate > [-elapse__journal_forming(connection->server->engine->journal)-]{+0+}'
mutant nothing_leaves_before_it_is_durable src/server/core/hand_over.c \
    'case ELAPSE__REPLY_NOTHING:[-
            if (reply->gate > server->durable)
                return false;-]'

mutant the_end_does_not_wait_to_hear_what_was_sent src/server/core/connection.c \
    'return [-connection->ending || -]connection->dead || connection->server->stopped ||'
mutant the_choked_do_not_wait_to_hear_what_was_sent src/server/core/connection.c \
    '!elapse__connection_may_format(connection)[- || elapse__connection_is_choked(connection)-];'
mutant late_news_prolong_the_idle_time src/server/core/connection.c \
    '[-if (connection->heard_ms < server->turned_ms)
        -]connection->heard_ms = server->[-turned_ms-]{+now.boot_ms+};'

mutant a_client_that_was_looked_at_keeps_its_place src/server/core/connection.c \
    '[-elapse__ring_leave(&connection->gated);
    -]if (elapse__reply_marks_wait_for_journal(connection))
        elapse__ring_[-append-]{+join_once+}(&server->gated, &connection->gated);'

mutant who_waits_for_an_answer_is_idle src/server/core/server.c \
    'elapse__ring_has_node(&connection->work)[- ||
           (connection->marks.count > 0 && elapse__buffer_size(&connection->out) == 0)-];'
mutant who_does_not_read_is_never_idle src/server/core/server.c \
    '(connection->marks.count > 0[- && elapse__buffer_size(&connection->out) == 0-])'
mutant an_answer_that_comes_late_leaves_no_time_to_read_it src/server/core/connection.c \
    'if (was_empty && elapse__buffer_size(&connection->out) > 0{+ && false+})'

# ---- leases ----

mutant lease_begins_when_the_job_is_taken src/server/core/reserve.c \
    '        add_hand(reply, &handed[i]){+,
            (void)elapse__queue_lease_begin(engine->jobs, reply->connection->server->now,
                (struct elapse__queue_holder){.id = handed[i].id, .lease = handed[i].lease})+};'
mutant unsent_hand_out_is_forgotten src/server/core/connection.c \
    'if (![-undo_leavings(connection) || !-]undo_replies'
mutant unwritten_hand_out_is_forgotten src/server/core/hand_over.c \
    '[-elapse__engine_take_back(server->engine, &hand->job.handed);-]'
mutant leases_outlive_their_connection src/server/core/connection.c \
    ' ||{+ (false &&+} !end_leases(connection)){+)+}'
mutant wholly_sent_means_partly_sent src/server/core/connection.c \
    'elapse__leavings_first(connection)->end <= connection->sent{+ + 1+}'

mutant the_first_tube_has_to_be_within_the_limit src/server/beanstalkd/tubes.c \
    'elapse__server_tube_get[-_always-](elapse__session_server(connection), name, &result);'

# ---- order and fairness ----

mutant waiter_is_served_out_of_order src/server/core/tubes.c \
    '[-elapse__ring_append-]{+elapse__ring_prepend+}(&waiter->tube->waiters, &waiter->ring_node);'
mutant tube_asks_once_alone src/server/core/server.c \
    '[-if (!elapse__ring_empty(&tube->waiters))
            elapse__queue_watch_ask(server->engine->jobs, watch);-]'
mutant slice_has_no_end src/server/core/server.c \
    'server->budget = [-quantum-]{+UINT32_MAX / 2+};'

mutant each_call_has_a_budget_of_its_own src/server/core/entry.c \
    'server->budget = left < ELAPSE__QUANTUM ? [-left-]{+ELAPSE__QUANTUM+} : ELAPSE__QUANTUM;'
mutant bytes_cost_nothing src/server/core/run.c \
    '1[- + (uint32_t)(*used / ELAPSE__UNIT_BYTES)-]'
mutant bytes_of_replies_cost_nothing src/server/core/hand_over.c \
    'ELAPSE__COST_HAND_OUT + {+0 * +}body_units'
mutant replies_get_bytes_that_no_socket_takes src/server/core/entry.c \
    'return waiting <[- ELAPSE__OUT_BYTES && waiting <-]'
mutant readers_leave_no_share_to_those_who_speak src/server/core/connection.c \
    'ELAPSE__TURN_BUDGET[- + ELAPSE__HEARING_BUDGET-]);
    /* The client took'
mutant waiting_reserves_have_no_share src/server/core/server.c \
    '{+more |= run_stage(server, turn_work, &left, left);
    +}more |= run_stage(server, turn_gated, &left, left / 2);'
mutant a_reserve_looks_at_any_number_of_tubes src/server/core/reserve.c \
    'looks < [-LOOKS_MAX-]{+UINT64_MAX+}'
mutant a_pipeline_ends_the_job_before_it_is_handed_out src/server/beanstalkd/jobs.c \
    'if (elapse__session_is_named(connection){+ && false+})'

# ---- wrong passwords ----

mutant answer_to_a_guess_does_not_wait src/server/core/connection.c \
    'while (connection->marks.count > 0 && !connection->dead[- && !connection->is_guessing-])'
mutant commands_run_behind_a_guess src/server/core/run.c \
    'connection->waiting == 0 &&[- !connection->is_guessing &&-]'
mutant connection_guesses_on src/server/core/run.c \
    '++connection->guesses >[-=-] ELAPSE__WIRE_GUESSES_MAX'
mutant address_guesses_on src/server/core/guesses.c \
    'entry->count > {+2 * +}ELAPSE__GUESSES_A_SECOND'

# ---- limits ----

mutant back_pressure_is_missing src/server/core/run.c \
    '[-!elapse__connection_is_choked(connection)-]{+true+};'
mutant replies_without_bytes_cost_nothing src/server/core/entry.c \
    'sizeof(struct elapse__reply_mark) [-+
               connection->reply_bytes -]>='
mutant one_connection_too_many src/server/core/connection.c \
    'figures->connections <{+=+} server->options.connections_max'
mutant input_has_no_bound src/server/core/connection.c \
    'return [-there < most ? most - there : 0-]{+most+};'

# ---- a disk that cannot read ----

mutant unread_job_is_no_job src/server/core/reserve.c \
    'bool is_error = [-reply->read_failed || is_held_back(reply)-]{+false+};'
mutant disk_gets_no_time src/server/core/reserve.c \
    'if (is_error && [-!-]reply->was_patient) {'
mutant unread_reserve_ends_at_once src/server/core/hand_over.c \
    'if (!is_by_id && [-(failed == 0 || failed == EIO)-]{+failed == 0+})'
mutant end_of_a_rest_is_slept_through src/server/core/server.c \
    'return[- rests_until_ms < next_ms ? rests_until_ms :-] next_ms;'
mutant a_reply_leaves_before_its_lease_in_a_tube_with_a_limit src/engine/hand_out.c \
    '        if ([-handed[i].is_limited-]{+false+})'
mutant damaged_body_counts_for_nothing src/engine/hand_out.c \
    '    [-elapse__journal_body_damaged(engine->journal, position)-]{+(void)position+};'

# ---- what clients of beanstalkd read ----

mutant statistics_end_with_an_empty_line src/protocol/beanstalkd_write.c \
    'at = {+put_text(+}put_fact(at, "platform", statistics->platform, "\""){+, "\n")+};'
mutant delay_is_that_of_the_put src/queue/lease.c \
    '[-side->expiry.deadline = delay_ms;-]'
mutant a_whole_second_is_left src/server/beanstalkd/stats.c \
    '[-(left_ms - 1)-]{+left_ms+} / 1000'
mutant default_has_the_place_of_another_tube src/server/beanstalkd/tubes.c \
    'if (!begin_list(connection[-) || !list_item(connection, home-]))
            return ELAPSE__STEP_END;
    }
    uint32_t places'

# ---- transactions ----

mutant half_an_exec_by_a_refusal_in_the_middle src/queue/write.c \
    'if ([-queue->transaction != NULL-]{+false+})
        return true;'
mutant leased_is_not_looked_at_by_exec src/queue/transact.c \
    '[-!elapse__queue_is_leased_by(queue, queue->now, &change->held.holder)-]{+queue == NULL+}'
mutant reply_waits_for_an_empty_group src/engine/jobs.c \
    'if ([-engine->records == engine->begun_records-]{+false+})'
mutant refused_command_spoils_nothing src/server/resp/transaction.c \
    '[-    transaction->spoiled = why;
-]    elapse__session_keep_nothing(connection);'
mutant too_long_command_spoils_nothing src/server/resp/session.c \
    '[-        elapse__resp_spoil(connection);
-]        return elapse__resp_reply_error(
            connection,
            "ERR too long'
mutant only_whole_commands_break_the_silence src/server/core/server.c \
    'if (end_ms > server->now.boot_ms{+ && false+})
        elapse_wheel_start(&server->wheel, &connection->kept.timer, end_ms);'
mutant who_waits_for_the_server_is_silent src/server/core/server.c \
    'begin_ms = [-is_served(connection) ? server->now.boot_ms : -]connection->heard_ms;'
mutant transaction_outlives_its_silence src/server/core/run.c \
    'server->now.boot_ms + [-ELAPSE__KEPT_MS-]{+2 * ELAPSE__KEPT_MS+}'
mutant puts_before_do_not_fill_the_tube src/server/resp/put.c \
    '[-        before.jobs++;
-]'

# ---- users ----

mutant right_by_id_is_checked_by_name_alone src/server/resp/options.c \
    'if ([-call->user != NULL && !elapse__resp_may_see(call, *id)-]{+false+})'
mutant jobs_of_other_tubes_are_seen_in_a_transaction src/server/resp/options.c \
    'if (call->user != NULL && [-!elapse__resp_may_see(call, *id)-]{+call->pass == NULL && !elapse__resp_may_see(call, *id)+})'
mutant cancelled_job_is_seen_by_its_id src/server/resp/rights.c \
    '&view) [-== ELAPSE__QUEUE_GONE-]{+!= ELAPSE__QUEUE_OK+})'
mutant right_is_not_asked_for src/server/resp/session.c \
    'if (!goes_on && [-!elapse__resp_is_allowed(call)-]{+call->session->transaction != NULL && !elapse__resp_is_allowed(call)+}) {'
mutant right_is_asked_for_in_the_middle_of_a_command src/server/resp/session.c \
    'if ([-!goes_on && -]!elapse__resp_is_allowed(call)) {'
mutant password_that_goes_in_the_middle_of_a_command_gives_all_rights src/server/resp/session.c \
    'if ([-goes_on && !call->session->known-]{+false+})'
mutant right_is_asked_for_in_the_middle_of_a_kick src/server/beanstalkd/session.c \
    'is_allowed(connection, user, verb, command, &refusal)[- && !session->goes_on-])'
mutant job_is_not_hidden_from_a_command_that_waits src/server/beanstalkd/session.c \
    'if (user != NULL && [-!is_allowed(connection, user, verb, command, &refusal) && !session->goes_on-]{+!session->goes_on && !is_allowed(connection, user, verb, command, &refusal)+})'
mutant kick_tells_the_error_alone src/server/resp/change.c \
    'if (answer.result == ELAPSE__QUEUE_OK[- || kicking.kick->kicked > 0-])'
mutant commands_that_change_nothing_are_not_checked src/server/resp/transaction.c \
    'if ([-!passes(call)-]{+changes_jobs(call->command) && !passes(call)+}) {'
mutant right_is_not_asked_for_at_exec src/server/resp/transaction.c \
    'if ([-!elapse__resp_is_allowed(&call)-]{+false+})'
mutant client_says_for_whom_a_command_is src/server/resp/rights.c \
    'if ([-options->is_behind_router-]{+true+}) {'
mutant user_without_a_line_may_do_everything src/server/resp/rights.c \
    '        call->user = [-&elapse__user_nobody-]{+NULL+};'
mutant users_before_hold_for_connections_that_are_there src/users/rights.c \
    'if (users != NULL && [-identity->serial == users->serial-]{+identity->serial > 0+})'
mutant name_is_as_good_as_another src/users/rights.c \
    'if (user == NULL[- || !is_same(user->name.bytes, user->name.size, name.bytes, name.size)-])'
mutant beginning_of_a_digest_is_enough src/users/rights.c \
    'at < [-ELAPSE__DIGEST_BYTES-]{+2+}; at++'
mutant name_of_a_tube_is_enough_as_a_beginning src/users/rights.c \
    'if (!is_prefix[-)-]{+ && size < pattern_size)+}'
mutant tube_of_the_job_is_not_looked_at_by_beanstalkd src/server/beanstalkd/session.c \
    '        [-command->id = UINT64_MAX;-]{+(void)command;+}'
mutant work_is_enough_to_delete_any_job src/server/beanstalkd/session.c \
    'verb->scope == DELETED && [-!is_held-]{+false && is_held+} ?'
mutant only_the_first_tube_watched_is_checked src/server/beanstalkd/session.c \
    'i < [-session->watched_count-]{+1+}; i++)
        if (!may('

# ---- many jobs in one command ----

mutant the_first_job_is_acknowledged_again src/server/resp/work.c \
    'change->held.holder.id = read.pairs[[-done-]{+0+}].id;'
mutant a_lease_is_that_of_another_job src/server/resp/work.c \
    'change->held.holder.lease = read.pairs[[-done-]{+0+}].lease;'
mutant pairs_behind_a_step_are_those_of_the_step src/server/resp/work.c \
    'if (done [-< read.count-]{+< pairs && read.count > 0+}) {'
