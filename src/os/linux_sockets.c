/*
 * Implements sockets.h for Linux.
 */
#include "sockets.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "../base/assert.h"

_Static_assert(sizeof(struct sockaddr_storage) <= ELAPSE__OS_ADDRESS_BYTES,
               "an address has room for every kind");
_Static_assert(_Alignof(struct sockaddr_storage) <= 8, "an address is aligned for every kind");

static const struct sockaddr *sockaddr_of(const struct elapse__os_address *address)
{
    return (const struct sockaddr *)(const void *)address->bytes;
}

static int family_of(const struct elapse__os_address *address)
{
    ELAPSE__ASSERT_THAT(address->size, >=, sizeof(sa_family_t));
    ELAPSE__ASSERT_THAT(address->size, <=, sizeof address->bytes);
    return sockaddr_of(address)->sa_family;
}

/* ---- addresses ---- */

static const char *resolve(const char *host, const char *port, int flags,
                           struct elapse__os_address *addresses, size_t *count)
{
    struct addrinfo hints = {
        .ai_family = AF_UNSPEC,
        .ai_socktype = SOCK_STREAM,
        .ai_flags = AI_PASSIVE | AI_NUMERICSERV | flags,
    };
    struct addrinfo *found;
    int error = getaddrinfo(host[0] == '\0' ? NULL : host, port, &hints, &found);

    if (error != 0)
        return error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error);
    *count = 0;
    for (const struct addrinfo *i = found; i != NULL && *count < ELAPSE__OS_ADDRESSES_MAX;
         i = i->ai_next) {
        struct elapse__os_address *address = &addresses[(*count)++];
        ELAPSE__ASSERT_THAT(i->ai_addrlen, <=, sizeof address->bytes);
        address->size = i->ai_addrlen;
        memcpy(address->bytes, i->ai_addr, i->ai_addrlen);
    }
    freeaddrinfo(found);
    return *count == 0 ? "it has no address" : NULL;
}

const char *elapse__os_resolve(const char *host, const char *port,
                               struct elapse__os_address *addresses, size_t *count)
{
    return resolve(host, port, 0, addresses, count);
}

const char *elapse__os_resolve_digits(const char *host, const char *port,
                                      struct elapse__os_address *addresses, size_t *count)
{
    return resolve(host, port, AI_NUMERICHOST, addresses, count);
}

int elapse__os_path_address(const char *path, struct elapse__os_address *address)
{
    struct sockaddr_un *un = (struct sockaddr_un *)(void *)address->bytes;

    if (strlen(path) >= sizeof un->sun_path)
        return ENAMETOOLONG;
    ELAPSE__ASSERT(path[0] != '\0'); /* the system would choose an address of its own */
    *address = (struct elapse__os_address){.size = sizeof *un};
    un->sun_family = AF_UNIX;
    memcpy(un->sun_path, path, strlen(path));
    return 0;
}

static void write_path(const struct elapse__os_address *address,
                       struct elapse__os_address_text *text)
{
    const struct sockaddr_un *un = (const struct sockaddr_un *)(const void *)address->bytes;
    size_t room = address->size > offsetof(struct sockaddr_un, sun_path)
                      ? address->size - offsetof(struct sockaddr_un, sun_path)
                      : 0;
    int length = (int)strnlen(un->sun_path, room);

    ELAPSE__ASSERT_THAT(address->size, <=, sizeof *un);

    (void)snprintf(text->text, sizeof text->text, "unix%s%.*s", length > 0 ? ":" : "", length,
                   un->sun_path);
}

struct elapse__os_address_text elapse__os_address_text(const struct elapse__os_address *address)
{
    struct elapse__os_address_text text;
    char host[INET6_ADDRSTRLEN] = "?";

    if (family_of(address) == AF_UNIX) {
        write_path(address, &text);
    } else if (family_of(address) == AF_INET6) {
        const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)(const void *)address->bytes;
        (void)inet_ntop(AF_INET6, &in->sin6_addr, host, sizeof host);
        (void)snprintf(text.text, sizeof text.text, "[%s]:%u", host, ntohs(in->sin6_port));
    } else {
        const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)address->bytes;
        (void)inet_ntop(AF_INET, &in->sin_addr, host, sizeof host);
        (void)snprintf(text.text, sizeof text.text, "%s:%u", host, ntohs(in->sin_port));
    }
    return text;
}

bool elapse__os_address_is_path(const struct elapse__os_address *address)
{
    return family_of(address) == AF_UNIX;
}

/* Returns whether the address is in 127.0.0.0/8. */
static bool is_local_4(uint32_t host)
{
    return host >> 24 == 127;
}

