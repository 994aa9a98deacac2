# shellcheck shell=bash
# The mutants. Each call plants one fault:
#
#     mutant NAME FILE ORIGINAL REPLACEMENT [hangs]
#
# ORIGINAL must occur in FILE exactly once; it may span lines. When the code changes
# so that it does not, the script says so: then plant the same fault in the new code.
# `hangs` declares that the fault makes the library loop for ever, so that no test can end and fail.

# ---- the wheel: levels, cascades, order ----

mutant cascade_skipped src/structures/wheel_slots.h \
    'wheel->cascading |= elapse__wheel_enter_block(wheel, 1, changed);' \
    ';(void)elapse__wheel_enter_block(wheel, 1, changed);' hangs
mutant cascade_reverses_order src/structures/wheel_cascade.c \
    'if (slot >= walk->lower_slots) {' \
    'if (slot < ELAPSE__WHEEL_SLOTS) {'
mutant run_goes_on_in_another_slot src/structures/wheel_cascade.c \
    '        end_run(walk);
        entered' \
    '        entered'
mutant last_run_does_not_end src/structures/wheel_cascade.c \
    '    end_run(&walk);' \
    ''
mutant least_not_lowered_in_a_run src/structures/wheel_cascade.c \
    '    } else if (deadline < entered->least) {' \
    '    } else if (false) {'
mutant cascade_passes_a_closed_slot_with_newer_timers src/structures/wheel_cascade.c \
    '.blocked = blocked_levels(wheel, level),' \
    '.blocked = 0,'
mutant highest_level_cascaded_first src/structures/wheel_cascade.c \
    'elapse__wheel_slot_on(elapse__lowest_bit(wheel->cascading), wheel->pointer);' \
    'elapse__wheel_slot_on(elapse__highest_bit(wheel->cascading), wheel->pointer);'
mutant start_appends_in_front src/structures/wheel_slots.h \
    '    ring_node->next = ring;
    timer->deadline = deadline;
    newest->next = ring_node;
    ring->previous = ring_node;
    entered->entered = number + 1;
    ring_node->previous = newest;' \
    '    timer->deadline = deadline;
    entered->entered = number + 1;
    elapse__ring_prepend(ring, ring_node);'
mutant pointer_runs_past_an_occupied_slot src/structures/wheel.c \
    'limit = last_before < limit ? last_before : limit;' \
    '(void)last_before;'
mutant pointer_never_catches_up src/structures/wheel.c \
    '    elapse__wheel_set_pointer(wheel, limit);' \
    '    (void)limit;'
mutant pointer_catches_up_during_a_cascade src/structures/wheel.c \
    '    if (wheel->cascading == 0)
        catch_up(wheel);' \
    '    catch_up(wheel);'
mutant slot_one_too_low src/structures/wheel_geometry.h \
    '    unsigned digits = (unsigned)(tick >> elapse__wheel_shift(level));' \
    '    unsigned digits = (unsigned)((level > 0 ? tick - 1 : tick) >> elapse__wheel_shift(level));'
mutant closed_slot_takes_timers src/structures/wheel_geometry.h \
    '    level -= deadline <= wheel->last[level - 1];' \
    ''
mutant next_block_is_of_distance_only src/structures/wheel_geometry.h \
    '    uint64_t next = (pointer | (block_ticks - 1)) + block_ticks;' \
    '    uint64_t next = pointer + block_ticks - 1;'
mutant slots_of_a_next_block_forgotten src/structures/wheel_slots.h \
    'return (words & ~wheel->present_words & (lowest - 1)) | lowest;' \
    'return lowest;'

# ---- the wheel: cascades ahead of time ----

mutant never_cascaded_ahead src/structures/wheel_slots.h \
    '    elapse__wheel_work_by(wheel, elapse__wheel_closing_tick(wheel, slot));' \
    ''
mutant cascaded_ahead_too_late src/structures/wheel_cascade.c \
    'return wheel->clock + (left > batches ? left - batches : 1);' \
    'return wheel->clock + left;'
mutant whole_slot_cascaded_ahead_at_once src/structures/wheel_cascade.c \
    '    size_t share = ELAPSE__WHEEL_BATCH;' \
    '    size_t share = SIZE_MAX;'
mutant shares_forget_the_ticks_that_passed src/structures/wheel_cascade.c \
    'share = (size_t)((timers / left + 1) * ticks);' \
    'share = (size_t)(timers / left + 1);'
mutant cascade_ahead_exceeds_its_budget src/structures/wheel_cascade.c \
    '(void)cascade_slot(wheel, slot_to_cascade(wheel), &max_moves);' \
    '(void)cascade_slot(wheel, slot_to_cascade(wheel), &(size_t){max_moves + 1});'
