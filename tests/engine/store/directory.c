#include "directory.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

static char path[256];

const char *directory_make(void)
{
    const char *base = getenv("TMPDIR");

    snprintf(path, sizeof path, "%s/elapse-store-XXXXXX", base == NULL ? "/tmp" : base);
    if (mkdtemp(path) == NULL) {
        perror(path);
        abort();
    }
    return path;
}

static int remove_one(const char *name, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(name);
}

void directory_remove(void)
{
    (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
