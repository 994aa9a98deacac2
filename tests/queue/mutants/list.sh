# shellcheck shell=bash
# The mutants. tests/support/mutants.sh says how a fault is written.

mutant lease_survives_its_ttr src/queue/lease.c \
    'if ([-side->begun && entry->timer.deadline <= elapse__queue_present(queue, false)-]{+false+})'
mutant lease_numbers_restart src/queue/reserve.c \
    'side->life = [-queue->life-]{+1+};'
mutant ids_restart src/queue/replay.c \
    '    [-elapse__queue_used_id(queue, fields->id);
    -]if (fields->id > queue->replayed_id)'
mutant job_of_another_partition_is_taken src/queue/replay.c \
    'return [-partitions <= 1-]{+true+} || '
mutant key_index_not_rebuilt src/queue/build.c \
    '[-    if (built->key != 0)
        elapse__queue_key_link(queue, built->key, built->entry);-]'
mutant shadow_keeps_the_key src/queue/keys.c \
    'if ([-elapse__queue_state_of(entry) != ELAPSE__QUEUE_SHADOW-]{+true+})'
mutant delete_left_out src/queue/cancel.c \
    '    [-elapse__queue_write_delete(queue, elapse__queue_id(entry));
    -]if (state'
mutant undo_counts_the_attempt src/queue/lease.c \
    '[-    side->reserves--;-]'
mutant expire_after_the_hand_out src/queue/state.c \
    'if (expire_ms == 0[- || side->handed_out-])'
mutant due_a_millisecond_early src/queue/state.c \
    'if (due.tick > present{+ + 1+}) {'
mutant wall_clock_set_back_ignored src/queue/clocks.c \
    'if ([-now_tick < elapse_wheel_now(&clocks->wall) && clocks->stage == ELAPSE__QUEUE_STEADY-]{+false+})'
mutant order_by_id_alone src/queue/heap.h \
    '[-one->priority != other->priority ? one->priority < other->priority-]{+false ? false+}'
mutant clean_forgets_the_lease src/queue/write.c \
    'fields->state = [-elapse__queue_state_of(entry)-]{+ELAPSE__QUEUE_DELAYED+};'
mutant clean_forgets_the_headers src/queue/clean.c \
    '[-    fields.headers_size = old->headers_size;
-]    struct elapse__queue_text body'
mutant clean_forgets_the_group src/queue/clean.c \
    '[-    fields.group = old->group;
-]    fields.cron'
mutant a_hand_out_keeps_the_turn src/queue/reserve.c \
    '[-    elapse__queue_turn_passes(queue, tube, entry);
-]    side->lease ='
mutant each_ready_job_draws_a_turn src/queue/turns.c \
    'if ((group == NULL ? tube->ready.count : group->ready) [-== 1-]{+>= 1+})'
mutant turns_ignore_priority src/queue/turns.c \
    'item.priority = [-first_of_group(queue, tube, group).priority-]{+0+};'
mutant a_first_job_changes_no_turn src/queue/turns.c \
    'if (stands && old->id == item.id[- && old->priority == item.priority-])'
mutant an_ended_group_stays src/queue/state.c \
    '[-    if (group != NULL)
        elapse__queue_group_leave(queue, group);
-]    elapse__queue_entry_end'
mutant jobs_without_a_group_get_no_turn src/queue/turns.c \
    'if (tube->turns == NULL && [-tube->ready.count > 0-]{+false+}) {'
mutant ready_is_taken_for_may_run src/queue/tables.h \
    '!elapse__queue_is_moving(tube) &&
           [-elapse__queue_lets_run(tube)-]{+true+};'
mutant a_group_runs_beyond_its_limit src/queue/turns.c \
    'uint32_t may_run = [-places < group->ready ? (uint32_t)places : group->ready-]{+places > 0 ? group->ready : group->ready+};'
mutant a_group_does_not_come_back src/queue/state.c \
    '[-    elapse__queue_turns_stand(queue, tube, entry);
-]    queue->freed++;'
mutant a_new_limit_moves_no_group src/queue/pass.c \
    '[-        elapse__queue_turns_place(queue, tube, group)-]{+        (void)group+};'
mutant groups_are_moved_and_jobs_handed_out src/queue/tables.h \
    '!elapse__queue_paused(tube) && [-!elapse__queue_is_moving(tube)-]{+true+} &&'