bool elapse__os_address_is_local(const struct elapse__os_address *address)
{
    if (family_of(address) == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)address->bytes;
        return is_local_4(ntohl(in->sin_addr.s_addr));
    }
    if (family_of(address) == AF_INET6) {
        const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)(const void *)address->bytes;
        uint32_t last;
        memcpy(&last, in->sin6_addr.s6_addr + 12, sizeof last);
        return IN6_IS_ADDR_LOOPBACK(&in->sin6_addr) ||
               (IN6_IS_ADDR_V4MAPPED(&in->sin6_addr) && is_local_4(ntohl(last)));
    }
    return family_of(address) == AF_UNIX;
}

/* How the place of an address of IPv4 begins. IPv6 reserves the networks that begin so, and nobody
 * has one of them. */
static const unsigned char begin_of_4[4] = {0, 0, 0, 1};

static uint64_t place_of_4(const void *digits)
{
    unsigned char bytes[sizeof(uint64_t)];
    uint64_t place;

    memcpy(bytes, begin_of_4, sizeof begin_of_4);
    memcpy(bytes + sizeof begin_of_4, digits, sizeof bytes - sizeof begin_of_4);
    memcpy(&place, bytes, sizeof place);
    return place;
}

uint64_t elapse__os_address_place(const struct elapse__os_address *address)
{
    uint64_t place = 0;

    if (family_of(address) == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)address->bytes;
        return place_of_4(&in->sin_addr.s_addr);
    }
    if (family_of(address) == AF_INET6) {
        const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)(const void *)address->bytes;
        if (IN6_IS_ADDR_V4MAPPED(&in->sin6_addr))
            return place_of_4(in->sin6_addr.s6_addr + 12);
        memcpy(&place, in->sin6_addr.s6_addr, sizeof place);
    }
    return place;
}

struct elapse__os_address_text elapse__os_place_text(uint64_t place)
{
    struct elapse__os_address_text text = {.text = "unix"};
    struct in6_addr six = {.s6_addr = {0}};
    size_t length;

    memcpy(six.s6_addr, &place, sizeof place);
    if (memcmp(six.s6_addr, begin_of_4, sizeof begin_of_4) == 0) {
        (void)inet_ntop(AF_INET, six.s6_addr + sizeof begin_of_4, text.text, sizeof text.text);
    } else if (place != 0) {
        (void)inet_ntop(AF_INET6, &six, text.text, sizeof text.text);
        length = strlen(text.text);
        ELAPSE__ASSERT_THAT(length + sizeof "/64", <=, sizeof text.text);
        (void)snprintf(text.text + length, sizeof text.text - length, "/64");
    }
    return text;
}

int elapse__os_peer_address(int socket, struct elapse__os_address *address)
{
    socklen_t size = sizeof address->bytes;

    if (getpeername(socket, (struct sockaddr *)(void *)address->bytes, &size) != 0)
        return errno;
    ELAPSE__ASSERT_THAT(size, <=, sizeof address->bytes);
    address->size = size;
    return 0;
}

/* ---- listening ---- */

static void set_option(int socket, int level, int option)
{
    const int on = 1;

    /* Without the option the socket works, too. It is slower, or has to wait after a restart. */
    (void)setsockopt(socket, level, option, &on, sizeof on);
}

/* Sets the options of a listening socket. Its connections inherit the options. */
static void set_options(int socket, int family)
{
    if (family == AF_UNIX)
        return;
    set_option(socket, SOL_SOCKET, SO_REUSEADDR);
    set_option(socket, SOL_SOCKET, SO_KEEPALIVE);
    set_option(socket, IPPROTO_TCP, TCP_NODELAY);
    if (family == AF_INET6)
        set_option(socket, IPPROTO_IPV6, IPV6_V6ONLY);
}

/* Removes a socket from the file system if no process listens at it. */
static void remove_stale(const struct elapse__os_address *address)
{
    const struct sockaddr_un *un = (const struct sockaddr_un *)(const void *)address->bytes;
    struct stat status;

    ELAPSE__ASSERT_THAT(family_of(address), ==, AF_UNIX);
    if (lstat(un->sun_path, &status) != 0 || !S_ISSOCK(status.st_mode))
        return;
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (probe < 0)
        return;
    if (connect(probe, sockaddr_of(address), (socklen_t)address->size) != 0 &&
        errno == ECONNREFUSED)
        (void)unlink(un->sun_path);
    (void)close(probe);
}

int elapse__os_listen_at(const struct elapse__os_address *address, int *result)
{
    int family = family_of(address);
    int listener = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (listener < 0)
        return errno;
    set_options(listener, family);
    if (family == AF_UNIX)
        remove_stale(address);
    if (bind(listener, sockaddr_of(address), (socklen_t)address->size) != 0 ||
        listen(listener, SOMAXCONN) != 0) {
        int error = errno;
        (void)close(listener);
        return error;
    }
    *result = listener;
    return 0;
}

