/*
 * Reads or writes whole pieces: repeats a call of the system until all bytes are done.
 */
#include "transfer.h"

#include <errno.h>
#include <string.h>

#include "../../base/assert.h"

int elapse__read_some(const struct elapse__files *files, int file, uint64_t offset, void *bytes,
                      size_t count, size_t *size)
{
    for (*size = 0; *size < count;) {
        size_t done = 0;
        int error =
            files->read_at(file, offset + *size, (uint8_t *)bytes + *size, count - *size, &done);
        if (error != 0 || done == 0)
            return error;
        *size += done;
        ELAPSE__ASSERT_THAT(*size, <=, count);
    }
    return 0;
}

int elapse__read_all(const struct elapse__files *files, int file, uint64_t offset, void *bytes,
                     size_t count)
{
    size_t size = 0;
    int error = elapse__read_some(files, file, offset, bytes, count, &size);
    if (error == 0)
        memset((uint8_t *)bytes + size, 0, count - size);
    return error;
}

int elapse__fill_all(const struct elapse__files *files, int file, uint64_t from, uint64_t end)
{
    ELAPSE__ASSERT_THAT(from, <=, end);
    while (from < end) {
        size_t done = 0;
        int error = files->fill(file, from, end - from, &done);
        if (error != 0)
            return error;
        if (done == 0)
            return EIO;
        from += done;
    }
    return 0;
}

int elapse__write_all(const struct elapse__files *files, int file, uint64_t offset,
                      const void *bytes, size_t count)
{
    const uint8_t *from = bytes;
    while (count > 0) {
        size_t done = 0;
        int error = files->write_at(file, offset, from, count, &done);
        if (error != 0)
            return error;
        if (done == 0)
            return EIO;
        from += done;
        offset += done;
        count -= done;
    }
    return 0;
}
