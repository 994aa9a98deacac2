/*
 * Tests of the thread that reads ahead of a window (src/engine/journal/ahead.h), and of the window
 * that takes what it has read. The file lies in memory. Each of its bytes is known from its offset,
 * so that bytes of another place are noticed.
 */
#include <errno.h>
#include <stdatomic.h>

#include "../../../src/engine/journal/walk.h"
#include "../../../src/os/os.h"
#include "../../support/test.h"

enum { FILE_BYTES = 5 * ELAPSE__WINDOW_BYTES + 1000, ANY_FILE = 7, PIECE_BYTES = 5000 };

static _Atomic uint64_t bad_from; /* reads that touch a byte from here on fail */
static _Atomic uint64_t bytes_read;
static struct elapse__ahead *ahead;
static struct elapse__files files;

static uint8_t byte_at(uint64_t offset)
{
    return (uint8_t)(offset ^ offset >> 8 ^ offset >> 16);
}

static int read_at(int file, uint64_t offset, void *bytes, size_t count, size_t *done)
{
    assert_int_equal(file, ANY_FILE);
    *done = 0;
    if (offset + count > atomic_load(&bad_from))
        return EIO;
    for (; *done < count && offset + *done < FILE_BYTES; ++*done)
        ((uint8_t *)bytes)[*done] = byte_at(offset + *done);
    atomic_fetch_add(&bytes_read, *done);
    return 0;
}

static void read_ahead(int file, uint64_t offset, uint64_t count)
{
    (void)file;
    (void)offset;
    (void)count;
}

static int begin(void **state)
{
    (void)state;
    files = (struct elapse__files){.read_at = read_at, .read_ahead = read_ahead};
    atomic_store(&bad_from, UINT64_MAX);
    atomic_store(&bytes_read, 0);
    ahead = elapse__ahead_start(&files, ELAPSE__WINDOW_BYTES);
    assert_non_null(ahead);
    return 0;
}

static int end(void **state)
{
    (void)state;
    elapse__ahead_end(ahead);
    return 0;
}

static void assert_bytes(const uint8_t *bytes, uint64_t offset, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != byte_at(offset + i))
            fail_msg("the byte at %ju is that of another place", (uintmax_t)(offset + i));
}

/* ---- pieces ---- */

static bool take(uint64_t offset, size_t count)
{
    uint8_t *own = malloc(ELAPSE__WINDOW_BYTES);
    struct elapse__ahead_piece piece = {
        .file = ANY_FILE, .offset = offset, .count = count, .bytes = own};

    assert_non_null(own);
    bool is_taken = elapse__ahead_take(ahead, &piece);
    assert_int_equal(piece.bytes != own, is_taken);
    if (is_taken) {
        assert_true(piece.offset <= offset && offset + count <= piece.offset + piece.count);
        assert_bytes(piece.bytes, piece.offset, piece.count);
    }
    free(piece.bytes);
    return is_taken;
}

static bool take_of_piece(uint64_t offset, size_t count)
{
    elapse__ahead_ask(ahead, ANY_FILE, 10000, PIECE_BYTES);
    return take(offset, count);
}

TEST_WITH(a_piece_has_the_bytes_of_its_place, begin, end)
{
    assert_true(take_of_piece(10000, PIECE_BYTES));
    assert_true(take_of_piece(10000, 1));
    assert_true(take_of_piece(10000 + PIECE_BYTES - 1, 1));
    assert_true(take_of_piece(12345, 6));
}

TEST_WITH(a_piece_that_lacks_a_byte_is_forgotten, begin, end)
{
    assert_false(take_of_piece(9999, 1));
    assert_false(take_of_piece(10000, PIECE_BYTES + 1));
    assert_false(take_of_piece(10000 + PIECE_BYTES - 1, 2));
    assert_false(take_of_piece(10000 + PIECE_BYTES, 1));
    assert_false(take_of_piece(0, 1));
    assert_false(take(10000, 1));
}

TEST_WITH(a_piece_is_taken_once, begin, end)
{
    assert_true(take_of_piece(10000, 10));
    assert_false(take(10000, 10));
}

TEST_WITH(the_piece_of_another_file_is_not_taken, begin, end)
{
    struct elapse__ahead_piece piece = {.file = ANY_FILE + 1, .offset = 10000, .count = 1};

    elapse__ahead_ask(ahead, ANY_FILE, 10000, PIECE_BYTES);
    assert_false(elapse__ahead_take(ahead, &piece));
}

TEST_WITH(a_piece_that_cannot_be_read_is_not_taken, begin, end)
{
    atomic_store(&bad_from, 12000);
    assert_false(take_of_piece(10000, 10));
    atomic_store(&bad_from, UINT64_MAX);
    assert_true(take_of_piece(10000, 10));
}

TEST_WITH(the_last_piece_asked_for_counts, begin, end)
{
    elapse__ahead_ask(ahead, ANY_FILE, 0, PIECE_BYTES);
    assert_true(take_of_piece(10000, PIECE_BYTES));
}

