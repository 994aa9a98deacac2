/*
 * store-damage [--step N] [--from N]: flips each Nth byte of a small journal, which was stopped
 * cleanly, and removes each file. Before each trial the outcome is known:
 *
 *   REFUSED   open refuses, and names this file and this offset
 *   BODY      open succeeds; the body of this job is reported as damaged when it is read, and every
 *             other job is whole
 *   NOTHING   open succeeds, and every job is whole
 *
 * After a refusal, repair must save every job whose record is whole. A byte that makes open refuse
 * has a trial of its own. Other bytes do not affect each other, so many of them are flipped in one
 * trial, but only one in each body. If that trial fails, each of its bytes gets a trial of its own,
 * which shows the byte at fault.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <elapse/queue.h>

#include "../../../src/engine/journal/walk.h"
#include "../../../src/engine/upkeep/upkeep.h"
#include "../../../src/queue/fields.h"
#include "directory.h"

enum {
    JOBS = 330,
    SEGMENT_BITS = 14,
    SEGMENT_BYTES = 1 << SEGMENT_BITS,
    FILES_MAX = 32,
    PATH_BYTES = 512,
    BODY_BYTES_MAX = 400,
    BATCHES = BODY_BYTES_MAX, /* a body has a byte in each, at most */
};

enum outcome { NOTHING, REFUSED, BODY };

struct expected {
    enum outcome outcome;
    uint64_t offset; /* REFUSED */
    uint64_t id;     /* BODY; REFUSED: the job whose record it is, or 0 */
};

struct file {
    char name[64]; /* below the directory */
    uint8_t *bytes;
    size_t size;
    bool is_segment;           /* of the log */
    struct expected *expected; /* for each byte */
};

/* A byte that is flipped; or the whole file is missing. */
struct flip {
    const struct file *file;
    size_t at;
};

/* What is wrong in a trial. */
struct trial {
    const struct flip *flips;
    size_t count;
    bool is_missing;
};

struct batch {
    struct flip *flips;
    size_t count, capacity;
};

static struct batch batches[BATCHES];
static struct file files[FILES_MAX];
static size_t file_count;
static bool is_live[JOBS + 1];

/* The newest record of each job. On a busy machine the stop comes before an older one was cleaned
 * away with its file, and nobody reads the body of that one any more. */
static struct newest {
    size_t file;
    uint64_t position; /* 0: none was seen */
    uint64_t body, body_end;
} newest[JOBS + 1];

static const char *base;
static unsigned long failures;

/* ---- the jobs ---- */

static size_t body_of(uint64_t id, char *body)
{
    size_t size = (size_t)(id * 37 % BODY_BYTES_MAX);
    if (id % 11 == 0)
        size = 0;
    for (size_t i = 0; i < size; i++)
        body[i] = (char)('a' + (id + i) % 26);
    return size;
}

static void demand(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "store-damage: %s\n", what);
    exit(2);
}

static void join(char path[PATH_BYTES], const char *directory, const char *name)
{
    int length = snprintf(path, PATH_BYTES, "%s/%s", directory, name);
    demand(length > 0 && length < PATH_BYTES, "a path is too long");
}

static struct elapse_queue *open_queue(const char *path, enum elapse_error *error,
                                       struct elapse_queue_fault *fault)
{
    struct elapse_queue_options options;
    struct elapse_queue *queue;
    elapse_queue_options_init(&options);
    options.segment_bytes = SEGMENT_BYTES;
    *error = elapse_queue_open(path, &options, &queue, fault);
    return queue;
}

static void make_original(const char *path)
{
    enum elapse_error error;
    struct elapse_queue_fault fault;
    struct elapse_queue *queue = open_queue(path, &error, &fault);
    struct elapse_answer answer = {.id = 0};
    char body[BODY_BYTES_MAX], key[32];
    demand(queue != NULL, fault.text);
    for (uint64_t id = 1; id <= JOBS; id++) {
        struct elapse_put put = {.tube = "tube", .body = body, .key = key, .delay_ms = 3600000};
        put.body_bytes = body_of(id, body);
        put.key_bytes = (size_t)snprintf(key, sizeof key, "key-%" PRIu64, id);
        demand(elapse_queue_put(queue, &put, &answer) == ELAPSE_OK && answer.id == id, "put");
        is_live[id] = true;
        if (id % 5 == 0) {
            demand(elapse_queue_cancel_id(queue, id - 2, &answer) == ELAPSE_OK, "cancel");
            is_live[id - 2] = false;
        }
        if (id % 20 == 0)
            demand(elapse_queue_commit(queue, answer.position, ELAPSE_QUEUE_FOREVER_MS) ==
                       ELAPSE_OK,
                   "commit");
    }
    demand(elapse_queue_close(queue) == ELAPSE_OK, "close");
}