mutant cascade_ahead_says_done_too_soon src/structures/wheel_cascade.c \
    '        if (max_moves == 0)
            return false;' \
    '        if (max_moves == 0)
            return true;'
mutant next_cascade_forgets_the_slot_at_the_pointer src/structures/wheel_cascade.c \
    '    if (wheel->cascading != 0)
        return wheel->clock;' \
    ''
mutant next_cascade_looks_at_one_level src/structures/wheel_cascade.c \
    '        first = tick < first ? tick : first;
        words = elapse__wheel_words_above(words, level);' \
    '        first = tick < first ? tick : first;
        words = 0;'
mutant next_cascade_one_slot_late src/structures/wheel_cascade.c \
    'uint64_t tick = elapse__wheel_closing_tick(wheel, first_populous(wheel, level));' \
    'uint64_t tick = elapse__wheel_first_tick(wheel->pointer, first_populous(wheel, level));'
mutant work_ahead_looks_at_one_level src/structures/wheel_cascade.c \
    '        next = tick < next ? tick : next;
        words = elapse__wheel_words_above(words, level);' \
    '        next = tick < next ? tick : next;
        words = 0;'
mutant cascade_ahead_forgets_the_least_deadline src/structures/wheel_cascade.c \
    '        wheel->ahead = wheel->clock;
        elapse__wheel_find_least(wheel);' \
    '        wheel->ahead = wheel->clock;'
mutant cascade_ahead_leaves_the_pointer_behind src/structures/wheel_cascade.c \
    '        wheel->ahead = wheel->clock;
        elapse__wheel_find_least(wheel);' \
    '        elapse__wheel_find_least(wheel);'
mutant cascade_ahead_of_an_open_slot src/structures/wheel_cascade.c \
    '        if (elapse__wheel_closing_tick(wheel, slot) <= wheel->clock)
            return slot;' \
    '        return slot;'
mutant populous_slot_stays_so_when_empty src/structures/wheel_slots.h \
    '    if (elapse__bitmap_has(wheel->populous, slot))
        elapse__wheel_clear_bit(wheel->populous, &wheel->populous_words, slot);' \
    '' hangs
mutant front_trail_outlives_a_stop src/structures/wheel_hints.h \
    '} else if (trail->stopped != wheel->stopped) {' \
    '} else if (false) {'
mutant front_trail_outlives_its_cascade src/structures/wheel_slots.h \
    '    if (slot == wheel->front_slot)
        wheel->front_slot = 0;' \
    ''

# ---- the wheel: timers alone in their slots ----

mutant alone_though_postponed src/structures/wheel_cascade.c \
    'return timer->deadline == wheel->least ? timer : NULL;' \
    'return timer;'
mutant alone_though_others_are_in_the_slot src/structures/wheel_cascade.c \
    'wheel->least_slot < ELAPSE__WHEEL_LEVEL_0_SLOTS || ring->next != ring->previous ||' \
    'wheel->least_slot < ELAPSE__WHEEL_LEVEL_0_SLOTS ||'
mutant alone_before_it_is_due src/structures/wheel_cascade.c \
    ' ||
        wheel->least > wheel->clock)' \
    ')'
mutant alone_in_a_slot_that_was_cascaded src/structures/wheel_cascade.c \
    '    if (elapse__ring_empty(ring))
        return NULL; /*' \
    '    /*'
mutant least_slot_not_kept_by_start src/structures/wheel_slots.h \
    '    wheel->least_slot = slot;
    if (deadline < wheel->wake)' \
    '    if (deadline < wheel->wake)'
mutant alone_though_an_upper_level_has_its_deadline src/structures/wheel_slots.h \
    '*least_slot = slot_least <= least ? slot : *least_slot;' \
    '*least_slot = slot_least < least ? slot : *least_slot;'

# ---- the wheel: starting idle timers ----

mutant start_idle_not_counted src/structures/wheel.c \
    'entered, deadline);
    wheel->started++;' \
    'entered, deadline);'
mutant start_in_empty_slot_not_counted src/structures/wheel.c \
    '&wheel->slots[slot], deadline);
    wheel->started++;' \
    '&wheel->slots[slot], deadline);'
mutant start_idle_keeps_a_past_deadline src/structures/wheel.c \
    '    ELAPSE__ASSERT(timer->place == 0);
    deadline = elapse__stored_deadline(wheel->clock, deadline);' \
    '    ELAPSE__ASSERT(timer->place == 0);'

# ---- the wheel: deadlines and times ----

mutant deadline_rounded_down src/structures/wheel.c \
    '    ELAPSE__ASSERT(deadline >= wheel->pointer);
    unsigned slot' \
    '    if (deadline % 8 == 7 && deadline != ELAPSE_NEVER && deadline > wheel->clock)
        deadline--;
    unsigned slot'
mutant past_deadline_kept src/structures/deadline.h \
    'return deadline > clock ? deadline : clock;' \
    'return deadline;'
mutant earlier_deadline_only_stored include/elapse/wheel.h \
    'deadline > timer->deadline && deadline >= wheel->clock &&' \
    'deadline >= wheel->clock &&'
mutant postponed_to_now_forgotten src/structures/wheel.c \
    'timer->deadline = deadline; /* it is due, and postponed to now */' \
    ''
