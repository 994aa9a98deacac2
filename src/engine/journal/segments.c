#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "space.h"

static void name_file(char *name, const char *format, uint64_t number)
{
    int length = snprintf(name, ELAPSE__FILE_NAME_BYTES, format, number);
    ELAPSE__ASSERT(length > 0 && length < ELAPSE__FILE_NAME_BYTES);
    (void)length;
}

void elapse__name_segment(char *name, uint64_t number)
{
    name_file(name, "%" PRIu64 ".log", number);
}

void elapse__name_spare(char *name, uint64_t number)
{
    name_file(name, "spare-%" PRIu64, number);
}

void elapse__name_new(char *name, uint64_t number)
{
    name_file(name, "new-%" PRIu64, number);
}

bool elapse__segments_reserve(struct elapse__journal *journal)
{
    if (journal->segment_count < journal->segment_capacity)
        return true;
    size_t capacity = journal->segment_capacity == 0 ? 16 : 2 * journal->segment_capacity;
    struct elapse__segment *segments =
        realloc(journal->segments, capacity * sizeof *journal->segments);
    if (segments == NULL)
        return false;
    journal->segments = segments;
    journal->segment_capacity = capacity;
    return true;
}

void elapse__segments_add(struct elapse__journal *journal, int file)
{
    ELAPSE__ASSERT_THAT(journal->segment_count, <, journal->segment_capacity);
    journal->segments[journal->segment_count++] = (struct elapse__segment){.file = file};
}

void elapse__segments_drop_first(struct elapse__journal *journal)
{
    ELAPSE__ASSERT_THAT(journal->segment_count, >, 1);
    ELAPSE__ASSERT_THAT(journal->segments[0].readers, ==, 0);
    journal->live_bytes -= journal->segments[0].live_bytes;
    journal->segment_count--;
    journal->first++;
    memmove(journal->segments, journal->segments + 1,
            journal->segment_count * sizeof *journal->segments);
}

struct elapse__segment *elapse__segments_find(const struct elapse__journal *journal,
                                              uint64_t number)
{
    if (number < journal->first || number - journal->first >= journal->segment_count)
        return NULL;
    return &journal->segments[number - journal->first];
}

uint64_t elapse__segments_bytes(const struct elapse__journal *journal)
{
    return (elapse__segment_of(journal, journal->place) - journal->tail + 1)
           << journal->segment_bits;
}
