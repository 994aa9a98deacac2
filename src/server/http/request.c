#include "request.h"

#include <stdio.h>
#include <string.h>

#include "../../base/assert.h"

bool elapse__http_refuse(struct elapse__http_fault *fault, int status, const char *code,
                         const char *name, const char *text)
{
    ELAPSE__ASSERT(status >= 400 && status < 600);
    fault->status = status;
    fault->code = code;
    (void)snprintf(fault->message, sizeof fault->message, "%.60s%s%.160s", name,
                   *name == '\0' ? "" : ": ", text);
    for (char *letter = fault->message; *letter != '\0'; letter++)
        if (*letter < ' ' || *letter > '~')
            *letter = '?';
    ELAPSE__ASSERT_THAT(strlen(fault->message), <, sizeof fault->message - 1);
    return false;
}

bool elapse__http_refuse_value(struct elapse__http_fault *fault, const char *name, const char *text)
{
    return elapse__http_refuse(fault, 400, "BAD_ARGUMENT", name, text);
}

bool elapse__http_refuse_memory(struct elapse__http_fault *fault)
{
    return elapse__http_refuse(fault, 507, "OUT_OF_MEMORY", "", "there is no memory");
}