mutant moved_timer_not_taken_out src/structures/wheel.c \
    '    (void)elapse_wheel_stop(wheel, timer);
    elapse_wheel_start_idle' \
    '    wheel->stopped++;
    elapse_wheel_start_idle'
mutant postponed_timer_popped_early src/structures/wheel_cascade.c \
    'if (oldest->deadline == tick) {' \
    'if (true) {'
mutant lone_far_timer_moved src/structures/wheel_cascade.c \
    'return timer->deadline == wheel->least ? timer : NULL;' \
    'return timer->deadline < wheel->least ? timer : NULL;'
mutant move_of_a_postponed_timer_not_counted src/structures/wheel_cascade.c \
    '    wheel->moves++;' \
    ''
mutant time_goes_backwards include/elapse/wheel.h \
    'if (now > wheel->clock)' \
    'if (now != wheel->clock)'
mutant time_not_clamped include/elapse/wheel.h \
    'wheel->clock = now < ELAPSE_NEVER ? now : ELAPSE_TIME_MAX;' \
    'wheel->clock = now;'
mutant due_one_tick_late include/elapse/wheel.h \
    'return wheel->clock < wheel->wake ? NULL' \
    'return wheel->clock <= wheel->wake ? NULL'

# ---- the wheel: occupancy, least, wake ----

mutant bit_not_cleared src/structures/wheel_slots.h \
    '*word &= ~(UINT64_C(1) << slot % 64);' \
    ''
mutant word_bit_not_cleared src/structures/wheel_slots.h \
    '*words &= ~(UINT64_C(1) << slot / 64);' \
    ';' hangs
mutant word_bit_cleared_too_soon src/structures/wheel_slots.h \
    '    if (*word == 0)
        *words' \
    '        *words'
mutant least_not_lowered_by_start src/structures/wheel.c \
    '        entered->least = deadline; /* that of the wheel is no later than any slot'\''s */
' \
    ''
mutant least_not_lowered_by_cascade src/structures/wheel_cascade.c \
    '    else if (deadline < entered->least)
        entered->least = deadline;' \
    ''
mutant least_of_an_emptied_slot_kept src/structures/wheel_slots.h \
    '    wheel->slots[slot].least = deadline;
    wheel->slots[slot].entered = 0;' \
    '    uint64_t least = wheel->slots[slot].least;
    if (least < elapse__wheel_first_tick(wheel->pointer, slot) || least > deadline)
        least = deadline;
    if (least < wheel->least)
        wheel->least = wheel->wake = least;
    wheel->slots[slot].least = least;
    wheel->slots[slot].entered = 0;'
mutant least_not_lowered_for_a_new_slot src/structures/wheel.c \
    '    elapse__wheel_open_slot(wheel, slot, deadline);
    elapse__wheel_lower_least(wheel, slot, deadline);' \
    '    elapse__wheel_open_slot(wheel, slot, deadline);'
mutant least_not_lowered_for_an_open_slot src/structures/wheel.c \
    ' /* that of the wheel is no later than any slot'\''s */
        elapse__wheel_lower_least(wheel, slot, deadline);' \
    ''
mutant wake_not_lowered src/structures/wheel_slots.h \
    '    if (deadline < wheel->wake)
        wheel->wake = deadline;' \
    ''
mutant least_kept_after_a_stop src/structures/wheel.c \
    '    if (wheel->slots[slot].least == wheel->least)
        elapse__wheel_find_least(wheel);' \
    ''
mutant wake_forgotten_after_a_pop src/structures/wheel_cascade.c \
    '        elapse__wheel_find_least(wheel);
    }
    due->place = 0;' \
    '        wheel->wake = ELAPSE_NEVER;
    }
    due->place = 0;'

