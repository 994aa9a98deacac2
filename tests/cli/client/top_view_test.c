/*
 * Tests the picture of elapse top in windows of every size.
 */
#include "../../../src/base/utf8.h"
#include "../../support/test.h"
#include "client/top_view.h"

static struct top_sample now;
static struct top_sample before;

static void add_tube(struct top_sample *sample, const char *name, uint64_t ready, uint64_t put)
{
    struct top_tube *tube = &sample->tubes[sample->tube_count++];

    memset(tube, 0, sizeof *tube);
    (void)snprintf(tube->name, sizeof tube->name, "%s", name);
    tube->length = strlen(tube->name);
    tube->counts.ready = ready;
    tube->counts.total_put = put;
}

static void begin(void)
{
    memset(&now, 0, sizeof now);
    memset(&before, 0, sizeof before);
    before.when_ns = 1000000000;
    now.when_ns = 3000000000;
}

static const char *draw(const struct top_look *look, const struct top_sample *earlier)
{
    static struct elapse__buffer out;

    elapse__buffer_free(&out);
    top_draw(&out, look, &now, earlier);
    return buffer_string(&out);
}

TEST(test_it_fits_every_window)
{
    begin();
    for (int i = 0; i < 300; i++) {
        char name[TOP_NAME_BYTES];
        memset(name, 'n', sizeof name);
        name[i % 200 + 1] = '\0';
        (void)memcpy(name,
                     "gr\xc3\xb6\xc3\x9f"
                     "e",
                     i % 200 > 10 ? 7 : 0);
        add_tube(&now, name, UINT64_MAX, 1);
    }
    now.has_more_tubes = true;
    now.server.delayed = now.server.ready = UINT64_MAX;
    for (unsigned columns = 20; columns <= 300; columns++) {
        for (unsigned rows = 2; rows <= 40; rows++) {
            struct top_look look = {
                .columns = columns, .rows = rows, .is_live = true, .server = "server"};
            const char *text = draw(&look, &before);
            unsigned lines = 0;
            size_t width = 0;
            for (const char *at = text; *at != '\0';) {
                if (*at == '\n') {
                    assert_true(width <= columns);
                    width = 0;
                    lines++;
                    at++;
                    continue;
                }
                size_t length = elapse__utf8_size(at, strlen(at));
                assert_true(length > 0); /* no character was cut */
                at += length;
                width++;
            }
            assert_true(lines < rows);
        }
    }
}

TEST(test_how_fast_it_changes)
{
    struct top_look look = {.columns = 80, .server = "server"};

    begin();
    now.server.total_put = 500;
    before.server.total_put = 100;
    add_tube(&now, "orders", 3, 100);
    add_tube(&before, "orders", 3, 40);
    add_tube(&now, "new", 0, 7);
    const char *text = draw(&look, &before);
    assert_non_null(strstr(text, "put 200/s"));
    assert_non_null(strstr(text,
                           "\norders              3       0        -       0        0        0"
                           "      30       0\n"));
    /* Of a tube that was not there before, nobody knows how fast it changes. */
    assert_non_null(strstr(text,
                           "\nnew                 0       0        -       0        0        0"
                           "       -       -\n"));
    text = draw(&look, NULL);
    assert_non_null(strstr(text, "put -/s"));
    /* The server was started again: its totals begin anew. */
    now.server.total_put = 1;
    assert_non_null(strstr(draw(&look, &before), "put -/s"));
}

TEST(test_what_it_warns_of)
{
    struct top_look look = {.columns = 80, .server = "server", .is_live = true};

    begin();
    assert_non_null(strstr(draw(&look, NULL), "\nno tubes\nq: quit  s: sort (trouble)  "));
    now.is_disk_full = true;
    assert_non_null(strstr(draw(&look, NULL), "DISK FULL"));
    now.takes_no_jobs = true;
    assert_non_null(strstr(draw(&look, NULL), "TAKES NO NEW JOBS"));
    look.fault = "connection refused";
    assert_non_null(strstr(draw(&look, NULL), "\nno news: connection refused\n"));
}

static void check_order(enum top_order order, const char *names)
{
    top_sort(&now, order);
    for (size_t i = 0; names[i] != '\0'; i++)
        assert_int_equal(now.tubes[i].name[0], names[i]);
}

