#include "examine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "recover.h"
#include "transfer.h"

struct examiner {
    struct elapse__examination *examination;
    struct elapse__recovery recovery;
    struct elapse__journal journal; /* only the fields that recovery uses */
    bool is_sound;                  /* open would accept the journal */
    bool tells_unread;              /* set when no segment is read again after this time */
    uint64_t end;                   /* where the records of the head end; valid if is_sound */
    uint8_t *bytes;                 /* the segment under examination */
    int error;                      /* the error of a callback */
};

static bool tell(struct examiner *examiner, const struct elapse__finding *finding)
{
    struct elapse__examination *examination = examiner->examination;
    examination->findings++;
    if (examination->finding != NULL)
        examiner->error = examination->finding(examination->context, finding);
    return examiner->error == 0;
}

static bool tell_of_segment(struct examiner *examiner, enum elapse__damage damage, uint64_t segment,
                            uint64_t offset, uint64_t bytes)
{
    struct elapse__finding finding = {.damage = damage, .offset = offset, .bytes = bytes};
    elapse__name_segment(finding.file, segment);
    examiner->examination->lost_bytes += bytes;
    return tell(examiner, &finding);
}

/* ---- whether open would accept the journal ---- */

static int accept_header(void *context, uint64_t next_id, int64_t wall_ms)
{
    (void)context, (void)next_id, (void)wall_ms;
    return 0;
}

static int accept_record(void *context, uint64_t position, const struct elapse__record *record,
                         struct elapse__record_sink *sink)
{
    (void)context, (void)position, (void)record, (void)sink;
    return 0;
}

static void close_segments(struct elapse__journal *journal)
{
    for (size_t i = 0; i < journal->segment_count; i++)
        journal->files->close(journal->segments[i].file);
    free(journal->segments);
    journal->segments = NULL;
    journal->segment_count = 0;
}

/* Reads the bytes of a segment's header, without checking them. Returns 0 or the error of a
 * call. */
static int read_raw_header(struct examiner *examiner, uint64_t number, uint8_t *bytes)
{
    const struct elapse__journal *journal = &examiner->journal;
    char name[ELAPSE__FILE_NAME_BYTES];
    int file;
    elapse__name_segment(name, number);
    int error = journal->files->open(journal->directory, name, ELAPSE__FILE_READ, &file);
    if (error != 0)
        return error;
    error = elapse__read_all(journal->files, file, 0, bytes, ELAPSE__SEGMENT_HEADER_BYTES);
    journal->files->close(file);
    return error;
}

/* Returns whether a segment begins with a whole record, if the queue has this identity. */
static bool has_first_record(const struct examiner *examiner, const uint8_t *bytes, uint64_t size,
                             uint64_t number, const struct elapse__journal_identity *identity)
{
    struct elapse__segment_view view = {
        .bytes = bytes,
        .size = size,
        .first_position = elapse__position_at(&examiner->journal, number, 0),
        .seed = elapse__identity_seed(identity),
    };
    struct elapse__walk walk;
    elapse__walk_begin(&walk, &view, ELAPSE__SEGMENT_HEADER_BYTES);
    return elapse__walk_next(&walk);
}

/* Finds the identity with which the records of a segment were written. It tries the identity in the
 * damaged header, and those that differ from it in one byte. Returns whether it found the
 * identity. */
static bool find_identity(struct examiner *examiner, const uint8_t *bytes, uint64_t size,
                          uint64_t number)
{
    struct elapse__journal_identity *identity = &examiner->journal.identity;
    memcpy(identity->bytes, bytes + ELAPSE__SEGMENT_IDENTITY_AT, sizeof identity->bytes);
    if (has_first_record(examiner, bytes, size, number, identity))
        return true;
    for (size_t i = 0; i < sizeof identity->bytes; i++) {
        for (unsigned flips = 1; flips < 256; flips++) {
            identity->bytes[i] ^= (uint8_t)flips;
            if (has_first_record(examiner, bytes, size, number, identity))
                return true;
            identity->bytes[i] ^= (uint8_t)flips;
        }
    }
    return false;
}

/* Called when no header is whole. Takes the size of the newest file as the size of a segment, and
 * finds the identity with the first record of that file. Returns whether it found the identity. */
