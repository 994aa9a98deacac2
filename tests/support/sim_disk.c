#include "sim_disk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SECTOR = 512, DIRECTORIES_MAX = 8, OPEN_MAX = 512, NAME_MAX_BYTES = 48, PATH_BYTES = 64 };

struct sim_inode {
    uint8_t *shown; /* the content that the page cache shows */
    uint8_t *on_disk;
    bool *dirty; /* for each sector: it was written since the last sync */
    size_t size, disk_size, capacity;
    size_t last_write; /* where the last write began */
    unsigned opened;
    struct sim_inode *next;
    bool is_locked;
};

/* A name in a directory: in the page cache, or on the disk, or in both. */
struct sim_name {
    int directory;
    char name[NAME_MAX_BYTES];
    struct sim_inode *inode;
    bool is_now, is_on_disk;
    bool is_replaced; /* another file has got this name, and a crash leaves the one or the other */
    struct sim_name *next;
};

struct sim_open {
    bool is_open;
    int directory; /* the directory's number; -1: this is a file */
    struct sim_inode *inode;
    bool has_lock;
};

static struct {
    uint64_t random;
    uint64_t calls;
    uint64_t failed_calls;
    struct sim_disk_faults faults;
    bool is_dead;
    bool has_changed_linked;
    char directories[DIRECTORIES_MAX][PATH_BYTES];
    int directory_count;
    struct sim_name *names;
    struct sim_inode *inodes;
    struct sim_open open[OPEN_MAX];
} disk;

uint64_t sim_disk_random(void)
{
    uint64_t mixed = disk.random += UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ mixed >> 31;
}

static bool one_in(unsigned chances)
{
    return chances > 0 && sim_disk_random() % chances == 0;
}

static void free_inode(struct sim_inode *inode)
{
    free(inode->shown);
    free(inode->on_disk);
    free(inode->dirty);
    free(inode);
}

/* Removes the names that are neither in the page cache nor on the disk, and the files that have
 * neither a name nor a user. */
static void collect(void)
{
    for (struct sim_name **at = &disk.names; *at != NULL;) {
        struct sim_name *name = *at;
        if (name->is_now || name->is_on_disk) {
            at = &name->next;
            continue;
        }
        *at = name->next;
        free(name);
    }
    for (struct sim_inode **at = &disk.inodes; *at != NULL;) {
        struct sim_inode *inode = *at;
        bool used = inode->opened > 0;
        for (const struct sim_name *name = disk.names; name != NULL && !used; name = name->next)
            used = name->inode == inode;
        if (used) {
            at = &inode->next;
            continue;
        }
        *at = inode->next;
        free_inode(inode);
    }
}

void sim_disk_begin(uint64_t seed)
{
    memset(&disk, 0, sizeof disk);
    disk.random = seed;
}

void sim_disk_end(void)
{
    sim_disk_end_process();
    for (struct sim_name *name = disk.names; name != NULL; name = name->next)
        name->is_now = name->is_on_disk = false;
    collect();
}

void sim_disk_set_faults(const struct sim_disk_faults *faults)
{
    uint64_t calls = faults->crash_after_calls;
    disk.faults = *faults;
    disk.faults.crash_after_calls = calls == 0 ? 0 : disk.calls + calls;
    disk.is_dead = false;
}

bool sim_disk_is_dead(void)
{
    return disk.is_dead;
}

bool sim_disk_has_changed_linked(void)
{
    return disk.has_changed_linked;
}

uint64_t sim_disk_calls(void)
{
    return disk.calls;
}

uint64_t sim_disk_failed_calls(void)
{
    return disk.failed_calls;
}

/* Counts a call. Returns its error if the call is to fail; otherwise 0. */
static int call(void)
{
    disk.calls++;
    if (disk.faults.crash_after_calls != 0 && disk.calls >= disk.faults.crash_after_calls)
        disk.is_dead = true;
    if (!disk.is_dead && !one_in(disk.faults.failed_call_in))
        return 0;
    disk.failed_calls++;
    return EIO;
}