/* ---- files ---- */

static void load_file(const char *directory, const char *below, const char *name)
{
    char path[PATH_BYTES];
    struct stat status;
    struct file *file = &files[file_count++];
    demand(file_count <= FILES_MAX, "too many files");
    int length = snprintf(file->name, sizeof file->name, "%s%s", below, name);
    demand(length > 0 && (size_t)length < sizeof file->name, name);
    join(path, directory, file->name);
    int descriptor = open(path, O_RDONLY);
    demand(descriptor >= 0 && fstat(descriptor, &status) == 0, path);
    file->size = (size_t)status.st_size;
    file->bytes = malloc(file->size + 1);
    demand(file->bytes != NULL && read(descriptor, file->bytes, file->size) == (ssize_t)file->size,
           path);
    (void)close(descriptor);
    file->expected = calloc(file->size + 1, sizeof *file->expected);
    demand(file->expected != NULL, "memory");
    file->is_segment = strstr(name, ".log") != NULL;
}

static void load_files(const char *directory)
{
    char path[PATH_BYTES];
    join(path, directory, "journal");
    DIR *entries = opendir(path);
    const struct dirent *entry;
    demand(entries != NULL, path);
    while ((entry = readdir(entries)) != NULL) {
        if (entry->d_name[0] != '.')
            load_file(directory, "journal/", entry->d_name);
    }
    (void)closedir(entries);
    load_file(directory, "", "lock");
}

static void flip(const struct trial *trial, const struct file *file)
{
    for (size_t i = 0; i < trial->count && !trial->is_missing; i++)
        if (trial->flips[i].file == file)
            file->bytes[trial->flips[i].at] ^= 0xFF;
}

/* Writes the directory anew, with what is wrong in it. */
static void write_files(const char *directory, const struct trial *trial)
{
    char path[PATH_BYTES];
    join(path, directory, "journal");
    demand((mkdir(directory, 0700) == 0 || errno == EEXIST) && mkdir(path, 0700) == 0, path);
    for (size_t i = 0; i < file_count; i++) {
        const struct file *file = &files[i];
        if (trial->is_missing && file == trial->flips->file)
            continue;
        join(path, directory, file->name);
        int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
        demand(descriptor >= 0, path);
        flip(trial, file);
        demand(write(descriptor, file->bytes, file->size) == (ssize_t)file->size, path);
        flip(trial, file);
        (void)close(descriptor);
    }
}

static void remove_directory(const char *directory)
{
    char path[PATH_BYTES], journal[PATH_BYTES];
    join(journal, directory, "journal");
    DIR *entries = opendir(journal);
    const struct dirent *entry;
    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        join(path, journal, entry->d_name);
        (void)unlink(path);
    }
    if (entries != NULL)
        (void)closedir(entries);
    (void)rmdir(journal);
    join(path, directory, "lock");
    (void)unlink(path);
    (void)rmdir(directory);
}

/* ---- what must happen ---- */

static void expect(struct file *file, uint64_t from, uint64_t to, struct expected expected)
{
    demand(to <= file->size, "a record is longer than its file");
    for (uint64_t at = from; at < to; at++)
        file->expected[at] = expected;
}

/* Expects that the body of the newest record of a job counts. The files come in any order. */
static void map_put(uint64_t id, struct newest put)
{
    struct newest *known = &newest[id];
    if (put.position < known->position)
        return;
    if (known->position > 0)
        expect(&files[known->file], known->body, known->body_end,
               (struct expected){.outcome = NOTHING});
    *known = put;
    expect(&files[put.file], put.body, put.body_end, (struct expected){.outcome = BODY, .id = id});
}

static void map_record(size_t number, const struct elapse__walk *walk)
{
    struct file *file = &files[number];
    const uint8_t *fields = walk->bytes + ELAPSE__RECORD_HEADER_BYTES;
    struct elapse__record record = {.type = walk->frame.type,
                                    .fields_size = walk->frame.fields_size,
                                    .body_size = walk->frame.body_size,
                                    .fields = fields};
    struct elapse__queue_fields decoded = {.id = 0};
    uint64_t offset = walk->position - walk->view->first_position;
    uint64_t body = offset + ELAPSE__RECORD_HEADER_BYTES + walk->frame.fields_size;
    bool is_put = record.type == ELAPSE__RECORD_PUT;
    if (is_put)
        demand(elapse__queue_fields_decode(&decoded, &record), "the fields of a PUT");
    expect(file, offset, body,
           (struct expected){.outcome = REFUSED, .offset = offset, .id = decoded.id});
    if (is_put && is_live[decoded.id])
        map_put(decoded.id, (struct newest){.file = number,
                                            .position = walk->position,
                                            .body = body,
                                            .body_end = body + walk->frame.body_size});
}