static bool guess_shape(struct examiner *examiner)
{
    const struct elapse__numbers *numbers = &examiner->recovery.segments;
    struct elapse__journal *journal = &examiner->journal;
    uint64_t number = numbers->values[numbers->count - 1];
    struct elapse__file_status status = {.bytes = 0};
    char name[ELAPSE__FILE_NAME_BYTES];
    int file;
    elapse__name_segment(name, number);
    if (journal->files->open(journal->directory, name, ELAPSE__FILE_READ, &file) != 0)
        return false;
    uint8_t *bytes = NULL;
    bool is_found = false;
    int error = journal->files->status(file, &status);
    while (UINT64_C(1) << journal->segment_bits < status.bytes)
        journal->segment_bits++;
    if (error == 0 && journal->segment_bits >= ELAPSE__SEGMENT_BITS_MIN &&
        journal->segment_bits <= ELAPSE__SEGMENT_BITS_MAX)
        bytes = malloc((size_t)elapse__segment_bytes(journal));
    if (bytes != NULL && elapse__read_all(journal->files, file, 0, bytes,
                                          (size_t)elapse__segment_bytes(journal)) == 0)
        is_found = find_identity(examiner, bytes, elapse__segment_bytes(journal), number);
    journal->files->close(file);
    free(bytes);
    journal->seed = elapse__identity_seed(&journal->identity);
    return is_found;
}

/* Stores the size of a segment and the identity from the newest whole header. Refuses an unknown
 * version only if no header is whole. In a single header, an unknown version may be damage. */
static bool learn_shape(struct examiner *examiner)
{
    const struct elapse__numbers *numbers = &examiner->recovery.segments;
    struct elapse__examination *examination = examiner->examination;
    struct elapse__segment_header header;
    uint8_t bytes[ELAPSE__SEGMENT_HEADER_BYTES];
    bool is_known = false;
    uint32_t version = 0, unknown = 0;
    for (size_t i = numbers->count; i-- > 0;) {
        if (read_raw_header(examiner, numbers->values[i], bytes) != 0)
            continue;
        enum elapse__header_verdict verdict =
            elapse__segment_header_decode(bytes, &header, &version);
        if (verdict == ELAPSE__HEADER_UNKNOWN_VERSION)
            unknown = version;
        if (verdict != ELAPSE__HEADER_WHOLE)
            continue;
        if (header.next_id > examination->next_id)
            examination->next_id = header.next_id;
        if (is_known)
            continue;
        is_known = true;
        examiner->journal.segment_bits = header.segment_bits;
        examiner->journal.identity = header.identity;
        examiner->journal.is_placed = examination->is_placed = header.is_placed;
        examiner->journal.seed = elapse__identity_seed(&header.identity);
    }
    if (is_known)
        return true;
    uint64_t newest = numbers->values[numbers->count - 1];
    examiner->recovery.refusal->found = unknown;
    if (unknown != 0)
        return elapse__refuse(&examiner->recovery, ELAPSE__FAULT_VERSION, newest, 8);
    if (!guess_shape(examiner))
        examiner->journal.segment_bits = 0;
    return true;
}

/* Does what open does, up to the first step that would write. */
static void try_open(struct examiner *examiner)
{
    struct elapse__recovery *recovery = &examiner->recovery;
    examiner->is_sound = elapse__recovery_find_head(recovery) && elapse__recovery_replay(recovery);
    close_segments(&examiner->journal);
    if (examiner->is_sound)
        examiner->end = recovery->top.end;
}

/* ---- the records of a segment ---- */

static struct elapse__record record_of(const struct elapse__walk *walk)
{
    const uint8_t *fields = walk->bytes + ELAPSE__RECORD_HEADER_BYTES;
    return (struct elapse__record){
        .type = walk->frame.type,
        .flags = walk->frame.flags,
        .fields_size = walk->frame.fields_size,
        .body_size = walk->frame.body_size,
        .fields = fields,
        .body = walk->frame.body_size == 0 ? NULL : fields + walk->frame.fields_size,
    };
}

/* Takes a record of the journal's own. Passes on the place in a LOG_PLACE, and skips other
 * records. */
static bool take_own(struct examiner *examiner, const struct elapse__walk *walk)
{
    struct elapse__examination *examination = examiner->examination;
    if (walk->frame.type != ELAPSE__RECORD_LOG_PLACE || examination->place == NULL)
        return true;
    struct elapse__journal_place place = elapse__journal_log_place_decode(walk->bytes);
    examiner->error = examination->place(examination->context, &place);
    return examiner->error == 0;
}