# ---- the wheel: cascade, stop, memory ----

mutant cascade_forgets_the_rest src/structures/wheel_cascade.c \
    '    if (ring_node != ring)
        return false;
    elapse__wheel_mark_empty(wheel, slot);' \
    '    elapse__wheel_mark_empty(wheel, slot);'
mutant cascade_says_done_too_soon src/structures/wheel_cascade.c \
    '                elapse__wheel_find_least(wheel);
                return false;' \
    '                elapse__wheel_find_least(wheel);
                return true;'
mutant cascade_keeps_the_least_of_the_slots_it_emptied src/structures/wheel_cascade.c \
    '                elapse__wheel_find_least(wheel);
                return false;' \
    '                return false;'
mutant cascade_exceeds_its_budget src/structures/wheel_cascade.c \
    '        if (*budget == 0)
            return false;
        --*budget;' \
    ''
mutant cascade_goes_on_after_its_slot_was_emptied src/structures/wheel_slots.h \
    '        wheel->cascading &= ~(UINT32_C(1) << level);' \
    ';' hangs
mutant stopped_timer_stays_pending include/elapse/wheel.h \
    '    timer->place = 0;
    wheel->stopped++;' \
    '    wheel->stopped++;'
mutant popped_timer_stays_pending src/structures/wheel_cascade.c \
    '    due->place = 0;
' \
    ''
mutant emptied_slot_stays_open include/elapse/wheel.h \
    '    if (next == previous)
        elapse_wheel_close_slot(wheel, place);' \
    '    (void)place;'
mutant for_each_reads_a_released_timer src/base/ring.h \
    '        ring_node = next;' \
    '        ring_node = ring_node->next;'
mutant check_does_not_count src/structures/wheel_inspect.c \
    '    if (broken == 0 && count != elapse_wheel_count(wheel))
        broken = 4;' \
    ''
mutant check_overlooks_a_late_wake src/structures/wheel_inspect.c \
    'return wheel->least > least || wheel->wake > wheel->least ? 7 : 0;' \
    'return 0;'
mutant check_returns_a_wrong_number src/structures/wheel_inspect.c \
    '    if (timer->deadline < checked->wheel->slots[checked->slot].least)
        return 6;' \
    '    if (timer->deadline < checked->wheel->slots[checked->slot].least)
        return 7;'
mutant check_of_a_cascade_returns_a_wrong_number src/structures/wheel_inspect.c \
    '    if ((wheel->cascading & 1) != 0)
        return 8;' \
    '    if ((wheel->cascading & 1) != 0)
        return 2;'

# ---- windows ----

mutant window_chooses_another_tick src/structures/timer.c \
    '(earliest - 1) ^ latest' \
    'earliest ^ latest'
mutant window_ignores_now src/structures/timer.c \
    '    if (earliest < now)
        earliest = elapse__clock_at(now);' \
    '    (void)now;'

# ---- the heap ----

mutant heap_never_sifts_up src/structures/heap.c \
    'if (index > 0 && comes_before(entry, heap->entries[(index - 1) / CHILDREN]))' \
    'if (false)'
mutant heap_sifts_down_the_wrong_way src/structures/heap.c \
    'if (!comes_before(heap->entries[least], entry))' \
    'if (comes_before(heap->entries[least], entry))'
mutant heap_overlooks_the_last_child src/structures/heap.c \
    'count - first < CHILDREN ? count : first + CHILDREN' \
    'count - first < CHILDREN ? count : first + CHILDREN - 1'
mutant heap_ignores_the_arming_number src/structures/heap.c \
    'return a.timer->keep.sequence < b.timer->keep.sequence;' \
    'return false;'
mutant heap_keeps_the_old_arming_number src/structures/heap.c \
    'timer->keep.sequence = heap->sequence++;' \
    'timer->keep.sequence = timer->place == 0 ? heap->sequence++ : timer->keep.sequence;'
mutant heap_pops_late src/structures/heap.c \
    'heap->entries[0].deadline > heap->clock' \
    'heap->entries[0].deadline >= heap->clock'
mutant heap_takes_one_too_many src/structures/heap.c \
    'timer->place == 0 && heap->count == heap->capacity' \
    'timer->place == 0 && heap->count > heap->capacity'
mutant heap_walk_leaves_gaps src/structures/heap.c \
    '    if (heap->gaps > 0)
        compact(heap);' \
    ''
mutant heap_does_not_count_gaps src/structures/heap.c \
    '        heap->gaps++;' \
    ''
mutant heap_moves_into_too_little src/structures/heap.c \
    '    if (capacity < heap->count)
        return ELAPSE_ERROR_FULL;' \
    ''