static int directory_of_path(const char *path)
{
    for (int i = 0; i < disk.directory_count; i++) {
        if (strcmp(disk.directories[i], path) == 0)
            return i;
    }
    return -1;
}

static int need_directory(const char *path)
{
    int found = directory_of_path(path);
    if (found >= 0)
        return found;
    if (disk.directory_count == DIRECTORIES_MAX)
        abort();
    (void)snprintf(disk.directories[disk.directory_count], PATH_BYTES, "%s", path);
    return disk.directory_count++;
}

static struct sim_name *find_name(int directory, const char *name)
{
    for (struct sim_name *at = disk.names; at != NULL; at = at->next) {
        if (at->is_now && at->directory == directory && strcmp(at->name, name) == 0)
            return at;
    }
    return NULL;
}

static struct sim_name *add_name(int directory, const char *name, struct sim_inode *inode)
{
    for (struct sim_name *at = disk.names; at != NULL; at = at->next) {
        if (at->inode == inode && at->directory == directory && strcmp(at->name, name) == 0) {
            at->is_now = true;
            return at;
        }
    }
    struct sim_name *added = calloc(1, sizeof *added);
    if (added == NULL)
        abort();
    added->directory = directory;
    (void)snprintf(added->name, sizeof added->name, "%s", name);
    added->inode = inode;
    added->is_now = true;
    added->next = disk.names;
    disk.names = added;
    return added;
}

static uint64_t links_of(const struct sim_inode *inode)
{
    uint64_t links = 0;
    for (const struct sim_name *at = disk.names; at != NULL; at = at->next)
        links += at->inode == inode && at->is_now;
    return links;
}

static uint64_t used_bytes(void)
{
    uint64_t used = 0;
    for (const struct sim_inode *inode = disk.inodes; inode != NULL; inode = inode->next) {
        if (inode->opened > 0 || links_of(inode) > 0)
            used += inode->size;
    }
    return used;
}

uint64_t sim_disk_memory(void)
{
    uint64_t bytes = 0;
    for (const struct sim_inode *inode = disk.inodes; inode != NULL; inode = inode->next)
        bytes += 2 * inode->capacity + inode->capacity / SECTOR;
    return bytes;
}

static void grow(struct sim_inode *inode, size_t size)
{
    if (size <= inode->capacity)
        return;
    size_t capacity = (size + 16383) / 16384 * 16384;
    inode->shown = realloc(inode->shown, capacity);
    inode->on_disk = realloc(inode->on_disk, capacity);
    inode->dirty = realloc(inode->dirty, capacity / SECTOR);
    if (inode->shown == NULL || inode->on_disk == NULL || inode->dirty == NULL)
        abort();
    memset(inode->shown + inode->capacity, 0, capacity - inode->capacity);
    memset(inode->on_disk + inode->capacity, 0, capacity - inode->capacity);
    memset(inode->dirty + inode->capacity / SECTOR, 0, (capacity - inode->capacity) / SECTOR);
    inode->capacity = capacity;
}

static struct sim_inode *new_inode(void)
{
    struct sim_inode *inode = calloc(1, sizeof *inode);
    if (inode == NULL)
        abort();
    inode->next = disk.inodes;
    disk.inodes = inode;
    return inode;
}

static int new_open(int directory, struct sim_inode *inode)
{
    for (int i = 0; i < OPEN_MAX; i++) {
        if (disk.open[i].is_open)
            continue;
        disk.open[i] = (struct sim_open){true, directory, inode, false};
        if (inode != NULL)
            inode->opened++;
        return i;
    }
    abort();
}

static struct sim_open *opened(int file)
{
    if (file < 0 || file >= OPEN_MAX || !disk.open[file].is_open)
        abort(); /* the caller uses a file that is not open */
    return &disk.open[file];
}

/* ---- the table ---- */

static int sim_make_directory(const char *path)
{
    int error = call();
    if (error == 0)
        (void)need_directory(path);
    return error;
}

static int sim_open_directory(const char *path, int *directory)
{
    int error = call();
    int found = directory_of_path(path);
    if (error == 0 && found < 0)
        error = ENOENT;
    *directory = error == 0 ? new_open(found, NULL) : -1;
    return error;
}

