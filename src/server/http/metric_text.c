#include "metric_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../../base/assert.h"

void elapse__metric_add(struct elapse__json *text, const char *format, ...)
{
    char line[1024];
    va_list arguments;

    va_start(arguments, format);
    int size = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    ELAPSE__ASSERT_THAT(size, >=, 0);
    ELAPSE__ASSERT_THAT((size_t)size, <, sizeof line);
    (void)size; /* used only by assertions */
    elapse__json_raw(text, line);
}

void elapse__metric_begin(struct elapse__json *text, const char *name, const char *type,
                          const char *help)
{
    ELAPSE__ASSERT(strpbrk(help, "\\\n") == NULL);
    elapse__metric_add(text, "# HELP elapse_%s %s\n# TYPE elapse_%s %s\n", name, help, name, type);
}
