/*
 * Writes the settings of a tube as one line of JSON, and reads such a line: an object with the
 * member settings_of, which is the name of the tube, and one member for each setting.
 */
#ifndef ELAPSE_CLI_DATA_TUBE_JSON_H
#define ELAPSE_CLI_DATA_TUBE_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "../../base/json_writer.h"
#include "../../engine/upkeep/upkeep.h"

/* Writes the settings as an object. */
void tube_json_write(struct elapse__json *json, const struct elapse__upkeep_tube *tube);

/* Returns whether an object is meant to be the settings of a tube. */
bool tube_json_is_meant(const json_t *object);

/* Reads an object. Copies the name to `memory`. If the object is wrong, returns false, and writes
 * into `fault` why. */
bool tube_json_read(struct elapse__upkeep_tube *tube, const json_t *object, unsigned char *memory,
                    char *fault, size_t fault_bytes);

#endif