mutant heap_check_returns_a_wrong_number src/structures/heap.c \
    '            return 4;' \
    '            return 3;'

# ---- the dials ----

mutant dials_slot_one_too_low src/structures/dials_level.h \
    'return (uint32_t)(elapse__dials_piece(level, tick) % level->slots);' \
    'return (uint32_t)((elapse__dials_piece(level, tick) + level->slots - 1) % level->slots);'
mutant dials_reach_one_tick_too_far src/structures/dials_level.h \
    'distance + elapse__dials_past(level, pointer) < level->span' \
    'distance + elapse__dials_past(level, pointer) <= level->span'
mutant dials_reach_counts_from_the_pointer src/structures/dials_level.h \
    'distance < level->span && distance + elapse__dials_past(level, pointer) < level->span' \
    'distance < level->span'
mutant dials_word_of_the_pointer_not_looked_at_again src/structures/dials_level.h \
    'word = word + 1 < words ? word + 1 : 0;
        bits = occupied[word];' \
    'word = word + 1 < words ? word + 1 : 0;
        bits = occupied[word] & ~(word == from / 64 ? UINT64_MAX >> (63 - from % 64) : 0);' \
    hangs
mutant dials_slots_before_the_pointer_first src/structures/dials_level.h \
    'occupied[word] & UINT64_MAX << from % 64;' \
    'occupied[word];'
mutant dials_bit_not_cleared src/structures/dials_level.h \
    'elapse__bitmap_clear(elapse__dials_occupied(level), slot);' \
    ''
mutant dials_occupied_slots_not_counted_down src/structures/dials_level.h \
    'level->occupied_slots--;' \
    '' \
    hangs