mutant groups_are_moved_without_a_bound src/queue/pass.c \
    'for (; [-*most > 0-]{+true+} && !elapse__ring_empty(&queue->moving); --*most) {'
mutant a_tube_leaves_the_pass_at_the_end_of_the_table src/queue/pass.c \
    'if (queue->pass [-- tube->turns->pass >= ROUND-]{+/ ROUND > tube->turns->pass / ROUND+})'
mutant all_tubes_begin_at_once_after_a_start src/queue/pass.c \
    'tubes < [-ELAPSE__QUEUE_TURN_MAX-]{+UINT32_MAX+}; tubes++) {'
mutant each_tube_goes_round_by_itself src/queue/pass.c \
    'take_out(tube->turns);
{+    for (struct elapse__ring_node *n = queue->moving.next; n != &queue->moving; n = n->next)
        ((struct elapse__queue_turns *)(void *)((unsigned char *)n - offsetof(struct elapse__queue_turns, moving)))->pass = queue->pass;
+}'
mutant a_limit_of_groups_forgets_who_runs src/queue/tables.h \
    'tube->record->settings.concurrency != 0 ||
                                    [-tube->record->settings.group_concurrency != 0-]{+false+} ||'
mutant an_order_forgets_who_runs src/queue/tables.h \
    'tube->record->settings.group_concurrency != 0 ||
                                    [-tube->record->settings.group_order != 0-]{+false+});'
mutant a_retry_is_overtaken src/queue/tables.h \
    'return group->running[- + group->retries-] > 0 ? 0 : 1;'
mutant a_retry_that_begins_to_wait_leaves_its_group_standing src/queue/state.c \
    '[-        elapse__queue_turns_stand(queue, elapse__queue_tube_of(queue, entry), entry)-]{+        (void)entry+};
    if (has_no_due'
mutant the_end_of_a_retry_is_no_news src/queue/state.c \
    'bool blocked = elapse__queue_is_leased(state)[- ||
                   (elapse__queue_is_retry(queue, entry) &&
                    elapse__queue_is_ordered(elapse__queue_tube_of(queue, entry)))-];'
mutant a_reserve_by_id_breaks_the_order src/queue/turns.c \
    '(elapse__queue_state_of(entry) != ELAPSE__QUEUE_READY ||
            [-first_of_group(queue, tube, group).entry == elapse__queue_number(entry)-]{+true+});'
mutant a_start_breaks_the_order src/queue/pass.c \
    'queue->is_behind = [-is_behind(queue)-]{+is_behind(queue) && false+};'
mutant want_of_memory_breaks_the_order src/queue/state.c \
    '[-        elapse__queue_order_waits(queue, elapse__queue_tube_of(queue, entry), due, READY_AGAIN_MS)-]{+        (void)0+};'
mutant want_of_memory_stops_a_tube_for_ever src/queue/turn.c \
    '    [-if (!elapse__ring_empty(&queue->behind))-]{+if (false)+}'
mutant want_of_memory_breaks_the_order_by_the_wall_clock src/queue/pass.c \
    'return [-elapse__queue_present(queue, false) < queue->behind_boot-]{+false+} ||'
mutant a_start_waits_for_what_comes_due_later src/queue/pass.c \
    'elapse_wheel_next(&clocks->boot) <= [-queue->behind_boot-]{+elapse_wheel_now(&clocks->boot) + 1+} ||'
mutant a_group_runs_without_a_token src/queue/tables.h \
    'uint64_t tokens = places == 0 ? 0 : [-elapse__queue_group_tokens(queue, tube, group)-]{+UINT64_MAX+};'
mutant the_bucket_of_a_group_is_full_after_a_start src/queue/group_record.c \
    'if (rate.count == 0 || [-elapse__queue_rate_is_slow(&rate)-]{+true+})
            continue;'
mutant a_hand_out_does_not_write_the_bucket_of_its_group src/queue/reserve.c \
    '    if ([-writes_group-]{+false+})
        elapse__queue_write_group_next'
mutant a_reply_does_not_wait_for_the_bucket_of_its_group src/queue/reserve.c \
    'elapse__queue_is_limited(tube) || writes_bucket[- || writes_group-],'
mutant a_group_without_jobs_loses_its_bucket src/queue/groups.c \
    '    if ([-group->bucket != 0-]{+false+}) {
        tube->turns->without_jobs++;'
