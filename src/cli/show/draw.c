/*
 * Turns a snapshot into lines of text.
 */
#include "draw.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../base/assert.h"

/* The columns beside a strip: "> 64 |" on its left and "| 127" on its right. */
#define STRIP_LEFT  5
#define STRIP_RIGHT 4
#define CELLS_MAX   64

/* How many slots are listed below a level without --all. */
#define SLOTS_LISTED 8

/* ---- strips ---- */

/* Returns how many cells a line of the strip has. The number is the same for all levels. */
static unsigned cells_in_line(const struct show_canvas *canvas, const struct show_level *level)
{
    unsigned cells = CELLS_MAX;

    while (cells + STRIP_LEFT + STRIP_RIGHT + 2 > canvas->look.columns)
        cells /= 2;
    ELAPSE__ASSERT(cells > 0);
    return cells < level->slot_count ? cells : level->slot_count;
}

/* Draws the upper or lower edge of a strip. A label begins at `label_cell`. */
static void draw_edge(struct show_canvas *canvas, bool is_upper, unsigned cells,
                      unsigned pointer_cell, const char *label, unsigned label_cell)
{
    size_t label_length = strlen(label);

    ELAPSE__ASSERT(cells > 0);
    canvas_move_to(canvas, STRIP_LEFT);
    canvas_glyph(canvas, STYLE_FAINT, is_upper ? GLYPH_TOP_LEFT : GLYPH_BOTTOM_LEFT);
    for (unsigned cell = 0; cell < cells; cell++) {
        if (cell == pointer_cell) {
            canvas_glyph(canvas, STYLE_POINTER, GLYPH_POINTER);
        } else if (cell == label_cell && label_length > 0) {
            canvas_text(canvas, is_upper ? STYLE_POINTER : STYLE_PLAIN, "%s", label);
            cell += (unsigned)label_length - 1;
        } else {
            canvas_glyph(canvas, STYLE_FAINT, GLYPH_HORIZONTAL);
        }
    }
    canvas_glyph(canvas, STYLE_FAINT, is_upper ? GLYPH_TOP_RIGHT : GLYPH_BOTTOM_RIGHT);
    canvas_end_line(canvas);
}

/* Returns the label of the pointer's mark. On a level above 0 the label says which ticks are on the
 * levels below: those of the pointer's slot, and in a wheel also those of the next slot. */
static struct show_phrase pointer_label(const struct show_geometry *geometry, unsigned level,
                                        uint64_t now, bool is_occupied)
{
    struct show_phrase label = {" now "};
    const struct show_level *drawn = &geometry->levels[level];
    uint64_t first = now - now % drawn->slot_ticks;
    uint64_t last = first + (drawn->slot_ticks - 1);

    ELAPSE__ASSERT(drawn->slot_ticks > 0);
    if (geometry->design == SHOW_WHEEL && last < UINT64_MAX)
        last += drawn->slot_ticks;
    if (level > 0 && is_occupied)
        snprintf(label.text, sizeof label.text, " now; nothing in this slot is due yet ");
    else if (level > 0)
        snprintf(label.text, sizeof label.text, " now; [%" PRIu64 ",%" PRIu64 "] is on %s ", first,
                 last, level == 1 ? "level 0" : "the levels below");
    return label;
}

static void draw_upper_edge(struct show_canvas *canvas, unsigned cells, unsigned pointer_cell,
                            const char *label)
{
    unsigned length = (unsigned)strlen(label);
    bool fits_right = pointer_cell + 1 + length <= cells;
    bool fits_left = length <= pointer_cell;

    ELAPSE__ASSERT(pointer_cell < cells);
    if (!fits_right && !fits_left && strcmp(label, " now ") != 0)
        draw_upper_edge(canvas, cells, pointer_cell, " now ");
    else if (fits_right)
        draw_edge(canvas, true, cells, pointer_cell, label, pointer_cell + 1);
    else
        draw_edge(canvas, true, cells, pointer_cell, fits_left ? label : "",
                  fits_left ? pointer_cell - length : 0);
}

