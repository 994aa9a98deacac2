#include "session.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"

static struct elapse__queue_text name_of(const struct elapse__wire_beanstalkd_command *command)
{
    ELAPSE__ASSERT_THAT(command->tube_size, >, 0);
    ELAPSE__ASSERT_THAT(command->tube_size, <=, ELAPSE__QUEUE_TUBE_BYTES_MAX);
    return (struct elapse__queue_text){command->tube, command->tube_size};
}

static bool is_same(struct elapse__queue_text name, struct elapse__queue_text other)
{
    return name.size == other.size && memcmp(name.bytes, other.bytes, name.size) == 0;
}

static struct elapse__server_tube *get_tube(struct elapse__connection *connection,
                                            struct elapse__queue_text name)
{
    enum elapse__queue_result result = ELAPSE__QUEUE_OK;
    return elapse__server_tube_get(elapse__session_server(connection), name, &result);
}

static void give_tube(struct elapse__connection *connection, struct elapse__server_tube *tube)
{
    elapse__server_tube_give(elapse__session_server(connection), tube);
}

/* ---- use ---- */

static bool use_tube(struct elapse__connection *connection, struct elapse__queue_text name)
{
    struct beanstalkd_session *session = elapse__beanstalkd_session(connection);
    struct elapse__server_tube *tube = get_tube(connection, name);

    if (tube == NULL)
        return false;
    if (session->used != NULL) {
        elapse__server_tube_use(session->used, -1);
        give_tube(connection, session->used);
    }
    elapse__server_tube_use(tube, 1);
    session->used = tube;
    return true;
}

static enum elapse__session_step say_used(struct elapse__connection *connection)
{
    char line[ELAPSE__WIRE_BEANSTALKD_REPLY_BYTES_MAX];
    struct elapse__queue_text name =
        elapse__server_tube_name(elapse__beanstalkd_session(connection)->used);

    elapse__reply_bytes(connection, line,
                        elapse__wire_beanstalkd_using(line, name.bytes, name.size));
    return ELAPSE__STEP_RAN;
}

enum elapse__session_step
elapse__beanstalkd_use(struct elapse__connection *connection,
                       const struct elapse__wire_beanstalkd_command *command)
{
    if (!use_tube(connection, name_of(command)))
        return elapse__beanstalkd_say(connection, ELAPSE__WIRE_BEANSTALKD_SAYS_OUT_OF_MEMORY);
    return say_used(connection);
}

enum elapse__session_step
elapse__beanstalkd_list_tube_used(struct elapse__connection *connection,
                                  const struct elapse__wire_beanstalkd_command *command)
{
    (void)command;
    return say_used(connection);
}

/* ---- watch and ignore ---- */

/* Returns the place of a tube among the watched tubes, or their number if the tube is not
 * watched. */
static uint32_t find_watched(const struct beanstalkd_session *session,
                             struct elapse__queue_text name)
{
    uint32_t place = 0;
    while (place < session->watched_count &&
           !is_same(elapse__server_tube_name(session->watched[place]), name))
        place++;
    return place;
}

static bool grow_watched(struct beanstalkd_session *session)
{
    ELAPSE__ASSERT_THAT(session->watched_count, <=, session->watched_room);
    if (session->watched_count >= BEANSTALKD_WATCHED_MAX)
        return false;
    if (session->watched_count < session->watched_room)
        return true;
    uint32_t room = session->watched_room == 0 ? 2 : session->watched_room * 2;
    struct elapse__server_tube **grown =
        realloc(session->watched, room * sizeof(struct elapse__server_tube *));
    if (grown == NULL)
        return false;
    session->watched = grown;
    session->watched_room = room;
    return true;
}

static bool watch_tube(struct elapse__connection *connection, struct elapse__queue_text name)
{
    struct beanstalkd_session *session = elapse__beanstalkd_session(connection);

    if (find_watched(session, name) < session->watched_count)
        return true;
    if (!grow_watched(session))
        return false;
    struct elapse__server_tube *tube = get_tube(connection, name);
    if (tube == NULL)
        return false;
    ELAPSE__ASSERT_THAT(session->watched_count, <, session->watched_room);
    elapse__server_tube_watch(tube, 1);
    session->watched[session->watched_count++] = tube;
    ELAPSE__ASSERT_THAT(session->watched_count, <=, BEANSTALKD_WATCHED_MAX);
    return true;
}

