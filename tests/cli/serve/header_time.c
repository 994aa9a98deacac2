/*
 * header_time FILE SECONDS: changes the time in the header of a segment. The new time is the
 * present wall-clock time plus SECONDS, as if the header had been written then.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../../../src/engine/journal/frame.h"

int main(int argc, char **argv)
{
    uint8_t bytes[ELAPSE__SEGMENT_HEADER_BYTES];
    struct elapse__segment_header header;
    uint32_t version;

    if (argc != 3)
        return 2;
    FILE *file = fopen(argv[1], "r+b");
    if (file == NULL || fread(bytes, sizeof bytes, 1, file) != 1 ||
        elapse__segment_header_decode(bytes, &header, &version) != ELAPSE__HEADER_WHOLE) {
        fprintf(stderr, "%s: no header\n", argv[1]);
        return 1;
    }
    header.wall_ms = ((int64_t)time(NULL) + strtoll(argv[2], NULL, 10)) * 1000;
    elapse__segment_header_encode(&header, bytes);
    rewind(file);
    return fwrite(bytes, sizeof bytes, 1, file) == 1 && fclose(file) == 0 ? 0 : 1;
}
