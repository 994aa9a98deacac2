#!/usr/bin/env python3
"""mutants.py [NAME...]: plants faults into sql/inbox.sql, one at a time. A test must notice each fault.

Run it by hand after a change of that script. It takes up to four minutes. It fails if no test notices a
fault, or if a fault cannot be planted any more. It changes nothing in the source tree.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SCRIPT = HERE.parents[2] / "sql" / "inbox.sql"

# Name, text of the script, what replaces it, the test that notices.
MUTANTS = (
    ("a_range_is_deleted", "and i.id = ids[place];\n        if found",
     "and i.id <= ids[place];\n        if found", "test_moves.py", "Moves"),
    ("a_range_is_deleted_and_not_counted", "and i.id = ids[place];\n        if found then\n"
     "            moved := moved + 1;\n        end if;",
     "and i.id <= ids[place];\n        moved := moved + 1;", "test_moves.py", "Storm"),
    ("rows_are_not_counted", "if moved <> cardinality(ids) then", "if false then",
     "test_moves.py", "Moves"),
    ("rows_of_any_partition_move", "where i.queue = queue_name and i.part = part_number and i.id = ids"
     "[place];\n        if found", "where i.id = ids[place];\n        if found",
     "test_moves.py", "Rows"),
    ("refused_rows_are_dropped", "if reasons[place] is not null then", "if false then",
     "test_moves.py", "Moves"),
    ("rows_that_were_run_are_kept_as_refused", "if reasons[place] is not null then", "if true then",
     "test_moves.py", "Moves"),
    ("rows_come_in_any_order", "c.bytes_before < bytes_max order by c.id;",
     "c.bytes_before < bytes_max order by c.id desc;", "test_moves.py", "Rows"),
    ("the_newest_rows_come_first", "order by i.id limit rows_max", "order by i.id desc limit rows_max",
     "test_moves.py", "Rows"),
    ("a_poll_waits_for_callers", "return query\n    with counted",
     "lock table elapse.inbox in share mode;\n    return query\n    with counted",
     "test_moves.py", "Transactions"),
    ("relief_overtakes_a_key", "and n.place = 1 order", "order", "test_moves.py", "Rows"),
    ("relief_makes_jobs", "and n.what <> 'put' and n.place", "and n.place", "test_moves.py", "Rows"),
    ("relief_makes_tokens", "where not n.makes_token and n.what", "where n.what", "test_moves.py", "Rows"),
    ("a_gatherer_replaces", "case when await is null then 'replace' else 'keep' end", "'replace'",
     "test_calls.py"),
    ("a_gatherer_is_due_at_once", "elsif delay > '0' or await is null or delay < '0' then", "else",
     "test_calls.py"),
    ("arrivals_pass_old_nodes", "'arrivals'), elapse.inbox_count('count'", "'headers') where false; perform elapse.inbox_count('count'",
     "test_calls.py"),
    ("the_age_counts_from_the_transaction", "default clock_timestamp(),\n    what",
     "default now(),\n    what", "test_moves.py", "Transactions"),
    ("numbers_are_cached", "as bigint cache 1;", "as bigint cache 50;", "test_moves.py",
     "Transactions"),
    ("the_table_is_read_whole", "bigint\n)\nlanguage plpgsql security definer\nset search_path = pg_catalog, pg_temp\n"
     "set enable_seqscan = off\nset enable_bitmapscan = off", "bigint\n)\nlanguage plpgsql security definer\n"
     "set search_path = pg_catalog, pg_temp\nset enable_indexscan = off\nset enable_bitmapscan = off",
     "test_moves.py", "Rows"),
    ("relief_is_a_loop_in_a_loop", "and n.place = 1 order", "and not exists (select from elapse.inbox o"
     " where o.queue = queue_name and o.part = part_number and o.tube = (select z.tube from elapse.inbox"
     " z where z.id = n.id) and o.key = (select z.key from elapse.inbox z where z.id = n.id) and"
     " o.id < n.id) order", "test_moves.py", "Rows"),
    ("a_key_in_another_partition", "high * 435 + ((low * 435) >> 32) + (low << 8)",
     "high * 435 + ((low * 435) >> 32)", "test_calls.py"),
    ("braces_mean_nothing", "when hash_tags and elapse.inbox_braces(tube) is not null", "when false",
     "test_calls.py"),
    ("braces_always_mean_something", "when hash_tags and elapse", "when elapse", "test_calls.py"),
    ("empty_braces_mean_something", "closing < 2", "closing < 1", "test_calls.py"),
    ("nobody_is_told", "        perform pg_notify(channel, '');", "        null;", "test_moves.py", "Told"),
    ("each_owner_is_told", "select pg_catalog.format('elapse/%s/%s', queue_name, part_number)",
     "select pg_catalog.format('elapse/%s/%s', queue_name, 0)", "test_moves.py", "Told"),
    ("an_owner_that_polls_is_told", "if pg_try_advisory_lock_shared(lock_number) then\n"
     "        perform pg_advisory_unlock_shared(lock_number);", "if true then",
     "test_moves.py", "Told"),
    ("an_owner_that_sleeps_is_not_told", "perform pg_advisory_unlock_all();", "null;", "test_moves.py", "Told"),
    ("a_poll_that_was_undone_keeps_its_lock", "elsif not is_awake or abs(", "elsif is_awake and abs(", "test_moves.py", "Told"),
    ("callers_keep_their_lock", "        perform pg_advisory_unlock_shared(lock_number);\n", "",
     "test_moves.py", "Told"),
    ("an_owner_sleeps_at_once", "abs(present_s - awake_since_s) > 1", "true", "test_moves.py", "Told"),
    ("the_owner_waits_for_callers", "not is_awake and pg_try_advisory_lock(\n"
     "                hashtextextended(elapse.inbox_channel(queue_name, part_number), 0)) then",
     "not is_awake and pg_advisory_lock(\n"
     "                hashtextextended(elapse.inbox_channel(queue_name, part_number), 0)) is not null then",
     "test_moves.py", "Told"),
    ("all_transactions_tell", "coalesce(current_setting('elapse.notify', true), '') = 'off'", "false",
     "test_moves.py", "Told"),
    ("hash_tags_change", "if present.hash_tags <> hash_tags then", "if false then", "test_calls.py"),
    ("callers_may_read", "        grant execute on function elapse.put(",
     "        grant select on elapse.inbox to elapse_caller;\n"
     "        grant execute on function elapse.put(", "test_calls.py"),
    ("everybody_may_call", "execute format('revoke all on function %s from public', function);", "",
     "test_calls.py"),
    ("functions_of_the_caller_are_used",
     "returns bigint language plpgsql security definer\nset search_path = pg_catalog, pg_temp\nas $$\n"
     "declare\n    home elapse.inbox_queue := elapse.inbox_find_queue(put.queue);",
     "returns bigint language plpgsql security definer\nas $$\ndeclare\n"
     "    home elapse.inbox_queue := elapse.inbox_find_queue(put.queue);", "test_calls.py"),
    ("durations_are_cut", "ms numeric := ceil(extract(epoch from value) * 1000);",
     "ms numeric := floor(extract(epoch from value) * 1000);", "test_calls.py"),
    ("partitions_change", "if present.parts <> parts then", "if false then", "test_calls.py"),
    ("newer_versions_are_replaced", "if present > 5 then", "if false then", "test_install.py"),
    ("the_script_is_no_transaction", "begin;\n\nset local client", "set client", "test_install.py"),
)


def notices(text, test, *classes):
    """Returns which test notices the fault."""
    with tempfile.NamedTemporaryFile("w", suffix=".sql", encoding="utf-8") as script:
        script.write(text)
        script.flush()
        done = subprocess.run([sys.executable, "-B", str(HERE / test), *classes],
                              capture_output=True, text=True, check=False,
                              env={**os.environ, "ELAPSE_INBOX_SCRIPT": script.name})
    if done.returncode in (0, 77):
        return None
    failed = [line for line in done.stderr.splitlines() if line.startswith(("FAIL:", "ERROR:"))]
    return failed[0] if failed else f"ends with {done.returncode}"


def main(names):
    text = SCRIPT.read_text(encoding="utf-8")
    if notices(text, "test_calls.py") or notices(text, "test_moves.py"):
        sys.exit("the tests fail without a fault, or cannot run")
    survivors = 0
    for name, original, replacement, *tests in MUTANTS:
        if names and name not in names:
            continue
        found = None
        if text.count(original) == 1:
            found = notices(text.replace(original, replacement), *tests)
        else:
            print(f"{name}: its text is not in the script once")
        survivors += found is None
        print(f"{name:45}{found or 'SURVIVES'}", flush=True)
    sys.exit(survivors > 0)


if __name__ == "__main__":
    main(sys.argv[1:])
