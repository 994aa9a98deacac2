#include "reply_fields.h"

#include <string.h>

static const struct row {
    const char *name;
    enum elapse__field_kind kind;
} rows[] = {
#define ROW(field, name, kind) {name, ELAPSE__FIELD_##kind},
    ELAPSE__JOB_FIELDS(ROW) ELAPSE__JOB_TEXTS(ROW) ELAPSE__JOB_RULE(ROW)
        ELAPSE__JOBS_STATISTICS(ROW) ELAPSE__TUBE_STATISTICS(ROW) ELAPSE__TUBE_COUNTS(ROW)
            ELAPSE__SERVER_STATISTICS(ROW) ELAPSE__JOURNAL_STATISTICS(ROW)
                ELAPSE__HISTORY_FIELDS(ROW) ELAPSE__GROUP_FIELDS(ROW)
#undef ROW
};

enum elapse__field_kind elapse__field_kind_of(const void *name, size_t size)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strlen(rows[i].name) == size && memcmp(rows[i].name, name, size) == 0)
            return rows[i].kind;
    }
    return ELAPSE__FIELD_NUMBER;
}
