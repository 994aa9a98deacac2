# shellcheck shell=bash
# The mutants. tests/support/mutants.sh says how a fault is written.

# ---- syncing ----

mutant group_is_not_synced src/engine/journal/commit.c \
    'operation->kind = [-ELAPSE__OPERATION_SYNC-]{+ELAPSE__OPERATION_STATUS+};'
mutant acknowledged_before_it_is_durable src/engine/journal/life.c \
    'return journal->[-interval_ms > 0 ? journal->written : journal->durable-]{+place+};'
mutant failed_sync_is_tried_again src/engine/journal/commit.c \
    '    if (operation->error != 0{+ && operation->kind == ELAPSE__OPERATION_SYNC)
        return;
    if (operation->error != 0+}) {'
mutant short_write_counts_as_whole src/engine/journal/commit.c \
    'journal->progress += operation->done{+ == 0 ? 0 : operation->count+};'
mutant directory_is_not_synced src/engine/journal/rotate.c \
    'operation->kind = [-ELAPSE__OPERATION_SYNC_DIRECTORY-]{+ELAPSE__OPERATION_STATUS+};'

mutant header_is_not_synced src/engine/journal/rotate.c \
    '[-ELAPSE__OPERATION_SYNC-]{+ELAPSE__OPERATION_STATUS+};
        break;
    case ELAPSE__ROTATE_NAME:'

# ---- SEAL ----

mutant seal_is_left_out src/engine/journal/rotate.c \
    '[-journal->commit_state = ELAPSE__ROTATE_SEAL-]{+head_is_sealed(journal)+};'
mutant seal_is_not_synced src/engine/journal/rotate.c \
    'operation->kind = [-ELAPSE__OPERATION_SYNC-]{+ELAPSE__OPERATION_STATUS+};
        operation->file = head->file;'
mutant spare_counts_as_a_segment src/engine/journal/recover.c \
    '    [-if (recovery->has_before)
        -]return true;
    if (recovery->top.commits'
mutant no_room_is_kept_for_the_seal src/engine/journal/core.h \
    'return [-ELAPSE__SEAL_GROUP_BYTES + elapse__group_end_bytes(journal)-]{+journal->begun+};'
mutant segment_is_sealed_before_it_is_synced src/engine/journal/commit.c \
    '[-(rotates && journal->written > journal->durable)-]{+false+}'

# ---- COMMIT ----

mutant commit_has_the_tail_of_before src/engine/journal/place.c \
    '.tail = [-group->tail-]{+journal->committed_tail+}}'
mutant padding_counts_as_records src/engine/journal/commit.c \
    'journal->written = group->position + group->size{+ + group->padding+};'
mutant commit_calls_itself_durable src/engine/journal/place.c \
    '.durable = [-journal->durable-]{+group->position + group->size+}, .tail = group'

mutant idle_journal_writes_no_commit src/engine/journal/commit.c \
    '[-journal->idle_commit_wanted-]{+false+} && is_idle'

# ---- recovery ----

mutant torn_end_counts_as_damage src/engine/journal/recover.c \
    'remnants.[-durable > bad-]{+commits > 0+}'
mutant unknown_type_is_a_torn_end src/engine/journal/recover.c \
    'if ([-recovery->top.is_unknown || -]remnants.durable > bad)'
mutant growth_goes_to_an_old_segment src/engine/journal/group.c \
    '[-purpose == ELAPSE__RECORD_FOR_GROWTH-]{+false+} || purpose == ELAPSE__RECORD_FOR_SETTING ||'
mutant old_segment_goes_on src/engine/journal/group.c \
    'journal->is_placed || [-elapse__journal_admits(journal, ELAPSE__RECORD_FOR_GROWTH, true)-]{+false+});'
mutant torn_body_counts src/engine/journal/recover.c \
    '[-elapse__damaged_group_find(view, from, -]recovery->top.end[-)-]'
mutant group_without_commit_counts src/engine/journal/walk.c \
    '            has_records |= walk.frame.type != ELAPSE__RECORD_LOG_PLACE;
            {+survey->end = walk.offset;
            +}continue;'
mutant head_is_not_written_again src/engine/journal/repair.c \
    'int error = rewrite(recovery, head, from, [-recovery->top.end-]{+from+});'
mutant seal_is_not_written_again src/engine/journal/repair.c \
    'return[- repair_before(recovery) &&-] repair_head(recovery);'
mutant repaired_head_is_not_synced src/engine/journal/repair.c \
    'ELAPSE__SEAL_GROUP_BYTES);[-
    if (error == 0)
        error = journal->files->sync(head);-]'
