/*
 * Counts the connections of HTTP, and says whether there is room for another one.
 */
#ifndef ELAPSE__HTTP_ROOM_H
#define ELAPSE__HTTP_ROOM_H

#include <stdbool.h>
#include <stdint.h>

struct elapse__http;

/* Counts the descriptors that belong to no connection. Requires that there is no connection of
 * HTTP. */
void elapse__http_count_own_files(struct elapse__http *http);

/* Corrects peers.http, the number of connections of HTTP. Does nothing within a second after a
 * count that found no room. */
void elapse__http_count(struct elapse__http *http);

/* These functions return how many wide connections there may be, and how many narrow ones
 * (stream.h). */
uint64_t elapse__http_wide_max(const struct elapse__http *http);
uint64_t elapse__http_narrow_max(const struct elapse__http *http);

/* Returns whether another connection may be taken. */
bool elapse__http_has_room(struct elapse__http *http);

#endif
