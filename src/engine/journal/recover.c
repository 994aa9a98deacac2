/*
 * Finds where the log ends and where it begins. Decides whether a hole in the log is torn, which a
 * crash explains, or damaged.
 */
#include <string.h>

#include "../../base/assert.h"
#include "recover.h"
#include "transfer.h"

/* Reads the header of a segment. Refuses only an unknown version and a call that failed. */
static bool read_header(struct elapse__recovery *recovery, uint64_t number,
                        struct elapse__segment_header *header, enum elapse__header_verdict *verdict)
{
    struct elapse__journal *journal = recovery->journal;
    uint8_t bytes[ELAPSE__SEGMENT_HEADER_BYTES];
    char name[ELAPSE__FILE_NAME_BYTES];
    int file;
    uint32_t version;
    *verdict = ELAPSE__HEADER_UNKNOWN_VERSION;
    elapse__name_segment(name, number);
    int error = journal->files->open(journal->directory, name, ELAPSE__FILE_READ, &file);
    if (error != 0)
        return elapse__refuse_call(recovery, error, name);
    error = elapse__read_all(journal->files, file, 0, bytes, sizeof bytes);
    journal->files->close(file);
    if (error != 0)
        return elapse__refuse_call(recovery, error, name);
    *verdict = elapse__segment_header_decode(bytes, header, &version);
    recovery->refusal->found = version;
    return *verdict != ELAPSE__HEADER_UNKNOWN_VERSION ||
           elapse__refuse(recovery, ELAPSE__FAULT_VERSION, number, 8);
}

/* Takes the size of segments and the identity from the newest whole header. */
bool elapse__recovery_learn_shape(struct elapse__recovery *recovery)
{
    struct elapse__journal *journal = recovery->journal;
    const struct elapse__numbers *numbers = &recovery->segments;
    for (size_t i = numbers->count; i-- > 0;) {
        struct elapse__segment_header header;
        enum elapse__header_verdict verdict;
        if (!read_header(recovery, numbers->values[i], &header, &verdict))
            return false;
        if (verdict != ELAPSE__HEADER_WHOLE)
            continue;
        journal->segment_bits = header.segment_bits;
        journal->identity = header.identity;
        journal->is_placed = header.is_placed;
        journal->seed = elapse__identity_seed(&header.identity);
        return true;
    }
    return elapse__refuse(recovery, ELAPSE__FAULT_HEADER, numbers->values[numbers->count - 1], 0);
}

bool elapse__segment_header_check(struct elapse__recovery *recovery, uint64_t number,
                                  struct elapse__segment_header *header)
{
    struct elapse__journal *journal = recovery->journal;
    enum elapse__header_verdict verdict;
    if (!read_header(recovery, number, header, &verdict))
        return false;
    if (verdict != ELAPSE__HEADER_WHOLE)
        return elapse__refuse(recovery, ELAPSE__FAULT_HEADER, number, 0);
    if (header->number != number || header->segment_bits != journal->segment_bits ||
        header->is_placed != journal->is_placed ||
        memcmp(&header->identity, &journal->identity, sizeof header->identity) != 0)
        return elapse__refuse(recovery, ELAPSE__FAULT_FOREIGN, number, 0);
    return true;
}

static bool survey_head(struct elapse__recovery *recovery, struct elapse__remnants *remnants)
{
    int file;
    if (!elapse__segment_load(recovery, recovery->head, &file))
        return false;
    recovery->journal->files->close(file);
    elapse__survey_segment(&recovery->view, &recovery->top, recovery->view.size);
    recovery->checked = recovery->top.bad_offset;
    elapse__remnants_find(&recovery->view, recovery->top.bad_offset, remnants);
    return true;
}

static bool survey_before(struct elapse__recovery *recovery)
{
    uint64_t number = recovery->head - 1;
    int file;
    if (!elapse__segment_stream(recovery, number, &file))
        return false;
    elapse__survey_segment(&recovery->view, &recovery->before, recovery->view.size);
    elapse__ahead_rest(recovery->ahead);
    recovery->journal->files->close(file);
    return elapse__segment_was_read(recovery, number);
}

/* Decides whether the file with the greatest number is the head, or does not count. A segment
 * exists if the segment before it has a SEAL for it. A segment needs no SEAL to prove that it
 * exists if one of its own COMMITs says that it was durable (F2 of journal.h). Then the segment
 * before is read only once, by the replay. The replay refuses it if it has no SEAL. */
