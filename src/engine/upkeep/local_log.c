#include "local_log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../journal/examine.h"
#include "../journal/portable.h"
#include "data.h"

/* Room for the group that is being read: its header, then its records, in the form of a log. */
struct reader {
    struct elapse__upkeep_local_log *log;
    uint8_t *bytes;
    size_t size, room;
    uint32_t records;
    uint64_t broken; /* the group whose bytes have another hash than in the log; 0: none */
    const char *directory;
    struct elapse__upkeep_fault damage; /* the first damage that was found; "": none */
};

static void begin_group(struct reader *reader)
{
    reader->size = ELAPSE__PORTABLE_HEADER_BYTES;
    reader->records = 0;
}

static bool make_room(struct reader *reader, size_t more)
{
    size_t room = 2 * (reader->size + more);
    ELAPSE__ASSERT_THAT(reader->size, >=, ELAPSE__PORTABLE_HEADER_BYTES);
    if (reader->size + more <= reader->room)
        return true;
    uint8_t *grown = realloc(reader->bytes, room);
    if (grown == NULL)
        return false;
    reader->bytes = grown;
    reader->room = room;
    return true;
}

static int take_record(void *context, uint64_t position, const struct elapse__record *record)
{
    struct reader *reader = context;
    (void)position;
    if (!make_room(reader,
                   (size_t)ELAPSE__PORTABLE_RECORD_BYTES + record->fields_size + record->body_size))
        return ENOMEM;
    reader->size += elapse__portable_put_record(record, reader->bytes + reader->size);
    reader->records++;
    ELAPSE__ASSERT_THAT(reader->size, <=, reader->room);
    return 0;
}

static struct elapse__upkeep_local_group *add(struct elapse__upkeep_local_log *log)
{
    size_t room = log->room == 0 ? 1024 : 2 * log->room;
    if (log->count == log->room) {
        struct elapse__upkeep_local_group *grown = realloc(log->groups, room * sizeof *grown);
        if (grown == NULL)
            return NULL;
        log->groups = grown;
        log->room = room;
    }
    ELAPSE__ASSERT_THAT(log->count, <, log->room);
    return &log->groups[log->count++];
}

/* Completes the bytes of the group. Compares their hash with the hash that the group has in the
 * log. */
static int keep_bytes(struct reader *reader, const struct elapse__journal_place *place,
                      struct elapse__upkeep_local_group *group)
{
    const struct elapse__portable_facts facts = {
        .tail = place->tail, .next_id = place->next_id, .wall_ms = place->wall_ms};
    ELAPSE__ASSERT_THAT(place->group, ==, group->number);
    if (!make_room(reader, 0))
        return ENOMEM;
    elapse__portable_put_header(&facts, reader->records, reader->bytes);
    if (reader->log->next_hash(place->previous_hash, reader->bytes, reader->size) != place->hash) {
        /* The first place may belong to a group whose records were in a file that was removed,
         * because nobody needed it any more. */
        bool is_first = reader->log->count == 1;
        reader->broken = is_first ? 0 : place->group;
        return is_first ? 0 : EBADMSG;
    }
    group->bytes = malloc(reader->size);
    if (group->bytes == NULL)
        return ENOMEM;
    memcpy(group->bytes, reader->bytes, reader->size);
    group->size = reader->size;
    return 0;
}

static int add_group(struct reader *reader, const struct elapse__journal_place *place)
{
    struct elapse__upkeep_local_log *log = reader->log;
    struct elapse__upkeep_local_group *group = add(log);
    if (group == NULL)
        return ENOMEM;
    *group = (struct elapse__upkeep_local_group){.number = place->group,
                                                 .hash = place->hash,
                                                 .previous_hash = place->previous_hash,
                                                 .has_records = reader->records > 0};
    if (log->count > 1 &&
        (group[-1].number + 1 != group->number || group[-1].hash != group->previous_hash)) {
        reader->broken = place->group;
        return EBADMSG;
    }
    return place->group < log->from ? 0 : keep_bytes(reader, place, group);
}

static void forget_groups(struct elapse__upkeep_local_log *log)
{
    for (size_t i = 0; i < log->count; i++)
        free(log->groups[i].bytes);
    log->count = 0;
}

/* Takes the place of a group. A group without an owner's records has the place of the group before
 * it. */
static int take_place(void *context, const struct elapse__journal_place *place)
{
    struct reader *reader = context;
    const struct elapse__upkeep_local_log *log = reader->log;
    uint64_t last = log->count == 0 ? 0 : log->groups[log->count - 1].number;
    int error = 0;
    if (place->forgets)
        forget_groups(reader->log);
    else if (place->group != last && place->group != 0)
        error = add_group(reader, place);
    ELAPSE__ASSERT_THAT(log->count, <=, log->room);
    begin_group(reader);
    return error;
}

/* Notes the damage, and ends the reading, because groups may be missing after it. */
static int take_finding(void *context, const struct elapse__finding *finding)
{
    struct reader *reader = context;
    elapse__upkeep_describe(reader->directory, finding, reader->damage.text,
                            sizeof reader->damage.text);
    return EBADMSG;
}

static bool read_log(const char *directory, struct reader *reader,
                     struct elapse__upkeep_fault *fault)
{
    struct elapse__journal_refusal refusal;
    struct elapse__examination examination = {
        .files = &elapse__files_linux,
        .path = directory,
        .context = reader,
        .finding = take_finding,
        .record = take_record,
        .place = take_place,
    };
    char words[96];
    ELAPSE__ASSERT(reader->log->count == 0 && reader->damage.text[0] == '\0');
    begin_group(reader);
    bool is_read = elapse__journal_examine(&examination, &refusal);
    (void)snprintf(words, sizeof words, "group %" PRIu64 " of the log is not whole here",
                   reader->broken);
    if (reader->damage.text[0] != '\0') {
        *fault = reader->damage;
        return false;
    }
    if (reader->broken != 0)
        return elapse__upkeep_fail(fault, directory, words);
    if (!is_read)
        return elapse__upkeep_refuse(fault, directory, &refusal);
    if (!examination.is_placed)
        return elapse__upkeep_fail(fault, directory, "this is no directory of a node of a cluster");
    return true;
}

static bool read_memory(const char *directory, struct elapse__store_memory *memory,
                        struct elapse__upkeep_fault *fault)
{
    int error = elapse__store_recall(&elapse__files_linux, directory, memory);
    if (error == EBADMSG)
        return elapse__upkeep_fail(fault, directory,
                                   "the file cluster is damaged, or of a later version");
    return error == 0 || elapse__upkeep_fail(fault, directory, strerror(error));
}

bool elapse__upkeep_local_log_read(const char *directory, struct elapse__upkeep_local_log *log,
                                   struct elapse__upkeep_fault *fault)
{
    struct reader reader = {.log = log, .directory = directory};
    ELAPSE__ASSERT(log->count == 0 && log->groups == NULL);
    if (!elapse__data_lock(directory, &log->lock, fault))
        return false;
    bool is_read =
        read_memory(directory, &log->memory, fault) && read_log(directory, &reader, fault);
    free(reader.bytes);
    ELAPSE__ASSERT(is_read || fault->text[0] != '\0'); /* a refusal has a reason */
    if (!is_read)
        elapse__upkeep_local_log_free(log);
    return is_read;
}

void elapse__upkeep_local_log_free(struct elapse__upkeep_local_log *log)
{
    forget_groups(log);
    free(log->groups);
    log->groups = NULL;
    log->room = 0;
    if (log->lock != ELAPSE__NO_FILE)
        elapse__files_linux.close(log->lock);
    log->lock = ELAPSE__NO_FILE;
}