static void draw_lower_edge(struct show_canvas *canvas, unsigned cells,
                            const struct show_geometry *geometry, struct show_range covered)
{
    char label[64] = " covers no tick at present ";

    if (geometry->design == SHOW_HASHED)
        snprintf(label, sizeof label, " each slot again every %u ticks ",
                 geometry->levels[0].slot_count);
    else if (covered.first <= covered.last)
        snprintf(label, sizeof label, " covers [%" PRIu64 ",%" PRIu64 "] ", covered.first,
                 covered.last);
    if (strlen(label) + 1 <= cells) {
        draw_edge(canvas, false, cells, cells, label, 1);
        return;
    }
    draw_edge(canvas, false, cells, cells, "", cells);
    canvas_text(canvas, STYLE_PLAIN, "%*s%s", STRIP_LEFT, "", label);
    canvas_end_line(canvas);
}

static void draw_cell(struct show_canvas *canvas, size_t timers, bool takes_none)
{
    if (timers > 9)
        canvas_glyph(canvas, STYLE_TIMER, GLYPH_MANY_TIMERS);
    else if (timers > 0)
        canvas_text(canvas, STYLE_TIMER, "%zu", timers);
    else
        canvas_glyph(canvas, STYLE_FAINT, takes_none ? GLYPH_CLOSED_SLOT : GLYPH_EMPTY_SLOT);
}

void draw_strip(struct show_canvas *canvas, const struct show_geometry *geometry, unsigned level,
                const struct show_snapshot *snapshot)
{
    const struct show_level *drawn = &geometry->levels[level];
    const struct elapse_slot *slots;
    size_t slot_count = show_slots_of_level(snapshot, level, &slots);
    unsigned cells = cells_in_line(canvas, drawn);
    unsigned pointer = show_slot_at(drawn, snapshot->now);
    bool is_pointer_occupied = false;

    ELAPSE__ASSERT(level < geometry->level_count);
    for (size_t i = 0; i < slot_count; i++)
        is_pointer_occupied |= slots[i].slot == pointer;
    draw_upper_edge(canvas, cells, pointer % cells,
                    pointer_label(geometry, level, snapshot->now, is_pointer_occupied).text);
    for (unsigned begin = 0; begin < drawn->slot_count; begin += cells) {
        bool is_pointed_at = cells < drawn->slot_count && pointer / cells == begin / cells;
        canvas_text(canvas, STYLE_POINTER, "%s", is_pointed_at ? ">" : " ");
        canvas_text(canvas, STYLE_FAINT, "%3u ", begin);
        canvas_glyph(canvas, STYLE_FAINT, GLYPH_VERTICAL);
        unsigned end = begin + cells < drawn->slot_count ? begin + cells : drawn->slot_count;
        for (unsigned number = begin; number < end; number++) {
            size_t timers = 0;
            if (slot_count > 0 && slots->slot == number) {
                timers = slots->count;
                slots++;
                slot_count--;
            }
            draw_cell(canvas, timers, show_slot_takes_none(geometry, level, number, snapshot->now));
        }
        canvas_move_to(canvas, STRIP_LEFT + 1 + cells);
        canvas_glyph(canvas, STYLE_FAINT, GLYPH_VERTICAL);
        canvas_text(canvas, STYLE_FAINT, " %u", end - 1);
        canvas_end_line(canvas);
    }
    draw_lower_edge(canvas, cells, geometry, show_level_covers(geometry, level, snapshot->now));
}

/* ---- levels ---- */

static void draw_heading(struct show_canvas *canvas, const struct show_geometry *geometry,
                         unsigned level, const struct elapse_slot *slots, size_t slot_count)
{
    const struct show_level *drawn = &geometry->levels[level];
    size_t timers = 0;

    ELAPSE__ASSERT(level < geometry->level_count);
    for (size_t i = 0; i < slot_count; i++)
        timers += slots[i].count;
    canvas_text(canvas, STYLE_STRONG, "level %u", level);
    canvas_text(canvas, STYLE_PLAIN, "   %u slots of %s tick%s   ", drawn->slot_count,
                ticks_text(drawn->slot_ticks).text, drawn->slot_ticks == 1 ? "" : "s");
    if (timers == 0)
        canvas_text(canvas, STYLE_FAINT, "empty");
    else
        canvas_text(canvas, STYLE_TIMER, "%s in %s", amount_of(timers, "timer").text,
                    amount_of(slot_count, "slot").text);
    canvas_end_line(canvas);
}

/* Returns "1000", or "1000 (3)" for three timers. In a hashed wheel returns "1000 (16 rounds)" or
 * "1000 (3 timers, 16 rounds)" if the slot is visited before the deadline. */
