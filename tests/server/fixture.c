#include "fixture.h"

#include "sim_disk.h"

enum { SEGMENT_BITS = 20, HEARD_MAX = 4 << 20 };

struct fixture f;
struct elapse__server_options options;
uint32_t tubes_max;

static struct elapse__queue_now clock_now;
static char heard[HEARD_MAX];

struct elapse__queue_now present(void)
{
    return clock_now;
}

static void check(void)
{
    assert_int_equal(elapse__server_check(f.server), 0);
    assert_int_equal(elapse__queue_check(f.engine.jobs), 0);
    elapse__journal_check(f.engine.journal);
}

static void attend(void)
{
    struct elapse__connection *connection;
    while ((connection = elapse__server_attention(f.server)) != NULL) {
        struct client *client = elapse__connection_shell(connection);
        client->attended = true;
    }
}

/* Follows each step of a test: checks all invariants, and notes which clients need attention. */
static void after(void)
{
    check();
    attend();
}

static bool find_no_zone(void *context, const char *name, const struct elapse_time_zone **zone)
{
    (void)context, (void)name, (void)zone;
    return false;
}

int set_up(void **state)
{
    const struct elapse__queue_options jobs = {
        .secret = {1, 2}, .seed = 3, .tubes_max = tubes_max, .find_zone = find_no_zone};
    const struct elapse__journal_options journal = {
        .files = &sim_disk_files, .path = "data", .segment_bits = SEGMENT_BITS};
    struct elapse__journal_refusal refusal;

    (void)state;
    clock_now = (struct elapse__queue_now){.boot_ms = 5000, .wall_ms = 1700000000000};
    sim_disk_begin(1);
    assert_true(elapse__engine_make_jobs(&f.engine, present, &jobs));
    assert_true(elapse__engine_open_journal(&f.engine, &journal, &refusal));
    assert_int_equal(elapse__engine_begin_life(&f.engine), ELAPSE_OK);
    options = (struct elapse__server_options){.beanstalkd = &lines_owned, .resp = &lines_free};
    f.server = NULL;
    serve();
    return 0;
}

void serve(void)
{
    elapse__server_free(f.server);
    options.engine = &f.engine;
    f.server = elapse__server_new(&options, present());
    assert_non_null(f.server);
}

int tear_down(void **state)
{
    (void)state;
    elapse__server_free(f.server);
    assert_int_equal(elapse__queue_check(f.engine.jobs), 0);
    elapse__engine_free(&f.engine);
    sim_disk_end();
    return 0;
}

void turn(void)
{
    f.more = elapse__server_turn(f.server, present());
    after();
}

void rest(void)
{
    struct elapse__server_reading *reading;
    bool read;

    do {
        read = false;
        turn();
        while ((reading = elapse__server_reading(f.server)) != NULL) {
            elapse__journal_read_perform(f.engine.journal, true, &reading->reading, 1);
            elapse__server_reading_done(f.server, present(), reading);
            read = true;
        }
    } while (read || f.more);
    after();
}

void pass(uint64_t ms)
{
    clock_now.boot_ms += ms;
    clock_now.wall_ms += (int64_t)ms;
    elapse__journal_tick(f.engine.journal, clock_now.boot_ms);
    rest();
}

void commit(void)
{
    while (elapse__journal_work(f.engine.journal))
        ;
    assert_int_equal(elapse__journal_error(f.engine.journal), 0);
    rest();
    while (elapse__journal_work(f.engine.journal))
        rest();
}

/* ---- clients ---- */

static void connect_as(struct client *client, bool free_leases)
{
    struct elapse__connection_facts facts = {.shell = client, .may_use_beanstalkd = true};
    client->attended = false;
    client->connection = elapse__connection_new(f.server, present(), &facts);
    assert_non_null(client->connection);
    if (free_leases) {
        say(client, "*\n");
        commit();
        expect(client, "+star\n");
    }
    after();
}

void connect(struct client *client)
{
    connect_as(client, false);
}

void connect_free(struct client *client)
{
    connect_as(client, true);
}

void say_bytes(struct client *client, const void *bytes, size_t size)
{
    assert_true(elapse__connection_room(client->connection) >= size);
    elapse__connection_received(client->connection, present(), bytes, size);
    after();
}

void say(struct client *client, const char *text)
{
    say_bytes(client, text, strlen(text));
}

const char *hear_some(struct client *client, size_t most)
{
    const uint8_t *bytes;
    size_t size = elapse__connection_output(client->connection, &bytes);

    assert_true(size == 0 || client->attended);
    size = size < most ? size : most;
    assert_true(size < HEARD_MAX);
    if (size > 0)
        memcpy(heard, bytes, size);
    heard[size] = '\0';
    if (size > 0)
        elapse__connection_sent(client->connection, present(), size);
    after();
    return heard;
}

void expect(struct client *client, const char *text)
{
    assert_string_equal(hear_some(client, HEARD_MAX - 1), text);
}

void hang_up(struct client *client)
{
    elapse__connection_closed(client->connection, present());
    client->connection = NULL;
    after();
}

struct elapse__queue_view look_at(uint64_t id)
{
    struct elapse__queue_view view = {0};
    (void)elapse__queue_look_up_id(f.engine.jobs, present(), id, &view);
    return view;
}

enum elapse__queue_state state_of(uint64_t id)
{
    return look_at(id).state;
}
