# shellcheck shell=bash
# The mutants. tests/support/mutants.sh says how a fault is written. After a fault may stand the word
# `named`: then the named tests must notice the fault. Without it the simulation must. Faults of the SQL itself, such as a fence that is a mere
# condition, are in tests/scheduler/spin/cluster_ownership.pml; of copies, and of two primaries, in cluster_copies.pml and
# cluster_lines.pml beside it.

# ---- R1, R2: unclear outcomes ----

mutant notice_is_ignored src/cluster/ownership/completed.c \
    'else if ([-result->noticed-]{+false+})
        elapse__partition_unclear'
mutant row_is_read_instead_of_a_barrier src/cluster/ownership/next.c \
    '    give(partition, statement);{+
    if (partition->role == ELAPSE__ROLE_UNKNOWN && statement->kind == ELAPSE__STATEMENT_BEAT)
        statement->kind = ELAPSE__STATEMENT_READ_ROW;+}
'
mutant append_without_a_row_is_confirmed src/cluster/ownership/own.c \
    '        [-elapse__partition_enter(partition, ELAPSE__ROLE_UNKNOWN-]{+confirm_group(partition+});' named
mutant lost_append_is_confirmed src/cluster/ownership/completed.c \
    '    else if (result->outcome == ELAPSE__OUTCOME_LOST{+ &&
             partition->statement.kind == ELAPSE__STATEMENT_APPEND)
        partition->confirmed.group++, partition->local.group++, partition->has_group = false,
        partition->local.hash = partition->confirmed.hash = partition->group_hash,
        elapse__partition_unclear(partition, ELAPSE__COMPLAINT_LATE);
    else if (result->outcome == ELAPSE__OUTCOME_LOST+})
        elapse__partition_unclear'

# ---- settings ----

mutant settings_are_not_looked_at src/cluster/ownership/own.c \
    '    if (complaint [-!= ELAPSE__COMPLAINT_NONE-]{+> ELAPSE__COMPLAINT_OTHER_SYSTEM+}) {'
mutant settings_are_looked_at_before_only src/cluster/ownership/trust.c \
    '    if ([-complaint == ELAPSE__COMPLAINT_NONE)
        complaint = elapse__trust_settings(after, single_copy);
    if (complaint == ELAPSE__COMPLAINT_NONE && before->loaded_us != after->loaded_us-]{+after == NULL+})'
mutant complaint_is_about_the_next_server src/cluster/ownership/life.c \
    '.complaint_host = partition->[-complaint_-]host' named
mutant reload_is_not_noticed src/cluster/ownership/trust.c \
    'before->loaded_us [-!=-]{+>+} after->loaded_us'

# ---- R3: the owner stops answering ----

mutant lease_from_the_receipt src/cluster/ownership/own.c \
    'partition->lease_from_ms = partition->[-sent_ms-]{+now_ms+};'
mutant lease_lasts_too_long src/cluster/ownership/state.h \
    'return partition->options.lease_ms [-- partition->options.lease_ms / 10-]{++ partition->options.lease_ms / 4+};'
mutant answers_after_the_lease src/cluster/ownership/check.c \
    'return [-partition->lease_from_ms + elapse__answer_for_ms(partition)-]{+UINT64_MAX+};'
mutant answers_after_handing_over src/cluster/ownership/check.c \
    '[-partition->role == ELAPSE__ROLE_OWNING || partition->role == ELAPSE__ROLE_UNKNOWN-]{+elapse__role_has_epoch(partition->role)+};' \
    named

# ---- R4: a standby waits ----

mutant takes_over_at_once src/cluster/ownership/follow.c \
    'uint64_t at = partition->unchanged_since_ms + [-partition->options.lease_ms-]{+10+};'
mutant beat_is_no_change src/cluster/ownership/row.c \
    'left->epoch == right->epoch &&[- left->beat == right->beat &&-]'
mutant seen_on_another_connection src/cluster/ownership/completed.c \
    '[-    partition->has_row = false; /* R4 */
-]' named

# ---- R5: reading to the end ----

