/*
 * A disk in memory, in place of the table of src/os/files.h, that does what disks may do.
 *
 *      write      goes to the page cache; a sync takes it to the disk, in sectors of 512 bytes
 *      crash      each unsynced sector is kept, lost or half written, at random; each unsynced name
 *                 of a directory is kept or lost
 *      sync       may fail: then some sectors are on the disk; the rest is read from the page cache
 *                 until the cache evicts it, and no later sync brings it to the disk
 *      any call   may fail with EIO; a write may be short; the disk may be full
 *
 * Everything follows from one seed. There is one disk at a time, and one thread.
 */
#ifndef ELAPSE_TESTS_SIM_DISK_H
#define ELAPSE_TESTS_SIM_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../src/os/files.h"

struct sim_disk_faults {
    uint64_t capacity;          /* bytes of all files; 0: no limit */
    unsigned short_write_in;    /* N: one write in N is short; 0: none */
    unsigned failed_sync_in;    /* N: one sync in N fails; 0: none */
    unsigned failed_call_in;    /* N: one call of any kind in N fails with EIO; 0: none */
    bool reads_fail;            /* every reading fails with EIO; all other calls work */
    uint64_t crash_after_calls; /* after so many calls all fail, without effect; 0: never */
};

/* Begins with an empty disk. */
void sim_disk_begin(uint64_t seed);
void sim_disk_end(void);

void sim_disk_set_faults(const struct sim_disk_faults *faults);

/* Returns whether the crash of `crash_after_calls` has come. */
bool sim_disk_is_dead(void);

/* Makes the machine lose its power, and have it again. No file is open any more. */
void sim_disk_lose_power(void);

/* Ends the process while the machine goes on: the page cache stays as it is. */
void sim_disk_end_process(void);

/* Makes the page cache forget all clean sectors. */
void sim_disk_evict(void);

/* Gives a file a second name in another directory, as a backup does. */
bool sim_disk_link(const char *directory, const char *name, const char *to_directory);

/* Returns whether a file was changed while it had more than one name. */
bool sim_disk_has_changed_linked(void);

/* Returns the content of a file, as a reader sees it; NULL if there is no file. A test may change
 * the bytes there: this is damage. */
uint8_t *sim_disk_content(const char *directory, const char *name, size_t *size);

bool sim_disk_remove(const char *directory, const char *name);

/* Puts a file on the disk, as if it were synced. */
void sim_disk_put(const char *directory, const char *name, const void *bytes, size_t size);

/* Calls each(name) for the files of a directory. */
void sim_disk_names(const char *directory, void (*each)(void *context, const char *name),
                    void *context);

/* Returns how many calls there were since the beginning. */
uint64_t sim_disk_calls(void);

/* Returns how many calls failed because of `failed_call_in`. */
uint64_t sim_disk_failed_calls(void);

/* Returns how many bytes of memory the contents of the files take. */
uint64_t sim_disk_memory(void);

/* Returns a random number of this disk, for tests that follow the same seed. */
uint64_t sim_disk_random(void);

extern const struct elapse__files sim_disk_files;

#endif
