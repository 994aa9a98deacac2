# shellcheck shell=bash disable=SC2016 # some of the C code has backticks
# The mutants. tests/support/mutants.sh says how a fault is written.

# ---- locks that are not taken again ----

mutant no_relock_after_making_room src/scheduler/admission.c \
    '    bool made = elapse__task_room_make(&room, capacity, memory);[-
    elapse__shard_lock(shard);-]'
mutant no_relock_after_losing_room src/scheduler/admission.c \
    '    elapse__task_room_release(&room, memory);[-
    elapse__shard_lock(shard);-]'
mutant no_relock_after_making_a_segment src/scheduler/admission.c \
    '    struct elapse__key_bucket *segment = elapse__key_segment_make(buckets, memory);[-
    elapse__shard_lock(shard);-]'
mutant no_relock_after_losing_a_segment src/scheduler/admission.c \
    '    elapse__release(memory, segment, buckets * sizeof *segment);[-
    elapse__shard_lock(shard);-]'
mutant no_relock_after_making_a_wheel src/scheduler/admission.c \
    '        elapse__wall_clock_wheel_make(elapse__now(scheduler).wall_clock, memory);[-
    elapse__shard_lock(shard);-]'
mutant no_relock_after_losing_a_wheel src/scheduler/admission.c \
    '    elapse__release(memory, wheel, sizeof *wheel);[-
    elapse__shard_lock(shard);-]'
mutant no_relock_after_an_action src/scheduler/run.c \
    '        [-elapse__shard_lock(shard);
        -]if (!elapse__shard_apply_change'
mutant no_relock_after_a_destructor src/scheduler/run.c \
    '    elapse__ended_task_dispose(scheduler, &ended);[-
    elapse__shard_lock(shard);-]'
mutant action_under_the_lock src/scheduler/run.c \
    '    [-elapse__shard_unlock(shard);
    -]perform(scheduler, &begun);{+
    elapse__shard_unlock(shard);+}'
mutant memory_released_under_the_lock src/scheduler/run.c \
    '    {+elapse__ended_task_dispose(scheduler, &ended);
    ended = (struct elapse__ended_task){0};
    +}elapse__shard_unlock(shard);
    elapse__scheduler_wake_at(scheduler, started);'

# ---- the work queue ----

mutant queue_takes_more_than_it_holds src/scheduler/work_queue.c \
    '[-    ELAPSE__ASSERT_THAT(count, <=, queue->capacity - queue->count);-]'
mutant clock_thread_delivers_more_than_fits src/scheduler/clock_thread.c \
    'while (count <{+=+} room && '

# ---- the key index ----

mutant key_index_gets_no_segment src/scheduler/admission.c \
    '    if (buckets [-== 0-]{+!= 64+})
        return;'
mutant key_index_stops_splitting src/scheduler/key_index.c \
    '    if (segment >= [-ELAPSE__KEY_SEGMENTS-]{+5+} ||'
mutant key_index_splits_by_another_bit src/scheduler/key_index.c \
    'if (((size_t)key->hash & index->level{+ << 1+}) == 0) {'

# ---- lost races ----

mutant lost_wheel_is_not_released src/scheduler/admission.c \
    '[-    elapse__release(memory, wheel, sizeof *wheel);-]'
mutant lost_segment_is_not_released src/scheduler/admission.c \
    '[-    elapse__release(memory, segment, buckets * sizeof *segment);-]'
mutant lost_room_is_not_released src/scheduler/admission.c \
    '[-    elapse__task_room_release(&room, memory);-]'
mutant lost_wheel_replaces_the_other src/scheduler/admission.c \
    'if ([-shard->wall_clock.wheel == NULL-]{+true+}) {'

# ---- trim ----

mutant trim_overlooks_the_first_place src/scheduler/shard_steps.c \
    '    for (unsigned i = [-0-]{+1+}; i < ELAPSE__UNLINKING_MAX; i++) {
        unlink_task'
mutant trim_overlooks_the_last_place src/scheduler/shard_steps.c \
    '    for (unsigned i = 0; i < ELAPSE__UNLINKING_MAX{+ - 1+}; i++) {
        unlink_task'