mutant reads_nothing_after_the_take_over src/cluster/ownership/own.c \
    'partition->goal = [-(struct elapse__partition_log_place){row->last_group, row->last_hash}-]{+partition->local;
    partition->local_has_hash = true+};'
mutant log_ends_one_earlier src/cluster/ownership/own.c \
    '    if (partition->local.group{+ + 1+} < partition->goal.group)
        return;
    if ({+partition->local.group == partition->goal.group && +}'

# ---- R6: lost groups ----

mutant shorter_log_is_not_noticed src/cluster/ownership/row.c \
    'row->last_group{+ + 1000+} < place->group ||'
mutant owner_notices_no_loss src/cluster/ownership/own.c \
    '    if (!is_last && !is_in_flight{+ && partition->now_ms == 0+}) {' named
mutant fork_is_built_again src/cluster/ownership/follow.c \
    '    if (partition->local.group >{+=+} partition->confirmed.group)
        elapse__row_rebuild(partition){+, partition->confirmed.group = 0+};' named
mutant ordinary_step_back_stops src/cluster/ownership/follow.c \
    '    [-if (partition->local.group > partition->confirmed.group)
        elapse__row_rebuild(partition);
    else -]'

# ---- R7: databases of the past ----

mutant old_timeline_is_used src/cluster/ownership/trust.c \
    'session->timeline{+ + 1000+} < timeline ?'
mutant standby_is_used src/cluster/ownership/trust.c \
    '    if (session->in_recovery{+ && system_identifier == 1+})'
mutant answers_before_it_is_remembered src/cluster/ownership/check.c \
    '[- ||
        partition->remembered_mark != partition->memory_mark-])' named

# ---- R9: tables ----

mutant tables_are_dropped_before_a_barrier src/cluster/ownership/next.c \
    'statement->table = elapse__table_of(partition->[-row.tail-]{+tail_wanted+});'
mutant a_useless_table_waits_for_the_beat src/cluster/ownership/life.c \
    '        [-partition->beat_ms = partition->now_ms-]{+return+};' named
mutant every_tail_has_a_beat src/cluster/ownership/life.c \
    'if ([-elapse__table_of(tail) > elapse__table_of(partition->row.tail)-]{+tail > partition->row.tail+})' \
    named
mutant next_table_is_not_made src/cluster/ownership/own.c \
    'return partition->tables_made_below [-<= needed-]{+== 0 && needed > 0+};'

# ---- the end of an epoch ----

mutant group_in_flight_is_forgotten src/cluster/ownership/role.c \
    '[-has_group ? &group : -]NULL'
mutant no_row_is_no_fence src/cluster/ownership/own.c \
    '        [-elapse__partition_lose(partition);
        -]return;'
mutant beats_are_left_out_while_catching_up src/cluster/ownership/next.c \
    'partition->now_ms >= partition->beat_ms{+ && !catches_up+})' named

# ---- R10: rows of the inbox ----

mutant rows_that_are_gone_are_sent_again src/cluster/ownership/completed.c \
    '        [-elapse__own_lost_rows(partition-]{+elapse__partition_unclear(partition, ELAPSE__COMPLAINT_INBOX+});' \
    named
mutant reasons_are_forgotten src/cluster/ownership/next.c \
    '[-        .inbox_reasons = partition->group.inbox_reasons,
-]' named

# ---- R11: the mark ----

mutant lost_groups_are_not_marked src/cluster/ownership/role.c \
    'if (stop == ELAPSE__STOP_LOST_GROUPS{+ && partition->stop == ELAPSE__STOP_NONE+}) {'