static bool take_record(struct examiner *examiner, uint64_t segment,
                        const struct elapse__walk *walk)
{
    struct elapse__examination *examination = examiner->examination;
    struct elapse__record record = record_of(walk);
    if (!elapse__frame_body_is_whole(record.body, &walk->frame, walk->position, walk->view->seed)) {
        struct elapse__finding finding = {
            .damage = ELAPSE__DAMAGE_BODY,
            .offset = walk->position - walk->view->first_position,
            .bytes = walk->frame.bytes,
            .record = &record,
            .position = walk->position,
        };
        record.body = NULL;
        elapse__name_segment(finding.file, segment);
        return tell(examiner, &finding);
    }
    if (!elapse__record_has_owner(record.type))
        return take_own(examiner, walk);
    examination->records++;
    if (examination->record != NULL)
        examiner->error = examination->record(examination->context, walk->position, &record);
    return examiner->error == 0;
}

/* Returns where the next record begins, or the size of the segment. */
static uint64_t next_record(const struct elapse__segment_view *view, uint64_t offset)
{
    struct elapse__walk walk;
    for (; offset + ELAPSE__RECORD_HEADER_BYTES <= view->size;
         offset += ELAPSE__JOURNAL_ALIGNMENT) {
        elapse__walk_begin(&walk, view, offset);
        if (elapse__walk_next(&walk))
            return offset;
    }
    return view->size;
}

/* Returns where the last COMMIT ends. Bytes after it were never acknowledged. */
static uint64_t last_commit_end(const struct elapse__segment_view *view)
{
    struct elapse__walk walk;
    uint64_t end = ELAPSE__SEGMENT_HEADER_BYTES;
    uint64_t offset = next_record(view, end);
    while (offset < view->size) {
        elapse__walk_begin(&walk, view, offset);
        (void)elapse__walk_next(&walk);
        if (walk.frame.type == ELAPSE__RECORD_COMMIT)
            end = walk.offset;
        offset = next_record(view, walk.offset);
    }
    return end;
}

/* Returns the size of a hole without the zeros at its end, which were no records. */
static uint64_t trimmed(const struct elapse__segment_view *view, uint64_t offset, uint64_t end)
{
    while (end > offset && view->bytes[end - 1] == 0)
        end--;
    return end - offset;
}

/* Takes the records up to `end`, and reports the holes between them. */
static bool walk_records(struct examiner *examiner, uint64_t segment, uint64_t end, bool *is_sealed)
{
    const struct elapse__segment_view *view = &examiner->recovery.view;
    struct elapse__walk walk;
    bool sealed = false;
    elapse__walk_begin(&walk, view, ELAPSE__SEGMENT_HEADER_BYTES);
    while (walk.offset < end && !*is_sealed) {
        if (!elapse__walk_next(&walk)) {
            uint64_t next = next_record(view, walk.offset);
            if (next >= end)
                next = end;
            if (!tell_of_segment(examiner, ELAPSE__DAMAGE_RECORDS, segment, walk.offset,
                                 trimmed(view, walk.offset, next)))
                return false;
            walk.offset = next;
            continue;
        }
        sealed = sealed || walk.frame.type == ELAPSE__RECORD_SEAL;
        *is_sealed = sealed && walk.frame.type == ELAPSE__RECORD_COMMIT;
        if (!take_record(examiner, segment, &walk))
            return false;
    }
    return true;
}

static bool tell_unread(struct examiner *examiner, uint64_t number, uint64_t offset)
{
    if (!examiner->tells_unread)
        return true;
    examiner->examination->unread++;
    return tell_of_segment(examiner, ELAPSE__DAMAGE_UNREAD, number, offset, 0);
}

static bool examine_header(struct examiner *examiner, uint64_t number)
{
    struct elapse__segment_header header;
    uint8_t bytes[ELAPSE__SEGMENT_HEADER_BYTES];
    uint32_t version;
    const struct elapse__journal *journal = &examiner->journal;
    int error = read_raw_header(examiner, number, bytes);
    if (error == EIO)
        return tell_unread(examiner, number, 0);
    if (error != 0 && error != EBADMSG)
        return elapse__refuse_call(&examiner->recovery, error, "journal");
    if (error != 0 ||
        elapse__segment_header_decode(bytes, &header, &version) != ELAPSE__HEADER_WHOLE)
        return tell_of_segment(examiner, ELAPSE__DAMAGE_HEADER, number, 0, 0);
    if (header.number != number || header.segment_bits != journal->segment_bits ||
        memcmp(&header.identity, &journal->identity, sizeof header.identity) != 0)
        return tell_of_segment(examiner, ELAPSE__DAMAGE_FOREIGN, number, 0, 0);
    return true;
}