TEST(test_the_orders_of_the_tubes)
{
    begin();
    add_tube(&now, "b", 1, 0);
    add_tube(&now, "a", 1, 0);
    add_tube(&now, "c", 2, 0);
    add_tube(&now, "d", 0, 0);
    now.tubes[3].counts.delayed = 9;
    add_tube(&now, "e", 0, 0);
    check_order(TOP_BY_READY, "cabde");
    check_order(TOP_BY_TROUBLE, "cabde");
    check_order(TOP_BY_DELAYED, "dcabe");
    check_order(TOP_BY_NAME, "abcde");
    now.tubes[4].counts.buried = 1;        /* e */
    now.tubes[0].counts.held = 1;          /* a */
    now.tubes[1].counts.overdue_ms = 9999; /* b: not overdue yet */
    check_order(TOP_BY_TROUBLE, "aecbd");
    check_order(TOP_BY_BURIED, "ecabd");
    check_order(TOP_BY_OVERDUE, "bcade");
}

TEST(test_nothing_is_cut_in_silence)
{
    struct top_look look = {.columns = 40, .rows = 20, .server = "server", .is_live = true};

    begin();
    add_tube(&now, "a-name-that-is-longer-than-its-column", 3, 0);
    const char *text = draw(&look, NULL);
    assert_non_null(strstr(text, "\na-name-that-i~"));
    assert_non_null(strstr(text, "\nno room: from HELD on\n"));
    assert_non_null(strstr(text, "\nburied 0\n")); /* the line goes on in the next one */
    look.columns = 80;
    assert_null(strstr(draw(&look, NULL), "no room"));
    now.tubes[0].counts.pause_left_ms = 1;
    assert_non_null(strstr(draw(&look, NULL), " paused "));
}

TEST(test_the_selected_tube_is_on_the_picture)
{
    struct top_look look = {
        .columns = 80, .rows = 15, .server = "server", .is_live = true, .has_selected = true};
    char name[16];

    begin();
    for (size_t i = 0; i < 100; i++) {
        (void)snprintf(name, sizeof name, "tube-%zu", i);
        add_tube(&now, name, 1, 0);
    }
    for (look.selected = 0; look.selected < 100; look.selected++) {
        (void)snprintf(name, sizeof name, "\n>tube-%zu ", look.selected);
        assert_non_null(strstr(draw(&look, NULL), name));
    }
}

TEST(test_a_text_that_is_longer_than_the_window)
{
    struct top_look look = {.columns = 30, .rows = 8, .is_live = true, .has_selected = true};
    static struct elapse__buffer out;

    for (look.selected = 0; look.selected < 9; look.selected++) {
        elapse__buffer_clear(&out);
        top_draw_text(&out, &look, "title",
                      "0\n1\n2\n3\n4\n5\n6\n7\n8 and many words behind this\n");
        char line[8];
        (void)snprintf(line, sizeof line, "\n%zu", look.selected);
        assert_non_null(strstr(buffer_string(&out), line));
        assert_non_null(strstr(buffer_string(&out), " more lines\n"));
    }
    assert_non_null(strstr(buffer_string(&out), "8 and many words behind this\n"));
    look.columns = 20;
    elapse__buffer_clear(&out);
    look.selected = 8;
    top_draw_text(&out, &look, "title", "0\n1\n2\n3\n4\n5\n6\n7\n8 and many words behind this\n");
    assert_non_null(strstr(buffer_string(&out), "8 and many words be~\n"));
    elapse__buffer_free(&out);
}

TEST(test_styles_change_no_text)
{
    struct top_look look = {.columns = 40, .rows = 12, .server = "server", .is_live = true};

    begin();
    add_tube(&now, "orders", 1, 1);
    char plain[4000];
    (void)snprintf(plain, sizeof plain, "%s", draw(&look, NULL));
    look.has_styles = true;
    const char *styled = draw(&look, NULL);
    size_t at = 0;
    for (const char *next = styled; *next != '\0'; next++) {
        if (*next == '\033') {
            next = strchr(next, 'm');
            assert_non_null(next);
            continue;
        }
        assert_int_equal(*next, plain[at]);
        at++;
    }
    assert_int_equal(plain[at], '\0');
    assert_true(strlen(styled) > at);
}

TEST_MAIN("top_view")