mutant mark_is_tried_once src/cluster/ownership/mark.c \
    '    [-if (complaint != ELAPSE__COMPLAINT_NONE)
        elapse__partition_unclear(partition, complaint)-]{+(void)complaint+};
    [-else -]if (partition->lacks_witness_only' named
mutant mark_ends_with_the_connection src/cluster/ownership/role.c \
    '    elapse__partition_complain(partition, why);
    {+if (partition->role == ELAPSE__ROLE_MARKING) {
        elapse__partition_stop_now(partition);
        return;
    }
    +}elapse__partition_drop_link(partition, elsewhere);' named
mutant follower_ignores_the_mark src/cluster/ownership/row.c \
    '[-    if (elapse__row_is_marked(partition, &partition->row))
        return;
-]'
mutant owner_ignores_the_mark src/cluster/ownership/own.c \
    'if ([-elapse__row_is_marked(partition, row) || -]!is_confirmed' named
mutant mark_is_for_any_epoch src/cluster/ownership/mark.c \
    'statement->epoch = [-elapse__known_epoch(partition)-]{+partition->row.epoch+};' named
mutant later_epochs_are_not_seen src/cluster/ownership/own.c \
    '[-    elapse__row_see_epoch(partition, partition->epoch);
-]' named
mutant epochs_are_seen_before_the_log src/cluster/ownership/own.c \
    '    {+elapse__row_see_epoch(partition, partition->epoch);
    +}partition->log_has_gap = false;' named
mutant all_epochs_are_seen src/cluster/ownership/row.c \
    '[-    if (!partition->log_is_behind && partition->local_has_hash)
-]' named
mutant right_database_is_marked src/cluster/ownership/mark.c \
    'partition->knows_loss = result->count > 0[- && elapse__row_has_lost(partition)-];' named
mutant fork_is_marked_once src/cluster/ownership/mark.c \
    'bool is_longer =
        result->count > [-0-]{+1+} &&' named
mutant longer_log_is_a_fork src/cluster/ownership/mark.c \
    'result->log[0].hash_of_previous != [-known.hash-]{+0+};' named
mutant repaired_row_is_marked src/cluster/ownership/completed.c \
    '        partition->[-has_row = false; /* an operator may be giving the groups back */-]{+retry_ms = partition->now_ms;+}' \
    named
mutant new_timeline_is_like_the_old_one src/cluster/ownership/state.h \
    'return [-2-]{+0+} * partition->options.lease_ms;'
mutant handed_over_row_of_the_past_is_taken src/cluster/ownership/follow.c \
    '        [-at =-]{+return+} partition->now_ms;
    return'
mutant every_connection_is_a_new_timeline src/cluster/ownership/completed.c \
    '        memory->timeline == session->timeline)
        [-return-]{+partition->wary_until_ms = partition->now_ms + elapse__wary_for_ms(partition)+};
    if' named
mutant owner_waits_for_a_barrier_before_it_marks src/cluster/ownership/next.c \
    '        if ([-!partition->has_row-]{+partition->now_ms == 0+})
            statement->kind' named

# ---- R11: the witness ----

mutant witness_is_not_compared_with_the_row src/cluster/ownership/state.h \
    'return partition->witness.place.group > partition->confirmed.group{+ + 100000+} ? partition->witness.place'
mutant last_group_of_a_row_is_a_witness src/cluster/ownership/row.c \
    '            .place = {[-before->last_group, before->last_hash-]{+row->last_group, row->last_hash+}},'
mutant rows_of_two_connections_are_compared src/cluster/ownership/row.c \
    'if ([-!partition->has_row-]{+before->last_group == 0+} || !partition->has_met_witness)' named
mutant witness_makes_way_at_once src/cluster/ownership/row.c \
    'if (!partition->has_row[- || !partition->has_met_witness-])' named
mutant witness_is_met_for_ever src/cluster/ownership/completed.c \
    'partition->has_met_witness = [-false-]{+partition->has_met_witness+};' named
mutant log_is_not_compared_with_the_witness src/cluster/ownership/follow.c \
    'if ([-misses_witness(partition, row)-]{+false+}) {' named
mutant first_group_is_not_compared_with_the_witness src/cluster/ownership/follow.c \
    'return place->group == row->group [-- 1-]{++ 1+} && place->hash' named
mutant witness_of_another_system_counts src/cluster/ownership/completed.c \
    'if ([-is_witness_ended(partition, &result->session)-]{+false+})
        elapse__row_forget_witness' named
