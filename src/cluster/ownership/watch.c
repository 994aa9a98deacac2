/*
 * Watches the row of a partition of which this node has no copy.
 */
#include "watch.h"

#include "../../base/assert.h"

void elapse__watch_connect(struct elapse__watch *watch)
{
    watch->has_row = watch->has_met_witness = watch->is_lost = false;
}

/* Compares the row with the witness, as far as the row alone shows it. */
static void compare(struct elapse__watch *watch, const struct elapse__balance_row *row)
{
    const struct elapse__partition_log_place *place = &watch->witness.place;
    bool is_last = row->last_group == place->group && row->last_hash == place->hash;

    if (place->group == 0 || is_last)
        watch->has_met_witness = true;
    watch->is_lost = watch->is_lost || row->last_group < place->group ||
                     (place->group > 0 && row->last_group == place->group && !is_last);
}

/* Takes a later place as the witness: a row with more groups follows on the same session (R6). */
static void advance(struct elapse__watch *watch, const struct elapse__balance_view *view,
                    const struct elapse__balance_row *row)
{
    if (!watch->has_row || !watch->has_met_witness || watch->is_lost)
        return;
    if (row->last_group > watch->last_group && watch->last_group > watch->witness.place.group)
        watch->witness = (struct elapse__partition_witness){
            {watch->last_group, watch->last_hash},
            row->epoch,
            view->system_identifier,
            view->timeline,
        };
    else if (row->epoch > watch->witness.epoch && watch->witness.place.group > 0)
        watch->witness.epoch = row->epoch;
}

bool elapse__watch_trusts(const struct elapse__watch *watch,
                          const struct elapse__balance_view *view)
{
    const struct elapse__partition_witness *witness = &watch->witness;

    return witness->place.group == 0 || (witness->system_identifier == view->system_identifier &&
                                         witness->timeline <= view->timeline);
}

void elapse__watch_take(struct elapse__watch *watch, const struct elapse__balance_view *view,
                        const struct elapse__balance_row *row, uint64_t now_ms)
{
    if (!elapse__watch_trusts(watch, view)) {
        watch->has_row = false;
        return;
    }
    compare(watch, row);
    advance(watch, view, row);
    bool is_same = watch->has_row && watch->epoch == row->epoch && watch->beat == row->beat &&
                   watch->last_group == row->last_group;
    if (!is_same)
        watch->unchanged_since_ms = now_ms;
    ELAPSE__ASSERT_THAT(now_ms, >=, watch->unchanged_since_ms);
    watch->has_row = true;
    watch->epoch = row->epoch;
    watch->beat = row->beat;
    watch->last_group = row->last_group;
    watch->last_hash = row->last_hash;
}

bool elapse__watch_doubts(const struct elapse__watch *watch, uint64_t *group)
{
    *group = watch->witness.place.group + 1;
    return watch->has_row && !watch->has_met_witness && !watch->is_lost &&
           watch->last_group > watch->witness.place.group;
}

void elapse__watch_prove(struct elapse__watch *watch, bool has_group, uint64_t hash_of_previous)
{
    watch->is_lost = has_group && hash_of_previous != watch->witness.place.hash;
    watch->has_met_witness = !watch->is_lost;
}

uint64_t elapse__watch_idle_ms(const struct elapse__watch *watch, uint64_t now_ms)
{
    return watch->has_row ? now_ms - watch->unchanged_since_ms : 0;
}