/* Reads a segment into `bytes`, which are zeros before. Bytes that the file lacks, and pages that
 * cannot be read, stay zeros. After an error, reads page by page, because perhaps only some pages
 * are bad. */
static bool read_segment(struct examiner *examiner, uint64_t number, int file)
{
    const struct elapse__files *files = examiner->journal.files;
    uint64_t size = elapse__segment_bytes(&examiner->journal), have = 0;
    uint64_t most = size;
    bool can_read = true, goes_on = true;

    while (have < size && goes_on) {
        size_t done = 0;
        uint64_t count = most < size - have ? most : size - have;
        int error = files->read_at(file, have, examiner->bytes + have, (size_t)count, &done);
        goes_on = error != 0 || done > 0;
        if (error != 0 && most == size) {
            most = ELAPSE__FILE_PAGE_MAX; /* reads this place again, page by page */
            continue;
        }
        if (error != 0 && can_read && !tell_unread(examiner, number, have))
            return false;
        can_read = error == 0;
        have += error == 0 ? done : count;
    }
    return true;
}

static bool load(struct examiner *examiner, uint64_t number)
{
    struct elapse__recovery *recovery = &examiner->recovery;
    const struct elapse__journal *journal = &examiner->journal;
    uint64_t size = elapse__segment_bytes(journal);
    char name[ELAPSE__FILE_NAME_BYTES];
    int file;
    elapse__name_segment(name, number);
    int error = journal->files->open(journal->directory, name, ELAPSE__FILE_READ, &file);
    if (error != 0)
        return elapse__refuse_call(recovery, error, name);
    memset(examiner->bytes, 0, (size_t)size);
    bool is_done = read_segment(examiner, number, file);
    journal->files->close(file);
    recovery->view = (struct elapse__segment_view){
        .bytes = examiner->bytes,
        .size = size,
        .first_position = elapse__position_at(journal, number, 0),
        .seed = journal->seed,
    };
    return is_done;
}

static bool examine_segment(struct examiner *examiner, uint64_t number)
{
    bool is_head = number == examiner->examination->head;
    bool is_sealed = false;
    if (!examine_header(examiner, number) || !load(examiner, number))
        return false;
    uint64_t end = !is_head             ? examiner->recovery.view.size
                   : examiner->is_sound ? examiner->end
                                        : last_commit_end(&examiner->recovery.view);
    return walk_records(examiner, number, end, &is_sealed);
}

/* Finds head and tail after open has refused. The head is the last file that has a COMMIT. The tail
 * is the greatest tail in a header or in the last COMMIT of a file. */
static bool guess_bounds(struct examiner *examiner)
{
    const struct elapse__recovery *recovery = &examiner->recovery;
    struct elapse__examination *examination = examiner->examination;
    for (size_t i = 0; i < recovery->segments.count; i++) {
        uint64_t number = recovery->segments.values[i];
        if (!load(examiner, number))
            return false;
        const struct elapse__segment_view *view = &recovery->view;
        uint64_t end = last_commit_end(view);
        struct elapse__segment_header header;
        uint32_t version;
        bool has_header =
            elapse__segment_header_decode(view->bytes, &header, &version) == ELAPSE__HEADER_WHOLE &&
            header.number == number;
        if (has_header && header.tail > examination->tail && header.tail <= number)
            examination->tail = header.tail;
        if (end == ELAPSE__SEGMENT_HEADER_BYTES)
            continue;
        uint64_t tail = elapse__commit_decode(view->bytes + end - ELAPSE__COMMIT_BYTES).tail;
        examination->head = number;
        if (tail > examination->tail)
            examination->tail = tail;
    }
    if (examination->head == 0)
        examination->head = recovery->segments.values[recovery->segments.count - 1];
    if (examination->tail == 0)
        examination->tail = recovery->segments.values[0];
    return true;
}

/* Reports that the file after the head is missing, if that is why open refuses. */
static bool examine_successor(struct examiner *examiner)
{
    struct elapse__examination *examination = examiner->examination;
    const struct elapse__journal_refusal *refusal = examiner->recovery.refusal;
    char name[ELAPSE__FILE_NAME_BYTES];
    elapse__name_segment(name, examination->head + 1);
    if (refusal->fault != ELAPSE__FAULT_MISSING_SEGMENT || strcmp(refusal->file, name) != 0)
        return true;
    return tell_of_segment(examiner, ELAPSE__DAMAGE_MISSING, examination->head + 1, 0,
                           elapse__segment_bytes(&examiner->journal));
}

