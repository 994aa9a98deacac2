#include <elapse/version.h>

const char *elapse_version(void)
{
    return ELAPSE_VERSION_TEXT;
}
