#include "names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../base/assert.h"

static bool is_letter(char character)
{
    return character >= 'a' && character <= 'z';
}

bool elapse__database_queue_name_is_valid(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    size_t length = strlen(name);
    return is_letter(name[0]) && length < ELAPSE__QUEUE_NAME_BYTES &&
           strspn(name, allowed) == length;
}

struct elapse__database_name elapse__database_session_name(const char *queue, uint32_t partition)
{
    struct elapse__database_name name;
    ELAPSE__ASSERT(elapse__database_queue_name_is_valid(queue));
    int length = snprintf(name.text, sizeof name.text, "elapse/%s/%" PRIu32, queue, partition);
    ELAPSE__ASSERT(length > 0 && (size_t)length < sizeof name.text);
    (void)length;
    return name;
}

struct elapse__database_name elapse__database_log_table_name(const char *queue, uint32_t partition,
                                                             uint64_t table)
{
    struct elapse__database_name name;
    ELAPSE__ASSERT(elapse__database_queue_name_is_valid(queue));
    ELAPSE__ASSERT_THAT(partition, <, ELAPSE__PARTS_MAX);
    int length = snprintf(name.text, sizeof name.text, "log_%s_%" PRIu32 "_%" PRIu64, queue,
                          partition, table);
    ELAPSE__ASSERT(length > 0 && (size_t)length < sizeof name.text);
    (void)length;
    return name;
}