static int sim_list(int directory, int (*each)(void *context, const char *name), void *context)
{
    int error = call();
    int number = opened(directory)->directory;
    for (struct sim_name *at = disk.names; at != NULL && error == 0; at = at->next) {
        if (at->is_now && at->directory == number)
            error = each(context, at->name);
    }
    return error;
}

static int sim_open_file(int directory, const char *name, enum elapse__file_mode mode, int *file)
{
    int error = call();
    int number = opened(directory)->directory;
    *file = -1;
    if (error != 0)
        return error;
    struct sim_name *found = find_name(number, name);
    bool creates = mode == ELAPSE__FILE_CREATE || mode == ELAPSE__FILE_ENSURE;
    if (found != NULL && mode == ELAPSE__FILE_CREATE)
        return EEXIST;
    if (found == NULL && !creates)
        return ENOENT;
    if (found == NULL)
        found = add_name(number, name, new_inode());
    *file = new_open(-1, found->inode);
    return 0;
}

static void sim_close(int file)
{
    struct sim_open *at = opened(file);
    at->is_open = false;
    if (at->inode == NULL)
        return;
    at->inode->opened--;
    if (at->has_lock)
        at->inode->is_locked = false;
    collect();
}

static int sim_read_at(int file, uint64_t offset, void *bytes, size_t count, size_t *done)
{
    const struct sim_inode *inode = opened(file)->inode;
    int error = call();
    *done = 0;
    if (error == 0 && disk.faults.reads_fail)
        error = EIO;
    if (error != 0 || offset >= inode->size)
        return error;
    *done = inode->size - offset < count ? inode->size - (size_t)offset : count;
    memcpy(bytes, inode->shown + offset, *done);
    return 0;
}

static int sim_read_cached(int file, uint64_t offset, void *bytes, size_t count, size_t *done)
{
    *done = 0;
    return one_in(2) ? EAGAIN : sim_read_at(file, offset, bytes, count, done);
}

static void sim_read_ahead(int file, uint64_t offset, uint64_t count)
{
    (void)opened(file), (void)offset, (void)count;
}

static int sim_write_at(int file, uint64_t offset, const void *bytes, size_t count, size_t *done)
{
    struct sim_inode *inode = opened(file)->inode;
    int error = call();
    *done = 0;
    if (error != 0)
        return error;
    if (count > 1 && one_in(disk.faults.short_write_in))
        count = 1 + (size_t)(sim_disk_random() % (count - 1));
    size_t end = (size_t)offset + count;
    if (end > inode->size && disk.faults.capacity > 0) {
        uint64_t used = used_bytes();
        uint64_t room = used < disk.faults.capacity ? disk.faults.capacity - used : 0;
        if (end - inode->size > room)
            end = inode->size + (size_t)room;
        if (end <= offset)
            return ENOSPC;
        count = end - (size_t)offset;
    }
    grow(inode, end);
    if (links_of(inode) > 1 && memcmp(inode->shown + offset, bytes, count) != 0)
        disk.has_changed_linked = true;
    memcpy(inode->shown + offset, bytes, count);
    for (size_t sector = (size_t)offset / SECTOR; sector * SECTOR < end; sector++)
        inode->dirty[sector] = true;
    inode->last_write = (size_t)offset;
    if (end > inode->size)
        inode->size = end;
    *done = count;
    return 0;
}

static int sim_fill(int file, uint64_t offset, uint64_t count, size_t *done)
{
    static const uint8_t zeros[1 << 16];
    return sim_write_at(file, offset, zeros, count < sizeof zeros ? (size_t)count : sizeof zeros,
                        done);
}

static int sim_sync(int file)
{
    struct sim_inode *inode = opened(file)->inode;
    int error = call();
    if (disk.is_dead)
        return error;
    if (error == 0 && one_in(disk.faults.failed_sync_in))
        error = EIO;
    /* After a failure the dirty sectors are taken for clean, although the disk has only some of
     * them. */
    for (size_t sector = 0; sector < inode->capacity / SECTOR; sector++) {
        if (inode->dirty[sector] && (error == 0 || one_in(2)))
            memcpy(inode->on_disk + sector * SECTOR, inode->shown + sector * SECTOR, SECTOR);
        inode->dirty[sector] = false;
    }
    inode->disk_size = inode->size;
    return error;
}

