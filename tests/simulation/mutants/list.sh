# shellcheck shell=bash
# The mutants. tests/support/mutants.sh says how a fault is written.
#
# Faults of the journal alone are in tests/engine/journal/mutants, those of the queue alone in
# tests/queue/mutants. These are the faults of the two together, and some of the others that the
# simulation must find as well.

# ---- replies ----

mutant reply_before_it_is_durable src/engine/hand_out.c \
    'return [-elapse__journal_durable(engine->journal) >= gate-]{+gate > 0 || engine->life == 0+};'
mutant answer_without_records_is_not_gated src/engine/hand_out.c \
    '[-answer->position = engine->last_position-]{+(void)engine+};'
mutant hand_out_is_gated_by_nothing src/engine/hand_out.c \
    '*gate = [-engine->previous_position-]{+0+};'
mutant hand_out_does_not_wait_for_expiries src/engine/hand_out.c \
    '*gate = [-engine->previous_position-]{+before+};'
mutant hand_outs_do_not_wait_for_expiries src/engine/hand_out.c \
    '[-engine->groups - groups_before == *count ? before : engine->last_position-]{+before+}'
mutant hand_out_reads_the_old_place src/engine/hand_out.c \
    'elapse__journal_read_begin(engine->journal, [-place.-]{+handed->+}position, place.body_size, reading);'
mutant cancelled_job_is_handed_out src/engine/hand_out.c \
    '[-if (elapse__queue_locate(engine->jobs, handed->id, &place->position, &place->body_size)-]{+*place = (struct place){handed->position, handed->body_size};
    if (handed->id != 0+})'
mutant lost_hand_out_is_not_undone src/engine/hand_out.c \
    '    (void)[-elapse__queue_lease_undo(engine->jobs, elapse__engine_present(engine), holder_of(handed))-]{+engine, (void)handed+};'
mutant damaged_job_is_not_buried src/engine/hand_out.c \
    '    [-(void)elapse__queue_bury_damaged(engine->jobs, elapse__engine_present(engine), handed->id-]{+elapse__engine_take_back(engine, handed+});'

# ---- a disk that cannot read for a while ----

mutant unread_job_is_buried src/engine/hand_out.c \
    'if (stays && (error == EBADMSG || error == ENOENT{+ || error == EIO+})) {'
mutant unread_lease_is_not_taken_back src/engine/hand_out.c \
    '        [-elapse__journal_read_failed(engine->journal, elapse__engine_present(engine).boot_ms,
                                    reading-]{+(void)elapse__queue_lease_begin(engine->jobs, elapse__engine_present(engine),
                                        holder_of(handed)+});'
mutant unread_place_is_tried_at_once src/engine/hand_out.c \
    '[-    readable.unread_ms = unread_ms;-]'
mutant unread_attempt_counts src/queue/lease.c \
    '    side->handed_out = side->handed_out_before;
    side->{+attempts++;
    side->+}reserves--;'
mutant rest_is_long src/engine/journal/unread.c \
    'unread->rests_until_ms = now_ms + {+5 * +}ELAPSE__UNREAD_REST_MS;'
mutant place_is_left_alone_for_ever src/engine/journal/unread.c \
    'return [-2 * delay_ms < ELAPSE__UNREAD_MAX_MS ? 2 * delay_ms : (uint64_t)ELAPSE__UNREAD_MAX_MS-]{+64 * delay_ms+};'
mutant tail_is_not_read_again src/engine/journal/clean.c \
    '    journal->clean_again_ms = 0;[-
    journal->clean_pinned = false;-]
}'
mutant failed_read_of_the_tail_is_the_end_of_it src/engine/journal/clean.c \
    '    journal->clean_pinned = true;
    [-journal->clean_size = 0-]{+move_tail(journal)+};'

# ---- the life and its number ----

mutant life_has_the_number_of_before src/engine/life.c \
    '    engine->life = {+engine->life == 0 ? +}next_life(engine, is_backup){+ : engine->life+};'
mutant life_is_lost_by_cleaning src/engine/life.c \
    'return[- position == engine->epoch_position
                   ? elapse__engine_write_epoch(engine, ELAPSE__RECORD_FOR_COPY)
                   :-] 0;'