static bool examine_log(struct examiner *examiner)
{
    struct elapse__examination *examination = examiner->examination;
    examiner->tells_unread = true;
    for (uint64_t number = examination->tail; number <= examination->head; number++) {
        bool is_there = elapse__directory_has(&examiner->recovery, number);
        bool went_on = is_there ? examine_segment(examiner, number)
                                : tell_of_segment(examiner, ELAPSE__DAMAGE_MISSING, number, 0,
                                                  elapse__segment_bytes(&examiner->journal));
        if (!went_on)
            return false;
    }
    return examiner->is_sound || examine_successor(examiner);
}

/* Called when open refuses and the examination has found no reason. Reports the reason of open. */
static bool tell_refusal(struct examiner *examiner)
{
    const struct elapse__journal_refusal *refusal = examiner->recovery.refusal;
    struct elapse__finding finding = {.damage = refusal->fault == ELAPSE__FAULT_MISSING_SEGMENT
                                                    ? ELAPSE__DAMAGE_MISSING
                                                    : ELAPSE__DAMAGE_RECORDS,
                                      .offset = refusal->offset};
    memcpy(finding.file, refusal->file, sizeof finding.file);
    return tell(examiner, &finding);
}

static bool examine(struct examiner *examiner)
{
    struct elapse__recovery *recovery = &examiner->recovery;
    struct elapse__examination *examination = examiner->examination;
    if (!elapse__directory_read(recovery))
        return false;
    if (recovery->segments.count == 0) {
        elapse__refuse(recovery, ELAPSE__FAULT_MISSING_SEGMENT, 1, 0);
        return tell_of_segment(examiner, ELAPSE__DAMAGE_MISSING, 1, 0, 0);
    }
    if (!learn_shape(examiner))
        return false;
    examination->segment_bits = examiner->journal.segment_bits;
    if (examination->segment_bits == 0)
        return tell_of_segment(examiner, ELAPSE__DAMAGE_HEADER,
                               recovery->segments.values[recovery->segments.count - 1], 0, 0);
    examiner->bytes = malloc((size_t)elapse__segment_bytes(&examiner->journal));
    if (examiner->bytes == NULL)
        return elapse__refuse_call(recovery, ENOMEM, "");
    try_open(examiner);
    if (recovery->refusal->fault == ELAPSE__FAULT_CALL && recovery->refusal->error != EBADMSG &&
        recovery->refusal->error != EIO)
        return false;
    if (examiner->is_sound) {
        examination->head = recovery->head;
        examination->tail = recovery->tail;
    } else if (!guess_bounds(examiner)) {
        return false;
    }
    if (!examine_log(examiner))
        return false;
    return examiner->is_sound || examination->findings > 0 || tell_refusal(examiner);
}

static bool open_inner(struct examiner *examiner)
{
    char inner[4096];
    const struct elapse__examination *examination = examiner->examination;
    int length = snprintf(inner, sizeof inner, "%s/journal", examination->path);
    int error = length < 0 || (size_t)length >= sizeof inner
                    ? ENAMETOOLONG
                    : examination->files->open_directory(inner, &examiner->journal.directory);
    return error == 0 || elapse__refuse_call(&examiner->recovery, error, "journal");
}

bool elapse__journal_examine(struct elapse__examination *examination,
                             struct elapse__journal_refusal *refusal)
{
    struct examiner examiner = {.examination = examination};
    examiner.journal.files = examination->files;
    examiner.journal.directory = ELAPSE__NO_FILE;
    examiner.journal.owner =
        (struct elapse__journal_owner){.header = accept_header, .replay = accept_record};
    examiner.recovery.journal = &examiner.journal;
    examiner.recovery.refusal = refusal;
    *refusal = (struct elapse__journal_refusal){.fault = ELAPSE__FAULT_NONE};
    bool is_examined = open_inner(&examiner) && examine(&examiner);
    if (examiner.error != 0)
        elapse__refuse_call(&examiner.recovery, examiner.error, "");
    if (examiner.journal.directory != ELAPSE__NO_FILE)
        examination->files->close(examiner.journal.directory);
    free(examiner.bytes);
    elapse__segments_forget(&examiner.recovery);
    free(examiner.recovery.segments.values);
    free(examiner.recovery.spares.values);
    free(examiner.recovery.unfinished.values);
    return is_examined && examiner.error == 0;
}