mutant a_group_is_never_forgotten src/queue/group_record.c \
    'elapse__queue_bucket_end(queue, group);
    if ([-group->references > 0-]{+true+})
        return true;'
mutant a_token_of_a_group_is_no_news src/queue/turn.c \
    'queue->freed++;
[-    elapse__queue_watch_tell(queue, tube);
-]}'
mutant cleaning_drops_the_bucket_of_a_group src/queue/clean.c \
    'if (group == NULL || [-!elapse__queue_is_group_next(queue, group, position)-]{+true+})'
mutant another_rate_fills_the_buckets_of_groups src/queue/rate.c \
    'if ([-next <= tick-]{+next > 0+})
        return (struct elapse__queue_bucket){0};'
mutant another_rate_comes_to_no_bucket src/queue/group_rate.c \
    'if ([-bucket->rate == tube->record->settings.group_rate_number-]{+true+})
        return bucket->bucket;'
mutant a_clock_set_back_makes_a_group_wait src/queue/group_record.c \
    'bucket->bucket = [-read.tick < empty.tick ? read : empty-]{+read+};'
mutant a_bucket_of_an_earlier_rate_comes_back src/queue/group_record.c \
    '[-elapse__queue_bucket_of(queue, group)->rate < tube->record->settings.group_rate_since-]{+false+}) {'
mutant a_replay_keeps_each_group_of_the_log src/queue/group_record.c \
    'enum { PLACES = [-4-]{+0+} };'
mutant a_replay_forgets_buckets_too_early src/queue/group_record.c \
    'return [-elapse__queue_bucket_full(&by_wall, &rate)-]{+elapse__queue_bucket_next(&by_wall) / 2+} < wall_ms;'
