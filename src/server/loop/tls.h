/*
 * TLS for connections, by OpenSSL: version 1.2 or later, with the certificate and the key of this
 * server; and the client's end of a connection. A session reads and writes its socket by itself. So
 * the program must ignore SIGPIPE.
 */
#ifndef ELAPSE__LOOP_TLS_H
#define ELAPSE__LOOP_TLS_H

#include <stddef.h>

enum { ELAPSE__TLS_FAULT_BYTES = 512 };

struct elapse__tls_keys;
struct elapse__tls_session;

/* Reads a certificate with its chain, and its key, both in PEM. Returns NULL, and says why in
 * `fault`. */
struct elapse__tls_keys *elapse__tls_keys_read(const char *certificate, const char *key,
                                               char fault[ELAPSE__TLS_FAULT_BYTES]);

/* Reads what a client needs: the certificates that it trusts, in the file `authorities`, or NULL
 * for those of this machine; and a certificate and key of its own, or NULL for none. Returns NULL,
 * and says why in `fault`. */
struct elapse__tls_keys *elapse__tls_trust_read(const char *authorities, const char *certificate,
                                                const char *key,
                                                char fault[ELAPSE__TLS_FAULT_BYTES]);

/* Releases the keys; sessions that were begun with them go on. NULL is ignored. */
void elapse__tls_keys_free(struct elapse__tls_keys *keys);

/* Returns a session as the server, as OpenSSL has it, for a library that brings its own sockets;
 * NULL: there is no memory. */
struct ssl_st *elapse__tls_session_new(struct elapse__tls_keys *keys);

/* Begins a session as the server. Returns NULL if there is no memory. */
struct elapse__tls_session *elapse__tls_begin(struct elapse__tls_keys *keys, int socket);

/* Begins a session as a client of `host`, a name or an address, which the server's certificate must
 * have. Returns NULL if there is no memory. */
struct elapse__tls_session *elapse__tls_connect(struct elapse__tls_keys *keys, int socket,
                                                const char *host);

/* Returns why a client does not trust the server's certificate; NULL if that is not the fault. */
const char *elapse__tls_distrust(const struct elapse__tls_session *session);

/* Says goodbye if the other side still listens, and releases the session. Does not close the
 * socket.
 */
void elapse__tls_end(struct elapse__tls_session *session);

/* Says that nothing more will be sent. Receiving goes on. */
void elapse__tls_send_no_more(struct elapse__tls_session *session);

/* Do what elapse__os_receive and elapse__os_send do. EAGAIN: try again when the socket can be
 * read, or, if elapse__tls_wants_to_write, when it can be written. EPROTO: the other side broke the
 * rules of TLS. */
int elapse__tls_receive(struct elapse__tls_session *session, void *buffer, size_t bytes,
                        size_t *got);
int elapse__tls_send(struct elapse__tls_session *session, const void *bytes, size_t count,
                     size_t *sent);
_Bool elapse__tls_wants_to_write(const struct elapse__tls_session *session);

/* Returns whether there are bytes that were read from the socket, but not from the session. */
_Bool elapse__tls_has_more(const struct elapse__tls_session *session);

/* Returns whether the handshake is over. */
_Bool elapse__tls_is_open(const struct elapse__tls_session *session);

#endif
