/*
 * Takes any bytes as a script of what many clients, the disk and the clock do to a server with both
 * protocols. Whatever they do, the invariants of the core, the queue and the journal hold, and
 * nothing of the clients is left at the end.
 */
#include "../server/script.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    script_run(data, size);
    return 0;
}
