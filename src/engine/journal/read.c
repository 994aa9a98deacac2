/*
 * Reads records with their bodies. A record comes from memory while its group is on the way to the
 * disk, and later from its segment. Records that lie close together come from one reading of the
 * file, which is called a window:
 *
 *      segment   | ... [rec] [rec] [commit] [rec] ........................ [rec] ...
 *                      |------- window ---------|                          |-- window --|
 *
 * The length of a record stands in its header, which is not read yet. So a window ends where its
 * last record probably ends, which follows from the size of the body that the caller knows. If a
 * record is longer, it is read once more, alone.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "space.h"

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

/* Returns EAGAIN for EAGAIN, and EIO for every other error of the file system. A file system may
 * return EBADMSG, for example, but that does not mean that the record is damaged. */
static int own_error(int error)
{
    return error == 0 || error == EAGAIN ? error : EIO;
}

static int read_bytes(const struct elapse__files *files, int file, uint64_t offset, uint8_t *bytes,
                      size_t count, bool may_wait)
{
    while (count > 0) {
        size_t done = 0;
        int error = may_wait ? files->read_at(file, offset, bytes, count, &done)
                             : files->read_cached(file, offset, bytes, count, &done);
        if (error != 0)
            return own_error(error);
        if (done == 0)
            return EBADMSG; /* the file is shorter than what was written */
        bytes += done;
        offset += done;
        count -= done;
    }
    return 0;
}

/* Takes memory for the record whose header is at `header`. */
static int take_memory(struct elapse__journal_reading *reading, const uint8_t *header,
                       uint64_t most)
{
    struct elapse__frame frame;
    if (!elapse__frame_decode(header, &frame) || frame.bytes > most)
        return EBADMSG;
    ELAPSE__ASSERT_THAT(frame.bytes, >=, ELAPSE__RECORD_HEADER_BYTES);
    /* NOLINTNEXTLINE(clang-analyzer-optin.portability.UnixAPI): a record has a header */
    reading->bytes = malloc((size_t)frame.bytes);
    reading->size = (size_t)frame.bytes;
    return reading->bytes == NULL ? ENOMEM : 0;
}