mutant another_system_ends_the_witness src/cluster/ownership/completed.c \
    'if (complaint == ELAPSE__COMPLAINT_NONE && [-!is_witness_ended(partition, &result->session)-]{+partition->witness.system_identifier == result->session.system_identifier+})' named
mutant witness_is_not_looked_for src/cluster/ownership/follow.c \
    '    partition->has_met_witness = [-!is_lost-]{+true+};
    if (!is_lost{+ || true+})' named
mutant witness_has_no_timeline src/cluster/ownership/completed.c \
    '                                          partition->witness.timeline{+ * 0+});' named
mutant witness_alone_stops_a_node src/cluster/ownership/mark.c \
    'else if ([-partition->lacks_witness_only-]{+false+} && partition' named
mutant own_loss_is_forgotten src/cluster/ownership/row.c \
    'partition->lacks_witness_only = [-!elapse__row_has_lost_own(partition)-]{+true+};' named
mutant lagging_node_sees_no_rows src/cluster/ownership/next.c \
    'else if ([-partition->now_ms >= partition->poll_ms-]{+!partition->log_is_behind && partition->now_ms >= partition->poll_ms+})
        statement->kind = ELAPSE__STATEMENT_READ_ROW; /*' named

# ---- copies: guests, lists and watches ----

mutant guest_takes_over_at_once src/cluster/ownership/follow.c \
    'if (partition->options.is_guest{+ && partition->now_ms == 0+} &&' named
mutant guest_trusts_a_new_timeline src/cluster/ownership/completed.c \
    'if (memory->system_identifier != 0[- || is_new_to_guest(partition, session)-])' named
mutant guest_reads_all_first src/cluster/ownership/partition.h \
    'ELAPSE__GUEST_GROUPS = [-64-]{+0+},' named
mutant owner_is_no_member src/cluster/ownership/replicas.c \
    'bool is_added = [-add(list, row->owner)-]{+is_new+};' named
mutant node_that_is_away_is_replaced src/cluster/ownership/replicas.c \
    'view->nodes[node].age_ms > [-options->replace_after_ms-]{+0+})' named
mutant member_leaves_before_another_is_ready src/cluster/ownership/replicas.c \
    'if (ready <= options->followers{+ && ready == 0+})' named
mutant owner_leaves src/cluster/ownership/replicas.c \
    'if ([-node == row->owner || -]node == row->preferred ||
            is_stuck' named
mutant copies_are_made_at_once src/cluster/ownership/replicas.c \
    'busy = [-busy || is_being_made(view, options, &list)-]{+list.count > ELAPSE__BALANCE_REPLICAS_MAX+};' named
mutant lists_change_in_a_storm src/cluster/ownership/replicas.c \
    'if (view->is_paused[- || !options->is_calm-])' named
mutant dead_member_leaves_its_partition_alone src/cluster/ownership/replicas.c \
    'if (urgent_only[- && !is_urgent(view, options, change)-])' named
mutant copy_that_is_never_ready_blocks_all src/cluster/ownership/replicas.c \
    'since_ms > options->replace_after_ms{+ && options->now_ms == 0+};' named
mutant copy_that_takes_long_is_given_up src/cluster/ownership/replicas.c \
    'options->now_ms - since_ms > [-options->replace_after_ms-]{+0+};' named
mutant stuck_member_counts src/cluster/ownership/replicas.c \
    'useful += [-!is_stuck(view, options, list->partition, list->nodes[i])-]{+1+};' named
mutant stuck_member_leaves src/cluster/ownership/replicas.c \
    'node == row->preferred[- ||
            is_stuck(view, options, list->partition, node)-])' named
mutant all_nodes_try_what_none_can_copy src/cluster/ownership/replicas.c \
    '[-list->count <= options->followers + 1 && -]add(list, emptiest' named
mutant copies_go_to_and_fro_beside_a_stuck_one src/cluster/ownership/replicas.c \
    'if (!row->is_stopped[- && list.count == options->followers + 1-] &&' named
mutant zones_are_not_looked_at src/cluster/ownership/replicas.c \
    'bool is_worse = is_crowded(view, list, node, except){+ && except == -2+};' named
mutant copies_crowd_in_a_zone_to_be_even src/cluster/ownership/replicas.c \
    '(!is_crowded(view, list, node, from) || is_crowded(view, list, from, -1){+ || node >= 0+});' named
mutant member_of_a_crowded_zone_stays src/cluster/ownership/replicas.c \
    '((uint64_t)is_crowded(view, list, node, -1) << [-32-]{+0+})' named
mutant stuck_owner_is_replaced src/cluster/ownership/replicas.c \
    'return [-node != view->partitions[partition].owner && -]is_late(view' named
mutant wait_for_a_member_has_no_end src/cluster/ownership/replicas.c \
    'unready_since_ms[i] = [-since_ms > 0 ? since_ms : now_ms-]{+now_ms+};' named
mutant node_that_is_named_twice_has_two_copies src/cluster/ownership/balance.c \
    'if (row->replicas[i] >= 0[- && !is_repeated(row, i)-])' named
mutant copies_that_differ_by_one_move src/cluster/ownership/replicas.c \
    'uint32_t best = [-1-]{+0+}; /* the counts' named
mutant watch_compares_two_sessions src/cluster/ownership/watch.c \
    'watch->has_row = [-watch->has_met_witness = -]watch->is_lost = false;' named
mutant watch_replaces_what_it_doubts src/cluster/ownership/watch.c \
    'if (!watch->has_row[- || !watch->has_met_witness-] || watch->is_lost)' named
mutant watch_believes_the_past src/cluster/ownership/watch.c \
    'witness->timeline [-<= view->timeline-]{+> 0+});' named
mutant watch_believes_another_system src/cluster/ownership/watch.c \
    '(witness->[-system_identifier == view->system_identifier-]{+epoch > 0+} &&' named
mutant beats_are_no_change src/cluster/ownership/watch.c \
    '[- && watch->beat == row->beat-]' named
mutant guests_come_while_owners_live src/cluster/ownership/guests.c \
    'bool is_left_alone = [-!has_heir(look, partition)-]{+true+};' named
mutant members_are_no_heirs src/cluster/ownership/guests.c \
    'has_any = [-has_any || (row->replicas[i] != look->me &&
                              elapse__balance_lives(look->view, row->replicas[i]))-]{+has_any+};' named
mutant guest_waits_for_its_own_earlier_life src/cluster/ownership/guests.c \
    'bool has_any = [-row->owner != look->me && -]elapse__balance_lives' named
mutant only_dead_nodes_have_guests src/cluster/ownership/guests.c \
    'return idle_ms >= patience && (is_left_alone[- || is_stuck_alone-])' named
mutant one_moment_of_service_calls_all_guests src/cluster/ownership/guests.c \
    'guests->is_served[- && look->now_ms - guests->served_since_ms >= patience-];' named
mutant row_that_changes_is_served src/cluster/ownership/guests.c \
    'look->lease_ms[- &&
           elapse__balance_is_ready(look->view, partition, look->view->partitions[partition].owner)-];' named
mutant owner_that_writes_nothing_serves src/cluster/ownership/guests.c \
    'return row->has_row && [-elapse__watch_idle_ms(row, look->now_ms) < look->lease_ms &&-]' named
mutant nothing_is_tried src/cluster/ownership/guests.c \
    'if (is_tried(guests, look, partition, is_trial_due, has_come){+ && false+})' named
mutant another_partition_is_tried_at_once src/cluster/ownership/guests.c \
    'guests->next_trial_ms = [-look->now_ms + trial_ms(look)-]{+0+};' named
mutant all_partitions_are_tried src/cluster/ownership/guests.c \
    '    return [-guests->trial == partition-]{+true+};' named
mutant each_session_tries_another_partition src/cluster/ownership/guests.c \
    'if (is_trial && !is_due[- && !has_come-])' named
mutant guest_leaves_in_another_session src/cluster/ownership/guests.c \
    'return is_due_now[- || has_come-] ||' named
mutant guests_come_to_a_stopped_partition src/cluster/ownership/guests.c \
    'bool may_come = [-!look->view->partitions[partition].is_stopped &&-]' named

# ---- R12: clocks ----

mutant time_is_that_of_the_wall_clock src/cluster/ownership/clock.c \
    '    [-follow(clock, range)-]{+clock->time = (struct elapse__clock_time){true, clock->wall_offset_ms, false}+};'
mutant database_that_jumps_is_followed src/cluster/ownership/clock.c \
    '    } else if ([-!is_apart(clock) || !time->is_known-]{+true+}) {'
mutant wrong_clock_keeps_what_it_owns src/cluster/ownership/state.h \
    '[-elapse__clock_verdict(&partition->clock) == ELAPSE__CLOCK_WRONG; /* R12 */-]{+false;+}'
