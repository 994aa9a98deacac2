/*
 * TLS for connections, by OpenSSL: version 1.2 or later. A session is the server's end of a
 * connection, with the certificate and the key of this server, or the client's end. A session reads
 * and writes its socket by itself, so the program must ignore SIGPIPE.
 */
#ifndef ELAPSE__LOOP_TLS_H
#define ELAPSE__LOOP_TLS_H

#include <stddef.h>

enum { ELAPSE__TLS_FAULT_BYTES = 512 };

struct elapse__tls_keys;
struct elapse__tls_session;

/* Reads a certificate with its chain, and its key, both in PEM. After an error returns NULL, and
 * says why in `fault`. */
struct elapse__tls_keys *elapse__tls_keys_read(const char *certificate, const char *key,
                                               char fault[ELAPSE__TLS_FAULT_BYTES]);

/* Reads the certificates that a client trusts, from the file `authorities`; NULL: the client trusts
 * those that this machine trusts. Reads the client's own certificate and key; NULL: it has none.
 * After an error returns NULL, and says why in `fault`. */
struct elapse__tls_keys *elapse__tls_trust_read(const char *authorities, const char *certificate,
                                                const char *key,
                                                char fault[ELAPSE__TLS_FAULT_BYTES]);

/* Releases the keys. Sessions that were begun with them go on. Does nothing if `keys` is NULL. */
void elapse__tls_keys_free(struct elapse__tls_keys *keys);

/* Returns OpenSSL's own object for the server's end of a session, for a library that has its own
 * sockets. Returns NULL if there is no memory. */
struct ssl_st *elapse__tls_session_new(struct elapse__tls_keys *keys);

/* Begins the server's end of a session. Returns NULL if there is no memory. */
struct elapse__tls_session *elapse__tls_begin(struct elapse__tls_keys *keys, int socket);

/* Begins the client's end of a session. The server's certificate must be for `host`, which is a
 * name or an address. Returns NULL if there is no memory. */
struct elapse__tls_session *elapse__tls_connect(struct elapse__tls_keys *keys, int socket,
                                                const char *host);

/* Goes on with the handshake. Returns 0 when it is over, EAGAIN as elapse__tls_send does, or
 * another error number. */
int elapse__tls_shake(struct elapse__tls_session *session);

/* Returns why a client does not trust the server's certificate; NULL if it trusts the
 * certificate. */
const char *elapse__tls_distrust(const struct elapse__tls_session *session);

/* Tells the other side that the session ends, if it still listens, and releases the session. Does
 * not close the socket. */
void elapse__tls_end(struct elapse__tls_session *session);

/* Tells the other side that nothing more will be sent. The session can still receive. */
void elapse__tls_send_no_more(struct elapse__tls_session *session);

/* elapse__tls_receive and elapse__tls_send do what elapse__os_receive and elapse__os_send do. After
 * EAGAIN, try again when the socket can be read or, if elapse__tls_wants_to_write returns true,
 * when it can be written. EPROTO means that the other side broke the rules of TLS. */
int elapse__tls_receive(struct elapse__tls_session *session, void *buffer, size_t bytes,
                        size_t *got);
int elapse__tls_send(struct elapse__tls_session *session, const void *bytes, size_t count,
                     size_t *sent);
_Bool elapse__tls_wants_to_write(const struct elapse__tls_session *session);

/* Returns whether the session has bytes that it has read from the socket, and that nobody has
 * received yet. */
_Bool elapse__tls_has_more(const struct elapse__tls_session *session);

/* Returns whether the handshake is over. */
_Bool elapse__tls_is_open(const struct elapse__tls_session *session);

#endif
