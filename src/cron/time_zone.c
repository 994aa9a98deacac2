/*
 * A time zone is read once and kept for ever, in a list that only grows. So a zone can be used
 * without a lock and without a count of its users. If two threads look for the same new zone at
 * once, both read it. Then the list has the zone twice, which does no harm.
 */
#include "time_zone.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/assert.h"
#include "../os/os.h"
#include "reader.h"

enum {
    NAME_BYTES_MAX = 255,
    FILE_BYTES_MAX = 64 << 10, /* the longest file of the database has 4 KiB */
};

const struct elapse_time_zone elapse__zone_utc = {.kind = ELAPSE__ZONE_KIND_UTC};
const struct elapse_time_zone elapse__zone_local = {.kind = ELAPSE__ZONE_KIND_LOCAL};

static struct elapse_time_zone *_Atomic found_zones;

const struct elapse_time_zone *elapse__zone_of(const struct elapse_cron *cron,
                                               enum elapse_zone zone)
{
    if (cron->time_zone != NULL)
        return cron->time_zone;
    return zone == ELAPSE_ZONE_LOCAL ? &elapse__zone_local : &elapse__zone_utc;
}

/* Returns whether a file of the database can have this name. The name has no dots and no leading
 * slash, so it cannot lead out of the folder of the database. */
static bool is_file_name(const char *name)
{
    ELAPSE__ASSERT(name[0] != '\0');
    if (name[0] == '/')
        return false;
    for (const char *c = name; *c != '\0'; c++) {
        if (!elapse__is_letter(*c) && !elapse__is_digit(*c) && strchr("+-_/", *c) == NULL)
            return false;
    }
    return true;
}

static const struct elapse_time_zone *find_again(const char *name)
{
    const struct elapse_time_zone *zone = atomic_load(&found_zones);

    while (zone != NULL && strcmp(zone->name, name) != 0)
        zone = zone->next;
    return zone;
}

/* Returns a new zone that holds a copy of the bytes of a file; NULL if there is no memory. */
static struct elapse_time_zone *zone_new(const char *name, enum elapse__zone_kind kind,
                                         const unsigned char *bytes, size_t length)
{
    size_t name_bytes = strlen(name) + 1;
    struct elapse_time_zone *zone = calloc(1, sizeof *zone + length + name_bytes);

    if (zone == NULL)
        return NULL;
    zone->kind = kind;
    zone->name = (char *)zone->bytes + length;
    if (length > 0)
        memcpy(zone->bytes, bytes, length);
    memcpy(zone->name, name, name_bytes);
    ELAPSE__ASSERT(strcmp(zone->name, name) == 0);
    return zone;
}

static void keep(struct elapse_time_zone *zone)
{
    struct elapse_time_zone *first = atomic_load(&found_zones);

    do
        zone->next = first;
    while (!atomic_compare_exchange_weak(&found_zones, &first, zone));
}

/* Reads the file of a zone. Stores NULL if there is no such file. */
static enum elapse_error read_zone(const char *name, struct elapse_time_zone **zone)
{
    char path[sizeof "/usr/share/zoneinfo/" + NAME_BYTES_MAX];
    size_t length;

    *zone = NULL;
    ELAPSE__ASSERT(strlen(name) <= NAME_BYTES_MAX);
    (void)snprintf(path, sizeof path, "/usr/share/zoneinfo/%s", name);
    unsigned char *bytes = malloc(FILE_BYTES_MAX);
    if (bytes == NULL)
        return ELAPSE_ERROR_MEMORY;
    struct elapse__zone_file file;
    if (elapse__os_read_file(path, bytes, FILE_BYTES_MAX, &length) == 0 &&
        elapse__zone_file_parse(&file, bytes, length)) {
        *zone = zone_new(name, ELAPSE__ZONE_KIND_FILE, bytes, length);
        if (*zone == NULL) {
            free(bytes);
            return ELAPSE_ERROR_MEMORY;
        }
        bool is_sound = elapse__zone_file_parse(&(*zone)->file, (*zone)->bytes, length);
        ELAPSE__ASSERT(is_sound);
        (void)is_sound; /* used by assertions alone */
    }
    free(bytes);
    return ELAPSE_OK;
}

enum elapse_error elapse_time_zone_find(const char *name, const struct elapse_time_zone **zone)
{
    struct elapse__zone_rule rule;
    struct elapse_time_zone *new_zone = NULL;

    if (name == NULL || strcmp(name, "UTC") == 0) {
        *zone = name == NULL ? &elapse__zone_local : &elapse__zone_utc;
        return ELAPSE_OK;
    }
    size_t name_bytes = strlen(name);
    if (name_bytes == 0 || name_bytes > NAME_BYTES_MAX)
        return ELAPSE_ERROR_ARGUMENT;
    const struct elapse_time_zone *known = find_again(name);
    if (known != NULL) {
        *zone = known;
        return ELAPSE_OK;
    }
    enum elapse_error error = is_file_name(name) ? read_zone(name, &new_zone) : ELAPSE_OK;
    if (error != ELAPSE_OK)
        return error;
    if (new_zone == NULL) {
        if (!elapse__zone_rule_parse(&rule, name, name_bytes))
            return ELAPSE_ERROR_ARGUMENT;
        new_zone = zone_new(name, ELAPSE__ZONE_KIND_RULE, NULL, 0);
        if (new_zone == NULL)
            return ELAPSE_ERROR_MEMORY;
        new_zone->file.rule = rule;
    }
    keep(new_zone);
    *zone = new_zone;
    return ELAPSE_OK;
}
