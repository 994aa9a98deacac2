# shellcheck shell=bash
# The mutants. tests/support/mutants.sh says how a fault is written.
#
# Each mutant breaks one of the four rules below in one place. These rules are why the structures are
# hard to change, and a test that no longer looks at one of them would pass without a sign. Plain
# faults, such as a bit that is not cleared or a count that is not kept, need no mutant: full branch
# coverage, the model, the exhaustive test and the fuzz targets compare all of that with a plain list.

# ---- order: an earlier deadline first; of equal deadlines the one that was started first ----

mutant start_appends_in_front src/structures/wheel_slots.h \
    '    [-ring_node->next = ring;
    -]timer->deadline = deadline[-;
    newest->next = ring_node;
    ring->previous = ring_node-];
    entered->entered = number + 1;
    [-ring_node->previous = newest-]{+elapse__ring_prepend(ring, ring_node)+};'
mutant cascade_reverses_order src/structures/wheel_cascade.c \
    'if (slot [->= walk->lower_slots-]{+< ELAPSE__WHEEL_SLOTS+}) {'
mutant highest_level_cascaded_first src/structures/wheel_cascade.c \
    'elapse__wheel_slot_on([-elapse__lowest_bit-]{+elapse__highest_bit+}(wheel->cascading), wheel->pointer);'
mutant cascade_passes_a_closed_slot_with_newer_timers src/structures/wheel_cascade.c \
    '.blocked = [-blocked_levels(wheel, level)-]{+0+},'
mutant closed_slot_takes_timers src/structures/wheel_geometry.h \
    '[-    level -= deadline <= wheel->last[level - 1];-]'
mutant heap_ignores_the_arming_number src/structures/heap.c \
    'return [-a.timer->keep.sequence < b.timer->keep.sequence-]{+false+};'
mutant heap_keeps_the_old_arming_number src/structures/heap.c \
    'timer->keep.sequence = {+timer->place == 0 ? +}heap->sequence++{+ : timer->keep.sequence+};'
mutant dials_coarsest_level_cascaded_first src/structures/dials.c \
    'for ([-struct elapse__dials_level *level = dials->finest->coarser;
         level != NULL && pointer % level->width == 0; level = level->coarser) {-]{+uint32_t n = dials->levels - 1; n > 0; n--) {
        struct elapse__dials_level *level = dials->finest;
        while (level->number != n)
            level = level->coarser;
        if (pointer % level->width != 0)
            continue;+}
        uint32_t slot'
mutant dials_parked_cascaded_before_the_slots src/structures/dials.c \
    '    uint64_t pointer = dials->pointer;
    {+set_parked_aside(dials);
    if (!cascade_ring(dials, &dials->aside, budget))
        return false;
    +}for (struct'
mutant dials_cascade_from_the_oldest src/structures/dials.c \
    '    struct elapse__ring_node *ring_node = ring->[-previous-]{+next+};
    size_t left = *budget;
    for (; ring_node != ring && left > 0; left--) {
        struct elapse_timer *timer = elapse__ring_timer(ring_node);
        [-ELAPSE__ASSERT(timer->place != 0);
        -]ring_node = ring_node->[-previous-]{+next+};
        (void)place_timer(dials, timer, true);
    }
    [-elapse__ring_close_behind(ring, ring_node);-]{+ring->next = ring_node;
    ring_node->previous = ring;+}'
mutant hashed_visit_reverses_order src/structures/hashed.c \
    '[-elapse__ring_prepend-]{+elapse__ring_append+}(ring, ring_node);'
mutant hashed_jump_leaves_the_due_unsorted src/structures/hashed.c \
    'if ([-elapse__hashed_jumping(hashed)-]{+false+}) {
        ELAPSE__ASSERT_THAT('
mutant hashed_sort_is_not_stable src/structures/hashed_sort.h \
    '[-elapse__ring_prepend-]{+elapse__ring_append+}(elapse__hashed_ring_of_turn(hashed, turn), ring_node);'
mutant hashed_started_in_a_sort_comes_first src/structures/hashed.c \
    'if ([-!elapse__hashed_sorting(hashed)-]{+true+})
        return &hashed->due;'

# ---- hints: a remembered deadline, wake or trail may be early, never late ----

mutant least_not_lowered_in_a_run src/structures/wheel_cascade.c \
    '    } else if ([-deadline < entered->least-]{+false+}) {'
mutant least_of_an_emptied_slot_kept src/structures/wheel_slots.h \
    '    [-wheel->slots[slot].least = deadline-]{+uint64_t least = wheel->slots[slot].least;
    if (least < elapse__wheel_first_tick(wheel->pointer, slot) || least > deadline)
        least = deadline;
    if (least < wheel->least)
        wheel->least = wheel->wake = least;
    wheel->slots[slot].least = least+};
    wheel->slots[slot].entered = 0;'
mutant least_slot_not_kept_by_start src/structures/wheel_slots.h \
    '    [-wheel->least_slot = slot;
    -]if (deadline < wheel->wake)'
