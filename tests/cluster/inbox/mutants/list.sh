# shellcheck shell=bash
# The mutants. tests/support/mutants.sh says how a fault is written.

# ---- I1, I2: polls ----

mutant rows_of_an_earlier_time_are_run src/cluster/inbox/inbox.c \
    '    if (inbox->state != STATE_ASKED[- || serial != inbox->serial-])
        return;
    ELAPSE__ASSERT_THAT(count'
mutant rows_are_run_without_owning src/cluster/inbox/inbox.c \
    '    if ([-inbox->state != STATE_ASKED || -]serial != inbox->serial)
        return;
    ELAPSE__ASSERT_THAT(count'
mutant polls_while_rows_are_held src/cluster/inbox/inbox.c \
    '[-inbox->end > 0 ? STATE_HOLDING : -]STATE_RESTING'
mutant polls_before_the_group_is_confirmed src/cluster/inbox/inbox.c \
    '        inbox->attached++;{+
    if (inbox->attached == inbox->end)
        inbox->state = STATE_RESTING;+}
'
mutant rows_are_kept_for_the_next_owner src/cluster/inbox/inbox.c \
    '    inbox->state = STATE_OFF;[-
    forget_rows(inbox);-]'

# ---- I4: groups ----

mutant rows_go_with_the_next_group src/cluster/inbox/inbox.c \
    'inbox->attached < inbox->end[- && inbox->gates[inbox->attached] <= end-]'
mutant a_gate_goes_back src/cluster/inbox/inbox.c \
    '[-place > 0 ? greatest(gate, inbox->gates[place - 1]) : gate-]{+0+}'
mutant all_rows_are_gone_with_one_group src/cluster/inbox/inbox.c \
    '    inbox->first = inbox->attached{+ = inbox->end+};
'

# ---- I5, I6: rows that wait, or are refused ----

mutant a_row_that_waits_is_passed src/cluster/inbox/inbox.c \
    '            inbox->waits_for = rows[i].id;[-
            return;-]'
mutant a_full_queue_refuses src/cluster/inbox/inbox.c \
    '[-    case ELAPSE__QUEUE_LIMIT:
-]'
mutant a_row_that_waits_is_held src/cluster/inbox/inbox.c \
    '[-    if (inbox->waits != ELAPSE__INBOX_WAITS_NOT)
        return false;-]'
mutant nothing_relieves_a_full_queue src/cluster/inbox/inbox.c \
    'inbox->relief = [-!was_relief && is_full_up(inbox->waits)-]{+false+};'
mutant relief_goes_on_for_ever src/cluster/inbox/inbox.c \
    'inbox->relief = [-!was_relief &&-]{+was_relief ||+} is_full_up(inbox->waits);'
mutant a_refused_row_stays src/cluster/inbox/inbox.c \
    '    [-hold(inbox, id, answer->position, true)-]{+(void)id+};'
mutant a_reason_is_lost src/cluster/inbox/inbox.c \
    '[-is_refused ? inbox->texts[place] : -]NULL'
mutant rows_out_of_order_are_run src/cluster/inbox/inbox.c \
    'bool is_in_order = [-i == 0 || rows[i].id > rows[i - 1].id-]{+true+};'

# ---- how often ----

mutant an_idle_inbox_is_polled_as_often src/cluster/inbox/inbox.c \
    '        return [-ELAPSE__INBOX_IDLE_MS-]{+inbox->interval_ms+};'
mutant a_full_poll_waits src/cluster/inbox/inbox.c \
    '[-is_full ? now_ms : -]greatest(now_ms + pause_ms'
mutant bytes_do_not_make_a_poll_full src/cluster/inbox/inbox.c \
    'count == ELAPSE__INBOX_ROWS_MAX[- || bytes >= ELAPSE__INBOX_BYTES_MAX-]'
mutant a_slow_database_is_asked_as_often src/cluster/inbox/inbox.c \
    '[-least(4 * took_ms, ELAPSE__INBOX_RETRY_MS_MAX)-]{+0+}'
mutant failures_do_not_slow_it_down src/cluster/inbox/inbox.c \
    '[-inbox->retry_ms = least(2 * inbox->retry_ms, ELAPSE__INBOX_RETRY_MS_MAX);-]'
mutant nobody_hears_the_database src/cluster/inbox/inbox.c \
    '[-if (inbox->state != STATE_ASKED && !is_backing_off)-]{+if (is_backing_off && !is_backing_off)+}'
mutant what_is_told_during_a_poll_is_lost src/cluster/inbox/inbox.c \
    '    if ([-inbox->is_told-]{+false+})
        poll_soon'
mutant a_slow_database_has_no_rest src/cluster/inbox/inbox.c \
    'greatest([-inbox->rest_ms-]{+(uint64_t)0+}, now_ms)'
mutant rows_that_wait_are_hurried src/cluster/inbox/inbox.c \
    '[-inbox->waits != ELAPSE__INBOX_WAITS_NOT || inbox->relief ||
                          inbox->retry_ms > ELAPSE__INBOX_RETRY_MS-]{+false+}'
mutant a_database_that_tells_is_polled_as_often src/cluster/inbox/inbox.c \
    '[-sleeps ? ELAPSE__INBOX_TOLD_MS : -]ELAPSE__INBOX_QUIET_MS'
mutant the_next_owner_believes_what_another_was_told src/cluster/inbox/inbox.c \
    'inbox->relief = [-inbox->is_told = inbox->tells = -]false;'
