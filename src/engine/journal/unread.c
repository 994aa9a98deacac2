/*
 * Keeps the places that the disk cannot read. A failed read does not mean that the record is
 * damaged, because a disk, a controller or a network may work again a second later. So nobody reads
 * such a place for a while. Then it is tried again, for as long as it takes.
 *
 *      a place, a page of 4 KiB:
 *
 *      (unknown) --failed--> LEFT ALONE --its time has come--> TRIED --failed--> LEFT ALONE
 *          ^                                                     |
 *          +-------------------- worked -------------------------+
 *
 * The fault may be in the place or in the whole disk. If other places can be read meanwhile, the
 * fault is in the place. Then the time for which nobody reads the place doubles each time. If
 * several places in a row cannot be read, the fault may be in the disk. Then no job is taken for a
 * hand-out for a second. After that a few are tried.
 */
#include "space.h"

enum { PAGE_BITS = 12 };

static uint64_t page_of(uint64_t position)
{
    return position >> PAGE_BITS;
}

/* Returns the index of the place, or `count` if there is no such place. */
static unsigned index_of(const struct elapse__unread *unread, uint64_t position)
{
    unsigned i = 0;

    while (i < unread->count && unread->places[i].page != page_of(position))
        i++;
    return i;
}

static struct elapse__unread_place *find_place(struct elapse__unread *unread, uint64_t position)
{
    unsigned i = index_of(unread, position);

    return i < unread->count ? &unread->places[i] : NULL;
}

/* Returns a new place. If there are too many, forgets the place whose time comes first. */
static struct elapse__unread_place *add_place(struct elapse__unread *unread, uint64_t position)
{
    struct elapse__unread_place *place = &unread->places[0];

    if (unread->count < ELAPSE__UNREAD_PLACES)
        place = &unread->places[unread->count++];
    else
        for (unsigned i = 1; i < unread->count; i++)
            if (unread->places[i].again_ms < place->again_ms)
                place = &unread->places[i];
    *place = (struct elapse__unread_place){.page = page_of(position)};
    return place;
}

/* Returns for how long nobody reads the place after this attempt. */
static uint64_t next_delay_ms(const struct elapse__unread *unread,
                              const struct elapse__unread_place *place)
{
    uint64_t delay_ms = place->delay_ms;

    if (delay_ms == 0)
        return ELAPSE__UNREAD_MIN_MS;
    if (unread->works <= place->works)
        return delay_ms;
    return 2 * delay_ms < ELAPSE__UNREAD_MAX_MS ? 2 * delay_ms : (uint64_t)ELAPSE__UNREAD_MAX_MS;
}

void elapse__journal_read_failed(struct elapse__journal *journal, uint64_t now_ms,
                                 const struct elapse__journal_reading *reading)
{
    struct elapse__unread *unread = &journal->unread;
    struct elapse__unread_place *place = find_place(unread, reading->position);

    ELAPSE__ASSERT_THAT(reading->file, !=, ELAPSE__NO_FILE);
    unread->last_failed = true;
    /* Another record of this place has shown the fault already. */
    if (place != NULL && now_ms < place->again_ms)
        return;
    if (place == NULL)
        place = add_place(unread, reading->position);
    place->delay_ms = next_delay_ms(unread, place);
    place->works = unread->works;
    place->again_ms = now_ms + place->delay_ms;
    unread->in_a_row++;
    if (unread->in_a_row == ELAPSE__UNREAD_IN_A_ROW) {
        unread->in_a_row = 0;
        unread->rests_until_ms = now_ms + ELAPSE__UNREAD_REST_MS;
    }
    ELAPSE__ASSERT_THAT(place->delay_ms, <=, (uint64_t)ELAPSE__UNREAD_MAX_MS);
}

void elapse__journal_read_worked(struct elapse__journal *journal,
                                 const struct elapse__journal_reading *reading)
{
    struct elapse__unread *unread = &journal->unread;
    struct elapse__unread_place *place = find_place(unread, reading->position);

    if (reading->file == ELAPSE__NO_FILE)
        return;
    unread->last_failed = false;
    if (place != NULL)
        *place = unread->places[--unread->count];
    if (!reading->may_wait)
        return; /* a record from the page cache says nothing about other places */
    unread->in_a_row = 0;
    unread->works++;
}

uint64_t elapse__journal_unread_ms(const struct elapse__journal *journal, uint64_t now_ms,
                                   uint64_t position)
{
    const struct elapse__unread *unread = &journal->unread;
    unsigned i = index_of(unread, position);
    uint64_t again_ms = i < unread->count ? unread->places[i].again_ms : 0;

    return now_ms < again_ms ? again_ms - now_ms : 0;
}

uint64_t elapse__journal_rests_until_ms(const struct elapse__journal *journal)
{
    return journal->unread.rests_until_ms;
}

bool elapse__journal_reads_in_doubt(const struct elapse__journal *journal)
{
    return journal->unread.last_failed;
}

void elapse__journal_count_failed_read(struct elapse__journal *journal, uint64_t position)
{
    journal->failed_reads++;
    journal->failed_position = position;
}

uint64_t elapse__unread_places(const struct elapse__journal *journal)
{
    uint64_t count = 0;

    for (unsigned i = 0; i < journal->unread.count; i++)
        count += journal->unread.places[i].page << PAGE_BITS >=
                 elapse__position_at(journal, journal->tail, 0);
    return count;
}

void elapse__journal_body_damaged(struct elapse__journal *journal, uint64_t position)
{
    journal->damaged_bodies++;
    journal->damaged_position = position;
}

static struct elapse__journal_trouble trouble(const struct elapse__journal *journal, uint64_t count,
                                              uint64_t position)
{
    return (struct elapse__journal_trouble){.count = count,
                                            .segment = elapse__segment_of(journal, position),
                                            .offset = elapse__offset_of(journal, position)};
}

void elapse__journal_troubles(const struct elapse__journal *journal,
                              struct elapse__journal_troubles *troubles)
{
    troubles->failed_reads = trouble(journal, journal->failed_reads, journal->failed_position);
    troubles->damaged_bodies = trouble(journal, journal->damaged_bodies, journal->damaged_position);
    troubles->unread_places = elapse__unread_places(journal);
}
