/*
 * A job as the server hands it out, an array, made a map as that of LOOKUP is one. So both are
 * printed by render.h.
 */
#ifndef ELAPSE_CLI_CLIENT_HANDED_MAP_H
#define ELAPSE_CLI_CLIENT_HANDED_MAP_H

#include <stdbool.h>

#include <hiredis/hiredis.h>

enum { HANDED_MAP_PARTS = 64, HANDED_MAP_NAME_BYTES = 16 };

/* The values are those of the reply; the names of the fields are the map's own. */
struct handed_map {
    redisReply map;
    redisReply names[HANDED_MAP_PARTS / 2];
    char texts[HANDED_MAP_PARTS / 2][HANDED_MAP_NAME_BYTES];
    redisReply *parts[HANDED_MAP_PARTS];
};

/* Makes the map of a job of RESERVE with DETAILS; its body comes last. Details that do not fit are
 * left out. Returns false if the reply is no job. The map may not be copied. */
bool handed_map_make(struct handed_map *map, const redisReply *job);

#endif