mutant wake_not_lowered src/structures/wheel_slots.h \
    '[-    if (deadline < wheel->wake)
        wheel->wake = deadline;-]'
mutant wake_forgotten_after_a_pop src/structures/wheel_cascade.c \
    '        [-elapse__wheel_find_least(wheel)-]{+wheel->wake = ELAPSE_NEVER+};
    }
    due->place = 0;'
mutant alone_though_others_are_in_the_slot src/structures/wheel_cascade.c \
    'wheel->least_slot < ELAPSE__WHEEL_LEVEL_0_SLOTS ||[- ring->next != ring->previous ||-]'
mutant front_trail_outlives_a_stop src/structures/wheel_hints.h \
    '} else if ([-trail->stopped != wheel->stopped-]{+false+}) {'
mutant front_trail_outlives_its_cascade src/structures/wheel_slots.h \
    '[-    if (slot == wheel->front_slot)
        wheel->front_slot = 0;-]'
mutant check_overlooks_a_late_wake src/structures/wheel_inspect.c \
    'return[- wheel->least > least || wheel->wake > wheel->least ? 7 :-] 0;'
mutant dials_wake_at_the_deadline src/structures/dials.c \
    'begin = [-elapse__dials_begin(level, deadline)-]{+deadline+};'
mutant hashed_next_overlooks_a_division src/structures/hashed.c \
    'if (hashed->digits_occupied != 0[- || !elapse__ring_empty(&hashed->dividing)-]) {'

# ---- the trailing pointer: it follows the clock, and never passes a timer ----

mutant pointer_runs_past_an_occupied_slot src/structures/wheel.c \
    '[-limit = last_before < limit ? last_before : limit-]{+(void)last_before+};'
mutant pointer_never_catches_up src/structures/wheel.c \
    '    [-elapse__wheel_set_pointer(wheel, limit)-]{+(void)limit+};'
mutant pointer_catches_up_during_a_cascade src/structures/wheel.c \
    '    [-if (wheel->cascading == 0)
        -]catch_up(wheel);'
mutant cascade_ahead_leaves_the_pointer_behind src/structures/wheel_cascade.c \
    '        [-wheel->ahead = wheel->clock;
        -]elapse__wheel_find_least(wheel);'
mutant dials_pointer_waits_for_stopped_timers src/structures/dials.c \
    '    [-if (dials->wake <= dials->clock)
        dials->wake = first_begin(dials);
    -]uint64_t limit'
mutant dials_pointer_stays_behind_when_a_timer_is_started_again src/structures/dials.c \
    '        remove_timer(dials, timer);[-
        follow_clock(dials);-]'
mutant hashed_armed_in_a_jump_counts_from_the_pointer src/structures/hashed.c \
    'if ([-slot < hashed->unvisited-]{+false+})'

# ---- bounded work: no call exceeds its budget, and cascades ahead of time have shares ----

mutant never_cascaded_ahead src/structures/wheel_cascade.c \
    '[-    elapse__wheel_work_by(wheel, elapse__wheel_closing_tick(wheel, slot));-]'
mutant whole_slot_cascaded_ahead_at_once src/structures/wheel_cascade.c \
    '    size_t share = [-ELAPSE__WHEEL_BATCH-]{+SIZE_MAX+};'
mutant shares_forget_the_ticks_that_passed src/structures/wheel_cascade.c \
    'share = (size_t)[-(-](timers / left + 1)[- * ticks)-];'
mutant shares_count_ticks_before_there_was_work src/structures/wheel_cascade.c \
    '[-wheel->clock - wheel->ahead + 1-]{+TICKS_MOST+};'
mutant burst_enters_a_closed_slot src/structures/wheel.c \
    '[-    elapse__wheel_set_pointer(wheel, wheel->least < wheel->clock ? wheel->least : wheel->clock);-]'
mutant burst_passes_a_due_timer src/structures/wheel.c \
    '[-wheel->least < wheel->clock ? wheel->least : -]wheel->clock);
}'
mutant burst_moves_the_pointer_during_a_cascade src/structures/wheel.c \
    'slot < ELAPSE__WHEEL_LEVEL_0_SLOTS ||[- wheel->cascading != 0 ||-]'
mutant postponed_stay_in_a_crowded_slot src/structures/wheel.c \
    '[-!is_crowded(wheel, elapse__wheel_slot_of(timer->place))-]{+true+}'
mutant cascade_exceeds_its_budget src/structures/wheel_cascade.c \
    '[-        if (*budget == 0)
            return false;
        --*budget;-]'
mutant cascade_ahead_exceeds_its_budget src/structures/wheel_cascade.c \
    '(void)cascade_slot(wheel, slot_to_cascade(wheel), &[-max_moves-]{+(size_t){max_moves + 1}+});'
mutant dials_cascade_exceeds_its_budget src/structures/dials.c \
    'for (; ring_node != ring[- && left > 0; left---]{+; left -= left > 0+}) {'
mutant hashed_sort_exceeds_its_budget src/structures/hashed_sort.h \
    '[-        if (*budget == 0)
            return false;
        --*budget;-]'