int elapse__os_listener_address(int listener, struct elapse__os_address *address)
{
    socklen_t size = sizeof address->bytes;
    int listens = 0;
    socklen_t listens_size = sizeof listens;

    *address = (struct elapse__os_address){.size = 0};
    if (getsockopt(listener, SOL_SOCKET, SO_ACCEPTCONN, &listens, &listens_size) != 0)
        return errno;
    if (listens == 0)
        return EINVAL;
    if (getsockname(listener, (struct sockaddr *)(void *)address->bytes, &size) != 0)
        return errno;
    address->size = size;
    int family = family_of(address);
    return family == AF_INET || family == AF_INET6 || family == AF_UNIX ? 0 : EAFNOSUPPORT;
}

void elapse__os_address_remove(const struct elapse__os_address *address)
{
    if (family_of(address) == AF_UNIX)
        (void)unlink(((const struct sockaddr_un *)(const void *)address->bytes)->sun_path);
}

/* ---- connections ---- */

int elapse__os_accept(int listener, int *result, struct elapse__os_address *peer)
{
    for (;;) {
        socklen_t size = sizeof peer->bytes;
        memset(peer->bytes, 0, sizeof(struct sockaddr));
        int socket = accept4(listener, (struct sockaddr *)(void *)peer->bytes, &size,
                             SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (socket >= 0) {
            ELAPSE__ASSERT_THAT(size, <=, sizeof peer->bytes);
            peer->size = size;
            *result = socket;
            return 0;
        }
        /* A client has gone before its connection was accepted. Another client may wait. */
        if (errno != EINTR && errno != ECONNABORTED && errno != EPROTO)
            return errno == EWOULDBLOCK ? EAGAIN : errno;
    }
}

int elapse__os_connect_to(const struct elapse__os_address *address, int *result)
{
    int family = family_of(address);
    int made = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (made < 0)
        return errno;
    if (family != AF_UNIX) {
        set_option(made, SOL_SOCKET, SO_KEEPALIVE);
        set_option(made, IPPROTO_TCP, TCP_NODELAY);
    }
    if (connect(made, sockaddr_of(address), (socklen_t)address->size) != 0 &&
        errno != EINPROGRESS) {
        int error = errno;
        (void)close(made);
        return error;
    }
    *result = made;
    return 0;
}

int elapse__os_connect_error(int socket)
{
    int error = 0;
    socklen_t size = sizeof error;

    if (getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
        return errno;
    return error;
}

int elapse__os_receive(int socket, void *buffer, size_t bytes, size_t *got)
{
    ssize_t result;

    ELAPSE__ASSERT_THAT(bytes, >, 0);
    do {
        result = recv(socket, buffer, bytes, 0);
    } while (result < 0 && errno == EINTR);
    if (result < 0)
        return errno == EWOULDBLOCK ? EAGAIN : errno;
    *got = (size_t)result;
    ELAPSE__ASSERT_THAT(*got, <=, bytes);
    return 0;
}

int elapse__os_send(int socket, const void *bytes, size_t count, size_t *sent)
{
    ssize_t result;

    ELAPSE__ASSERT_THAT(count, >, 0);
    do {
        result = send(socket, bytes, count, MSG_NOSIGNAL);
    } while (result < 0 && errno == EINTR);
    if (result < 0)
        return errno == EWOULDBLOCK ? EAGAIN : errno;
    *sent = (size_t)result;
    ELAPSE__ASSERT_THAT(*sent, <=, count);
    return 0;
}

void elapse__os_send_no_more(int socket)
{
    (void)shutdown(socket, SHUT_WR);
}

/* ---- a service ---- */

enum { FIRST_PASSED = 3 };

/* Returns a number from the environment, or 0 if there is none. */
static unsigned long long environment_number(const char *name)
{
    const char *text = getenv(name);
    char *end;

    if (text == NULL || *text < '0' || *text > '9')
        return 0;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    return *end == '\0' && errno == 0 ? number : 0;
}

/* Copies the next name of a list that has colons between its names, and returns the rest of the
 * list. */
static const char *next_name(const char *names, char *name)
{
    size_t length = strcspn(names, ":");
    size_t kept = length < ELAPSE__OS_PASSED_NAME_BYTES ? length : ELAPSE__OS_PASSED_NAME_BYTES - 1;

    ELAPSE__ASSERT(memchr(names, ':', kept) == NULL);
    memcpy(name, names, kept);
    name[kept] = '\0';
    return names + length + (names[length] == ':');
}

size_t elapse__os_take_passed(struct elapse__os_passed passed[ELAPSE__OS_PASSED_MAX])
{
    const char *names = getenv("LISTEN_FDNAMES");
    unsigned long long count = environment_number("LISTEN_FDS");

    if (environment_number("LISTEN_PID") != (unsigned long long)getpid())
        return 0;
    if (count > ELAPSE__OS_PASSED_MAX)
        return SIZE_MAX;
    names = names == NULL ? "" : names;
    for (int i = 0; i < (int)count; i++) {
        int socket = FIRST_PASSED + i;
        passed[i].socket = socket;
        names = next_name(names, passed[i].name);
        int flags = fcntl(socket, F_GETFL);
        if (flags >= 0)
            (void)fcntl(socket, F_SETFL, flags | O_NONBLOCK);
        (void)fcntl(socket, F_SETFD, FD_CLOEXEC);
        set_option(socket, IPPROTO_TCP, TCP_NODELAY);
    }
    (void)unsetenv("LISTEN_PID");
    (void)unsetenv("LISTEN_FDS");
    (void)unsetenv("LISTEN_FDNAMES");
    return (size_t)count;
}

void elapse__os_notify(const char *state)
{
    ELAPSE__ASSERT(strchr(state, '=') != NULL); /* a state has the form NAME=VALUE */
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (path == NULL || (path[0] != '/' && path[0] != '@') ||
        strlen(path) >= sizeof address.sun_path)
        return;
    size_t length = strlen(path);
    memcpy(address.sun_path, path, length);
    if (path[0] == '@')
        address.sun_path[0] = '\0'; /* an address outside the file system */
    int sender = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (sender < 0)
        return;
    (void)sendto(sender, state, strlen(state), MSG_NOSIGNAL,
                 (const struct sockaddr *)(const void *)&address,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
    (void)close(sender);
}

uint64_t elapse__os_watchdog_ns(void)
{
    unsigned long long process = environment_number("WATCHDOG_PID");
    unsigned long long interval_us = environment_number("WATCHDOG_USEC");

    if (process != 0 && process != (unsigned long long)getpid())
        return 0;
    return interval_us > UINT64_MAX / 1000 ? 0 : (uint64_t)interval_us * 1000;
}

int elapse__os_become_user(const char *name)
{
    errno = 0;
    const struct passwd *user = getpwnam(name);

    if (user == NULL)
        return errno != 0 ? errno : ENOENT;
    if (initgroups(name, user->pw_gid) != 0 || setgid(user->pw_gid) != 0 ||
        setuid(user->pw_uid) != 0)
        return errno;
    return 0;
}

uint64_t elapse__os_raise_file_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 1024;
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : before;
}

int elapse__os_open_files(uint64_t *count)
{
    DIR *entries = opendir("/proc/self/fd");

    if (entries == NULL)
        return errno;
    *count = 0;
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;)
        *count += entry->d_name[0] != '.';
    (void)closedir(entries);
    ELAPSE__ASSERT_THAT(*count, >, 0);
    --*count; /* the directory that is read has a descriptor, too */
    return 0;
}

uint64_t elapse__os_process_id(void)
{
    return (uint64_t)getpid();
}

void elapse__os_host_name(char *name, size_t bytes)
{
    ELAPSE__ASSERT_THAT(bytes, >, 0);
    if (gethostname(name, bytes) != 0)
        name[0] = '\0';
    name[bytes - 1] = '\0';
}

void elapse__os_platform(char *name, size_t bytes)
{
    struct utsname system;

    ELAPSE__ASSERT_THAT(bytes, >, 0);
    (void)snprintf(name, bytes, "%s", uname(&system) == 0 ? system.machine : "");
}

void elapse__os_kernel(char *version, size_t bytes)
{
    struct utsname system;

    ELAPSE__ASSERT_THAT(bytes, >, 0);
    (void)snprintf(version, bytes, "%s", uname(&system) == 0 ? system.version : "");
}

static uint64_t us_of(struct timeval time)
{
    ELAPSE__ASSERT_THAT(time.tv_usec, <, 1000000);
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec;
}

void elapse__os_processor_time(uint64_t *user_us, uint64_t *system_us)
{
    struct rusage usage = {.ru_utime.tv_sec = 0};

    (void)getrusage(RUSAGE_SELF, &usage);
    *user_us = us_of(usage.ru_utime);
    *system_us = us_of(usage.ru_stime);
}

int elapse__os_disk_free(const char *directory, uint64_t *bytes)
{
    struct statvfs status;

    if (statvfs(directory, &status) != 0)
        return errno;
    *bytes = (uint64_t)status.f_bavail * status.f_frsize;
    return 0;
}

uint64_t elapse__os_memory_bytes(void)
{
    unsigned long long total, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");

    if (file == NULL)
        return 0;
    if (fscanf(file, "%llu %llu", &total, &resident) != 2)
        resident = 0;
    (void)fclose(file);
    return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}
