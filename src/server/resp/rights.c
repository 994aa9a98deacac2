#include "rights.h"

const char *elapse__resp_refusal(const struct elapse__resp_call *call)
{
    if (!call->session->known && (call->command->flags & ELAPSE__RESP_NO_AUTH) == 0)
        return "NOAUTH Authentication required.";
    return NULL;
}