static void map_segment(size_t number, bool is_head)
{
    struct file *file = &files[number];
    struct elapse__segment_header header;
    struct elapse__walk walk;
    uint32_t version;
    demand(elapse__segment_header_decode(file->bytes, &header, &version) == ELAPSE__HEADER_WHOLE,
           "a header");
    struct elapse__segment_view view = {
        .bytes = file->bytes,
        .size = file->size,
        .first_position = header.number << SEGMENT_BITS,
        .seed = elapse__identity_seed(&header.identity),
    };
    uint64_t last = 0;
    expect(file, 0, 72, (struct expected){.outcome = REFUSED});
    elapse__walk_begin(&walk, &view, ELAPSE__SEGMENT_HEADER_BYTES);
    while (elapse__walk_next(&walk)) {
        map_record(number, &walk);
        last = walk.position - view.first_position;
    }
    /* The very last COMMIT looks like a torn one, and says nothing of jobs. */
    if (is_head)
        expect(file, last, last + ELAPSE__COMMIT_BYTES, (struct expected){.outcome = NOTHING});
}

static void map_files(void)
{
    size_t head = 0;
    unsigned long greatest = 0;
    unsigned segments = 0;
    for (size_t i = 0; i < file_count; i++) {
        unsigned long number = strtoul(files[i].name + strlen("journal/"), NULL, 10);
        segments += files[i].is_segment;
        if (files[i].is_segment && number > greatest) {
            greatest = number;
            head = i;
        }
    }
    demand(segments >= 4, "the journal has too few segments");
    for (size_t i = 0; i < file_count; i++) {
        if (files[i].is_segment)
            map_segment(i, i == head);
    }
}

/* ---- one trial ---- */

static void fail(const struct trial *trial, const char *text)
{
    if (failures++ < 20 && trial->count == 1)
        fprintf(stderr, "%s, byte %zu: %s\n", trial->flips->file->name, trial->flips->at, text);
}

static const struct expected *expected_of(const struct flip *flip)
{
    return &flip->file->expected[flip->at];
}

static bool is_whole(uint64_t id, const struct elapse_content *content)
{
    char body[BODY_BYTES_MAX];
    size_t size = body_of(id, body);
    return content->body_bytes == size && memcmp(content->body, body, size) == 0;
}

static void check_jobs(struct elapse_queue *queue, const struct trial *trial)
{
    bool is_hit[JOBS + 1] = {false};
    for (size_t i = 0; i < trial->count && !trial->is_missing; i++)
        if (expected_of(&trial->flips[i])->outcome == BODY)
            is_hit[expected_of(&trial->flips[i])->id] = true;
    for (uint64_t id = 1; id <= JOBS; id++) {
        struct elapse_content content;
        enum elapse_error error = elapse_queue_peek(queue, id, &content);
        if (error != (is_hit[id]    ? ELAPSE_ERROR_DAMAGED
                      : is_live[id] ? ELAPSE_OK
                                    : ELAPSE_ERROR_GONE))
            fail(trial, "a job is lost, is back, or is not reported as damaged");
        else if (error == ELAPSE_OK && !is_whole(id, &content))
            fail(trial, "a job has another body");
        elapse_content_free(&content);
    }
}

static void ignore_line(void *context, const char *text)
{
    (void)context, (void)text;
}

/* Repairs, and demands every job whose record was not hit. */
static void check_repair(const char *directory, const struct trial *trial)
{
    char repaired[PATH_BYTES];
    struct elapse__upkeep_report report;
    struct elapse__upkeep_fault words;
    struct elapse_queue_fault fault;
    enum elapse_error error;
    const struct flip *flip = trial->flips;
    join(repaired, base, "repaired");
    if (!elapse__upkeep_check(directory, repaired, ignore_line, NULL, &report, &words)) {
        /* An unknown version is none of this program's: nothing is touched. */
        if (strstr(words.text, "is unknown to this program") == NULL)
            fail(trial, words.text);
        remove_directory(repaired);
        return;
    }
    struct elapse_queue *queue = open_queue(repaired, &error, &fault);
    if (report.damages == 0 || queue == NULL)
        fail(trial, queue == NULL ? fault.text : "check finds nothing");
    for (uint64_t id = 1; id <= JOBS && queue != NULL; id++) {
        struct elapse_content content;
        bool is_lost =
            trial->is_missing ? &files[newest[id].file] == flip->file : expected_of(flip)->id == id;
        error = elapse_queue_peek(queue, id, &content);
        if (is_live[id] && !is_lost && (error != ELAPSE_OK || !is_whole(id, &content)))
            fail(trial, "repair has lost a whole job");
        elapse_content_free(&content);
    }
    if (queue != NULL)
        demand(elapse_queue_close(queue) == ELAPSE_OK, "close");
    remove_directory(repaired);
}