mutant leftovers_go_before_the_repair src/engine/journal/life.c \
    '![-elapse__recovery_repair-]{+elapse__recovery_tidy+}(recovery))
        return false;
    start_life(recovery);
    return [-elapse__recovery_tidy-]{+elapse__recovery_repair+}(recovery) && (is_new || elapse__recovery_choose_place(recovery));'
mutant position_is_not_in_the_checksum src/engine/journal/frame.c \
    'seed[- + position-]);'

mutant segment_without_seal_counts src/engine/journal/replay.c \
    '[-is_sealed && next == number + 1-]{+true+};'
mutant damaged_body_is_handed_out src/engine/journal/read.c \
    '        [-!elapse__frame_body_is_whole(fields + frame.fields_size, &frame, reading->position,
                                     journal->seed)-]{+false+})'

# ---- cleaning, files that are used again ----

mutant used_again_before_copies_are_durable src/engine/journal/retire.c \
    'journal->first >= journal->[-durable_tail-]{+tail+}'
mutant file_of_a_backup_is_used_again src/engine/journal/spare.c \
    '[-status->links == 1 && -]'
mutant short_file_is_used_again src/engine/journal/spare.c \
    'status->links == 1[- && status->bytes == elapse__segment_bytes(journal)-]'
mutant file_that_is_read_is_retired src/engine/journal/retire.c \
    'journal->first >= journal->durable_tail[- || journal->segments[0].readers > 0-]'
mutant moved_tail_waits_for_the_interval src/engine/journal/commit.c \
    'journal->now_ms >= journal->sync_due_ms[- ||
            journal->durable_tail < journal->committed_tail-]);'
mutant refused_copy_is_forgotten src/engine/journal/clean.c \
    '    return [-error == 0-]{+true+};'
mutant cleaning_stops_when_idle src/engine/journal/background.c \
    '{+(journal->forming == NULL || +}!elapse__clean_start(journal)){+)+}'
mutant no_spare_is_held_for_deletes src/engine/journal/room.c \
    '[ELAPSE__RECORD_FOR_GROWTH] = [-elapse__spares_held(journal)-]{+0+},'

# ---- what an earlier life has left behind the end ----

mutant cut_is_left_out src/engine/journal/repair.c \
    'uint64_t end = from[- + (bytes < rest ? bytes : rest)-]{+ + 0 * (bytes + rest)+};'
mutant cut_is_not_filled src/engine/journal/repair.c \
    '    int error = rewrite(recovery, file, from, middle);
    if (error == 0{+ && end == middle+})'
mutant cut_ends_before_the_next_sector src/engine/journal/repair.c \
    'cut(recovery, head, [-ELAPSE__SEAL_GROUP_BYTES-]{+ELAPSE__JOURNAL_ALIGNMENT+})'
mutant old_segment_is_not_overwritten src/engine/journal/repair.c \
    'cut(recovery, head, [-recovery->view.size-]{+ELAPSE__SEAL_GROUP_BYTES+})'
mutant new_life_stays_in_the_old_segment src/engine/journal/repair.c \
    '    if (journal->crosses_first){+ {
        journal->crosses_first = false;+}
        return true;{+
    }+}'
mutant unreadable_dead_segment_is_kept src/engine/journal/room.c \
    '    if (journal->tail >= journal->head || journal->{+clean_pinned || journal->+}error != 0)'
mutant full_disk_is_cleaned_for_deletes_only src/engine/journal/room.c \
    '(spares < [-elapse__spares_wanted-]{+elapse__spares_held+}(journal) &&'
