# shellcheck shell=bash disable=SC2016 # SQL has parameters with $
# The mutants. tests/support/mutants.sh says how a fault is written. After a fault stand PROGRAM and TEST: the test TEST of test_PROGRAM.py must notice the fault.

# ---- the fence ----

mutant fence_is_a_mere_condition src/cluster/postgres/sql.c \
    "    \"with fence as{+ (select 1 from elapse.partition\" \\
    \" where queue = \$1 and part = \$2 and epoch = \$3 and last_group = \$4 - 1), moved_on as\" \\
    \"+} (update elapse.partition set last_group = \$4, last_hash = \$5, beat = beat + 1\" \\
    \" where queue = \$1 and part = \$2 and [-epoch = \$3 and last_group = \$4 - 1 and stopped = ''\"     \\
    \" returning 1-]{+exists (select from fence)+})\"" link Fence
mutant fence_forgets_the_epoch src/cluster/postgres/sql.c \
    'and [-epoch = $3-]{+$3 > 0+} and last_group = $4 - 1 and' link Fence
mutant fence_forgets_the_last_group src/cluster/postgres/sql.c \
    'and epoch = $3 and[- last_group = $4 - 1 and-]' link Statements
mutant take_over_forgets_the_last_group src/cluster/postgres/sql.c \
    'and epoch = $5 and beat = $6 and [-last_group = $7-]{+$7 >= 0+}' link Statements
mutant take_over_ignores_the_mark src/cluster/postgres/sql.c \
    "[- and stopped = ''-] returning \" ROW" link Statements
mutant append_ignores_the_mark src/cluster/postgres/sql.c \
    "last_group = \$4 - 1[- and stopped = ''-]\"" link Statements
mutant mark_is_for_all_epochs src/cluster/postgres/sql.c \
    "stopped = ''[- and epoch <= \$5-]\"" link Statements
mutant late_mark_is_a_beat src/cluster/postgres/sql.c \
    '[-case when " IS_NEW " then 1 else 0 end-]{+1+}' link Statements
mutant late_mark_says_nothing src/cluster/postgres/sql.c \
    "missed = '' and epoch > \$5{+ + 1000+}" link Statements
mutant late_mark_turns_the_epoch_back src/cluster/postgres/sql.c \
    'epoch = [-greatest(epoch, $5)-]{+$5+}' link Statements
mutant beat_forgets_the_owner src/cluster/postgres/sql.c \
    'and epoch = $3 and [-owner = $4-]{+length($4) > 0+} returning' link Statements

# ---- settings, notices, cancelling ----

mutant append_does_not_look src/cluster/postgres/sql.c \
    "append[] = FENCE INSERT \" returning [-\" SETTINGS-]{+'ANY 1 (s0,s1,s2)', 'on', (extract(epoch from pg_conf_load_time()) * 1000000)::bigint\"+};" \
    link Commits
mutant second_look_is_not_believed src/cluster/postgres/link_results.c \
    '[-take_settings(look, 0, &result->after-]{+(result->after = result->before, true+});' link Commits
mutant second_look_is_sent_later src/cluster/postgres/link_session.c \
    '(!has_look || {+(flush(link) && system("sleep 2") == 0 && +}send_look(link)){+)+}' link Commits
mutant notice_is_ignored src/cluster/postgres/link_session.c \
    '    link->noticed = [-true-]{+false+};' link Commits
mutant warnings_are_not_asked_for src/cluster/postgres/sql.c \
    "('[-client_min_messages', 'warning-]{+log_min_messages', 'x+}')," link Commits
mutant abandoned_statement_is_cancelled src/cluster/postgres/link_session.c \
    '    {+char why[256];
    PGcancel *cancel = link->connection != NULL ? PQgetCancel(link->connection) : NULL;
    if (cancel != NULL)
        (void)PQcancel(cancel, why, sizeof why);
    PQfreeCancel(cancel);
    +}PQfinish(link->connection);' link Commits
mutant idle_sessions_are_terminated src/cluster/postgres/sql.c \
    '[- and backend_xid is not null-]' link Fence
mutant commits_are_as_the_role_has_them src/cluster/postgres/sql.c \
    "[-('synchronous_commit', 'on'),-]" link Sessions
mutant statements_end_as_the_role_has_them src/cluster/postgres/sql.c \
    "[-('statement_timeout', '0'),-]" link Sessions

# ---- the thread ----

mutant memory_is_not_written src/cluster/postgres/runner_loop.c \
    'if ([-!runner->calls.remember(runner->owner.context, &memory)-]{+false+}) {' runner Owners
mutant it_answers_while_it_hands_over src/cluster/postgres/runner_loop.c \
    '    [-publish_answers(runner);
    -]runner->releases = ' runner Owners
mutant runner_forgets_notices src/cluster/postgres/runner_loop.c \
    '{+result->noticed = false,
        +}elapse__partition_completed(runner->partition, now_ms, result);' runner Databases
mutant lost_rows_are_an_error src/cluster/postgres/link_results.c \
    'return[- elapse__database_has_code(result, ELAPSE__CODE_MOVED) ? ELAPSE__OUTCOME_MOVED
                                                                 :-] ELAPSE__OUTCOME_ERROR;' link Fence
mutant poll_that_hangs_goes_on src/cluster/postgres/runner_inbox.c \
    'if (!runner->polls || now_ms < [-limit_ms(runner)-]{+UINT64_MAX+})' runner Inbox