static enum elapse__session_step say_watching(struct elapse__connection *connection)
{
    char line[ELAPSE__WIRE_BEANSTALKD_REPLY_BYTES_MAX];
    uint32_t count = elapse__beanstalkd_session(connection)->watched_count;

    elapse__reply_bytes(connection, line, elapse__wire_beanstalkd_watching(line, count));
    return ELAPSE__STEP_RAN;
}

enum elapse__session_step
elapse__beanstalkd_watch(struct elapse__connection *connection,
                         const struct elapse__wire_beanstalkd_command *command)
{
    if (!watch_tube(connection, name_of(command)))
        return elapse__beanstalkd_say(connection, ELAPSE__WIRE_BEANSTALKD_SAYS_OUT_OF_MEMORY);
    return say_watching(connection);
}

enum elapse__session_step
elapse__beanstalkd_ignore(struct elapse__connection *connection,
                          const struct elapse__wire_beanstalkd_command *command)
{
    struct beanstalkd_session *session = elapse__beanstalkd_session(connection);
    uint32_t place = find_watched(session, name_of(command));

    if (place == session->watched_count)
        return say_watching(connection);
    if (session->watched_count == 1)
        return elapse__beanstalkd_say(connection, ELAPSE__WIRE_BEANSTALKD_SAYS_NOT_IGNORED);
    struct elapse__server_tube *tube = session->watched[place];
    session->watched[place] = session->watched[--session->watched_count];
    ELAPSE__ASSERT_THAT(session->watched_count, >, 0);
    elapse__server_tube_watch(tube, -1);
    give_tube(connection, tube);
    return say_watching(connection);
}

/* ---- life ---- */

bool elapse__beanstalkd_tubes_begin(struct elapse__connection *connection)
{
    static const struct elapse__queue_text name = {"default", sizeof "default" - 1};

    struct beanstalkd_session *session = elapse__beanstalkd_session(connection);

    enum elapse__queue_result result;

    /* Every client has this tube before its first command. Without it no client could take jobs
     * from other tubes, and so make room for tubes. */
    session->home =
        elapse__server_tube_get_always(elapse__session_server(connection), name, &result);
    return session->home != NULL && use_tube(connection, name) && watch_tube(connection, name);
}

void elapse__beanstalkd_tubes_end(struct elapse__connection *connection)
{
    struct beanstalkd_session *session = elapse__beanstalkd_session(connection);

    while (session->watched_count > 0) {
        struct elapse__server_tube *tube = session->watched[--session->watched_count];
        elapse__server_tube_watch(tube, -1);
        give_tube(connection, tube);
    }
    free(session->watched);
    session->watched = NULL;
    session->watched_room = 0;
    if (session->used != NULL) {
        elapse__server_tube_use(session->used, -1);
        give_tube(connection, session->used);
        session->used = NULL;
    }
    if (session->home != NULL)
        give_tube(connection, session->home);
    session->home = NULL;
}

/* ---- pause-tube ---- */

static struct elapse__queue_answer do_pause(struct elapse__queue *jobs,
                                            struct elapse__queue_now now, const void *arguments)
{
    const struct elapse__wire_beanstalkd_command *command = arguments;
    return elapse__queue_pause(jobs, now, name_of(command), (uint64_t)command->delay_s * 1000);
}

enum elapse__session_step
elapse__beanstalkd_pause_tube(struct elapse__connection *connection,
                              const struct elapse__wire_beanstalkd_command *command)
{
    struct elapse__queue_answer answer;

    if (!elapse__session_run(connection, do_pause, command, &answer))
        return ELAPSE__STEP_LATER;
    return elapse__beanstalkd_say_of(connection, answer.result,
                                     ELAPSE__WIRE_BEANSTALKD_SAYS_PAUSED);
}

/* ---- lists ---- */

