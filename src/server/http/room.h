/*
 * How many connections of HTTP there are, and whether there is room for another one.
 */
#ifndef ELAPSE__HTTP_ROOM_H
#define ELAPSE__HTTP_ROOM_H

#include <stdbool.h>
#include <stdint.h>

struct elapse__http;

/* Counts the descriptors that belong to no connection. Requires that there is no connection of
 * HTTP.
 */
void elapse__http_count_own_files(struct elapse__http *http);

/* Finds out how many connections of HTTP there are, for peers.http, unless that was found out
 * within the last second. */
void elapse__http_count(struct elapse__http *http);

/* Return how many connections there may be, but for the narrow ones; and how many narrow ones. */
uint64_t elapse__http_wide_max(const struct elapse__http *http);
uint64_t elapse__http_narrow_max(const struct elapse__http *http);

/* Returns whether another connection may be taken. */
bool elapse__http_has_room(struct elapse__http *http);

#endif
