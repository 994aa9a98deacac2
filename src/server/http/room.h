/*
 * Counts the connections of HTTP, and says whether there is room for another one.
 */
#ifndef ELAPSE__HTTP_ROOM_H
#define ELAPSE__HTTP_ROOM_H

#include <stdbool.h>
#include <stdint.h>

struct elapse__http;

/* Counts the descriptors of the process that belong to no connection. Requires that there is no
 * connection of HTTP. */
void elapse__http_count_own_files(struct elapse__http *http);

/* Counts the connections of HTTP, and stores their number in peers.http. Does nothing if a count
 * within the last second has found no room. */
void elapse__http_count(struct elapse__http *http);

/* The first function returns the greatest number of wide connections. The second returns the
 * greatest number of narrow connections. A connection is narrow if there were too many connections
 * when it came. A narrow connection gets only /livez. All other connections are wide. */
uint64_t elapse__http_wide_max(const struct elapse__http *http);
uint64_t elapse__http_narrow_max(const struct elapse__http *http);

/* Returns whether the server may take another connection. */
bool elapse__http_has_room(struct elapse__http *http);

#endif
