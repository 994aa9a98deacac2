/*
 * Finds out whether the variable TZ names a zone. The C library takes three forms of TZ: a rule, a
 * name, or the path of a file. A name and a path may begin with a colon.
 */
#include "local_time.h"

#include <stdlib.h>
#include <string.h>

#include <elapse/cron.h>

#include "../../base/assert.h"
#include "../../os/program.h"
#include "text.h"

/* Returns whether the file is one of the time zone database. */
static bool is_zone_file(const char *path)
{
    char magic[4];
    size_t got = 0;
    int file;

    ELAPSE__ASSERT(path[0] == '/');
    if (elapse__os_open_to_read(path, &file) != 0)
        return false;
    int error = elapse__os_read_at(file, 0, magic, sizeof magic, &got);
    (void)elapse__os_close(file);
    return error == 0 && got == sizeof magic && memcmp(magic, "TZif", sizeof magic) == 0;
}

bool local_time_is_known(enum exit_status *status)
{
    const char *given = getenv("TZ");
    const struct elapse_time_zone *zone;

    /* An empty TZ means UTC. With TZDIR the names are in another folder, which this program does
     * not read. */
    if (given == NULL || given[0] == '\0' || getenv("TZDIR") != NULL)
        return true;
    const char *name = given + (given[0] == ':');
    bool is_path = name[0] == '/';
    if (is_path ? is_zone_file(name) : elapse_time_zone_find(name, &zone) == ELAPSE_OK)
        return true;
    print_error("TZ: there is no time zone %s", quote_string(given).text);
    *status = STATUS_USAGE;
    return false;
}