static struct show_phrase deadline_text(const struct show_wheel *show,
                                        const struct show_snapshot *snapshot, uint64_t deadline,
                                        size_t timers)
{
    struct show_phrase phrase = {"never"};
    uint64_t rounds = show_rounds_left(&show->geometry, snapshot->now, deadline);

    ELAPSE__ASSERT(timers > 0);
    if (deadline != ELAPSE_NEVER)
        snprintf(phrase.text, sizeof phrase.text, "%" PRIu64, deadline);
    size_t length = strlen(phrase.text);
    const char *plural = rounds == 1 ? "" : "s";
    char *end = phrase.text + length;
    size_t room = sizeof phrase.text - length;
    if (rounds > 0 && timers > 1)
        snprintf(end, room, " (%zu timers, %" PRIu64 " round%s)", timers, rounds, plural);
    else if (rounds > 0)
        snprintf(end, room, " (%" PRIu64 " round%s)", rounds, plural);
    else if (timers > 1)
        snprintf(end, room, " (%zu)", timers);
    return phrase;
}

static void list_deadlines(struct show_canvas *canvas, const struct show_wheel *show,
                           const struct show_snapshot *snapshot, const struct elapse_slot *slot)
{
    struct show_deadlines deadlines = show_deadlines_in(show, snapshot, slot);
    uint64_t deadline;
    size_t timers;
    const char *separator = NULL;

    while (show_deadlines_next(&deadlines, &deadline, &timers)) {
        struct show_phrase phrase = deadline_text(show, snapshot, deadline, timers);
        if (!canvas_list_next(canvas, separator, deadlines.left == 0,
                              (unsigned)strlen(phrase.text)))
            return;
        canvas_text(canvas, STYLE_PLAIN, "%s", phrase.text);
        separator = ", ";
    }
}

static void list_slots(struct show_canvas *canvas, const struct show_wheel *show,
                       const struct show_snapshot *snapshot, const struct elapse_slot *slots,
                       size_t slot_count, size_t listed)
{
    int range_columns = 0;
    int amount_columns = 0;

    ELAPSE__ASSERT(slot_count > 0);
    for (size_t i = 0; i < slot_count && i < listed; i++) {
        int columns = (int)strlen(range_text(slots[i].first_tick, slots[i].last_tick).text);
        range_columns = columns > range_columns ? columns : range_columns;
        columns = (int)strlen(amount_of(slots[i].count, "timer").text);
        amount_columns = columns > amount_columns ? columns : amount_columns;
    }
    for (size_t i = 0; i < slot_count && i < listed; i++) {
        canvas_text(canvas, STYLE_PLAIN, "     slot %3u  ", slots[i].slot);
        canvas_text(canvas, STYLE_PLAIN, "%-*s  ", range_columns,
                    range_text(slots[i].first_tick, slots[i].last_tick).text);
        canvas_text(canvas, STYLE_TIMER, "%-*s  ", amount_columns,
                    amount_of(slots[i].count, "timer").text);
        canvas_text(canvas, STYLE_PLAIN, "due ");
        list_deadlines(canvas, show, snapshot, &slots[i]);
        canvas_end_line(canvas);
    }
    if (slot_count > listed) {
        canvas_text(canvas, STYLE_FAINT, "     and %s more; --all lists every one",
                    amount_of(slot_count - listed, "slot").text);
        canvas_end_line(canvas);
    }
}

/* Lists the deadlines of a slot in the line of its level. Returns false if the line is full. */
static bool list_slot_briefly(struct show_canvas *canvas, const struct show_wheel *show,
                              const struct show_snapshot *snapshot, const struct elapse_slot *slot,
                              bool is_first, bool is_last)
{
    struct show_deadlines deadlines = show_deadlines_in(show, snapshot, slot);
    uint64_t deadline;
    size_t timers;
    struct show_phrase range = range_text(slot->first_tick, slot->last_tick);
    const char *separator = is_first ? NULL : "; ";
    bool is_begun = false;

    while (show_deadlines_next(&deadlines, &deadline, &timers)) {
        struct show_phrase phrase = deadline_text(show, snapshot, deadline, timers);
        char text[192];
        int length = is_begun ? snprintf(text, sizeof text, "%s", phrase.text)
                              : snprintf(text, sizeof text, "slot %u %s: %s", slot->slot,
                                         range.text, phrase.text);
        if (!canvas_list_next(canvas, separator, is_last && deadlines.left == 0, (unsigned)length))
            return false;
        canvas_text(canvas, STYLE_PLAIN, "%s", text);
        separator = ", ";
        is_begun = true;
    }
    return true;
}

