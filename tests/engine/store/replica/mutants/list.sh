# shellcheck shell=bash
# The mutants. tests/support/mutants.sh says how a fault is written. L1 to L6 are the invariants of
# src/engine/journal/log.h.

# ---- L1: nothing is written here that the log lacks ----

mutant group_is_written_when_it_is_submitted src/engine/journal/replica.c \
    'else if (journal->answered{+ || journal->in_flight->size > 0+})
        write_confirmed(journal);'
mutant group_is_written_when_the_log_refuses_it src/engine/journal/replica.c \
    'if (operation->error == ECANCELED)
        [-elapse__journal_fence-]{+write_confirmed+}(journal);'
mutant group_is_not_submitted src/engine/journal/replica.c \
    'return journal->log != NULL && !journal->follows && [-!-]group->has_place &&'
mutant fenced_journal_goes_on src/engine/journal/life.c \
    'if ([-*under_way(journal, lane) || journal->error != 0 || elapse__journal_is_fenced(journal)-]{+journal->commit_state == ELAPSE__LOG_FENCED)
        journal->commit_state = ELAPSE__COMMIT_IDLE;
    if (*under_way(journal, lane) || journal->error != 0+})'

# ---- L2: places ----

mutant read_group_is_submitted_again src/engine/journal/replica.c \
    'return journal->log != NULL && !journal->follows &&[- !group->has_place &&-]'
mutant empty_group_overtakes_those_that_were_read src/engine/journal/replica.c \
    '(group->size > 0 || [-(journal->pushes && is_last)-]{+journal->pushes || is_last == 2+});'
mutant place_says_the_group_before src/engine/journal/replica.c \
    '.group = before.group [-+ 1-]{+== 0 ? 1 : before.group+},'
mutant place_has_the_hash_of_the_group_before src/engine/journal/replica.c \
    '.hash = [-log->next_hash(-]before.hash,[- journal->portable, journal->portable_size),-]'
mutant read_group_counts_as_confirmed src/engine/follow.c \
    '.group = group->number, .hash = group->hash, .previous_hash = group->previous_hash{+,
        .is_confirmed = true+}};'
mutant replay_takes_the_first_place src/engine/journal/place.c \
    '{+if (journal->log_end.group == 0)
        +}journal->log_end = journal->log_written = *place;'

# ---- L3: the place goes with the head ----

mutant empty_group_has_no_place src/engine/journal/place.c \
    'struct elapse__journal_place place = group->has_place ? group->log_place[- : journal->log_written-]{+
                                                         : (struct elapse__journal_place){0}+};'

# ---- L4: the tail of the log ----

mutant tail_is_the_last_group src/engine/journal/replica.c \
    'uint64_t tail = [-first_group_from(journal, journal->committed_tail, end)-]{+end+};'
mutant tail_is_that_of_now src/engine/journal/replica.c \
    'uint64_t tail = first_group_from(journal, journal->[-committed_tail-]{+head+}, end);'
mutant read_group_is_noted_when_it_is_written src/engine/journal/replica.c \
    '        [-elapse__log_note_group(journal, group->position, place->group)-]{+(void)group->position+};'
mutant forgotten_groups_count_for_the_tail src/engine/journal/replica.c \
    '    [-elapse__log_forget(journal)-]{+for (size_t i = 0; i < journal->segment_count; i++)
        journal->segments[i].live_bytes = 0;
    journal->live_bytes = 0+};
    journal->log_forgets++;'
mutant replay_keeps_forgotten_groups src/engine/journal/place.c \
    '        [-elapse__log_forget(journal)-]{+for (size_t i = 0; i < journal->segment_count; i++)
            journal->segments[i].live_bytes = 0;
        journal->live_bytes = 0+};'

# ---- L5: followers ----

mutant follower_cleans src/engine/journal/room.c \
    'if (journal->clean_pinned[- || journal->follows-])'
mutant follower_keeps_dead_records src/engine/follow.c \
    '    [-if (dead > 0)
        elapse__queue_forget_below(engine->jobs, dead)-]{+(void)dead+};'
mutant dead_segment_is_one_too_many src/engine/journal/replica.c \
    'dead = elapse__position_at(journal, journal->first + below{+ + 1+}, 0);'
mutant owner_does_not_clean src/engine/journal/replica.c \
    '    [-journal->follows = false-]{+(void)journal+};'

# ---- forgetting ----

mutant rebuild_keeps_the_jobs src/engine/follow.c \
    '    [-error = elapse__engine_forget(engine);
    if (error != 0)
        elapse__journal_give_up(engine->journal, error);
    -]return error;'
mutant rebuild_writes_nothing src/engine/journal/replica.c \
    'struct elapse__journal_place nothing = {.forgets = [-true-]{+false+}};'
mutant replay_does_not_forget src/engine/journal/place.c \
    'error = [-journal->owner.forget(journal->owner.context)-]{+0+};'

# ---- lives ----

mutant life_is_not_counted src/engine/follow.c \
    '    engine->life[-++-]{+ += engine->life == 0+};
    int error'
mutant life_is_not_written src/engine/follow.c \
    'int error = [-elapse__engine_write_epoch(engine, ELAPSE__RECORD_FOR_RELIEF)-]{+0+};'
mutant ids_start_again src/engine/follow.c \
    '[-elapse__queue_used_id(engine->jobs, facts->next_id - 1)-]{+(void)facts+};'

# ---- the bytes ----

mutant records_lose_their_flags src/engine/journal/portable.c \
    'bytes[PORTABLE_FLAGS_AT] = [-record->flags-]{+0+};'
mutant body_begins_with_the_fields src/engine/journal/portable.c \
    '.body = body_size == 0 ? NULL : bytes + ELAPSE__PORTABLE_RECORD_BYTES[- + fields_size-],'
mutant last_record_is_left_out src/engine/journal/portable.c \
    'if (portable->rest_bytes [-== 0-]{+< 40+})'

# ---- putting aside ----

mutant groups_in_flight_are_not_put_aside src/engine/journal/replica.c \
    'journal->unconfirmed = [-waits && !journal->answered && journal->in_flight->size > 0-]{+false+};'
mutant groups_that_wait_are_not_put_aside src/engine/journal/replica.c \
    'while (group != NULL && (group->size == 0 || {+!+}group->has_place))'
mutant commit_has_the_tail_of_its_write src/engine/journal/place.c \
    '.tail = [-group-]{+journal+}->tail}'