mutant life_is_not_synced src/engine/life.c \
    '[-    inner.interval_ms = 0;
-]'
mutant ids_restart_when_all_jobs_are_gone src/engine/life.c \
    '[-elapse__queue_used_id(engine->jobs, next_id - 1)-]{+(void)engine+};'

# ---- the journal ----

mutant group_is_not_synced src/engine/journal/commit.c \
    '        operation->kind = [-ELAPSE__OPERATION_SYNC-]{+ELAPSE__OPERATION_STATUS+};
        operation->file = head_file(journal);'
mutant commit_before_its_records src/engine/journal/place.c \
    '    journal->progress ={+ group->size > 512 ? group->size / 2 :+} 0;
    journal->commit_state = ELAPSE__COMMIT_WRITING;'
mutant damage_counts_as_a_torn_end src/engine/journal/recover.c \
    '[-remnants.durable > bad-]{+false+}'
mutant damaged_copy_is_whole src/engine/journal/clean.c \
    '[-    if (!is_whole)
        record.body = NULL;-]'
mutant lost_body_is_not_flagged src/queue/clean.c \
    '[-        flags |= ELAPSE__RECORD_BODY_LOST;-]'

mutant old_segment_is_appended_to src/engine/journal/repair.c \
    '    if (journal->crosses_first){+ {
        journal->crosses_first = false;+}
        return true;{+
    }+}'
mutant file_of_a_backup_is_used_again src/engine/journal/spare.c \
    '[-status->links == 1 && -]'

# ---- the queue ----

mutant closed_connection_counts_no_attempt src/queue/lease.c \
    'if (write[- && !side->begun-])'
mutant closed_connection_keeps_what_has_begun src/queue/lease.c \
    '        {+if (side->begun) {
            elapse__ring_remove(&side->lease_node);
            continue;
        }
        +}bool write = elapse__queue_begin_relief(queue);
        if (write && !side->begun)'

mutant lease_survives_its_ttr src/queue/turn.c \
    '        [-time_out(turning, entry-]{+elapse__queue_start_lease(turning->queue, entry, 1000000+});
}'
mutant lease_numbers_restart src/queue/reserve.c \
    'side->life = [-queue->life-]{+1+};'
mutant key_index_not_rebuilt src/queue/build.c \
    '    if (built->key != 0{+ && queue->open+})
        elapse__queue_key_link(queue, built->key, built->entry);'
mutant replaced_in_two_groups src/queue/put.c \
    '        [-    (void)elapse__queue_cancel_entry(queue, plan->existing);-]{+{
            (void)elapse__queue_cancel_entry(queue, plan->existing);
            (void)elapse__queue_end(queue);
            (void)elapse__queue_begin(queue, 0, 8192, ELAPSE__RECORD_FOR_GROWTH);
        }+}'

# ---- the settings of tubes ----

mutant tube_is_dropped_by_cleaning src/engine/life.c \
    '        [-record->type != ELAPSE__RECORD_TUBE && -]!is_error)'
mutant end_of_a_pause_is_not_written src/queue/pause.c \
    '    if (queue->options.old_records{+ || tube->record->settings.pause_ms == 0+}) {
        elapse__queue_tube_record_settle(queue, tube);'
mutant pause_is_not_written src/queue/pause.c \
    '    if (queue->options.old_records{+ || tube->record->position == 0+}) {
        elapse__queue_tube_record_settle(queue, tube);'

# ---- limits ----

mutant reply_of_a_limited_tube_before_its_lease src/engine/hand_out.c \
    'if ([-handed[i].is_limited-]{+handed[i].is_limited && engine->life == 0+})'
mutant a_start_frees_the_place_of_a_cancelled_job src/queue/cancel.c \
    'if (state == ELAPSE__QUEUE_RESERVED &&
        [-elapse__queue_is_limited(elapse__queue_tube_of(queue, entry))-]{+false+}) {'
mutant cleaning_frees_the_place_of_a_cancelled_job src/queue/clean.c \
    '!elapse__queue_has_record(entry)[-)-]{+ ||
        elapse__queue_state_of(entry) == ELAPSE__QUEUE_SHADOW)+}
        return ELAPSE__QUEUE_OK;'
