#include "codes.h"

#include <string.h>

#include "../../base/assert.h"

bool elapse__database_has_code(const PGresult *result, const char *code)
{
    const char *field = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    ELAPSE__ASSERT_THAT(strlen(code), ==, 5);
    return field != NULL && strcmp(field, code) == 0;
}
