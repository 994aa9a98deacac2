/*
 * Declares the functions by which open finds out what the directory has, and makes it trustworthy
 * again.
 */
#ifndef ELAPSE__JOURNAL_RECOVER_H
#define ELAPSE__JOURNAL_RECOVER_H

#include "group.h"
#include "walk.h"

/* The numbers in the names of one kind of file. */
struct elapse__numbers {
    uint64_t *values;
    size_t count, capacity;
};

struct elapse__recovery {
    struct elapse__journal *journal;
    struct elapse__journal_refusal *refusal;
    struct elapse__numbers segments, spares, unfinished;
    uint8_t *bytes;                        /* the segment that was loaded last */
    const struct elapse_allocator *memory; /* the memory of `bytes`; NULL: the C library's */
    uint64_t loaded;  /* the number of the segment in `bytes`; 0: there is none */
    uint64_t checked; /* of this segment (struct elapse__segment_view) */
    struct elapse__window window;
    struct elapse__ahead *ahead;      /* reads for the window; NULL: nobody reads ahead */
    struct elapse__segment_view view; /* of the segment that was loaded or streamed last */
    uint64_t head, tail;
    struct elapse__survey top;    /* what the head has */
    struct elapse__survey before; /* what the segment before the head has; valid if has_before */
    bool has_before;
    uint64_t durable; /* the position that the last COMMIT names as durable */
    struct elapse__segment_header head_header;
};

/* Says why open refuses, and returns false. */
bool elapse__refuse(struct elapse__recovery *recovery, enum elapse__journal_fault fault,
                    uint64_t segment, uint64_t offset);
bool elapse__refuse_call(struct elapse__recovery *recovery, int error, const char *file);

/* directory.c: lists the directory, and makes a new journal in an empty one. */
bool elapse__directory_read(struct elapse__recovery *recovery);
bool elapse__directory_has(const struct elapse__recovery *recovery, uint64_t segment);
bool elapse__directory_create(struct elapse__recovery *recovery,
                              const struct elapse__journal_options *options);

/* Both functions make `view` show a segment, and open the segment's file into `*file`. Load reads
 * all of the file into `bytes`, unless `bytes` has it already. Stream reads the file while somebody
 * walks over the view. */
bool elapse__segment_load(struct elapse__recovery *recovery, uint64_t number, int *file);
bool elapse__segment_stream(struct elapse__recovery *recovery, uint64_t number, int *file);

/* Refuses if a reading of the streamed segment has failed. */
bool elapse__segment_was_read(struct elapse__recovery *recovery, uint64_t number);

/* Forgets what was loaded, and frees memory. */
void elapse__segments_forget(struct elapse__recovery *recovery);

/* recover.c: finds the size of segments and the identity, and then head, tail and end. */
bool elapse__recovery_learn_shape(struct elapse__recovery *recovery);
bool elapse__recovery_find_head(struct elapse__recovery *recovery);

/* Refuses a header that is damaged or belongs to another place. */
bool elapse__segment_header_check(struct elapse__recovery *recovery, uint64_t number,
                                  struct elapse__segment_header *header);

/* replay.c: opens the segments tail .. head, and gives all records to the owner. */
bool elapse__recovery_replay(struct elapse__recovery *recovery);

/* repair.c: writes again, cuts, and uses leftover files. */
bool elapse__recovery_repair(struct elapse__recovery *recovery);
bool elapse__recovery_tidy(struct elapse__recovery *recovery);
bool elapse__recovery_choose_place(struct elapse__recovery *recovery);

#endif