mutant a_bucket_is_full_after_a_start src/queue/limit.c \
    '    else
        [-elapse__queue_bucket_empty(&record->bucket, &rate, elapse__queue_present(queue, false))-]{+(void)rate+};'
mutant a_hand_out_does_not_write_a_slow_bucket src/queue/reserve.c \
    '    if ([-writes_bucket-]{+false+})
        elapse__queue_write_tube'
mutant a_hand_out_does_not_write_the_bucket_of_its_group src/queue/reserve.c \
    '    if ([-writes_group-]{+false+})
        elapse__queue_write_group_next'
mutant a_reply_does_not_wait_for_the_bucket_of_its_group src/queue/reserve.c \
    'elapse__queue_is_limited(tube) || writes_bucket[- || writes_group-],'
mutant cleaning_drops_the_bucket_of_a_group src/queue/clean.c \
    'if (group == NULL || [-!elapse__queue_is_group_next(queue, group, position)-]{+true+})'
mutant a_group_runs_without_a_token_after_a_start src/queue/group_record.c \
    'if (rate.count == 0 || [-elapse__queue_rate_is_slow(&rate)-]{+true+})
            continue;'
mutant a_retry_is_overtaken src/queue/tables.h \
    'return group->running[- + group->retries-] > 0 ? 0 : 1;'
mutant a_group_does_not_come_back src/queue/state.c \
    '[-    elapse__queue_turns_stand(queue, tube, entry);
-]    queue->freed++;'

# ---- errors ----

mutant error_is_lost_behind_the_copy_of_its_put src/queue/replay.c \
    '    if (fields->has_error{+ && entry != NULL+})
        elapse__queue_error_set('
mutant error_is_dropped_by_cleaning src/engine/life.c \
    'bool is_error = [-record->type == ELAPSE__RECORD_CHANGE && record->body_size > 0-]{+false+};'
mutant copy_of_a_job_forgets_the_error src/queue/fields.c \
    'else if (fields->failure == ELAPSE__QUEUE_FAILURE_TOLD{+ && fields->ttr_ms == 0+})'

# ---- arrivals and transactions ----

mutant arrival_of_a_known_token_counts src/queue/arrive.c \
    '    if ([-elapse__queue_arrival_is_known(queue, arrival, &hash)-]{+false && elapse__queue_arrival_is_known(queue, arrival, &hash)+}) {'
mutant token_of_an_arrival_is_not_kept src/queue/arrive.c \
    'elapse__queue_wait_again(queue, entry, due, true);
    else
        elapse__queue_write_state(queue, entry, ELAPSE__RECORD_CHANGE);
    if (token != 0[-)-]{+ && left > 0)+}'
mutant token_of_an_arrival_is_replayed_as_that_of_a_put src/queue/replay.c \
    '.hash = [-elapse__queue_token_hash_of(queue, fields)-]{+elapse__queue_token_hash(queue, fields->token)+},'
mutant arrival_without_a_record src/queue/arrive.c \
    '    else
        [-elapse__queue_write_state(queue, entry, ELAPSE__RECORD_CHANGE);-]{+(void)entry;+}'
mutant replay_forgets_that_there_is_no_due_time src/queue/replay.c \
    '    if (side != NULL && replay_await(side, fields) && [-fields->no_due-]{+false+})'
mutant job_that_failed_waits_for_arrivals_again src/queue/state.c \
    '    if (side != NULL && [-side->awaits == ELAPSE__QUEUE_AWAITS_WAITING-]{+false+})
        side->awaits'
mutant group_of_a_transaction_is_split src/queue/write.c \
    'if ([-queue->transaction != NULL-]{+false+})
        return true;'
mutant lease_of_a_cancelled_job_guards src/queue/lease.c \
    'entry != NULL[- && elapse__queue_state_of(entry) == ELAPSE__QUEUE_RESERVED-];'
mutant lease_guards_nothing src/queue/transact.c \
    '            !elapse__queue_is_leased_by(queue, queue->now, &change->held.holder))
            return [-false-]{+true+};'