/* The first line of a list has the size of the list, which is known only at the end. So the list is
 * written after room for the longest first line, and then moved. */
enum { FIRST_LINE_BYTES = sizeof "OK 18446744073709551615\r\n" - 1 };

static bool begin_list(struct elapse__connection *connection)
{
    char *text = elapse__reply_begin(connection,
                                     FIRST_LINE_BYTES + ELAPSE__WIRE_BEANSTALKD_LIST_BEGIN_BYTES);
    if (text == NULL)
        return false;
    memset(text, ' ', FIRST_LINE_BYTES);
    size_t size = elapse__wire_beanstalkd_list_begin(text + FIRST_LINE_BYTES);
    ELAPSE__ASSERT_THAT(size, <=, ELAPSE__WIRE_BEANSTALKD_LIST_BEGIN_BYTES);
    elapse__reply_end(connection, FIRST_LINE_BYTES + size);
    return true;
}

static bool list_item(struct elapse__connection *connection, struct elapse__queue_text name)
{
    char *text = elapse__reply_begin(connection, elapse__wire_beanstalkd_item_size(name.size));
    if (text == NULL)
        return false;
    elapse__reply_end(connection, elapse__wire_beanstalkd_list_item(text, name.bytes, name.size));
    return true;
}

static void end_list(struct elapse__connection *connection)
{
    char line[ELAPSE__WIRE_BEANSTALKD_REPLY_BYTES_MAX];
    size_t list = elapse__reply_size(connection) - FIRST_LINE_BYTES;
    char *text = elapse__reply_at(connection);

    ELAPSE__ASSERT_THAT(elapse__reply_size(connection), >, FIRST_LINE_BYTES);
    size_t size = elapse__wire_beanstalkd_ok(line, list);
    ELAPSE__ASSERT_THAT(size, <=, FIRST_LINE_BYTES);
    memcpy(text, line, size);
    memmove(text + size, text + FIRST_LINE_BYTES, list);
    elapse__reply_cut(connection, size + list);
    elapse__reply_text(connection, "\r\n");
}

/* Without memory the connection ends, and nothing more is sent. */
enum elapse__session_step
elapse__beanstalkd_list_tubes_watched(struct elapse__connection *connection,
                                      const struct elapse__wire_beanstalkd_command *command)
{
    const struct beanstalkd_session *session = elapse__beanstalkd_session(connection);

    (void)command;
    if (!begin_list(connection))
        return ELAPSE__STEP_END;
    for (uint32_t i = 0; i < session->watched_count; i++)
        if (!list_item(connection, elapse__server_tube_name(session->watched[i])))
            return ELAPSE__STEP_END;
    end_list(connection);
    return ELAPSE__STEP_RAN;
}

/* One slice of list-tubes writes at most LIST_SLICE tubes, and looks at LIST_PLACES places of the
 * table of tubes. */
enum { LIST_SLICE = 4096, LIST_PLACES = 1 << 16 };

enum elapse__session_step
elapse__beanstalkd_list_tubes(struct elapse__connection *connection,
                              const struct elapse__wire_beanstalkd_command *command)
{
    struct beanstalkd_session *session = elapse__beanstalkd_session(connection);
    const struct elapse__queue *queue = elapse__session_queue(connection);
    const struct elapse__queue_text home = elapse__server_tube_name(session->home);

    (void)command;
    ELAPSE__ASSERT(!session->goes_on || session->cursor > 0);
    if (!session->goes_on) {
        session->cursor = 0;
        if (!begin_list(connection) || !list_item(connection, home))
            return ELAPSE__STEP_END;
    }
    uint32_t places = LIST_PLACES;
    for (uint32_t i = 0; i < LIST_SLICE && places > 0; i++) {
        struct elapse__queue_text name = elapse__queue_tubes(queue, &session->cursor, &places);
        if (session->cursor == 0) {
            end_list(connection);
            return ELAPSE__STEP_RAN;
        }
        if (name.size > 0 && !is_same(name, home) && !list_item(connection, name))
            return ELAPSE__STEP_END;
    }
    return ELAPSE__STEP_MORE;
}