static int sim_sync_directory(int directory)
{
    int number = opened(directory)->directory;
    int error = call();
    if (error == 0 && one_in(disk.faults.failed_sync_in))
        error = EIO;
    if (error != 0)
        return error;
    for (struct sim_name *at = disk.names; at != NULL; at = at->next) {
        if (at->directory == number)
            at->is_on_disk = at->is_now;
    }
    collect();
    return 0;
}

static int sim_unlink(int directory, const char *name)
{
    int error = call();
    struct sim_name *found = find_name(opened(directory)->directory, name);
    if (error == 0 && found == NULL)
        error = ENOENT;
    if (error != 0)
        return error;
    found->is_now = false;
    collect();
    return 0;
}

static int sim_rename(int directory, const char *from, const char *to)
{
    int error = call();
    int number = opened(directory)->directory;
    struct sim_name *found = find_name(number, from);
    if (error == 0 && found == NULL)
        error = ENOENT;
    struct sim_name *replaced = find_name(number, to);
    bool may_replace =
        strcmp(to, "cluster") == 0 || strcmp(to, "witness") == 0 || strcmp(to, "left") == 0;
    if (error == 0 && replaced != NULL && !may_replace)
        abort(); /* the journal never replaces a file */
    if (error != 0)
        return error;
    if (replaced != NULL) {
        replaced->is_now = false;
        replaced->is_replaced = replaced->is_on_disk;
    }
    found->is_now = false;
    (void)add_name(number, to, found->inode);
    collect();
    return 0;
}

static int sim_status(int file, struct elapse__file_status *status)
{
    const struct sim_inode *inode = opened(file)->inode;
    int error = call();
    *status = (struct elapse__file_status){.bytes = inode->size, .links = links_of(inode)};
    return error;
}

static int sim_lock(int file)
{
    struct sim_open *at = opened(file);
    int error = call();
    if (error == 0 && at->inode->is_locked && !at->has_lock)
        error = EWOULDBLOCK;
    if (error == 0)
        at->has_lock = at->inode->is_locked = true;
    return error;
}

const struct elapse__files sim_disk_files = {
    .make_directory = sim_make_directory,
    .open_directory = sim_open_directory,
    .list = sim_list,
    .open = sim_open_file,
    .close = sim_close,
    .read_at = sim_read_at,
    .write_at = sim_write_at,
    .fill = sim_fill,
    .read_cached = sim_read_cached,
    .read_ahead = sim_read_ahead,
    .sync = sim_sync,
    .sync_directory = sim_sync_directory,
    .rename = sim_rename,
    .unlink = sim_unlink,
    .status = sim_status,
    .lock = sim_lock,
};

/* ---- crashes and damage ---- */

void sim_disk_end_process(void)
{
    for (int i = 0; i < OPEN_MAX; i++) {
        if (!disk.open[i].is_open)
            continue;
        disk.open[i].is_open = false;
        if (disk.open[i].inode != NULL) {
            disk.open[i].inode->opened--;
            disk.open[i].inode->is_locked = false;
        }
    }
    collect();
}

/* Keeps, loses or tears one sector. */
static void crash_sector(struct sim_inode *inode, size_t sector)
{
    uint8_t *old = inode->on_disk + sector * SECTOR;
    const uint8_t *new = inode->shown + sector *SECTOR;
    /* Half of the cuts are where the last write begins, between old and new records. */
    size_t cut = (size_t)(sim_disk_random() % SECTOR);
    if (sector == inode->last_write / SECTOR && one_in(2))
        cut = (inode->last_write + 8 * (size_t)(sim_disk_random() % 16)) % SECTOR;
    switch (sim_disk_random() % 4) {
    case 0:
        break;
    case 1:
        memcpy(old, new, SECTOR);
        break;
    case 2:
        memcpy(old, new, cut);
        break;
    default:
        memcpy(old + cut, new + cut, SECTOR - cut);
        break;
    }
}

