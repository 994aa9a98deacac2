/*
 * Makes it take as long to bring a store into service as the environment says, as if the store had
 * very many jobs: ELAPSE_SLOW_BEGIN_MS. The lock of the store is held meanwhile. While the file
 * ELAPSE_NO_ROOM is there, the disk has no room for it. The linker puts this function into the
 * place of elapse__store_own.
 */
#include <stdlib.h>
#include <unistd.h>

#include "../../../src/engine/store/log.h"
#include "../../../src/engine/store/store.h"

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the linker's names */
enum elapse_error __real_elapse__store_own(struct elapse_queue *store);
enum elapse_error __wrap_elapse__store_own(struct elapse_queue *store);

enum elapse_error __wrap_elapse__store_own(struct elapse_queue *store)
{
    const char *text = getenv("ELAPSE_SLOW_BEGIN_MS");
    const char *no_room = getenv("ELAPSE_NO_ROOM");

    if (no_room != NULL && access(no_room, F_OK) == 0)
        return ELAPSE_ERROR_DISK_FULL;
    elapse__store_arrive(store);
    if (text != NULL)
        (void)usleep((unsigned)strtoul(text, NULL, 10) * 1000);
    elapse__store_depart(store);
    return __real_elapse__store_own(store);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
