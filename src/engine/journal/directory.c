/*
 * Lists the files of a directory, and makes the first file of a new journal.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "recover.h"
#include "transfer.h"

bool elapse__refuse_call(struct elapse__recovery *recovery, int error, const char *file)
{
    struct elapse__journal_refusal *refusal = recovery->refusal;
    *refusal = (struct elapse__journal_refusal){.fault = ELAPSE__FAULT_CALL, .error = error};
    for (size_t i = 0; i + 1 < sizeof refusal->file && file[i] != '\0'; i++)
        refusal->file[i] = file[i];
    return false;
}

bool elapse__refuse(struct elapse__recovery *recovery, enum elapse__journal_fault fault,
                    uint64_t segment, uint64_t offset)
{
    struct elapse__journal_refusal *refusal = recovery->refusal;
    *refusal = (struct elapse__journal_refusal){
        .fault = fault, .error = EBADMSG, .offset = offset, .found = refusal->found};
    elapse__name_segment(refusal->file, segment);
    return false;
}

static int add_number(struct elapse__numbers *numbers, uint64_t value)
{
    if (numbers->count == numbers->capacity) {
        size_t capacity = numbers->capacity == 0 ? 16 : 2 * numbers->capacity;
        uint64_t *values = realloc(numbers->values, capacity * sizeof *values);
        if (values == NULL)
            return ENOMEM;
        numbers->values = values;
        numbers->capacity = capacity;
    }
    size_t at = numbers->count++;
    for (; at > 0 && numbers->values[at - 1] > value; at--)
        numbers->values[at] = numbers->values[at - 1];
    numbers->values[at] = value;
    return 0;
}

/* Reads a name that consists of `prefix`, a number in the form of this journal, and `suffix`. */
static bool read_name(const char *name, const char *prefix, const char *suffix, uint64_t *number)
{
    size_t length = strlen(prefix);
    if (strncmp(name, prefix, length) != 0)
        return false;
    const char *digit = name + length;
    uint64_t value = 0;
    if (*digit < '1' || *digit > '9')
        return false;
    for (; *digit >= '0' && *digit <= '9'; digit++) {
        if (value > UINT64_MAX >> 8) /* no position can have such a number */
            return false;
        value = 10 * value + (uint64_t)(*digit - '0');
    }
    *number = value;
    return strcmp(digit, suffix) == 0;
}

static int classify(void *context, const char *name)
{
    struct elapse__recovery *recovery = context;
    uint64_t number;
    if (read_name(name, "", ".log", &number)) {
        /* With a greater number, a position would not fit into 64 bits. */
        return number > UINT64_MAX >> (ELAPSE__SEGMENT_BITS_MAX + 1)
                   ? EOVERFLOW
                   : add_number(&recovery->segments, number);
    }
    if (read_name(name, "spare-", "", &number))
        return add_number(&recovery->spares, number);
    if (read_name(name, "new-", "", &number))
        return add_number(&recovery->unfinished, number);
    return 0; /* a file that the journal does not know */
}

bool elapse__directory_read(struct elapse__recovery *recovery)
{
    struct elapse__journal *journal = recovery->journal;
    int error = journal->files->list(journal->directory, classify, recovery);
    return error == 0 || elapse__refuse_call(recovery, error, "journal");
}

bool elapse__directory_has(const struct elapse__recovery *recovery, uint64_t segment)
{
    for (size_t i = 0; i < recovery->segments.count; i++) {
        if (recovery->segments.values[i] == segment)
            return true;
    }
    return false;
}

/* Writes the first segment. Keeps it in memory, too, so that nobody has to read it from the
 * disk. */
static int write_first_segment(struct elapse__recovery *recovery, const char *name, const char *to)
{
    struct elapse__journal *journal = recovery->journal;
    const struct elapse__files *files = journal->files;
    int file;
    recovery->memory = NULL;
    uint8_t *bytes = recovery->bytes = calloc(1, (size_t)elapse__segment_bytes(journal));
    if (bytes == NULL)
        return ENOMEM;
    int error = files->open(journal->directory, name, ELAPSE__FILE_CREATE, &file);
    if (error != 0)
        return error;
    struct elapse__segment_header header = {
        .is_placed = journal->is_placed,
        .identity = journal->identity,
        .segment_bits = journal->segment_bits,
        .number = 1,
        .tail = 1,
    };
    journal->owner.facts(journal->owner.context, &header.next_id, &header.wall_ms);
    elapse__segment_header_encode(&header, bytes);
    error = elapse__fill_all(files, file, 0, elapse__segment_bytes(journal));
    if (error == 0)
        error = elapse__write_all(files, file, 0, bytes, ELAPSE__SEGMENT_HEADER_BYTES);
    if (error == 0)
        error = files->sync(file);
    if (error == 0)
        error = files->rename(journal->directory, name, to);
    if (error == 0)
        error = files->sync_directory(journal->directory);
    files->close(file);
    recovery->loaded = 1;
    return error;
}

/* The first segment gets its name only when it is durable as a whole. Spares are made later. So a
 * directory with spares and without a segment has lost a segment. */
