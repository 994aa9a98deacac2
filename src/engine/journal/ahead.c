#include "ahead.h"

#include <stdlib.h>

#include "../../base/assert.h"
#include "../../os/os.h"
#include "transfer.h"

enum ahead_state {
    AHEAD_IDLE,  /* the thread waits for a piece */
    AHEAD_ASKED, /* the thread reads. Nobody else uses `piece` */
    AHEAD_READ,  /* the piece waits to be taken */
};

struct elapse__ahead {
    const struct elapse__files *files;
    struct elapse__lock lock;
    struct elapse__condition changed; /* of `state` and `ends`. At most one thread waits */
    struct elapse__os_thread thread;
    enum ahead_state state;
    bool ends;
    size_t piece_bytes;
    struct elapse__ahead_piece piece;
    int error; /* of the reading of `piece` */
};

static void *read_pieces(void *argument)
{
    struct elapse__ahead *ahead = argument;

    elapse__os_thread_name("elapse-open");
    elapse__lock(&ahead->lock);
    while (!ahead->ends) {
        if (ahead->state != AHEAD_ASKED) {
            elapse__condition_wait(&ahead->changed, &ahead->lock);
            continue;
        }
        elapse__unlock(&ahead->lock);
        const struct elapse__ahead_piece *piece = &ahead->piece;
        int error =
            elapse__read_all(ahead->files, piece->file, piece->offset, piece->bytes, piece->count);
        elapse__lock(&ahead->lock);
        ELAPSE__ASSERT_THAT(ahead->state, ==, AHEAD_ASKED);
        ahead->error = error;
        ahead->state = AHEAD_READ;
        elapse__condition_signal(&ahead->changed);
    }
    elapse__unlock(&ahead->lock);
    return NULL;
}

/* Frees what was made before the thread. */
static void release(struct elapse__ahead *ahead, bool has_lock, bool has_condition)
{
    if (has_condition)
        elapse__condition_free(&ahead->changed);
    if (has_lock)
        elapse__lock_free(&ahead->lock);
    free(ahead->piece.bytes);
    free(ahead);
}

struct elapse__ahead *elapse__ahead_start(const struct elapse__files *files, size_t piece_bytes)
{
    struct elapse__ahead *ahead = calloc(1, sizeof *ahead);

    ELAPSE__ASSERT_THAT(piece_bytes, >, 0);
    if (ahead == NULL)
        return NULL;
    ahead->files = files;
    ahead->piece_bytes = piece_bytes;
    ahead->piece.file = ELAPSE__NO_FILE;
    ahead->piece.bytes = malloc(piece_bytes);
    bool has_lock = ahead->piece.bytes != NULL && elapse__os->lock_init(&ahead->lock) == 0;
    bool has_condition = has_lock && elapse__os->condition_init(&ahead->changed) == 0;
    if (has_condition && elapse__os->thread_start(&ahead->thread, 0, read_pieces, ahead) == 0)
        return ahead;
    release(ahead, has_lock, has_condition);
    return NULL;
}

/* Waits until the thread does not use the piece. */
static void wait_for_thread(struct elapse__ahead *ahead)
{
    ELAPSE__ASSERT_LOCK_HELD(&ahead->lock);
    while (ahead->state == AHEAD_ASKED)
        elapse__condition_wait(&ahead->changed, &ahead->lock);
}

void elapse__ahead_end(struct elapse__ahead *ahead)
{
    if (ahead == NULL)
        return;
    elapse__lock(&ahead->lock);
    wait_for_thread(ahead);
    ahead->ends = true;
    elapse__condition_signal(&ahead->changed);
    elapse__unlock(&ahead->lock);
    elapse__os_thread_join(&ahead->thread);
    release(ahead, true, true);
}

void elapse__ahead_ask(struct elapse__ahead *ahead, int file, uint64_t offset, size_t count)
{
    ELAPSE__ASSERT_THAT(file, !=, ELAPSE__NO_FILE);
    ELAPSE__ASSERT_THAT(count, <=, ahead->piece_bytes);
    elapse__lock(&ahead->lock);
    wait_for_thread(ahead);
    ahead->piece.file = file;
    ahead->piece.offset = offset;
    ahead->piece.count = count;
    ahead->state = AHEAD_ASKED;
    elapse__condition_signal(&ahead->changed);
    elapse__unlock(&ahead->lock);
}

bool elapse__ahead_take(struct elapse__ahead *ahead, struct elapse__ahead_piece *piece)
{
    elapse__lock(&ahead->lock);
    wait_for_thread(ahead);
    const struct elapse__ahead_piece *has = &ahead->piece;
    uint64_t skipped = piece->offset - has->offset; /* very large if `piece` begins before */
    bool fits = ahead->state == AHEAD_READ && ahead->error == 0 && has->file == piece->file &&
                skipped <= has->count && piece->count <= has->count - (size_t)skipped;
    ahead->state = AHEAD_IDLE;
    if (fits) {
        struct elapse__ahead_piece taken = ahead->piece;
        ahead->piece.bytes = piece->bytes;
        *piece = taken;
    }
    elapse__unlock(&ahead->lock);
    return fits;
}

void elapse__ahead_rest(struct elapse__ahead *ahead)
{
    if (ahead == NULL)
        return;
    elapse__lock(&ahead->lock);
    wait_for_thread(ahead);
    ahead->state = AHEAD_IDLE;
    elapse__unlock(&ahead->lock);
}