static bool choose_head(struct elapse__recovery *recovery, struct elapse__remnants *remnants)
{
    uint64_t number = recovery->segments.values[recovery->segments.count - 1];
    recovery->head = number;
    if (!survey_head(recovery, remnants))
        return false;
    const struct elapse__commit *last = &recovery->top.last;
    bool is_certain =
        recovery->top.commits > 0 &&
        (last->tail == number || elapse__segment_of(recovery->journal, last->durable) == number);
    if (is_certain || !elapse__directory_has(recovery, number - 1))
        return true;
    if (!survey_before(recovery))
        return false;
    recovery->has_before = recovery->before.is_sealed && recovery->before.sealed_next == number;
    if (recovery->has_before)
        return true;
    if (recovery->top.commits > 0 || remnants->commits > 0)
        return elapse__refuse(recovery, ELAPSE__FAULT_RECORD, number - 1,
                              recovery->before.bad_offset);
    recovery->head = number - 1;
    if (!survey_head(recovery, remnants))
        return false;
    if (!elapse__directory_has(recovery, recovery->head - 1))
        return true;
    if (!survey_before(recovery))
        return false;
    recovery->has_before =
        recovery->before.is_sealed && recovery->before.sealed_next == recovery->head;
    return true;
}

/* Returns the last COMMIT of the log. It lies in the head, or else in the SEAL's group of the
 * segment before the head. */
static struct elapse__commit last_commit(const struct elapse__recovery *recovery)
{
    uint64_t start = recovery->view.first_position + ELAPSE__SEGMENT_HEADER_BYTES;
    struct elapse__commit none = {.durable = start, .tail = recovery->head_header.tail};
    if (recovery->top.commits > 0)
        return recovery->top.last;
    return recovery->has_before ? recovery->before.last : none;
}

/* Cuts groups whose bodies are torn. The bodies of older groups are checked when they are used. */
static bool find_end(struct elapse__recovery *recovery)
{
    int file;
    if (!elapse__segment_load(recovery, recovery->head, &file))
        return false;
    recovery->journal->files->close(file);
    const struct elapse__segment_view *view = &recovery->view;
    uint64_t start = view->first_position + ELAPSE__SEGMENT_HEADER_BYTES;
    uint64_t durable = last_commit(recovery).durable;
    uint64_t from = (durable > start ? durable : start) - view->first_position;
    if (from > recovery->top.end)
        return elapse__refuse(recovery, ELAPSE__FAULT_RECORD, recovery->head, recovery->top.end);
    uint64_t end = elapse__damaged_group_find(view, from, recovery->top.end);
    if (end < recovery->top.end)
        elapse__survey_segment(view, &recovery->top, end);
    ELAPSE__ASSERT_THAT(recovery->top.end, <=, end);
    return true;
}

static bool find_tail(struct elapse__recovery *recovery)
{
    struct elapse__commit commit = last_commit(recovery);
    recovery->durable = commit.durable;
    recovery->tail = commit.tail;
    if (recovery->tail == 0 || recovery->tail > recovery->head)
        return elapse__refuse(recovery, ELAPSE__FAULT_RECORD, recovery->head, recovery->top.end);
    for (uint64_t number = recovery->tail; number < recovery->head; number++) {
        if (!elapse__directory_has(recovery, number))
            return elapse__refuse(recovery, ELAPSE__FAULT_MISSING_SEGMENT, number, 0);
    }
    return true;
}

bool elapse__recovery_find_head(struct elapse__recovery *recovery)
{
    struct elapse__remnants remnants;
    if (!choose_head(recovery, &remnants))
        return false;
    if (!elapse__segment_header_check(recovery, recovery->head, &recovery->head_header))
        return false;
    if (recovery->top.is_sealed)
        return elapse__refuse(recovery, ELAPSE__FAULT_MISSING_SEGMENT, recovery->top.sealed_next,
                              0);
    uint64_t bad = elapse__position_at(recovery->journal, recovery->head, recovery->top.bad_offset);
    if (recovery->top.is_unknown || remnants.durable > bad)
        return elapse__refuse(recovery, ELAPSE__FAULT_RECORD, recovery->head,
                              recovery->top.bad_offset);
    return find_end(recovery) && find_tail(recovery);
}