mutant trim_overlooks_the_first_block src/scheduler/trim.c \
    'for (uint32_t block = [-0-]{+1+}; more; block++) {'
mutant trim_overlooks_the_last_block src/scheduler/trim.c \
    'more = block{+ + 2+} < shard->tasks.block_count;'

# ---- states and counters ----

mutant finished_task_stays_counted src/scheduler/shard_run.c \
    '[-    shard->running--;
-]'
mutant replaced_task_stays_to_run_again src/scheduler/shard_schedule.c \
    '[-        old->runs_again = false;
-]'
mutant waiting_task_counts_as_queued src/scheduler/shard_run.c \
    'if ([-key == NULL || !elapse__key_is_in_use(key)-]{+true+}) {'
mutant key_forgets_its_pending_task src/scheduler/shard_schedule.c \
    '    [-key->pending = task;
    -]task->extra->key = key;'
mutant wake_tick_is_not_lowered src/scheduler/shard_steps.c \
    '[-    if (tick < atomic_load_explicit(&shard->wake_tick, memory_order_relaxed))
        atomic_store(&shard->wake_tick, tick);-]'
mutant block_with_room_is_not_listed src/scheduler/task_table.h \
    '    [-if (!elapse__block_has_room(block))
        elapse__list_block(table, number);
    -]task->when.next'

# ---- seven faults that the scheduler once had ----

mutant monotonic_wheel_always_first src/scheduler/shard_run.c \
    '[-    shard->wall_clock_first = !wall_clock;
-]'
mutant monotonic_task_always_first_in_order src/scheduler/due_search.c \
    '        [-atomic_store(&scheduler->wall_clock_first, !by_wall_clock)-]{+(void)by_wall_clock+};'
mutant taker_keeps_its_older_reading src/scheduler/pull.c \
    '[-        now = elapse__now_in_shard(scheduler, shard, now);
-]'
mutant busy_shard_is_always_first src/scheduler/pull.c \
    '        [-elapse__shard_note_next(shard, now)-]{+(void)now+};
    elapse__shard_unlock(shard);'
mutant older_place_in_the_queue_counts src/scheduler/run.c \
    'task->state == ELAPSE__TASK_QUEUED[- &&
        *elapse__work_queue_number_of(task) == queued.number-])'
mutant refused_worker_is_not_tried_again src/scheduler/clock_thread.c \
    '[-staffing == REFUSED ? *retry_ns : -]ELAPSE_NEVER'
mutant replaced_running_task_may_be_moved src/scheduler/shard_schedule.c \
    '[-        old->cancelled = true; /* without this mark, a reschedule could revive the old task */
-]'
mutant turn_is_passed_on_to_all src/scheduler/pull.c \
    '    [-if (is_closing(scheduler))
        -]elapse__condition_broadcast[-(&scheduler->pull_turn);
    else
        elapse__condition_signal-](&scheduler->pull_turn);
    elapse__unlock(&scheduler->pull_lock);
}
[-
/* Takes the turn if no thread has it. Otherwise waits until `until_ns` for a thread to pass the
 * turn on. Returns whether the calling thread has the turn. Stores in `*waited` whether it has
 * waited. A thread takes a free turn even if its time is over, because it may have been woken for
 * this turn; it passes the turn on when it leaves. */-]
static bool wait_for_turn(struct elapse_scheduler *scheduler, uint64_t until_ns, bool *waited)
{
    bool in_time = true;
    *waited = false;
    elapse__lock(&scheduler->pull_lock);
    [-while-]{+if+} (scheduler->pull_turn_taken && !is_closing(scheduler) && in_time) {'
mutant refused_alarm_counts_as_set src/scheduler/sleeper.c \
    '    [-if (elapse__os->alarm_set(&alarm->os, elapse__tick_begins_ns(tick, sleeper->tick_ns)) != 0)
        return false-]{+(void)elapse__os->alarm_set(&alarm->os, elapse__tick_begins_ns(tick, sleeper->tick_ns))+};'
mutant start_does_not_try_its_alarms src/scheduler/sleeper.c \
    '        [-elapse__os->alarm_set(&sleeper->monotonic.os, ELAPSE__OS_NEVER) == 0 &&
        elapse__os->alarm_set(&sleeper->wall_clock.os, ELAPSE__OS_NEVER) == 0-]{+true+})'
