/*
 * One record with its body: from memory while its group is on the way, otherwise from its segment.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/assert.h"
#include "core.h"

static const uint8_t *find_in_group(const struct elapse__group *group, uint64_t position)
{
    for (; group != NULL; group = group->next) {
        if (position >= group->position && position < group->position + group->size)
            return group->bytes + (position - group->position);
    }
    return NULL;
}

static const uint8_t *find_in_memory(const struct elapse__journal *journal, uint64_t position)
{
    const uint8_t *found = find_in_group(journal->in_flight, position);
    if (found == NULL)
        found = find_in_group(journal->closed, position);
    if (found == NULL)
        found = find_in_group(journal->forming, position);
    return found;
}

static int read_bytes(const struct elapse__files *files, int file, uint64_t offset, uint8_t *bytes,
                      size_t count, bool may_wait)
{
    while (count > 0) {
        size_t done = 0;
        int error = may_wait ? files->read_at(file, offset, bytes, count, &done)
                             : files->read_cached(file, offset, bytes, count, &done);
        if (error != 0)
            return error;
        if (done == 0)
            return EBADMSG; /* the file is shorter than what was written */
        bytes += done;
        offset += done;
        count -= done;
    }
    return 0;
}

/* Takes memory for a record, whose header is at `header`. */
static int take_memory(struct elapse__journal_reading *reading, const uint8_t *header,
                       uint64_t most)
{
    struct elapse__frame frame;
    if (!elapse__frame_decode(header, &frame) || frame.bytes > most)
        return EBADMSG;
    reading->bytes = malloc((size_t)frame.bytes);
    reading->size = (size_t)frame.bytes;
    return reading->bytes == NULL ? ENOMEM : 0;
}

void elapse__journal_read_begin(struct elapse__journal *journal, uint64_t position,
                                struct elapse__journal_reading *reading)
{
    ELAPSE__ASSERT_THAT(position % ELAPSE__JOURNAL_ALIGNMENT, ==, 0);
    struct elapse__segment *segment =
        elapse__segments_find(journal, elapse__segment_of(journal, position));
    const uint8_t *found = find_in_memory(journal, position);
    *reading = (struct elapse__journal_reading){.position = position, .file = ELAPSE__NO_FILE};
    if (found != NULL) {
        reading->error = take_memory(reading, found, UINT64_MAX);
        if (reading->error == 0)
            memcpy(reading->bytes, found, reading->size);
    } else if (segment == NULL || segment->file == ELAPSE__NO_FILE) {
        reading->error = ENOENT;
    } else {
        reading->file = segment->file;
        segment->readers++;
    }
}

void elapse__journal_read_perform(const struct elapse__journal *journal, bool may_wait,
                                  struct elapse__journal_reading *reading)
{
    uint64_t offset = elapse__offset_of(journal, reading->position);
    uint8_t header[ELAPSE__RECORD_HEADER_BYTES];
    if (reading->file == ELAPSE__NO_FILE)
        return;
    reading->error =
        read_bytes(journal->files, reading->file, offset, header, sizeof header, may_wait);
    if (reading->error == 0)
        reading->error = take_memory(reading, header, elapse__segment_bytes(journal) - offset);
    if (reading->error == 0)
        reading->error = read_bytes(journal->files, reading->file, offset, reading->bytes,
                                    reading->size, may_wait);
}

/* Returns 0 and the record, if it is the one that was written at this position. */
static int check_record(const struct elapse__journal *journal,
                        const struct elapse__journal_reading *reading,
                        struct elapse__record *record)
{
    struct elapse__frame frame;
    const uint8_t *fields = reading->bytes + ELAPSE__RECORD_HEADER_BYTES;
    /* The header was read twice: a disk may have answered differently. */
    if (!elapse__frame_decode(reading->bytes, &frame) || frame.bytes != reading->size ||
        !elapse__frame_header_is_whole(reading->bytes, &frame, reading->position, journal->seed) ||
        !elapse__frame_body_is_whole(fields + frame.fields_size, &frame, reading->position,
                                     journal->seed))
        return EBADMSG;
    *record = (struct elapse__record){
        .type = frame.type,
        .flags = frame.flags,
        .fields_size = frame.fields_size,
        .body_size = frame.body_size,
        .fields = fields,
        .body = frame.body_size == 0 ? NULL : fields + frame.fields_size,
    };
    return 0;
}

int elapse__journal_read_end(struct elapse__journal *journal,
                             struct elapse__journal_reading *reading, struct elapse__record *record,
                             void **memory)
{
    int error = reading->error;
    if (reading->file != ELAPSE__NO_FILE) {
        struct elapse__segment *segment =
            elapse__segments_find(journal, elapse__segment_of(journal, reading->position));
        ELAPSE__ASSERT(segment != NULL && segment->readers > 0);
        segment->readers--;
    }
    if (error == 0)
        error = check_record(journal, reading, record);
    *memory = reading->bytes;
    if (error != 0) {
        free(reading->bytes);
        *memory = NULL;
    }
    return error;
}

int elapse__journal_read(struct elapse__journal *journal, uint64_t position, bool may_wait,
                         struct elapse__record *record, void **memory)
{
    struct elapse__journal_reading reading;
    elapse__journal_read_begin(journal, position, &reading);
    elapse__journal_read_perform(journal, may_wait, &reading);
    return elapse__journal_read_end(journal, &reading, record, memory);
}
