/*
 * The table of records, made with uthash, and the list of all records, made with utlist.
 */
#include "records.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"

struct record *record_find(const struct record_table *table, const char *key, size_t length)
{
    struct record *found;

    ELAPSE__ASSERT(length > 0);
    HASH_FIND(hh, table->first, key, length, found);
    return found;
}

struct record *record_new(struct record_table *table, struct record *older, const char *key,
                          size_t length)
{
    ELAPSE__ASSERT(length > 0);
    ELAPSE__ASSERT(older == NULL || older->key_length == length);
    struct record *record = allocate(sizeof *record + length);

    memset(record, 0, sizeof *record);
    record->key_length = length;
    memcpy(record->key, key, length);
    if (older != NULL)
        record_forget(table, older);
    HASH_ADD_KEYPTR(hh, table->first, record->key, length, record);
    record->is_latest = true;
    DL_APPEND(table->all, record);
    return record;
}

void record_forget(struct record_table *table, struct record *record)
{
    ELAPSE__ASSERT(!record->is_latest || table->first != NULL);
    if (record->is_latest)
        HASH_DEL(table->first, record);
    record->is_latest = false;
}

void record_free(struct record_table *table, struct record *record)
{
    ELAPSE__ASSERT(!record->armed);
    record_forget(table, record);
    DL_DELETE(table->all, record);
    free(record);
}

void record_table_free(struct record_table *table)
{
    HASH_CLEAR(hh, table->first);
    while (table->all != NULL) {
        struct record *record = table->all;
        DL_DELETE(table->all, record);
        free(record);
    }
}
