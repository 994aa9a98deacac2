# shellcheck shell=bash
# The mutants. tests/support/mutants.sh says how a fault is written. After a fault may stand the word
# `named`: then the named tests must notice the fault. Without it the simulation must. Faults of the SQL itself, such as a fence that is a mere
# condition, are in tests/scheduler/spin/cluster_ownership.pml.

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
    'row->last_group{+ + 1000+} < confirmed->group ||'
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
    [-else
        -]elapse__mark_end(partition);' named
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
    'statement->epoch = partition->[-memory.seen_epoch-]{+row.epoch+};' named
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
    'bool is_longer = result->count > [-0-]{+1+} &&' named
mutant longer_log_is_a_fork src/cluster/ownership/mark.c \
    'result->log[0].hash_of_previous != [-partition->confirmed.hash-]{+0+};' named
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

# ---- R12: clocks ----

mutant time_is_that_of_the_wall_clock src/cluster/ownership/clock.c \
    '    [-follow(clock, range)-]{+clock->offset_ms = clock->wall_offset_ms, clock->is_known = true+};'
mutant database_that_jumps_is_followed src/cluster/ownership/clock.c \
    '    } else if ([-!is_apart(clock) || !clock->is_known-]{+true+}) {'
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
mutant failed_question_is_unclear src/cluster/ownership/completed.c \
    '    else[- if (partition->statement.kind != ELAPSE__STATEMENT_CLOCKS)-]
        return false;' named

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
mutant log_is_judged_by_an_older_row src/cluster/ownership/follow.c \
    'bool has_it = [-partition->has_row && -]' named
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
