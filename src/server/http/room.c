/*
 * Counts the connections of HTTP. peers.http goes up when libevent accepts a connection, and down
 * when its stream ends. A connection that has no stream, for lack of memory, ends without notice.
 * So the number may be too great, but it is never too small. When the number says that there is no
 * room, this file counts the descriptors of the process. Each descriptor that belongs to nothing
 * else is a connection.
 */
#include "room.h"

#include "../../base/assert.h"
#include "../../os/program.h"
#include "shell.h"

/* The pause after a count that finds no room. To count some thousand descriptors takes a
 * millisecond. */
#define COUNT_PAUSE_NS UINT64_C(1000000000)

/* Stores how many descriptors are open. Without /proc, stores a number that may be smaller. */
static bool count_files(uint64_t *count)
{
    int lowest = 0;

    if (elapse__os_open_files(count) == 0)
        return true;
    if (elapse__os_duplicate(ELAPSE__OS_ERRORS, &lowest) != 0)
        return false; /* no descriptor is left */
    (void)elapse__os_close(lowest);
    *count = (uint64_t)lowest;
    return true;
}

static uint64_t files_of_others(const struct elapse__http *http)
{
    const struct elapse__peers *peers = &http->loop->peers;

    return peers->count + peers->inner + peers->segments + http->own_files;
}

void elapse__http_count_own_files(struct elapse__http *http)
{
    uint64_t open = 0;

    ELAPSE__ASSERT_THAT(http->loop->peers.http, ==, 0);
    http->own_files = 0;
    if (count_files(&open) && open > files_of_others(http))
        http->own_files = open - files_of_others(http);
}

/* Returns how many descriptors there are for connections of all protocols. */
static uint64_t room_of(const struct elapse__peers *peers)
{
    uint64_t others = peers->segments + elapse__peers_spare_files(peers) + peers->inner;

    return peers->files > others ? peers->files - others : 0;
}

/* Returns how many connections of HTTP there may be. It is at most half of the room, so that
 * clients of other protocols get a connection, too. */
static uint64_t most_of(const struct elapse__peers *peers)
{
    uint64_t half = room_of(peers) / 2;
    uint64_t most = ELAPSE__HTTP_CONNECTIONS + ELAPSE__HTTP_NARROW;

    return half < most ? half : most;
}

uint64_t elapse__http_narrow_max(const struct elapse__http *http)
{
    uint64_t part = most_of(&http->loop->peers) / 8;

    return part < ELAPSE__HTTP_NARROW ? part : ELAPSE__HTTP_NARROW;
}

uint64_t elapse__http_wide_max(const struct elapse__http *http)
{
    return most_of(&http->loop->peers) - elapse__http_narrow_max(http);
}

/* Returns whether no other connection may be taken. One connection is always allowed. There may be
 * one more than most_of() returns, until a narrow connection has made room. */
static bool is_full(const struct elapse__peers *peers)
{
    return peers->http > 0 &&
           (peers->http > most_of(peers) + 1 || peers->http + peers->count >= room_of(peers));
}

void elapse__http_count(struct elapse__http *http)
{
    struct elapse__peers *peers = &http->loop->peers;
    uint64_t now_ns = elapse__os_monotonic_ns();
    uint64_t open = 0;

    if (peers->http == 0 || now_ns < http->count_again_ns || !count_files(&open))
        return;
    uint64_t others = files_of_others(http);
    uint64_t found = open > others ? open - others : 0;
    peers->http = found < peers->http ? found : peers->http;
    if (is_full(peers) || peers->count >= elapse__peers_most(peers))
        http->count_again_ns = now_ns + COUNT_PAUSE_NS;
}

bool elapse__http_has_room(struct elapse__http *http)
{
    if (is_full(&http->loop->peers))
        elapse__http_count(http);
    return !is_full(&http->loop->peers);
}