mutant longer_copies_are_not_provided_for src/engine/journal/room.c \
    '[-more < ELAPSE__SPARES_GROWTH ? more : ELAPSE__SPARES_GROWTH-]{+0 * more+}'
mutant full_disk_hands_out_without_end src/engine/journal/room.c \
    '[-elapse__growth_bytes(journal)-]{+0+} <= more'
mutant a_spare_is_made_beside_cleaning src/engine/journal/spare.c \
    'journal->spare_count >= [-elapse__spares_held(journal) && elapse__clean_frees_a_file-]{+elapse__spares_wanted+}(journal)'
mutant cleaning_begins_late src/engine/journal/room.c \
    'total > 2 * live + {+3 * +}segment)'

# ---- places that cannot be read ----

mutant good_disk_is_asked_every_second src/engine/journal/unread.c \
    'if (unread->works <= [-place->works-]{+UINT64_MAX+})'
mutant bad_disk_is_asked_ever_less_often src/engine/journal/unread.c \
    'if (unread->works [-<= place->works-]{+> UINT64_MAX - 1+})'
mutant page_cache_proves_the_disk src/engine/journal/unread.c \
    'if ([-!reading->may_wait-]{+reading->file == ELAPSE__NO_FILE+})'
mutant page_cache_leaves_the_doubt src/engine/journal/unread.c \
    '    unread->last_failed [-= false-]{+&= !reading->may_wait+};
    if (place'
mutant records_of_a_place_count_as_places src/engine/journal/unread.c \
    'if (place != NULL && now_ms < place->again_ms{+ - place->delay_ms+})'
mutant read_that_worked_is_forgotten src/engine/journal/unread.c \
    '        [-*place = unread->places[--unread->count]-]{+unread->works+++};'
mutant tail_is_read_again_at_once src/engine/journal/clean.c \
    'journal->clean_again_ms = journal->now_ms + [-journal->clean_pause_ms-]{+1+};'
mutant tail_is_never_read_again src/engine/journal/clean.c \
    '    journal->clean_again_ms = 0;[-
    journal->clean_pinned = false;-]
}'
mutant unread_page_hides_the_rest src/engine/journal/examine.c \
    'goes_on = error [-!= 0 ||-]{+== 0 &&+} done > 0;'
# ---- the end ----

mutant spare_is_finished_at_a_stop src/engine/journal/background.c \
    '[-journal->background_state = ELAPSE__SPARE_REMOVING-];'
mutant spare_is_begun_at_a_stop src/engine/journal/background.c \
    '[-(journal->ends_spares || -]!elapse__spare_start(journal)[-)-]'
mutant spare_of_a_refused_record_is_forgotten src/engine/journal/group.c \
    'journal->spares_asked = [-elapse__spares_held(journal)-]{+0+};'
mutant spare_that_nobody_asks_for_again_keeps_the_disk_full src/engine/journal/spare.c \
    '[-    forget_asked(journal);-]{+    (void)forget_asked;+}'

# ---- the memory of groups ----

mutant groups_never_rest src/engine/journal/commit.c \
    '[-        elapse__groups_rest(journal);-]'
mutant groups_throw_their_memory_away src/engine/journal/group.c \
    'UNUSED_MAX = [-2-]{+1+},'

# ---- reading ahead ----

mutant piece_lacks_its_first_byte src/engine/journal/ahead.c \
    '[-skipped <= has->count && -]piece->count'
mutant piece_lacks_its_last_byte src/engine/journal/ahead.c \
    'piece->count <= has->count[- - (size_t)skipped-];'
mutant failed_piece_is_taken src/engine/journal/ahead.c \
    'ahead->state == AHEAD_READ && [-ahead->error == 0 && -]has->file'
mutant piece_of_another_file_is_taken src/engine/journal/ahead.c \
    'has->file == [-piece-]{+has+}->file'
mutant skipped_bodies_are_read src/engine/journal/walk.c \
    'if (window->ahead != NULL[- && is_next-])'