/* Lists the occupied slots of a level on one line. */
static void list_slots_briefly(struct show_canvas *canvas, const struct show_wheel *show,
                               const struct show_snapshot *snapshot,
                               const struct elapse_slot *slots, size_t slot_count)
{
    bool has_room = true;

    ELAPSE__ASSERT(slot_count > 0);
    canvas_move_to(canvas, STRIP_LEFT);
    for (size_t i = 0; i < slot_count && has_room; i++)
        has_room =
            list_slot_briefly(canvas, show, snapshot, &slots[i], i == 0, i + 1 == slot_count);
    canvas_end_line(canvas);
}

/* Draws one line for the empty levels from `first` to `last`. */
static void draw_empty_levels(struct show_canvas *canvas, const struct show_geometry *geometry,
                              unsigned first, unsigned last, uint64_t now)
{
    struct show_range covered = {0};
    bool covers_any = false;

    ELAPSE__ASSERT(first <= last);
    ELAPSE__ASSERT(last < geometry->level_count);
    for (unsigned level = first; level <= last; level++) {
        struct show_range of_level = show_level_covers(geometry, level, now);
        if (of_level.first > of_level.last)
            continue;
        covered.first = covers_any ? covered.first : of_level.first;
        covered.last = of_level.last;
        covers_any = true;
    }
    if (first == last)
        canvas_text(canvas, STYLE_FAINT, "level %u   slots of %s tick%s   empty", first,
                    ticks_text(geometry->levels[first].slot_ticks).text, first == 0 ? "" : "s");
    else
        canvas_text(canvas, STYLE_FAINT, "levels %u to %u   slots of %s to %s ticks   empty", first,
                    last, ticks_text(geometry->levels[first].slot_ticks).text,
                    ticks_text(geometry->levels[last].slot_ticks).text);
    if (covers_any && covered.last >= ELAPSE_TIME_MAX)
        canvas_text(canvas, STYLE_FAINT, "   covers %" PRIu64 " and on", covered.first);
    else if (covers_any)
        canvas_text(canvas, STYLE_FAINT, "   covers [%" PRIu64 ",%s]", covered.first,
                    last_tick_text(covered.last).text);
    canvas_end_line(canvas);
}

/* ---- the wheel ---- */

static void draw_title(struct show_canvas *canvas, const struct show_wheel *show,
                       const struct show_snapshot *snapshot)
{
    static const char *const names[] = {
        [SHOW_WHEEL] = "A timing wheel",
        [SHOW_DIALS] = "Dials",
        [SHOW_HASHED] = "A hashed wheel",
    };
    bool has_next = snapshot->next != ELAPSE_NEVER;
    bool is_wheel = show->geometry.design == SHOW_WHEEL;

    canvas_text(canvas, STYLE_STRONG, "%s at tick %" PRIu64 ":", names[show->geometry.design],
                snapshot->now);
    canvas_text(canvas, STYLE_PLAIN, " %s pending%s", amount_of(snapshot->pending, "timer").text,
                has_next ? "," : "");
    if (has_next)
        canvas_text(canvas, STYLE_PLAIN, " the next %s at tick %" PRIu64,
                    is_wheel ? "due" : "visit", snapshot->next);
    canvas_end_line(canvas);
}

/* Draws the empty levels from `first` on. Returns the number of the next level that is not empty,
 * or `limit`. */
static unsigned draw_empty_levels_from(struct show_canvas *canvas, const struct show_wheel *show,
                                       const struct show_snapshot *snapshot, unsigned first,
                                       unsigned limit)
{
    const struct elapse_slot *slots;
    unsigned level = first + 1;

    ELAPSE__ASSERT(first < limit);
    while (level < limit && show_slots_of_level(snapshot, level, &slots) == 0)
        level++;
    draw_empty_levels(canvas, &show->geometry, first, level - 1, snapshot->now);
    return level;
}

/* Draws the timers that are in no slot. In dials they are parked until the levels cover their
 * deadline. A hashed wheel keeps timers that are due, and timers that are never due, outside its
 * slots. */