bool elapse__directory_create(struct elapse__recovery *recovery,
                              const struct elapse__journal_options *options)
{
    struct elapse__journal *journal = recovery->journal;
    char name[ELAPSE__FILE_NAME_BYTES], to[ELAPSE__FILE_NAME_BYTES];
    elapse__name_segment(to, 1);
    if (recovery->spares.count > 0)
        return elapse__refuse(recovery, ELAPSE__FAULT_MISSING_SEGMENT, 1, 0);
    for (size_t i = 0; i < recovery->unfinished.count; i++) {
        elapse__name_new(name, recovery->unfinished.values[i]);
        int error = journal->files->unlink(journal->directory, name);
        if (error != 0)
            return elapse__refuse_call(recovery, error, name);
    }
    recovery->unfinished.count = 0;
    journal->segment_bits = options->segment_bits;
    journal->identity = options->identity;
    journal->is_placed = options->log != NULL;
    elapse__name_new(name, 1);
    int error = write_first_segment(recovery, name, to);
    if (error == 0)
        error = add_number(&recovery->segments, 1);
    return error == 0 || elapse__refuse_call(recovery, error, to);
}

static struct elapse__segment_view view_of(const struct elapse__journal *journal, uint64_t number)
{
    return (struct elapse__segment_view){
        .size = elapse__segment_bytes(journal),
        .first_position = elapse__position_at(journal, number, 0),
        .seed = journal->seed,
    };
}

static bool make_window(struct elapse__recovery *recovery)
{
    struct elapse__window *window = &recovery->window;
    if (window->bytes == NULL)
        window->bytes = malloc(ELAPSE__WINDOW_BYTES);
    return window->bytes != NULL;
}

/* Begins to read a file through the window. */
static void begin_window(struct elapse__recovery *recovery, int file)
{
    recovery->window = (struct elapse__window){.files = recovery->journal->files,
                                               .ahead = recovery->ahead,
                                               .file = file,
                                               .bytes = recovery->window.bytes};
}

static bool make_bytes(struct elapse__recovery *recovery)
{
    size_t size = (size_t)elapse__segment_bytes(recovery->journal);
    if (recovery->bytes == NULL)
        recovery->bytes = recovery->memory == NULL
                              ? calloc(1, size)
                              : elapse__allocate_locked(recovery->memory, ELAPSE__LINE_BYTES, size);
    return recovery->bytes != NULL;
}

/* Reads a segment piece by piece, and changes only those bytes of the memory that differ. Much of a
 * head is zeros, and a large new piece of memory is zeros. The system gives no memory for pages
 * that nobody writes. */
static int read_segment(struct elapse__recovery *recovery, uint64_t number, int file)
{
    const struct elapse__journal *journal = recovery->journal;
    size_t size = (size_t)elapse__segment_bytes(journal);
    struct elapse__window *window = &recovery->window;
    begin_window(recovery, file);
    recovery->loaded = recovery->checked = 0;
    journal->files->read_ahead(file, 0, size);
    for (size_t at = 0, count; at < size && elapse__window_move(window, at, 1, size); at += count) {
        const uint8_t *piece = window->bytes + (at - window->from);
        count = window->have - (size_t)(at - window->from);
        if (memcmp(recovery->bytes + at, piece, count) != 0)
            memcpy(recovery->bytes + at, piece, count);
    }
    elapse__ahead_rest(recovery->ahead); /* the caller may close the file */
    if (window->error == 0)
        recovery->loaded = number;
    return window->error;
}

bool elapse__segment_load(struct elapse__recovery *recovery, uint64_t number, int *file)
{
    struct elapse__journal *journal = recovery->journal;
    char name[ELAPSE__FILE_NAME_BYTES];
    elapse__name_segment(name, number);
    int error = journal->files->open(journal->directory, name, ELAPSE__FILE_READ_WRITE, file);
    if (error != 0)
        return elapse__refuse_call(recovery, error, name);
    if (recovery->loaded != number)
        error = make_bytes(recovery) && make_window(recovery)
                    ? read_segment(recovery, number, *file)
                    : ENOMEM;
    recovery->view = view_of(journal, number);
    recovery->view.bytes = recovery->bytes;
    recovery->view.checked = recovery->checked;
    if (error == 0)
        return true;
    journal->files->close(*file);
    return elapse__refuse_call(recovery, error, name);
}

bool elapse__segment_stream(struct elapse__recovery *recovery, uint64_t number, int *file)
{
    struct elapse__journal *journal = recovery->journal;
    char name[ELAPSE__FILE_NAME_BYTES];
    elapse__name_segment(name, number);
    if (!make_window(recovery))
        return elapse__refuse_call(recovery, ENOMEM, name);
    int error = journal->files->open(journal->directory, name, ELAPSE__FILE_READ_WRITE, file);
    if (error != 0)
        return elapse__refuse_call(recovery, error, name);
    begin_window(recovery, *file);
    recovery->view = view_of(journal, number);
    recovery->view.window = &recovery->window;
    return true;
}

bool elapse__segment_was_read(struct elapse__recovery *recovery, uint64_t number)
{
    char name[ELAPSE__FILE_NAME_BYTES];
    elapse__name_segment(name, number);
    return recovery->view.window == NULL || recovery->window.error == 0 ||
           elapse__refuse_call(recovery, recovery->window.error, name);
}

void elapse__segments_forget(struct elapse__recovery *recovery)
{
    if (recovery->memory == NULL)
        free(recovery->bytes);
    else if (recovery->bytes != NULL)
        elapse__release_locked(recovery->memory, recovery->bytes,
                               (size_t)elapse__segment_bytes(recovery->journal));
    free(recovery->window.bytes);
    recovery->bytes = recovery->window.bytes = NULL;
    recovery->loaded = 0;
}