static void check_refusal(const struct trial *trial, enum elapse_error error, const char *text)
{
    const char *name = strrchr(trial->flips->file->name, '/') + 1;
    uint64_t offset = trial->is_missing ? 0 : expected_of(trial->flips)->offset;
    char place[96];
    if (trial->is_missing)
        (void)snprintf(place, sizeof place, "/%s: the file is missing", name);
    else if (offset > 0)
        (void)snprintf(place, sizeof place, "/%s: at offset %" PRIu64 ": ", name, offset);
    else
        (void)snprintf(place, sizeof place, "/%s: ", name);
    if (error != ELAPSE_ERROR_DAMAGED && error != ELAPSE_ERROR_FORMAT)
        fail(trial, "open does not refuse");
    else if (strstr(text, place) == NULL)
        fail(trial, text);
}

static void try(const struct trial *trial)
{
    const struct flip *first = trial->flips;
    bool refuses =
        trial->is_missing ? first->file->is_segment : expected_of(first)->outcome == REFUSED;
    char directory[PATH_BYTES];
    struct elapse_queue_fault fault;
    enum elapse_error error;
    join(directory, base, "trial");
    write_files(directory, trial);
    struct elapse_queue *queue = open_queue(directory, &error, &fault);
    if (refuses) {
        check_refusal(trial, error, fault.text);
        if (queue == NULL)
            check_repair(directory, trial);
    } else if (queue == NULL) {
        fail(trial, fault.text);
    } else {
        check_jobs(queue, trial);
    }
    if (queue != NULL)
        demand(elapse_queue_close(queue) == ELAPSE_OK, "close");
    remove_directory(directory);
}

/* ---- all trials ---- */

static void add_to_batch(struct batch *batch, struct flip flip)
{
    if (batch->count == batch->capacity) {
        batch->capacity = batch->capacity == 0 ? 64 : 2 * batch->capacity;
        batch->flips = realloc(batch->flips, batch->capacity * sizeof *batch->flips);
        demand(batch->flips != NULL, "memory");
    }
    batch->flips[batch->count++] = flip;
}

static void try_byte(struct flip flip)
{
    static unsigned bytes_of_job[JOBS + 1], bytes_of_none;
    const struct expected *expected = expected_of(&flip);
    if (expected->outcome == REFUSED)
        try(&(struct trial){.flips = &flip, .count = 1});
    else if (expected->outcome == BODY)
        add_to_batch(&batches[bytes_of_job[expected->id]++ % BATCHES], flip);
    else
        add_to_batch(&batches[bytes_of_none++ % BATCHES], flip);
}

static void try_batch(struct batch *batch)
{
    unsigned long before = failures;
    if (batch->count > 0)
        try(&(struct trial){.flips = batch->flips, .count = batch->count});
    for (size_t i = 0; i < batch->count && failures > before; i++)
        try(&(struct trial){.flips = &batch->flips[i], .count = 1});
    free(batch->flips);
}

static void try_all(size_t step, size_t from)
{
    size_t trials = 0, outcomes[3] = {0};
    for (size_t i = 0; i < file_count; i++) {
        struct flip all = {.file = &files[i]};
        try(&(struct trial){.flips = &all, .count = 1, .is_missing = true});
        for (size_t at = from % step; at < files[i].size; at += step, trials++) {
            outcomes[files[i].expected[at].outcome]++;
            try_byte((struct flip){.file = &files[i], .at = at});
        }
    }
    for (size_t i = 0; i < BATCHES; i++)
        try_batch(&batches[i]);
    printf("%zu bytes flipped: %zu refused, %zu bodies, %zu nothing; %zu files removed; %lu "
           "failures\n",
           trials, outcomes[REFUSED], outcomes[BODY], outcomes[NOTHING], file_count, failures);
}

int main(int argc, char **argv)
{
    size_t step = 1, from = 0;
    char original[PATH_BYTES];
    for (int i = 1; i + 1 < argc; i += 2) {
        size_t *number = strcmp(argv[i], "--step") == 0   ? &step
                         : strcmp(argv[i], "--from") == 0 ? &from
                                                          : NULL;
        demand(number != NULL, "usage: store-damage [--step N] [--from N]");
        *number = strtoul(argv[i + 1], NULL, 10);
    }
    demand(step > 0, "a step is at least 1");
    /* The files are damaged by hand: that they lie on a disk would only take time. */
    if (access("/dev/shm", W_OK) == 0)
        demand(setenv("TMPDIR", "/dev/shm", 0) == 0, "the environment");
    base = directory_make();
    join(original, base, "original");
    make_original(original);
    load_files(original);
    map_files();
    try_all(step, from);
    for (size_t i = 0; i < file_count; i++) {
        free(files[i].bytes);
        free(files[i].expected);
    }
    directory_remove();
    return failures == 0 ? 0 : 1;
}