/* Keeps, loses or tears the sectors of a file. Some crashes keep or lose almost all sectors: with
 * many sectors a mixture alone would never do so. */
static void crash_file(struct sim_inode *inode)
{
    uint64_t mood = sim_disk_random() % 4;
    for (size_t sector = 0; sector < inode->capacity / SECTOR; sector++) {
        if (!inode->dirty[sector])
            continue;
        if (mood == 0 && !one_in(8))
            memcpy(inode->on_disk + sector * SECTOR, inode->shown + sector * SECTOR, SECTOR);
        else if (mood != 1 || one_in(8))
            crash_sector(inode, sector);
    }
    if (inode->size > inode->disk_size && one_in(2))
        inode->disk_size = inode->size;
    inode->size = inode->disk_size;
    if (inode->size < inode->capacity)
        memset(inode->on_disk + inode->size, 0, inode->capacity - inode->size);
    if (inode->capacity > 0) {
        memcpy(inode->shown, inode->on_disk, inode->capacity);
        memset(inode->dirty, 0, inode->capacity / SECTOR * sizeof *inode->dirty);
    }
}

void sim_disk_lose_power(void)
{
    sim_disk_end_process();
    for (struct sim_inode *inode = disk.inodes; inode != NULL; inode = inode->next)
        crash_file(inode);
    for (struct sim_name *at = disk.names; at != NULL; at = at->next) {
        if (at->is_now != at->is_on_disk)
            at->is_now = at->is_on_disk = at->is_replaced || one_in(2);
        at->is_replaced = false;
    }
    /* A name may lead to one file only. The newest, which comes first, wins. */
    for (struct sim_name *at = disk.names; at != NULL; at = at->next) {
        for (struct sim_name *other = at->next; at->is_now && other != NULL; other = other->next) {
            if (other->directory == at->directory && strcmp(other->name, at->name) == 0)
                other->is_now = other->is_on_disk = false;
        }
    }
    collect();
    disk.is_dead = false;
}

void sim_disk_evict(void)
{
    for (struct sim_inode *inode = disk.inodes; inode != NULL; inode = inode->next) {
        for (size_t sector = 0; sector < inode->capacity / SECTOR; sector++) {
            if (!inode->dirty[sector])
                memcpy(inode->shown + sector * SECTOR, inode->on_disk + sector * SECTOR, SECTOR);
        }
    }
}

bool sim_disk_link(const char *directory, const char *name, const char *to_directory)
{
    struct sim_name *found = find_name(need_directory(directory), name);
    if (found == NULL)
        return false;
    struct sim_name *added = add_name(need_directory(to_directory), name, found->inode);
    added->is_on_disk = true;
    return true;
}

uint8_t *sim_disk_content(const char *directory, const char *name, size_t *size)
{
    struct sim_name *found = find_name(need_directory(directory), name);
    if (found == NULL)
        return NULL;
    *size = found->inode->size;
    return found->inode->shown;
}

bool sim_disk_remove(const char *directory, const char *name)
{
    struct sim_name *found = find_name(need_directory(directory), name);
    if (found == NULL)
        return false;
    found->is_now = found->is_on_disk = false;
    collect();
    return true;
}

void sim_disk_put(const char *directory, const char *name, const void *bytes, size_t size)
{
    struct sim_inode *inode = new_inode();
    grow(inode, size);
    if (size > 0) {
        memcpy(inode->shown, bytes, size);
        memcpy(inode->on_disk, bytes, size);
    }
    inode->size = inode->disk_size = size;
    struct sim_name *added = add_name(need_directory(directory), name, inode);
    added->is_on_disk = true;
}

void sim_disk_names(const char *directory, void (*each)(void *context, const char *name),
                    void *context)
{
    int number = need_directory(directory);
    for (struct sim_name *at = disk.names; at != NULL; at = at->next) {
        if (at->is_now && at->directory == number)
            each(context, at->name);
    }
}