mutant a_replay_forgets_buckets_before_their_settings src/queue/group_record.c \
    'if (tube->record == NULL)
        return [-false-]{+true+};
    if (!elapse__queue_rate_is_slow(&rate) ||'
mutant a_replay_keeps_void_buckets src/queue/group_record.c \
    'return [-tube->record->position > bucket->position-]{+false+};'
mutant a_replay_loses_settings_that_make_buckets_void src/queue/tube_record.c \
    '(!queue->open && tube->turns != NULL && [-tube->turns->buckets > 0-]{+false+});'
mutant a_token_between_a_crash_and_a_start_fills_a_bucket src/queue/group_record.c \
    'bucket->bucket = [-next <= present-]{+false+}'
mutant a_bucket_of_an_earlier_rate_is_not_written_after_a_start src/queue/group_record.c \
    'bucket->is_unwritten = [-true-]{+false+};'
mutant a_crash_while_another_rate_comes_fills_buckets src/queue/group_rate.c \
    'if ([-!elapse__queue_rate_is_slow(&old) || !elapse__queue_rate_is_slow(rate)-]{+true+})'
mutant another_slow_rate_is_not_written src/queue/group_record.c \
    'if ([-is_other && elapse__queue_rate_is_slow(&rate)-]{+is_other && false+})'
mutant a_fast_rate_leaves_slow_buckets_live src/queue/group_rate.c \
    'if ([-!elapse__queue_rate_is_slow(&rate)-]{+false+})
        elapse__queue_bucket_record_move(queue, bucket, 0, 0); /*'
mutant the_record_of_a_full_bucket_stays_live src/queue/group_rate.c \
    '[-    elapse__queue_bucket_record_move(queue, bucket, 0, 0);
-]    elapse__queue_slab_give'
mutant a_job_runs_without_a_token src/queue/tables.h \
    '(elapse__queue_places(tube) > 0 && [-!elapse_timer_pending(&tube->record->token.timer)-]{+true+})'
mutant a_start_forgets_when_a_job_was_buried src/queue/replay.c \
    'side->buried = [-fields->has_buried ? elapse__queue_wall_tick(fields->buried_ms) : -]otherwise;'
mutant cleaning_changes_the_order_of_burying src/queue/buried.c \
    'if ([-!is_sorted(queue, ring)-]{+false+})
        sort'
mutant a_full_disk_loses_dead_letters src/queue/dead_letters.c \
    '            soonest = [-present + DROP_AGAIN_MS-]{+ELAPSE_NEVER+};'
mutant a_recurring_job_is_a_dead_letter src/queue/dead_letters.c \
    'if ([-side->recurrence != NULL-]{+false+}) {'
mutant a_bucket_is_full_after_a_start src/queue/limit.c \
    '    else
        [-elapse__queue_bucket_empty(&record->bucket, &rate, elapse__queue_present(queue, false))-]{+(void)rate+};'
mutant a_bucket_of_an_earlier_stop_is_believed src/queue/limit.c \
    '(settings->rate_next_ms != 0 && [-settings->rate_life + 1 == queue->life-]{+true+})'
mutant a_hand_out_does_not_write_a_slow_bucket src/queue/reserve.c \
    '    if ([-writes_bucket-]{+false+})
        elapse__queue_write_tube'
mutant a_token_is_no_news src/queue/turn.c \
    '[-        elapse__queue_watch_tell(queue, tube);
-]        queue->freed++;
        if (alarm->kind != ELAPSE__QUEUE_ALARM_TOKEN)'
mutant a_rate_forgets_fractions src/queue/rate.c \
    '[-    bucket->part += rate->period_ms % rate->count;
-]    if (bucket->part'
mutant a_cancel_frees_the_place src/queue/tables.h \
    'return tube->counts[ELAPSE__QUEUE_RESERVED][- + tube->counts[ELAPSE__QUEUE_SHADOW]-];'
mutant a_restart_frees_the_place_of_a_cancelled_job src/queue/cancel.c \
    'if (state == ELAPSE__QUEUE_RESERVED &&
        [-elapse__queue_is_limited(elapse__queue_tube_of(queue, entry))-]{+false+}) {'
mutant a_shadow_of_a_replay_is_reserved src/queue/replay.c \
    '        if ([-fields->state == ELAPSE__QUEUE_SHADOW-]{+false+})
            elapse__queue_become_shadow'
mutant a_free_place_is_no_news src/queue/state.c \
    '    if ([-blocked-]{+false+})
        free_place'
mutant a_copied_shadow_keeps_its_key src/queue/clean.c \
    'if ([-fields.state == ELAPSE__QUEUE_SHADOW-]{+false+}) {'
mutant the_end_of_a_shadow_is_not_written src/queue/move.c \
    'bool write = [-elapse__queue_has_record(entry) && elapse__queue_begin_relief(queue)-]{+false+};'
mutant headers_count_as_body src/queue/job.h \
    'uint32_t body_size = record_body_size[- - headers_size-];'
mutant headers_are_written_into_old_logs src/queue/put.c \
    'put->headers.size + put->group.size + put->await > 0 && [-queue->options.old_records-]{+false+}'
mutant unknown_flag_is_left_out src/queue/fields.c \
    '(record->flags & ~(unsigned)ELAPSE__RECORD_BODY_LOST) != 0[- ||
        (record->flags != 0 && record->type != ELAPSE__RECORD_PUT)-]{+ && record->flags == 0+}'
mutant clean_forgets_the_key src/queue/clean.c \
    '[-fields.key = old->key;-]'
mutant replayed_lease_counts src/queue/replay.c \
    '[-side->replayed = 1;-]'
mutant debounce_without_its_max src/queue/put.c \
    '[-plan->due.tick = plan->first + longest-];'
mutant longest_wait_of_debounce_is_early src/queue/put.c \
    'longest = [-elapse__queue_whole(queue, put->debounce_max_ms)-]{+put->debounce_max_ms+};'
mutant first_occurrence_is_early src/queue/recurrence.c \
    'wait_ms = [-elapse__queue_whole(queue, recurrence->period_ms)-]{+recurrence->period_ms+};'
mutant expiry_is_early src/queue/state.c \
    'due.tick + [-elapse__queue_whole(queue, expire_ms)-]{+expire_ms+};'
mutant peek_shows_a_job_that_is_held src/queue/look_up.c \
    'tube == NULL || [-!elapse__queue_has_first(tube)-]{+tube->counts[ELAPSE__QUEUE_READY] == 0+}'
mutant known_change_of_a_transaction_needs_room src/queue/transact.c \
    'if ([-is_known(queue, change)-]{+false+}) {'
mutant missed_not_counted src/queue/recurrence.c \
    'uint64_t sum = recurrence->missed[- + *missed-];'
mutant live_bytes_of_shadows src/queue/state.c \
    '    [-elapse__queue_count_live(queue, entry, false);
    -]elapse__queue_set_failure(queue, entry, ELAPSE__QUEUE_FAILURE_NONE);
    elapse__queue_set_state(entry, ELAPSE__QUEUE_SHADOW);'
mutant index_loses_a_half src/queue/index.c \
    '    [-*high = 0;
    -]if (++index->split'
mutant kick_chooses_again_for_each_slice src/queue/kick.c \
    '[-ELAPSE__QUEUE_KICK_PASS_MAX-]{+ELAPSE__QUEUE_KICK_MAX+} : kick->pass_max'
mutant kick_of_many_ends_after_one_pass src/queue/kick.c \
    'return[- kick->full && kick->kicked < kick->wanted ? ELAPSE__QUEUE_KEPT :-] ELAPSE__QUEUE_OK;'
mutant kick_passes_over_a_job_that_waits_for_the_journal src/queue/kick.c \
    'return [-answer.result-]{+(kick->kept--, answer.result)+}; /* the next call'
mutant kick_of_buried_jobs_alone_takes_delayed_ones src/queue/kick.c \
    'elapse__ring_empty(&tube->buried)[- && !kick->only_buried-])
        kick->delayed = true;
    [-ELAPSE__ASSERT(!kick->delayed || !kick->only_buried);-]'
mutant kick_takes_the_latest src/queue/kick.c \
    'else if ({+!+}comes_later(*kept_at(kick, 0), item))'
mutant records_are_not_used_again src/queue/slab.c \
    'uint32_t record = [-slab->free-]{+0+};'
mutant tube_keeps_the_room_of_its_ready_jobs src/queue/heap.c \
    'if ([-heap->count == 0-]{+false+})'
mutant delayed_job_has_room_in_the_heap src/queue/state.c \
    'return [-due.tick > elapse__queue_present(queue, due.by_wall)-]{+false+} ||'
mutant wider_chunk_is_empty src/queue/chunks.c \
    '[-memcpy(chunk, chunks->directory[0], chunk_bytes(chunks));-]'
mutant back_off_beyond_max src/queue/occurrence.c \
    '[-    if (wait_ms > most)
        wait_ms = most;-]'
mutant retries_without_end src/queue/occurrence.c \
    'side->attempts >[-=-] profile->retry'
mutant token_forgotten_by_cleaning src/queue/clean.c \
    '[-record->type != ELAPSE__RECORD_TOKEN-]{+true+} && !is_error)'
mutant waits_are_not_ordered src/queue/waits.c \
    'if (youngest [-== &waits->jobs || due_of(youngest) <= entry->timer.deadline-]{+!= entry->timer.keep.ring_node.next+}) {'
mutant waits_remember_a_job_that_is_gone src/queue/waits.c \
    'if ([-waits->last == ring_node-]{+false+})'
mutant waits_of_one_clock_count src/queue/waits.c \
    'for (unsigned by_wall = 0; by_wall < [-2-]{+1+}; by_wall++)'
mutant walk_over_tubes_has_no_bound src/queue/tubes.c \
    'for (; *most > 0;[- --*most-]) {'
mutant live_bytes_are_rounded src/queue/job.h \
    '- body_size / 8{+ + 1+};'
mutant tokens_count_as_too_much src/queue/write.c \
    '*size = [-(uint32_t)elapse__frame_bytes(fields_size, 0)-]{+fields_size + ELAPSE__RECORD_FRAME_MAX+};'
mutant older_than_all_is_searched_for src/queue/waits.c \
    'if ([-due_of(ring->next) > due-]{+false+})'
mutant record_that_is_not_to_be_read_is_read src/queue/reserve.c \
    'if (!has_expired[- && delay_ms == 0-])'
mutant ids_of_a_span_overlap src/queue/ids.c \
    'span->used & ((UINT64_C([-1-]{+2+}) << place) - 1)'
mutant id_that_has_gone_is_found src/queue/ids.c \
    'if ([-(span->used >> place & 1) == 0-]{+span->used == 0+})
        return 0;'
mutant spans_of_all_numbers_are_one src/queue/ids.c \
    'if (ids->recent != 0[- && ids->recent_span->number == number-])'
mutant recent_span_outlives_its_record src/queue/ids.c \
    'if ([-ids->recent == item-]{+false+})
        set_recent(ids, 0);'
mutant empty_span_stays src/queue/ids.c \
    'if ([-span->used == 0-]{+false+}) {'
mutant span_does_not_shrink src/queue/ids.c \
    'if ([-count_bits(span_at(ids, item)->used) > sizes[size].shrinks-]{+true+})'
mutant spans_keep_their_chunks src/queue/ids.c \
    'if ([-spans->count == 0-]{+false+})'
mutant grown_span_has_the_old_places src/queue/ids.c \
    'old->entries[slot_of(old, [-size_of_span(from)-]{+size_of_span(to)+}, place)]'
mutant id_is_not_reserved src/queue/ids.c \
    '|| [-reserve_span(ids, size + 1, memory)-]{+true+};'
mutant new_span_is_not_reserved src/queue/ids.c \
    'memory) && [-reserve_span(ids, 0, memory)-]{+true+};'
mutant last_place_of_a_span_is_left_out src/queue/ids.c \
    '(count_bits(span->used) - slot[-) * sizeof *span->entries);
}-]{+ - (slot > 0)) * sizeof *span->entries);
}+}'
mutant ids_of_a_partition_waste_places src/queue/ids.c \
    'return [-ids->step == 1 ? id : id / ids->step-]{+id+};'
mutant id_of_another_partition_is_found src/queue/jobs.c \
    'return [-elapse__queue_id(entry) == id-]{+true+} ? entry : NULL;'
mutant replaced_item_ends_its_chain src/queue/index.c \
    '[-*link_of(index, item) = *link_of(index, old);-]{+*link_of(index, item) = 0;+}'

# ---- the arena ----

mutant arena_gives_less_than_was_asked_for src/base/arena.c \
    'return (uint32_t)((bytes [-+ ELAPSE__ARENA_UNIT_BYTES - 1-]) / ELAPSE__ARENA_UNIT_BYTES);'
mutant arena_gives_its_header_away src/base/arena.c \
    '[-    mark(region, 0, HEADER_UNITS, true);-]'
mutant arena_does_not_find_what_was_released src/base/arena.c \
    'region->longest = region->free_units;[-
    note_room(arena, region);-]'
mutant arena_remembers_the_longest_run_of_old src/base/arena.c \
    '[-    region->longest = region->free_units;-]'
mutant arena_keeps_empty_regions src/base/arena.c \
    'else if ([-region->free_units == BLOCK_UNITS-]{+false+} &&'
mutant arena_keeps_the_last_regions src/base/arena.c \
    '[-        give_all_back(arena, source);-]{+;+}'
mutant arena_forgets_that_the_last_region_moved src/base/arena.c \
    '[-    last->index = region->index;-]'
mutant arena_is_low_when_it_is_empty src/base/arena.c \
    'return arena->free_units < [-ELAPSE__ARENA_LOW_BYTES / ELAPSE__ARENA_UNIT_BYTES-]{+1+};'

mutant buried_jobs_of_a_block_are_not_counted src/queue/state.c \
    'elapse__queue_block_around(entry)->buried += [-(uint32_t)change-]{+0+};'
mutant the_limit_that_lets_fewest_run_is_not_named src/queue/limit.c \
    'if (jobs [-< allowed->jobs-]{+!= allowed->jobs+})'
mutant several_limits_of_groups_are_one src/queue/limit.c \
    'if ([-(rate && places)-]{+false+} || (order && (rate || places)))'
mutant a_group_waits_for_no_rate src/queue/list.c \
    'if (places > 0 && [-elapse__queue_group_tokens(queue, tube, group) < places-]{+false+}) {'
mutant list_passes_over_every_block src/queue/list.c \
    'block->buried [->-]{+<+} 0) &&'
mutant list_passes_over_none src/queue/list.c \
    'filter->state != ELAPSE__QUEUE_BURIED || [-block->buried > 0-]{+true+}) &&'
mutant list_passes_over_no_block_without_what_recurs src/queue/list.c \
    '(!filter->recurring || [-block->recurring > 0-]{+true+}))'
mutant list_does_not_ask_whether_a_job_recurs src/queue/list.c \
    'if (filter->recurring && [-!-]elapse__queue_recurs'
mutant block_counts_what_recurs_for_ever src/queue/sides.c \
    'block->recurring -= [-side->recurrence != NULL-]{+0+};'

mutant record_of_a_brief_token_says_ten_minutes src/queue/put.c \
    'queue->now.wall_ms[- - (int64_t)(ELAPSE__QUEUE_TOKEN_MS - life_ms)-]'
mutant brief_token_waits_behind_a_lasting_one src/queue/tokens.c \
    'while ([-life_ms / 1000 >> (list + 1) != 0-]{+list + 1 < ELAPSE__QUEUE_TOKEN_LISTS+})'

mutant clean_copies_every_tube src/queue/clean.c \
    'tube->record == NULL[- || tube->record->position != position-])'
mutant pause_begins_anew_at_a_start src/queue/tube_record.c \
    '(uint64_t)left_ms < settings->pause_ms ? [-(uint64_t)left_ms-]{+settings->pause_ms+} : settings->pause_ms;'
mutant clock_set_back_makes_a_pause_longer src/queue/tube_record.c \
    '(uint64_t)left_ms [-< settings->pause_ms-]{+> 0+} ? (uint64_t)left_ms : settings->pause_ms;'
mutant settings_of_before_stay_live src/queue/tube_record.c \
    '    if (record->position != 0{+ && !queue->open+})
        queue->sink->live(queue->sink, record->position,'
mutant settings_are_written_into_old_logs src/queue/pause.c \
    '    if (queue->options.old_records ||
        elapse__queue_begin(queue, 0, bytes, ELAPSE__RECORD_FOR_[-SETTING-]{+RELIEF+}))'
mutant settings_below_the_log_are_kept src/queue/forget.c \
    '    forget_jobs(queue, position);[-
    elapse__queue_tube_records_forget(queue, position);-]'
mutant paused_tube_without_jobs_ends src/queue/tubes.c \
    'tube->holds > 0 || [-tube->record != NULL-]{+elapse__queue_paused(tube)+} || tube->turns'
mutant group_of_a_transaction_is_split src/queue/write.c \
    'if ([-queue->transaction != NULL-]{+false+})
        return true;'
mutant lease_of_a_cancelled_job_guards src/queue/lease.c \
    'entry != NULL[- && elapse__queue_state_of(entry) == ELAPSE__QUEUE_RESERVED-];'
mutant transaction_keeps_no_room_for_ready_jobs src/queue/transact.c \
    'if ([-!elapse__queue_heap_keep(&tube->ready, &queue->memory)-]{+queue == NULL+})'
mutant transaction_keeps_no_room_for_a_kick src/queue/transact.c \
    'return [-(!kicks || elapse__queue_side_get(queue, entry) != NULL)-]{+(kicks || !kicks)+} &&'
mutant transaction_keeps_no_room_for_ids src/queue/transact.c \
    '[-result == ELAPSE__QUEUE_OK && plan->puts > 0-]{+plan->puts > 1000000+} &&'
mutant room_of_a_transaction_is_released src/queue/heap.c \
    'if ([-heap->kept > 0-]{+false+})'
mutant new_job_has_a_name_in_its_transaction src/queue/commands.h \
    'if ([-queue->transaction != NULL && id > queue->transaction->last_id-]{+queue == NULL+})'
mutant limits_forget_the_puts_before src/queue/transact.c \
    'queue->jobs.count + [-plan->puts-]{+1+} > queue->options.jobs_max'
mutant name_is_kept_after_the_lease src/queue/state.c \
    '[-        elapse__queue_name_drop(queue, side->holder)-]{+        (void)queue+}'
mutant lease_has_no_name_of_its_own src/queue/reserve.c \
    '[-        elapse__queue_name_share(queue, name);-]'
mutant cancelled_job_is_told_as_done src/queue/cancel.c \
    'elapse__queue_tell(queue, entry, ELAPSE__OUTCOME_[-CANCELLED-]{+DONE+})'
mutant failed_occurrence_is_not_told src/queue/occurrence.c \
    '[-        elapse__queue_tell(queue, entry, ELAPSE__OUTCOME_FAILED);-]'

mutant full_disk_refuses_a_failure_with_an_error src/queue/lease.c \
    'if (error == 0 || error == EAGAIN{+ || error == ENOSPC+})'
mutant busy_journal_drops_the_error src/queue/lease.c \
    'if (error == 0[- || error == EAGAIN-])'
mutant error_is_cut_within_a_character src/queue/lease.c \
    'for (unsigned most = [-3-]{+2+}; most > 0'
mutant kick_keeps_the_error src/queue/kick.c \
    '[-    elapse__queue_set_failure(queue, entry, ELAPSE__QUEUE_FAILURE_NONE);
-]    elapse__queue_wait_again'
mutant debounce_keeps_the_error src/queue/put.c \
    '[-        elapse__queue_set_failure(queue, plan->existing, ELAPSE__QUEUE_FAILURE_NONE);
-]        elapse__queue_leave_state'
mutant next_occurrence_has_the_error src/queue/lease.c \
    'holder->error.size > 0 && [-!elapse__queue_side_of(queue, entry)->handed_out-]{+holder->id == 0+})'
mutant error_of_a_shadow_stays_live src/queue/state.c \
    '[-    elapse__queue_set_failure(queue, entry, ELAPSE__QUEUE_FAILURE_NONE);
-]    elapse__queue_set_state(entry, ELAPSE__QUEUE_SHADOW);'
mutant error_before_stays_live src/queue/errors.c \
    '        [-queue->sink->live(queue->sink, old->position, -(int64_t)old->size)-]{+(void)old+};
    } else {'
mutant error_without_a_job_stays_live src/queue/replay.c \
    '[-    elapse__queue_errors_open(queue);
-]    elapse__queue_tube_records_open'
mutant lease_that_ended_says_nothing_after_a_start src/queue/fields.c \
    'bool lease_ended = [-(reason & REASON_LEASE_ENDED) != 0-]{+false+};'
mutant errors_are_written_into_old_logs src/queue/lease.c \
    'bool has_room = holder->error.size > 0 && [-!queue->options.old_records-]{+holder->id > 0+} &&'
mutant errors_below_the_log_are_kept src/queue/forget.c \
    '[-    elapse__queue_errors_forget(queue, position);
-]    forget_jobs'
mutant transaction_counts_no_errors src/queue/transact.c \
    ': small[- + error_bytes(change)-];'
mutant arrival_of_a_known_token_counts src/queue/arrive.c \
    '    if ([-elapse__queue_arrival_is_known-]{+false && elapse__queue_arrival_is_known+}(queue, arrival, &hash)) {'
mutant token_of_an_arrival_is_not_kept src/queue/arrive.c \
    'elapse__queue_wait_again(queue, entry, due, true);
    else
        elapse__queue_write_state(queue, entry, ELAPSE__RECORD_CHANGE);
    if (token != 0[-)-]{+ && left > 0)+}'
mutant token_of_an_arrival_is_replayed_as_that_of_a_put src/queue/replay.c \
    '.hash = [-elapse__queue_token_hash_of(queue, fields)-]{+elapse__queue_token_hash(queue, fields->token)+},'
mutant token_of_an_arrival_is_that_of_each_key src/queue/tokens.c \
    '} bytes = {[-.job = elapse__queue_key_hash(queue, tube, key)-]{+.job = {(tube.size + key.size) * 0}+}};'
mutant job_that_failed_waits_for_arrivals_again src/queue/state.c \
    '    if (side != NULL && [-side->awaits == ELAPSE__QUEUE_AWAITS_WAITING-]{+false+})
        side->awaits'
mutant arrival_without_a_record src/queue/arrive.c \
    '    else
        [-elapse__queue_write_state(queue, entry, ELAPSE__RECORD_CHANGE);-]{+(void)entry;+}'
mutant transaction_counts_no_arrival_token src/queue/transact.c \
    '? small[- + elapse__queue_arrival_token_bytes(&change->arrival)-]'
mutant replay_forgets_that_there_is_no_due_time src/queue/replay.c \
    '    if (side != NULL && replay_await(side, fields) && [-fields->no_due-]{+false+})'
mutant errors_of_a_transaction_are_relief src/queue/transact.c \
    'tells ? queue->sink->begin(queue->sink, plan->bytes, [-ELAPSE__RECORD_FOR_GROWTH-]{+ELAPSE__RECORD_FOR_RELIEF+})'
mutant dropped_errors_of_a_transaction_are_written src/queue/transact.c \
    '[-    plan->drops_errors = true;
-]    return elapse__queue_begin'
mutant busy_journal_drops_the_errors_of_a_transaction src/queue/transact.c \
    'if (error == 0[- || error == EAGAIN-])'
mutant half_an_exec_is_replayed src/queue/write.c \
    'return queue->transaction != NULL ? [-0-]{+(queue->sink->end(queue->sink), (uint64_t)queue->sink->begin(queue->sink, 600, ELAPSE__RECORD_FOR_GROWTH))+} : queue->sink->end'
