/*
 * Tests the writer of `elapse run` on a device that is full. The lines come in an order that
 * happens only by chance in a whole program.
 */

/* Both cmocka and the program have a function of this name. */
#define print_error cmocka_print_error
#undef print_error

#include <fcntl.h>
#include <unistd.h>

#include "../../support/test.h"
#include "run/writer.h"

static void note_failure(void *context)
{
    *(bool *)context = true;
}

static void add_line(struct run_writer *writer)
{
    elapse__json_name(run_writer_begin(writer), "key");
    elapse__json_raw(&writer->waiting, "1");
    run_writer_end(writer);
}

TEST(test_a_line_that_comes_after_a_failure_is_thrown_away)
{
    static struct run_writer writer;
    bool was_told = false;

    (void)fflush(stdout);
    int kept = dup(STDOUT_FILENO), full = open("/dev/full", O_WRONLY);
    assert_int_equal(dup2(full, STDOUT_FILENO), STDOUT_FILENO);
    assert_int_equal(run_writer_start(&writer, note_failure, &was_told), 0);
    add_line(&writer);
    assert_false(run_writer_wait(&writer));
    add_line(&writer);
    assert_int_equal(run_writer_finish(&writer), STATUS_FAILED);
    assert_int_equal(dup2(kept, STDOUT_FILENO), STDOUT_FILENO);
    assert_true(was_told);
    (void)close(kept);
    (void)close(full);
}

TEST_MAIN("writer")
