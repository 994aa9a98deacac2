/*
 * Takes any bytes as the directory of a journal. To open it never crashes, and a journal that was
 * opened can be read and appended to.
 *
 * The first byte says how many files there are, up to 4; each takes an equal part of the rest. If
 * the second byte is odd, the bytes are written into a sound journal in place of making files.
 */
#include <string.h>

#include "../engine/journal/numbered_owner.h"
#include "fuzz.h"
#include "sim_disk.h"

static struct owner owner;

static bool open_journal(void)
{
    struct elapse__journal_refusal refusal;
    bool is_open = owner_open(&owner, &sim_disk_files, 14, 0, &refusal);
    if (!is_open && refusal.fault == ELAPSE__FAULT_NONE)
        abort(); /* a refusal without a reason */
    return is_open;
}

static void work(void)
{
    while (elapse__journal_work(owner.journal))
        continue;
}

static void make_files(const uint8_t *data, size_t size, unsigned count)
{
    static const char *const names[] = {"1.log", "2.log", "3.log", "spare-1"};
    size_t each = size / count;
    for (unsigned i = 0; i < count; i++)
        sim_disk_put("data/journal", names[i], data + i * each, each);
}

/* Damages a journal: the bytes are offsets, each with 4 bytes that are written there. */
static void damage(const uint8_t *data, size_t size)
{
    for (; size >= 7; data += 7, size -= 7) {
        size_t bytes, offset = (size_t)data[1] << 8 | data[2];
        uint8_t *content =
            sim_disk_content("data/journal", data[0] % 2 == 0 ? "1.log" : "2.log", &bytes);
        if (content != NULL && bytes > 4)
            memcpy(content + offset % (bytes - 4), data + 3, 4);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    sim_disk_begin(1);
    owner_begin(&owner);
    if (data[1] % 2 == 1) {
        if (!open_journal())
            abort();
        for (unsigned i = 0; i < 30; i++) {
            (void)owner_put(&owner, 900, ELAPSE__RECORD_FOR_GROWTH);
            work();
        }
        elapse__journal_free(owner.journal);
        sim_disk_end_process();
        damage(data + 2, size - 2);
    } else {
        make_files(data + 2, size - 2, data[0] % 4 + 1);
    }
    if (open_journal()) {
        (void)owner_put(&owner, 10, ELAPSE__RECORD_FOR_GROWTH);
        work();
        elapse__journal_free(owner.journal);
    }
    sim_disk_end();
    return 0;
}
