/*
 * Makes a map, like that of LOOKUP, of a job that the server hands out as an array. So render.h can
 * print both.
 */
#ifndef ELAPSE_CLI_CLIENT_HANDED_MAP_H
#define ELAPSE_CLI_CLIENT_HANDED_MAP_H

#include <stdbool.h>

#include <hiredis/hiredis.h>

enum { HANDED_MAP_PARTS = 64, HANDED_MAP_NAME_BYTES = 16 };

/* The values belong to the reply. The names of the fields belong to the map. */
struct handed_map {
    redisReply map;
    redisReply names[HANDED_MAP_PARTS / 2];
    char texts[HANDED_MAP_PARTS / 2][HANDED_MAP_NAME_BYTES];
    redisReply *parts[HANDED_MAP_PARTS];
};

/* Makes the map of a job of RESERVE with DETAILS. The body comes last. Details that do not fit are
 * left out. Returns false if the reply is no job. The map must not be copied. */
bool handed_map_make(struct handed_map *map, const redisReply *job);

#endif