mutant wrong_clock_takes_over src/cluster/ownership/clock.c \
    'return verdict [-!= ELAPSE__CLOCK_APART && verdict != ELAPSE__CLOCK_WRONG-]{+<= ELAPSE__CLOCK_DATABASE+};' \
    named
mutant what_others_said_before_counts src/cluster/ownership/clock.c \
    '!is_apart(clock)[- || sent_ms < clock->apart_since_ms + lease_ms-]' named
mutant wrong_database_ends_all_nodes src/cluster/ownership/clock.c \
    '[-others->right > 0 || !most_agree-]{+true+};' named
mutant two_wrong_nodes_outvote_a_right_one src/cluster/ownership/clock.c \
    '[-others->right > 0 || !most_agree-]{+false+};' named
mutant clocks_are_told_once src/cluster/ownership/clock.c \
    'clock->ask_ms = [-now_ms + lease_ms / 2-]{+UINT64_MAX+};' named
mutant partition_that_begins_forgets_the_time src/cluster/ownership/clock.c \
    'clock->time = [-*time-]{+(struct elapse__clock_time){.is_known = false}+};' named
mutant time_is_borrowed_for_ever src/cluster/ownership/clock.c \
    'time->is_borrowed = time->is_borrowed[- && is_apart(clock)-];' named
