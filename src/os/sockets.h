/*
 * The functions of the operating system that the server and its clients need: sockets, and what
 * belongs to a service. Only the program uses them, and only if it is built with the server or the
 * client.
 *
 *     src/server/loop               sockets.h                       linux_sockets.c
 *     listeners.c  -------------->  elapse__os_listen_at  ------->  socket(), bind(), listen()
 *     connection.c -------------->  elapse__os_receive, _send ---->  recv(), send()
 *     service.c    -------------->  elapse__os_notify     ------->  sendto() to $NOTIFY_SOCKET
 *
 * Functions that can fail return 0, or an error number of errno.h. After an error, their other
 * results are undefined. All sockets are non-blocking, and other programs do not inherit them.
 * elapse__os_close closes them.
 */
#ifndef ELAPSE__OS_SOCKETS_H
#define ELAPSE__OS_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ELAPSE__OS_ADDRESS_BYTES = 128, /* sizeof (struct sockaddr_storage) */
    ELAPSE__OS_ADDRESSES_MAX = 8,   /* the most addresses of one name */
    ELAPSE__OS_ADDRESS_TEXT_BYTES = 128,
};

/* An address in the form of the system. */
struct elapse__os_address {
    size_t size;
    _Alignas(8) unsigned char bytes[ELAPSE__OS_ADDRESS_BYTES];
};

/* An address as text: "127.0.0.1:80", "[::1]:80", "unix:/run/x", or "unix" without a path. */
struct elapse__os_address_text {
    char text[ELAPSE__OS_ADDRESS_TEXT_BYTES];
};

/* Finds the addresses of a host and a port, which are both texts. An empty host stands for all
 * addresses of this machine. Stores at most ELAPSE__OS_ADDRESSES_MAX. Returns NULL, or in words why
 * there is no address. */
const char *elapse__os_resolve(const char *host, const char *port,
                               struct elapse__os_address *addresses, size_t *count);

/* Finds the address of a host that is given in digits, like elapse__os_resolve. Asks no other
 * machine, and does not wait. */
const char *elapse__os_resolve_digits(const char *host, const char *port,
                                      struct elapse__os_address *addresses, size_t *count);

/* Makes the address of a socket in the file system. Returns ENAMETOOLONG if the path is too long.
 */
int elapse__os_path_address(const char *path, struct elapse__os_address *address);

struct elapse__os_address_text elapse__os_address_text(const struct elapse__os_address *address);

/* Returns whether only this machine can reach the address. */
bool elapse__os_address_is_local(const struct elapse__os_address *address);

/* Returns a number for the place to which the address belongs. It is the address itself for IPv4,
 * the first 64 bits for IPv6, and 0 for a socket in the file system. No network of IPv6 that is in
 * use has the number of an address of IPv4. */
uint64_t elapse__os_address_place(const struct elapse__os_address *address);

/* Returns a place as text: "127.0.0.1", "2001:db8:0:1::/64", or "unix". */
struct elapse__os_address_text elapse__os_place_text(uint64_t place);

/* Stores the address of the other side of a connection. */
int elapse__os_peer_address(int socket, struct elapse__os_address *address);

/* Returns whether the address is a socket in the file system. */
bool elapse__os_address_is_path(const struct elapse__os_address *address);

/* Listens at the address. If the address is a socket in the file system whose process has ended,
 * removes that socket first. */
int elapse__os_listen_at(const struct elapse__os_address *address, int *result);

/* Stores the address of a listening socket. Fails if the socket takes no connections. */
int elapse__os_listener_address(int listener, struct elapse__os_address *address);

/* Removes the socket from the file system, if the address is in the file system. */
void elapse__os_address_remove(const struct elapse__os_address *address);

/* Stores the next connection that waits. Fails with EAGAIN if none waits. Fails with EMFILE,
 * ENFILE, ENOBUFS or ENOMEM if this machine cannot take one now. */
int elapse__os_accept(int listener, int *result, struct elapse__os_address *peer);

/* elapse__os_connect_to begins a connection to the address. When the socket can be written, the
 * connection is made or has failed. Then elapse__os_connect_error returns 0, or why it has
 * failed. */
int elapse__os_connect_to(const struct elapse__os_address *address, int *result);
int elapse__os_connect_error(int socket);

/* Receives up to `bytes` bytes, and stores in `*got` how many it received: 0 when the other side
 * sends no more. Fails with EAGAIN if there are no bytes now. */
int elapse__os_receive(int socket, void *buffer, size_t bytes, size_t *got);

/* Sends up to `bytes` bytes, and stores in `*sent` how many the socket took. Fails with EAGAIN if
 * the socket takes none now. Fails with EPIPE, and without a signal, if the other side has gone. */
int elapse__os_send(int socket, const void *bytes, size_t count, size_t *sent);

/* Tells the other side that nothing more will be sent. */
void elapse__os_send_no_more(int socket);

/* ---- a service ---- */

enum { ELAPSE__OS_PASSED_MAX = 32, ELAPSE__OS_PASSED_NAME_BYTES = 64 };

/* A socket that the service manager has opened for this program. */
struct elapse__os_passed {
    int socket;
    char name[ELAPSE__OS_PASSED_NAME_BYTES]; /* the name that the manager gave it; may be empty */
};

/* Takes the sockets of $LISTEN_FDS. Makes them non-blocking, and does not pass them on to other
 * programs. Returns how many there are, or SIZE_MAX if there are more than
 * ELAPSE__OS_PASSED_MAX. */
size_t elapse__os_take_passed(struct elapse__os_passed passed[ELAPSE__OS_PASSED_MAX]);

/* Sends a state, such as "READY=1", to the service manager, if one has started this program. */
void elapse__os_notify(const char *state);

/* Returns how often the service manager wants "WATCHDOG=1", in nanoseconds, or 0 for never. */
uint64_t elapse__os_watchdog_ns(void);

/* Becomes this user, with the user's groups, for ever. Fails with ENOENT if there is no such
 * user. */
int elapse__os_become_user(const char *name);

/* Raises the number of files that this program may have open, as far as it is allowed to. Returns
 * that number. */
uint64_t elapse__os_raise_file_limit(void);

/* Stores how many descriptors this process has open. Cost: looks at each descriptor. */
int elapse__os_open_files(uint64_t *count);

/* These functions store the name of this machine and its kind ("x86_64"). They cut the text to
 * `bytes` with the NUL. */
void elapse__os_host_name(char *name, size_t bytes);
void elapse__os_platform(char *name, size_t bytes);
/* Stores the version of the kernel, and cuts it in the same way. */
void elapse__os_kernel(char *version, size_t bytes);

/* Stores how many bytes this process may still use on the disk of the directory. */
int elapse__os_disk_free(const char *directory, uint64_t *bytes);

/* Returns how much memory this process uses, or 0 if the system does not tell. */
uint64_t elapse__os_memory_bytes(void);

/* Stores the processor time of this process in microseconds: the process's own time, and the time
 * of the system for it. */
void elapse__os_processor_time(uint64_t *user_us, uint64_t *system_us);

/* Returns the number of this process. */
uint64_t elapse__os_process_id(void);

#endif