mutant dials_coarsest_level_cascaded_first src/structures/dials.c \
    'for (struct elapse__dials_level *level = dials->finest->coarser;
         level != NULL && pointer % level->width == 0; level = level->coarser) {
        uint32_t slot' \
    'for (uint32_t n = dials->levels - 1; n > 0; n--) {
        struct elapse__dials_level *level = dials->finest;
        while (level->number != n)
            level = level->coarser;
        if (pointer % level->width != 0)
            continue;
        uint32_t slot'
mutant dials_parked_cascaded_before_the_slots src/structures/dials.c \
    '    uint64_t pointer = dials->pointer;
    for (struct' \
    '    uint64_t pointer = dials->pointer;
    set_parked_aside(dials);
    if (!cascade_ring(dials, &dials->aside, budget))
        return false;
    for (struct'
mutant dials_cascade_reverses_order src/structures/dials.c \
    '        (void)place_timer(dials, timer, true);' \
    '        (void)place_timer(dials, timer, false);'
mutant dials_cascade_from_the_oldest src/structures/dials.c \
    '    struct elapse__ring_node *ring_node = ring->previous;
    size_t left = *budget;
    for (; ring_node != ring && left > 0; left--) {
        struct elapse_timer *timer = elapse__ring_timer(ring_node);
        ELAPSE__ASSERT(timer->place != 0);
        ring_node = ring_node->previous;
        (void)place_timer(dials, timer, true);
    }
    elapse__ring_close_behind(ring, ring_node);' \
    '    struct elapse__ring_node *ring_node = ring->next;
    size_t left = *budget;
    for (; ring_node != ring && left > 0; left--) {
        struct elapse_timer *timer = elapse__ring_timer(ring_node);
        ring_node = ring_node->next;
        (void)place_timer(dials, timer, true);
    }
    ring->next = ring_node;
    ring_node->previous = ring;'
mutant dials_start_as_the_oldest src/structures/dials.c \
    'lower_wake(dials, place_timer(dials, timer, false));' \
    'lower_wake(dials, place_timer(dials, timer, true));'
mutant dials_wake_not_lowered src/structures/dials.c \
    'lower_wake(dials, place_timer(dials, timer, false));' \
    '(void)place_timer(dials, timer, false);'
mutant dials_wake_at_the_deadline src/structures/dials.c \
    'begin = elapse__dials_begin(level, deadline);' \
    'begin = deadline;'
mutant dials_pointer_runs_past_a_slot src/structures/dials.c \
    'uint64_t limit = dials->wake < dials->clock ? dials->wake : dials->clock;' \
    'uint64_t limit = dials->clock;'
mutant dials_pointer_stays_behind src/structures/dials.c \
    '    dials->pointer = limit;
    dials->cascaded = false;' \
    ''
mutant dials_pointer_waits_for_stopped_timers src/structures/dials.c \
    '    if (dials->wake <= dials->clock)
        dials->wake = first_begin(dials);
    uint64_t limit' \
    '    uint64_t limit'
mutant dials_pointer_stays_behind_when_a_timer_is_started_again src/structures/dials.c \
    '        remove_timer(dials, timer);
        follow_clock(dials);' \
    '        remove_timer(dials, timer);'
mutant dials_still_cascaded_after_the_pointer_moved src/structures/dials.c \
    '    dials->pointer = limit;
    dials->cascaded = false;' \
    '    dials->pointer = limit;'
mutant dials_coarser_levels_not_looked_at src/structures/dials.c \
    'if (first <= elapse__dials_next_begin(level, dials->pointer))' \
    'if (first != ELAPSE_NEVER)'
mutant dials_parked_least_not_lowered src/structures/dials.c \
    'if (elapse__ring_empty(ring) || deadline < dials->parked_least)' \
    'if (elapse__ring_empty(ring))'
mutant dials_parked_least_of_a_stopped_timer_kept src/structures/dials.c \
    'if (elapse__ring_empty(ring) || deadline < dials->parked_least)' \
    'if (dials->parked_least == 0 || deadline < dials->parked_least)' \
    hangs
mutant dials_visit_at_the_least_deadline src/structures/dials.c \
    '           elapse__dials_begin(dials->coarsest, dials->parked_least) == dials->pointer;' \
    '           dials->parked_least == dials->pointer;' \
    hangs
mutant dials_visit_forgets_the_rest src/structures/dials.c \
    '    if (!elapse__ring_empty(&dials->aside))
        return dials->pointer;' \
    ''
mutant dials_second_visit_overwrites_the_first src/structures/dials.c \
    '    if (!elapse__ring_empty(&dials->aside) || !visit_is_due(dials))
        return;' \
    '    if (elapse__ring_empty(&dials->parked))
        return;'
mutant dials_cascade_says_done_too_soon src/structures/dials.c \
    '        if (!cascade_at_pointer(dials, budget))
            return false;' \
    '        if (!cascade_at_pointer(dials, budget))
            return true;'
mutant dials_cascade_exceeds_its_budget src/structures/dials.c \
    'for (; ring_node != ring && left > 0; left--) {' \
    'for (; ring_node != ring; left -= left > 0) {'
mutant dials_re_armed_timer_not_taken_out src/structures/dials.c \
    '        remove_timer(dials, timer);
        follow_clock(dials);' \
    '        dials->count--;'
mutant dials_failed_start_stops_the_timer src/structures/dials.c \
    '    if (!make_reach(dials, deadline))
        return ELAPSE_ERROR_MEMORY;' \
    '    if (!make_reach(dials, deadline)) {
        (void)elapse_dials_stop(dials, timer);
        return ELAPSE_ERROR_MEMORY;
    }'
mutant dials_grow_one_level_only src/structures/dials.c \
    'while (!elapse__dials_reaches(dials->coarsest, dials->pointer, deadline)) {
        if (!elapse__dials_grow(dials))
            return false;
    }' \
    'if (!elapse__dials_reaches(dials->coarsest, dials->pointer, deadline)) {
        if (!elapse__dials_grow(dials))
            return false;
    }'
mutant dials_grow_without_memory src/structures/dials.c \
    '        if (!elapse__dials_grow(dials))
            return false;' \
    '        if (!elapse__dials_grow(dials))
            break;'
mutant dials_span_wraps src/structures/dials_shape.c \
    '.span = width > UINT64_MAX / slots ? UINT64_MAX : width * slots,' \
    '.span = width * slots,'
mutant dials_reserve_a_slot_too_little src/structures/dials_shape.c \
    'delay > dials->coarsest->span - dials->coarsest->width' \
    'delay > dials->coarsest->span'
mutant dials_finish_keeps_the_levels src/structures/dials_shape.c \
    'if (level->number >= dials->storage_levels)' \
    'if (level->number > dials->storage_levels)'
mutant dials_one_slot_is_enough src/structures/dials_shape.c \
    'if (shape->slots[i] < 2)' \
    'if (shape->slots[i] < 1)'
mutant dials_for_each_overlooks_those_aside src/structures/dials_inspect.c \
    'elapse__ring_visit(&dials->aside, visit, context) &&' \
    ''
mutant dials_check_overlooks_a_late_wake src/structures/dials_inspect.c \
    '    if (dials->wake > begin)
        return 7;' \
    ''

# ---- the hashed wheel ----

mutant hashed_rounds_one_too_many_at_a_full_turn src/structures/hashed.c \
    'uint64_t ahead = timer->deadline - hashed->pointer - 1;' \
    'uint64_t ahead = timer->deadline - hashed->pointer;'
mutant hashed_slots_do_not_wrap_around src/structures/hashed.c \
    'if (slot >= hashed->slots)' \
    'if (slot > hashed->slots)'
mutant hashed_due_at_the_pointer_goes_to_a_slot src/structures/hashed.c \
    '} else if (timer->deadline <= hashed->pointer) {' \
    '} else if (timer->deadline < hashed->pointer) {'
mutant hashed_never_lies_in_a_slot src/structures/hashed.c \
    'if (timer->deadline == ELAPSE_NEVER) {' \
    'if (false) {'
mutant hashed_armed_in_a_jump_counts_from_the_pointer src/structures/hashed.c \
    'if (slot < hashed->unvisited)' \
    'if (false)'
mutant hashed_armed_in_a_jump_counts_from_before src/structures/hashed.c \
    'if (slot < hashed->unvisited)' \
    'if (elapse__hashed_jumping(hashed))'
mutant hashed_rounds_popped_early src/structures/hashed.c \
    'if (rounds < turns) {' \
    'if (rounds <= turns) {'
mutant hashed_visit_reverses_order src/structures/hashed.c \
    'elapse__ring_prepend(ring, ring_node);' \
    'elapse__ring_append(ring, ring_node);'
mutant hashed_visit_reverses_the_due src/structures/hashed.c \
    'elapse__ring_prepend(ring, &timer->keep.ring_node);' \
    'elapse__ring_append(ring, &timer->keep.ring_node);'
mutant hashed_visit_forgets_the_bit src/structures/hashed.c \
    '            mark_occupied(hashed, hashed->visiting);
' \
    ''
mutant hashed_jump_takes_one_turn src/structures/hashed.c \
    'take_aside(hashed, slot, elapse__hashed_turns(hashed, hashed->jump_origin, slot));' \
    'take_aside(hashed, slot, 1);'
mutant hashed_jump_leaves_the_due_unsorted src/structures/hashed.c \
    'if (elapse__hashed_jumping(hashed)) {
        ELAPSE__ASSERT_THAT(' \
    'if (false) {
        ELAPSE__ASSERT_THAT('
mutant hashed_jump_goes_up_the_slots src/structures/hashed.c \
    'size_t slot = elapse__hashed_last_below(hashed, hashed->unvisited);' \
    'size_t slot = elapse__hashed_first_from(hashed, 0);
    if (slot >= hashed->unvisited)
        slot = hashed->slots;'
mutant hashed_jump_overlooks_the_first_slot src/structures/hashed.c \
    'if (slot < hashed->slots) {
        hashed->unvisited = slot;' \
    'if (slot < hashed->slots && slot > 0) {
        hashed->unvisited = slot;'
mutant hashed_sort_is_not_stable src/structures/hashed_sort.h \
    'elapse__ring_prepend(elapse__hashed_ring_of_turn(hashed, turn), ring_node);' \
    'elapse__ring_append(elapse__hashed_ring_of_turn(hashed, turn), ring_node);'
mutant hashed_sort_exceeds_its_budget src/structures/hashed_sort.h \
    '        if (*budget == 0)
            return false;
        --*budget;' \
    ''
mutant hashed_sort_does_not_divide src/structures/hashed_sort.h \
    'elapse__ring_take_all(digit == 0 ?' \
    'elapse__ring_take_all(digit <= 1 ?'
mutant hashed_sort_takes_the_highest_digit_first src/structures/hashed_sort.h \
    'unsigned digit = elapse__lowest_bit(hashed->digits_occupied);' \
    'unsigned digit = elapse__highest_bit(hashed->digits_occupied);'
mutant hashed_sort_forgets_the_upper_digits src/structures/hashed_sort.h \
    'uint64_t turn = (upper | number) << shift;' \
    'uint64_t turn = (uint64_t)number << shift;
    (void)upper;'
mutant hashed_pops_in_mid_division src/structures/hashed.c \
    '        if (!elapse__hashed_divide(hashed, budget))
            return false;
        if (!elapse__ring_empty(&hashed->due))
            return true;' \
    '        if (!elapse__ring_empty(&hashed->due))
            return true;
        if (!elapse__hashed_divide(hashed, budget))
            return false;'
mutant hashed_started_in_a_sort_comes_first src/structures/hashed.c \
    'if (!elapse__hashed_sorting(hashed))
        return &hashed->due;' \
    'if (true)
        return &hashed->due;'
mutant hashed_stop_forgets_the_bucket src/structures/hashed.c \
    '        if (hashed->digits_occupied != 0)
            elapse__hashed_note_stopped(hashed, timer->deadline);
' \
    ''
mutant hashed_turn_of_slots_after_the_origin src/structures/hashed_ring.h \
    'hashed->visiting <= (size_t)(hashed->jump_origin % hashed->slots);' \
    'hashed->visiting < (size_t)(hashed->jump_origin % hashed->slots);'
mutant hashed_jump_begins_a_turn_late src/structures/hashed.c \
    'if (hashed->clock - hashed->pointer > hashed->slots) {' \
    'if ((hashed->clock - hashed->pointer) / 2 > hashed->slots) {'
mutant hashed_pops_in_mid_visit src/structures/hashed.c \
    '        if (!visit_aside(hashed, budget))
            return false;' \
    '        if (!elapse__ring_empty(&hashed->due) && !elapse__hashed_jumping(hashed))
            return true;
        if (!visit_aside(hashed, budget))
            return false;'
mutant hashed_cascade_exceeds_its_budget src/structures/hashed.c \
    '        if (*budget == 0)
            return false;
        --*budget;' \
    ''
mutant hashed_bits_of_further_words_masked src/structures/hashed_ring.h \
    '        masked = UINT64_MAX;
    }
    return hashed->slots;' \
    '    }
    return hashed->slots;'
mutant hashed_bits_of_words_before_masked src/structures/hashed_ring.h \
    'masked = UINT64_MAX;
    }
}' \
    '(void)masked;
    }
}'
mutant hashed_stop_forgets_the_bit src/structures/hashed.c \
    '            mark_empty(hashed, slot);
        if (hashed->digits_occupied' \
    '            (void)slot;
        if (hashed->digits_occupied'
mutant hashed_next_overlooks_the_slots_before src/structures/hashed.c \
    'return slot < hashed->slots ? slot : elapse__hashed_first_from(hashed, 0);' \
    'return slot;'
mutant hashed_next_is_the_pointer_in_a_jump src/structures/hashed.c \
    'return any_to_be_due(hashed) ? hashed->jump_origin + 1 : ELAPSE_NEVER;' \
    'return any_to_be_due(hashed) ? hashed->pointer : ELAPSE_NEVER;'
mutant hashed_next_of_an_empty_jump src/structures/hashed.c \
    'return any_to_be_due(hashed) ? hashed->jump_origin + 1 : ELAPSE_NEVER;' \
    'return hashed->jump_origin + 1;'
mutant hashed_next_overlooks_the_buckets src/structures/hashed.c \
    'if (hashed->digits_occupied != 0 || !elapse__ring_empty(&hashed->dividing)) {' \
    'if (!elapse__ring_empty(&hashed->dividing)) {'
mutant hashed_next_overlooks_a_division src/structures/hashed.c \
    'if (hashed->digits_occupied != 0 || !elapse__ring_empty(&hashed->dividing)) {' \
    'if (hashed->digits_occupied != 0) {'
mutant hashed_visits_counted_once_a_jump src/structures/hashed.c \
    'hashed->ticking_visits += turns;' \
    'hashed->ticking_visits++;'
mutant hashed_clear_leaves_the_jump src/structures/hashed_inspect.c \
    '    hashed->jump_origin = hashed->pointer;
    hashed->unvisited = 0;' \
    ''
mutant hashed_check_overlooks_rounds src/structures/hashed_inspect.c \
    'timer->deadline % hashed->slots == slot &&
           timer->place == 1 + (timer->deadline - visited - 1) / hashed->slots;' \
    'timer->deadline % hashed->slots == slot;'
mutant hashed_check_allows_never_in_a_slot src/structures/hashed_inspect.c \
    'timer->deadline < ELAPSE_NEVER &&' \
    'timer->deadline <= ELAPSE_NEVER &&'
mutant hashed_check_overlooks_the_order_of_the_due src/structures/hashed_inspect.c \
    'return older == &hashed->due || elapse__ring_timer(older)->deadline <= timer->deadline ? 0 : 7;' \
    '(void)older;
    return 0;'
mutant hashed_check_overlooks_buckets src/structures/hashed_inspect.c \
    'bucket.digit * ELAPSE__HASHED_BUCKETS + bucket.number == checked->bucket ? 0 : 10;' \
    'bucket.digit < ELAPSE__HASHED_DIGITS ? 0 : 10;'
mutant hashed_for_each_overlooks_buckets src/structures/hashed_inspect.c \
    'elapse__ring_visit(&hashed->dividing, visit, context) &&' \
    ''