mutant clock_is_told_before_a_look src/cluster/ownership/clock.c \
    'if (!clock->[-has_look-]{+time.is_known+})' named
mutant clock_that_goes_back_is_believed src/cluster/ownership/clock.c \
    'range.least > range.most[- || look->last_ms < look->first_ms-])' named
mutant failed_question_is_unclear src/cluster/ownership/completed.c \
    '    else[- if (partition->statement.kind != ELAPSE__STATEMENT_CLOCKS)-]
        return false;' named

# ---- planned moves ----

mutant move_outlives_its_epoch src/cluster/ownership/role.c \
    '[-    partition->moves = false;
-]' named
mutant move_does_not_wait_for_the_group src/cluster/ownership/next.c \
    'elapse__partition_releases(partition)[- && !partition->has_group-])' named
mutant moved_owner_takes_groups src/cluster/ownership/life.c \
    '!partition->has_group[- &&
           !elapse__partition_releases(partition)-];' named
mutant next_owner_is_not_awaited src/cluster/ownership/follow.c \
    'if (is_handed_over(partition)[- && partition->next_owner != ELAPSE__NEXT_OWNER_THERE-])' named
mutant next_owner_looks_as_seldom src/cluster/ownership/state.h \
    'lease_ms / (is_awaited ? [-100-]{+10+} : 10)' named
mutant dead_owner_waits_for_the_next src/cluster/ownership/follow.c \
    '    uint64_t at = partition->unchanged_since_ms + {+(partition->next_owner == ELAPSE__NEXT_OWNER_THERE ? 2 : 1) * +}partition->options.lease_ms;' \
    named

# ---- the balance ----

mutant two_partitions_move_at_once src/cluster/ownership/balance.c \
    '        if (!has_ended(balance, view, options, i, now_ms))
            [-return false-]{+break+};' named