TEST_WITH(nothing_is_read_or_kept_after_a_rest, begin, end)
{
    elapse__ahead_ask(ahead, ANY_FILE, 10000, PIECE_BYTES);
    elapse__ahead_rest(ahead);
    assert_int_equal(atomic_load(&bytes_read), PIECE_BYTES);
    assert_false(take(10000, 1));
    elapse__ahead_rest(NULL);
}

TEST_WITH(the_thread_ends_while_it_reads, begin, end)
{
    elapse__ahead_ask(ahead, ANY_FILE, 0, ELAPSE__WINDOW_BYTES);
}

static int start_no_thread(struct elapse__os_thread *thread, size_t stack_bytes,
                           void *(*main)(void *argument), void *argument)
{
    (void)thread;
    (void)stack_bytes;
    (void)main;
    (void)argument;
    return EAGAIN;
}

TEST(without_a_thread_nobody_reads_ahead)
{
    struct elapse__os refusing = elapse__os_linux;

    refusing.thread_start = start_no_thread;
    elapse__os = &refusing;
    assert_null(elapse__ahead_start(&files, PIECE_BYTES));
    elapse__os = &elapse__os_linux;
    elapse__ahead_end(NULL);
}

/* ---- the window ---- */

static struct elapse__window new_window(struct elapse__ahead *of)
{
    struct elapse__window window = {
        .files = &files, .ahead = of, .file = ANY_FILE, .bytes = malloc(ELAPSE__WINDOW_BYTES)};
    assert_non_null(window.bytes);
    return window;
}

static void move(struct elapse__window *window, uint64_t offset, size_t least)
{
    assert_true(elapse__window_move(window, offset, least, FILE_BYTES));
    assert_true(window->from <= offset && offset + least <= window->from + window->have);
    assert_true(window->have <= ELAPSE__WINDOW_BYTES);
    assert_bytes(window->bytes, window->from, window->have);
}

/* A window that moves on reads the file once, and the overlaps of its pieces. */
TEST_WITH(a_window_moves_over_all_of_a_file, begin, end)
{
    enum { OVERLAPS_MAX = 8 * ELAPSE__FILE_PAGE_MAX };
    struct elapse__window window = new_window(ahead);
    unsigned moves = 0;

    for (uint64_t offset = 0; offset < FILE_BYTES; offset = window.from + window.have, moves++)
        move(&window, offset, 1);
    elapse__ahead_rest(ahead);
    assert_in_range(moves, 6, 7);
    assert_in_range(atomic_load(&bytes_read), FILE_BYTES, FILE_BYTES + OVERLAPS_MAX);
    free(window.bytes);
}

/* Records that lie across the end of a window begin shortly before it. */
TEST_WITH(a_window_takes_what_lies_across_its_end, begin, end)
{
    struct elapse__window window = new_window(ahead);
    uint64_t moved = 0;

    move(&window, 64, 24);
    for (unsigned i = 0; i < 3; i++) {
        uint64_t offset = window.from + window.have - 100;
        moved += window.have - 100;
        move(&window, offset, 200);
    }
    elapse__ahead_rest(ahead);
    assert_true(atomic_load(&bytes_read) <= moved + 3 * (uint64_t)ELAPSE__WINDOW_BYTES);
    free(window.bytes);
}

/* Whoever skips long bodies reads no more than without a thread, but for one piece. */
TEST_WITH(what_is_skipped_is_not_read, begin, end)
{
    enum { LEAP = 2 * ELAPSE__WINDOW_BYTES, LEAPS = 3 };
    struct elapse__window window = new_window(ahead);

    for (uint64_t i = 0; i < LEAPS; i++)
        move(&window, i * LEAP, 24);
    elapse__ahead_rest(ahead);
    assert_int_equal(atomic_load(&bytes_read), (LEAPS + 1) * (uint64_t)ELAPSE__WINDOW_BYTES);
    free(window.bytes);
}

/* Returns where a window that moves on in small steps meets an error. */
static uint64_t place_of_error(struct elapse__ahead *of)
{
    struct elapse__window window = new_window(of);
    uint64_t offset = 0;

    while (offset < FILE_BYTES && elapse__window_move(&window, offset, 1, FILE_BYTES)) {
        assert_bytes(window.bytes, window.from, window.have);
        offset = window.from + window.have;
    }
    if (offset < FILE_BYTES) {
        assert_int_equal(window.error, EIO);
        assert_int_equal(window.have, 0);
    }
    elapse__ahead_rest(of);
    free(window.bytes);
    return offset;
}

/* The piece that fails is read again by the window, which finds and keeps the error. */
TEST_WITH(an_error_is_found_as_without_the_thread, begin, end)
{
    assert_true(place_of_error(ahead) >= FILE_BYTES);
    atomic_store(&bad_from, 2 * (uint64_t)ELAPSE__WINDOW_BYTES + 5);
    assert_int_equal(place_of_error(NULL), 2 * (uint64_t)ELAPSE__WINDOW_BYTES);
    uint64_t place = place_of_error(ahead);
    assert_in_range(place, ELAPSE__WINDOW_BYTES, 2 * (uint64_t)ELAPSE__WINDOW_BYTES);
    atomic_store(&bad_from, 0);
    assert_int_equal(place_of_error(ahead), 0);
}

TEST_MAIN("ahead")