static void draw_beyond_levels(struct show_canvas *canvas, const struct show_wheel *show,
                               const struct show_snapshot *snapshot)
{
    const struct elapse_slot *slots;
    size_t slot_count = show_slots_of_level(snapshot, show->geometry.level_count, &slots);

    for (size_t i = 0; i < slot_count; i++) {
        bool is_never = slots[i].least == ELAPSE_NEVER;
        bool is_parked = !is_never && show->geometry.design == SHOW_DIALS;
        canvas_end_line(canvas);
        canvas_text(canvas, STYLE_STRONG,
                    is_never    ? "never due"
                    : is_parked ? "parked"
                                : "due now");
        canvas_text(canvas, STYLE_TIMER, "   %s", amount_of(slots[i].count, "timer").text);
        if (is_parked) {
            canvas_text(canvas, STYLE_PLAIN, "   past what the levels cover: due ");
            list_deadlines(canvas, show, snapshot, &slots[i]);
        }
        canvas_end_line(canvas);
    }
}

void draw_wheel(struct show_canvas *canvas, const struct show_wheel *show,
                const struct show_snapshot *snapshot, bool all_slots)
{
    const struct show_geometry *geometry = &show->geometry;
    const struct elapse_slot *slots;
    unsigned level = 0;

    draw_title(canvas, show, snapshot);
    while (level < geometry->level_count) {
        size_t slot_count = show_slots_of_level(snapshot, level, &slots);
        canvas_end_line(canvas);
        if (slot_count == 0) {
            level = draw_empty_levels_from(canvas, show, snapshot, level, geometry->level_count);
            continue;
        }
        draw_heading(canvas, geometry, level, slots, slot_count);
        draw_strip(canvas, geometry, level, snapshot);
        list_slots(canvas, show, snapshot, slots, slot_count, all_slots ? SIZE_MAX : SLOTS_LISTED);
        level++;
    }
    draw_beyond_levels(canvas, show, snapshot);
}

void draw_wheel_briefly(struct show_canvas *canvas, const struct show_wheel *show,
                        const struct show_snapshot *snapshot, unsigned level_limit)
{
    const struct elapse_slot *slots;
    unsigned level = 0;
    unsigned left_out = 0;

    ELAPSE__ASSERT(level_limit <= show->geometry.level_count);
    draw_title(canvas, show, snapshot);
    while (level < level_limit) {
        size_t slot_count = show_slots_of_level(snapshot, level, &slots);
        if (slot_count == 0) {
            level = draw_empty_levels_from(canvas, show, snapshot, level, level_limit);
            continue;
        }
        draw_heading(canvas, &show->geometry, level, slots, slot_count);
        draw_strip(canvas, &show->geometry, level, snapshot);
        list_slots_briefly(canvas, show, snapshot, slots, slot_count);
        level++;
    }
    for (; level < show->geometry.level_count; level++)
        left_out += show_slots_of_level(snapshot, level, &slots) > 0;
    if (left_out > 0) {
        canvas_text(canvas, STYLE_STRONG, "%s more: make the window taller",
                    amount_of(left_out, "level").text);
        canvas_end_line(canvas);
    }
}

void draw_legend(struct show_canvas *canvas, enum show_design design)
{
    static const char *const ranges_read[] = {
        [SHOW_WHEEL] =
            "[first,last] are ticks; a level covers now's slot above it and the next one.",
        [SHOW_DIALS] =
            "[first,last] are ticks; a level covers as many as its slots take from now's on.",
        [SHOW_HASHED] = "A slot is visited once a turn; its timers that have rounds left stay.",
    };

    canvas_text(canvas, STYLE_PLAIN, "A cell is a slot: ");
    canvas_glyph(canvas, STYLE_FAINT, GLYPH_EMPTY_SLOT);
    canvas_text(canvas, STYLE_PLAIN, " empty, ");
    canvas_text(canvas, STYLE_TIMER, "1-9");
    canvas_text(canvas, STYLE_PLAIN, " timers, ");
    canvas_glyph(canvas, STYLE_TIMER, GLYPH_MANY_TIMERS);
    if (design == SHOW_WHEEL) {
        canvas_text(canvas, STYLE_PLAIN, " ten or more, blank: takes no timer");
    } else {
        canvas_text(canvas, STYLE_PLAIN, " ten or more; now is at ");
        canvas_glyph(canvas, STYLE_POINTER, GLYPH_POINTER);
    }
    canvas_end_line(canvas);
    canvas_text(canvas, STYLE_PLAIN, "Beside a row are the numbers of its first and last slot; ");
    canvas_text(canvas, STYLE_POINTER, ">");
    canvas_text(canvas, STYLE_PLAIN, " is the row of now.");
    canvas_end_line(canvas);
    canvas_text(canvas, STYLE_PLAIN, "%s", ranges_read[design]);
    canvas_end_line(canvas);
}