void elapse__journal_read_begin(struct elapse__journal *journal, uint64_t position,
                                uint32_t body_size, struct elapse__journal_reading *reading)
{
    ELAPSE__ASSERT_THAT(position % ELAPSE__JOURNAL_ALIGNMENT, ==, 0);
    struct elapse__segment *segment =
        elapse__segments_find(journal, elapse__segment_of(journal, position));
    const uint8_t *found = find_in_memory(journal, position);
    *reading = (struct elapse__journal_reading){
        .position = position, .body_size = body_size, .file = ELAPSE__NO_FILE};
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

/* Reads a record into memory of its size. */
static int read_alone(const struct elapse__journal *journal, bool may_wait,
                      struct elapse__journal_reading *reading)
{
    uint64_t offset = elapse__offset_of(journal, reading->position);
    uint8_t header[ELAPSE__RECORD_HEADER_BYTES];
    int error = read_bytes(journal->files, reading->file, offset, header, sizeof header, may_wait);
    if (error == 0)
        error = take_memory(reading, header, elapse__segment_bytes(journal) - offset);
    if (error == 0)
        error = read_bytes(journal->files, reading->file, offset, reading->bytes, reading->size,
                           may_wait);
    return error;
}

/* ---- windows ---- */

enum {
    WINDOW_BYTES = 16 << 10,
    FIELDS_LIKELY_BYTES = 256, /* the fields and the zeros at the end */
    GAP_BYTES = 1 << 10,       /* a window does not go over a longer gap */
};

struct window {
    uint64_t position;
    size_t size; /* how many bytes were read; 0: nothing could be read */
    uint8_t bytes[WINDOW_BYTES];
};

static uint64_t likely_end(const struct elapse__journal_reading *reading)
{
    return reading->position + ELAPSE__RECORD_HEADER_BYTES + FIELDS_LIKELY_BYTES +
           reading->body_size;
}

/* Returns how many readings one window serves, from the first one on. Returns 0 if it does not
 * serve the first. Stores how long the window is. */
static size_t measure_window(const struct elapse__journal *journal,
                             const struct elapse__journal_reading *readings, size_t count,
                             size_t *bytes)
{
    uint64_t from = readings[0].position;
    uint64_t end = from;
    size_t served = 0;
    for (; served < count; served++) {
        const struct elapse__journal_reading *reading = &readings[served];
        if (reading->file != readings[0].file || likely_end(reading) - from > WINDOW_BYTES)
            break;
        if (served > 0 && (reading->position <= readings[served - 1].position ||
                           reading->position > end + GAP_BYTES))
            break;
        end = likely_end(reading);
    }
    uint64_t rest = elapse__segment_bytes(journal) - elapse__offset_of(journal, from);
    *bytes = (size_t)(end - from < rest ? end - from : rest);
    ELAPSE__ASSERT_THAT(*bytes, <=, WINDOW_BYTES);
    return served;
}

/* Reads as much of the window as the file has. Returns 0 or an error number. */
static int read_window(const struct elapse__journal *journal, bool may_wait, int file,
                       uint64_t position, size_t bytes, struct window *window)
{
    const struct elapse__files *files = journal->files;
    uint64_t offset = elapse__offset_of(journal, position);
    size_t done = 0;
    int error = may_wait ? files->read_at(file, offset, window->bytes, bytes, &done)
                         : files->read_cached(file, offset, window->bytes, bytes, &done);
    window->position = position;
    window->size = error == 0 ? done : 0;
    return own_error(error);
}

/* Takes the record from the window. Returns false if the window does not have all of the record. */
static bool take_from_window(const struct window *window, struct elapse__journal_reading *reading)
{
    ELAPSE__ASSERT_THAT(reading->position, >=, window->position);
    size_t ahead = (size_t)(reading->position - window->position);
    if (window->size < ahead + ELAPSE__RECORD_HEADER_BYTES)
        return false;
    const uint8_t *header = window->bytes + ahead;
    reading->error = take_memory(reading, header, window->size - ahead);
    if (reading->error == 0)
        memcpy(reading->bytes, header, reading->size);
    return reading->error != EBADMSG;
}

void elapse__journal_read_perform(const struct elapse__journal *journal, bool may_wait,
                                  struct elapse__journal_reading *readings, size_t count)
{
    struct window window;
    size_t served = 0;
    for (size_t i = 0; i<count; i += served> 0 ? served : 1) {
        size_t bytes = 0;
        served = 0;
        if (readings[i].file == ELAPSE__NO_FILE)
            continue;
        served = measure_window(journal, &readings[i], count - i, &bytes);
        int error = 0;
        if (served > 0)
            error = read_window(journal, may_wait, readings[i].file, readings[i].position, bytes,
                                &window);
        /* If a sector cannot be read, reads each record of the window alone, so that only the
         * records with that sector fail. */
        for (size_t k = i; k < i + (served > 0 ? served : 1); k++) {
            /* A reading that may not wait may have got memory before. */
            free(readings[k].bytes);
            readings[k].bytes = NULL;
            readings[k].may_wait = may_wait;
            readings[k].error = error;
            if (served == 1 && error != 0)
                continue;
            if (served == 0 || !take_from_window(&window, &readings[k]))
                readings[k].error = read_alone(journal, may_wait, &readings[k]);
        }
    }
}

/* Returns 0 and stores the record, if it is the one that was written at this position. If not,
 * returns EBADMSG. */
static int check_record(const struct elapse__journal *journal,
                        const struct elapse__journal_reading *reading,
                        struct elapse__record *record)
{
    struct elapse__frame frame;
    const uint8_t *fields = reading->bytes + ELAPSE__RECORD_HEADER_BYTES;
    /* The header may have been read twice, and a disk may have answered differently the second
     * time. */
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
    if (error == EIO)
        elapse__journal_count_failed_read(journal, reading->position);
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
    elapse__journal_read_begin(journal, position, 0, &reading);
    elapse__journal_read_perform(journal, may_wait, &reading, 1);
    return elapse__journal_read_end(journal, &reading, record, memory);
}