mutant key_is_free_during_the_destructor src/scheduler/key_index.h \
    'return key->running != NULL[- || key->destroying > 0-];'
mutant trim_keeps_the_key_index src/scheduler/trim.c \
    '    } while ([-!joined || segment != NULL-]{+false+});'

# ---- workers that leave ----

mutant worker_that_stays_wakes_up_again src/scheduler/work_queue.c \
    '            until_ns = [-ELAPSE__OS_NEVER-]{+idle_until_ns(queue)+}; /* the worker stays'
mutant fewer_workers_stay_than_must src/scheduler/work_queue.c \
    'queue->idle + queue->busy >{+=+} queue->stay'
mutant worker_leaves_although_a_task_has_come src/scheduler/work_queue.c \
    'if (in_time || queue->[-count > 0 || queue->-]ending)'
mutant worker_leaves_while_another_is_being_made src/scheduler/work_queue.c \
    '        if[- (queue->making)
            until_ns = idle_until_ns(queue);
        else if-]'
mutant worker_that_has_left_counts_as_idle src/scheduler/work_queue.c \
    '    [-queue->idle--;
    -]worker->left = true;'
mutant worker_that_leaves_joins_nobody src/scheduler/workers.c \
    '[-    join_worker(scheduler, worker.to_join);-]'
mutant close_joins_none_that_have_left src/scheduler/workers.c \
    '[-    join_worker(scheduler, elapse__work_queue_take_left(&scheduler->queue));-]'

# ---- closing ----

mutant close_forgets_that_all_are_to_run src/scheduler/close.c \
    'close_shards(scheduler, [-scheduler->runs_all-]{+false+}); /*'
mutant close_drops_tasks_that_wait_for_a_destructor src/scheduler/close.c \
    '[- ||
            !wait_for_keys(scheduler, now, until_ns)-])
            return false;'
mutant destructor_wakes_no_close src/scheduler/callback.c \
    'bool tells_close = [-ended->held_key != NULL && ended->shard->closed-]{+false+};'
mutant close_waits_for_all_keys_at_once src/scheduler/close.c \
    'if ([-elapse__is_anything_due(scheduler, now) || -]!any_waits_for_key(scheduler))'
mutant recurring_tasks_stay_while_delayed_run src/scheduler/close.c \
    'return [-(recurrence == NULL || recurrence->kind == ELAPSE_RECUR_NEVER) &&
           -]elapse__shard_deadline_ns(shard, task) != ELAPSE_NEVER;'
mutant tasks_that_never_come_due_stay_while_delayed_run src/scheduler/close.c \
    'kind == ELAPSE_RECUR_NEVER)[- &&
           elapse__shard_deadline_ns(shard, task) != ELAPSE_NEVER-];'
mutant recurring_task_runs_on_while_delayed_run src/scheduler/close.c \
    '            [-elapse__shard_cancel_next_run-]{+(void)(+}(shard, task){+)+};
        else'