mutant target_is_never_taken_away src/cluster/ownership/balance.c \
    'now_ms - balance->target_since_ms [->= TARGET_LEASES * options->lease_ms-]{+== UINT64_MAX+};' named
mutant move_that_failed_is_tried_at_once src/cluster/ownership/balance.c \
    'balance->next_ms = now_ms[- + AGAIN_LEASES * options->lease_ms-];' named
mutant node_that_drains_is_chosen src/cluster/ownership/balance.c \
    'elapse__balance_lives(view, node)[- && !view->nodes[node].drains-] &&' named
mutant clock_that_is_off_is_chosen src/cluster/ownership/balance.c \
    '[-llabs(view->nodes[node].ahead_ms) <= ELAPSE__BALANCE_CLOCK_MS-]{+true+};' named
mutant node_that_is_not_ready_is_chosen src/cluster/ownership/balance.c \
    '!is_choosable(view, i)[- ||
            !elapse__balance_is_ready(view, partition, i)-])' named
mutant dead_node_is_ready src/cluster/ownership/balance.c \
    'return [-elapse__balance_lives(view, node) && -]view->nodes[node].ready[partition];' named
mutant counts_that_differ_by_one_move src/cluster/ownership/balance.c \
    'uint32_t best = [-1-]{+0+};' named
mutant what_an_operator_placed_moves src/cluster/ownership/balance.c \
    'int target = passes_over[i][- || row->is_preferred-] ? -1 : emptiest(view, i);' named
mutant partition_without_an_owner_is_no_reason_to_wait src/cluster/ownership/balance.c \
    'bool is_uneven = [-is_whole(view) && -]find_uneven(view, nothing, &even);' named
mutant balance_does_not_wait src/cluster/ownership/balance.c \
    'return is_uneven[- && now_ms - balance->uneven_since_ms >= options->balance_after_ms-];' named
mutant counts_are_looked_at_last src/cluster/ownership/balance.c \
    '    [-bool is_due = is_balance_due(balance, view, options, now_ms);-]{+bool is_due = false;+}
    if (now_ms < balance->next_ms)
        return false;{+
    is_due = !find(view, balance->has_failed, false, move) &&
             is_balance_due(balance, view, options, now_ms);+}
' named
mutant partition_that_cannot_move_comes_first src/cluster/ownership/balance.c \
    'balance->has_failed[partition] = [-has_failed-]{+false+};' named
mutant partition_that_has_moved_comes_last src/cluster/ownership/balance.c \
    'bool has_failed = row->target < 0 || [-row->target != row->owner-]{+true+};' named
mutant what_cannot_move_once_never_moves src/cluster/ownership/balance.c \
    '        [-memset(balance->has_failed, 0, sizeof balance->has_failed);
-]        is_found' named
mutant what_operators_prefer_is_not_passed_over src/cluster/ownership/balance.c \
    'if ([-passes_over[i] || -]row->owner < 0 || row->is_stopped || row->preferred < 0 ||' named
mutant what_drains_is_not_passed_over src/cluster/ownership/balance.c \
    'if ([-passes_over[i] || -]row->owner < 0 || row->is_stopped || !view->nodes[row->owner].drains)' named
mutant what_is_uneven_is_not_passed_over src/cluster/ownership/balance.c \
    'int target = [-passes_over[i] || -]row->is_preferred ? -1 : emptiest(view, i);' named
mutant paused_moves_go_on src/cluster/ownership/balance.c \
    'if ([-view->is_paused || -]!options->is_calm) {' named
mutant moves_go_on_in_a_storm src/cluster/ownership/balance.c \
    'if (view->is_paused[- || !options->is_calm-]) {' named
mutant balancer_moves_itself_first src/cluster/ownership/balance.c \
    'for (uint32_t i = [-view->partition_count; i-- > 0;-]{+0; i < view->partition_count; i+++}) {' named
mutant draining_node_takes_what_others_can src/cluster/ownership/balance.c \
    '            return ELAPSE__NEXT_OWNER_[-THERE-]{+ANY+};
    return' named

# ---- W6: poolers ----

mutant pooler_is_connected_to src/cluster/ownership/completed.c \
    '    if ([-result->is_pooled-]{+false+}) {' named
mutant answer_of_another_backend_is_believed src/cluster/ownership/completed.c \
    '    else if ([-result->is_pooled-]{+false+})' named

# ---- R13: refusals ----

mutant refusal_is_unclear src/cluster/ownership/completed.c \
    '        [-take_refused(partition-]{+elapse__partition_unclear(partition, ELAPSE__COMPLAINT_ERROR+});' \
    named
mutant session_of_another_role_stops_the_node src/cluster/ownership/completed.c \
    '[- ||
        partition->statement.kind == ELAPSE__STATEMENT_TERMINATE-])' named
mutant missing_group_is_asked_for_again src/cluster/ownership/follow.c \
    '[-partition->missing == partition->local.group + 1-]{+false+})' named
mutant trimmed_group_is_missing src/cluster/ownership/follow.c \
    'partition->missing [-== partition->local.group + 1-]{+!= 0+})' named
mutant log_is_judged_by_an_older_row src/cluster/ownership/next.c \
    'else if ([-partition->now_ms >= partition->poll_ms-]{+partition->now_ms >= partition->poll_ms && partition->has_row+})
        statement->kind = ELAPSE__STATEMENT_READ_ROW; /*' named
mutant missing_group_outlives_its_connection src/cluster/ownership/role.c \
    '[-    partition->missing = 0;-]' named
# ---- hosts ----

mutant slow_primary_is_left_at_once src/cluster/ownership/role.c \
    'bool is_first = [-partition->is_well-]{+false+};' named
mutant host_that_fails_is_never_left src/cluster/ownership/role.c \
    'bool is_first = [-partition->is_well-]{+true+};' named

# ---- how long a statement is waited for ----

mutant statement_takes_the_lease_of_an_owner src/cluster/ownership/state.h \
    'return partition->options.lease_ms[- / 2-]{+ * 3 / 5+};
}

static inline uint32_t elapse__retry_after_ms' named
mutant statement_has_less_than_a_second src/cluster/ownership/state.h \
    'return partition->options.lease_ms / [-2-]{+4+};
}

static inline uint32_t elapse__retry_after_ms' named
mutant new_owner_waits_a_third_of_the_lease src/cluster/ownership/life.c \
    'return [-is_new && after_ms > LEAVE_NEW_MS-]{+false+} ?' named

# ---- files of copies that were left ----

mutant files_are_given_up_without_an_owner src/cluster/ownership/give_up.c \
    'if ([-!elapse__balance_is_ready(view, partition, row->owner)-]{+false+})' named
mutant one_ready_node_is_enough src/cluster/ownership/give_up.c \
    'count_ready(view, partition) < options->followers[- + 1-])' named
mutant members_count_that_are_not_ready src/cluster/ownership/give_up.c \
    'ready += [-elapse__balance_is_ready(view, partition, row->replicas[i])-]{+true+};' named
mutant files_of_a_member_are_set_aside src/cluster/ownership/give_up.c \
    '(!files->is_aside && [-elapse__replicas_wants(view, partition, me)-]{+false+}))' named
mutant files_are_given_up_where_there_is_a_mark src/cluster/ownership/give_up.c \
    'if ([-row->is_stopped || -]row->has_missed)' named
mutant files_are_given_up_where_groups_are_missed src/cluster/ownership/give_up.c \
    'if (row->is_stopped[- || row->has_missed-])' named
mutant files_are_given_up_by_number src/cluster/ownership/give_up.c \
    'if ([-files->end.is_lost-]{+false+})' named
mutant files_are_given_up_that_nobody_compared src/cluster/ownership/give_up.c \
    'files->is_unknown = [-!has_group-]{+false+};' named
mutant files_are_given_up_while_moves_are_paused src/cluster/ownership/give_up.c \
    'if (!options->is_calm[- || view->is_paused-])' named
mutant files_are_removed_at_once src/cluster/ownership/give_up.c \
    'files->is_aside ? [-options->keep_ms-]{+0+} :' named