mutant only_the_first_shard_is_waited_for src/scheduler/close.c \
    'for (unsigned i = 0; i < [-scheduler->options.shards-]{+1+}; i++) {
        /* A closed'
mutant steps_end_while_delayed_run src/scheduler/step.c \
    'life) >= (int)ELAPSE__LIFE_[-CLOSING-]{+RUNS_DELAYED+})'
mutant cancel_wakes_no_close src/scheduler/shard_steps.c \
    'if (task->waited[- || shard->closed-])'
mutant new_one_closes_to_run_delayed_tasks src/scheduler/close.c \
    'bool may_be_new = [-!delayed || scheduler->options.clock == ELAPSE_CLOCK_MANUAL-]{+true+};'
mutant ended_task_counts_as_overdue src/scheduler/due_list.c \
    'if ([-shard->pending == 0-]{+false+})'

# ---- leases ----

mutant batch_goes_on_after_a_destructor src/scheduler/pull.c \
    'batch->complete = [-batch->count > 0-]{+false+};'
mutant leases_of_a_batch_end_one_after_another src/scheduler/pull.c \
    '        elapse__lease_begin(shard, lease, [-until_tick-]{+lease_end_tick(scheduler)+});
        taken[begun]'
mutant turn_is_kept_during_a_destructor src/scheduler/pull.c \
    '    [-if (*has_turn)
        pass_turn_on(scheduler, has_turn);
    ELAPSE__ASSERT(!*has_turn);-]{+(void)has_turn;+}
    elapse__ended_task_dispose'
mutant close_waits_for_the_turn_without_end src/scheduler/pull.c \
    'elapse__condition_wait_at_most(&scheduler->pull_turn, &scheduler->pull_lock, [-until_ns-]{+ELAPSE_NEVER+});'
mutant change_is_not_handed_back src/scheduler/close.c \
    '        (void)elapse__shard_apply_change[-(shard, task)-];'

mutant expired_leases_come_first src/scheduler/shard_run.c \
    'take_out_of(shard, &shard->wheel, [-lease->until_tick-]{+0+}, taken);'
mutant due_tasks_come_before_expired_leases src/scheduler/shard_run.c \
    'take_out_of(shard, &shard->wheel, [-lease->until_tick-]{+ELAPSE_NEVER+}, taken);'
mutant due_task_comes_first_at_the_end_of_a_lease src/scheduler/shard_run.c \
    'elapse_wheel_next(wheel) >[-=-] before)'
mutant only_the_first_deadline_is_compared_with_a_lease src/scheduler/shard_run.c \
    '    {+if (before != ELAPSE_NEVER && elapse_wheel_next(wheel) >= before)
        return ELAPSE__DUE_NONE;
    +}for (;;) {
        if (!elapse_wheel_cascade(wheel, MOVES_AT_ONCE))
            return ELAPSE__DUE_MORE;[-
        if (before != ELAPSE_NEVER && elapse_wheel_next(wheel) >= before)
            return ELAPSE__DUE_NONE;-]'
mutant wall_clock_gets_the_turn_of_a_cancelled_task src/scheduler/pull.c \
    '[-shard->wall_clock_first = false-]{+(void)shard+}; /* the next'

# ---- cascades ahead of time ----

mutant shards_never_cascade_ahead src/scheduler/clock_thread.c \
    'shard->cascades_ahead = [-!shard->closed-]{+false+};'
mutant sleeps_through_a_cascade src/scheduler/clock_thread.c \
    '[-until.monotonic = cascade_tick < until.monotonic ? cascade_tick : until.monotonic-]{+(void)cascade_tick+};'
mutant cascade_tick_not_announced src/scheduler/shard.h \
    'return cascade_tick < [-tick-]{+1+} ? cascade_tick : tick;'
mutant cascade_tick_not_noted_by_starts src/scheduler/shard_steps.c \
    'if ([-task->index % STARTS_PER_LOOK == 0-]{+false+})'
mutant earliest_cascade_of_the_first_shard src/scheduler/due_search.c \
    'uint64_t tick = atomic_load(&scheduler->shards[[-i-]{+0+}].cascade_tick);'
mutant earliest_cascade_of_the_last_shard src/scheduler/due_search.c \
    'earliest = tick[- < earliest ? tick : earliest-];'

# ---- what fuzzing has found ----

mutant change_of_a_running_task_is_not_compared src/scheduler/shard_change.c \
    'if ([-recurrence.changed-]{+false+})'
mutant first_tick_is_not_noted src/scheduler/shard_deadline.c \
    'task->extra->noted{+ && task->extra->noted_tick != 0+})'

# ---- running now by the wall clock ----

mutant cron_task_that_runs_now_forgets_its_plan src/scheduler/shard_change.c \
    '[-    recurrence->planned_ns = recurrence->occurrence_ns;-]'
mutant running_cron_task_that_runs_now_forgets_its_plan src/scheduler/shard_run.c \
    '            recurrence->planned_ns = [-next_occurrence->ns-]{+0+};'
mutant due_task_by_the_wall_clock_is_moved_to_now src/scheduler/shard_change.c \
    'task->state != ELAPSE__TASK_PENDING[- || recurrence->occurrence_ns <= move->deadline_ns-]'
