#include "tls.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "../../base/assert.h"
#include "../../os/program.h"

/* A struct elapse__tls_keys is an SSL_CTX, and a struct elapse__tls_session is an SSL. Only this
 * file makes and frees them. */
static SSL_CTX *context_of(struct elapse__tls_keys *keys)
{
    return (SSL_CTX *)(void *)keys;
}

static SSL *ssl_of(const struct elapse__tls_session *session)
{
    return (SSL *)(void *)(uintptr_t)session;
}

static void say_why(const char *what, const char *name, char fault[ELAPSE__TLS_FAULT_BYTES])
{
    char reason[256];

    ERR_error_string_n(ERR_peek_error(), reason, sizeof reason);
    (void)snprintf(fault, ELAPSE__TLS_FAULT_BYTES, "%s %s: %s", what, name, reason);
}

static bool load(SSL_CTX *context, const char *certificate, const char *key,
                 char fault[ELAPSE__TLS_FAULT_BYTES])
{
    ERR_clear_error();
    if (SSL_CTX_use_certificate_chain_file(context, certificate) != 1) {
        say_why("the certificate", certificate, fault);
        return false;
    }
    if (SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(context) != 1) {
        say_why("the key", key, fault);
        return false;
    }
    return true;
}

static bool is_private(const char *key, char fault[ELAPSE__TLS_FAULT_BYTES])
{
    if (!elapse__os_others_may_read(key))
        return true;
    (void)snprintf(fault, ELAPSE__TLS_FAULT_BYTES, ELAPSE__OS_OTHERS_MAY_READ, key, key);
    return false;
}

/* Makes a context with the settings that clients and servers share. */
static SSL_CTX *make_context(const SSL_METHOD *method, char fault[ELAPSE__TLS_FAULT_BYTES])
{
    SSL_CTX *context = SSL_CTX_new(method);

    if (context == NULL || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1) {
        (void)snprintf(fault, ELAPSE__TLS_FAULT_BYTES, "out of memory");
        SSL_CTX_free(context);
        return NULL;
    }
    /* A write may take only some of the bytes. It may be repeated after the bytes have moved in
     * memory. */
    (void)SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE |
                                        SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                        SSL_MODE_RELEASE_BUFFERS);
    (void)SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                           SSL_OP_IGNORE_UNEXPECTED_EOF);
    return context;
}

/* Only the cipher suites that agree on a new key for each session. With these, a thief of the
 * server's key cannot read a session that was recorded. TLS 1.3 has no other cipher suites. */
#define FORWARD_SECRECY "DEFAULT:!kRSA:!PSK:!SRP"

struct elapse__tls_keys *elapse__tls_keys_read(const char *certificate, const char *key,
                                               char fault[ELAPSE__TLS_FAULT_BYTES])
{
    SSL_CTX *context = make_context(TLS_server_method(), fault);

    if (context == NULL || SSL_CTX_set_cipher_list(context, FORWARD_SECRECY) != 1 ||
        !is_private(key, fault) || !load(context, certificate, key, fault)) {
        SSL_CTX_free(context);
        return NULL;
    }
    return (struct elapse__tls_keys *)(void *)context;
}

static bool load_authorities(SSL_CTX *context, const char *authorities,
                             char fault[ELAPSE__TLS_FAULT_BYTES])
{
    ERR_clear_error();
    bool is_loaded = authorities == NULL ? SSL_CTX_set_default_verify_paths(context) == 1
                                         : SSL_CTX_load_verify_file(context, authorities) == 1;
    if (!is_loaded)
        say_why("the certificates", authorities == NULL ? "of this machine" : authorities, fault);
    return is_loaded;
}

struct elapse__tls_keys *elapse__tls_trust_read(const char *authorities, const char *certificate,
                                                const char *key,
                                                char fault[ELAPSE__TLS_FAULT_BYTES])
{
    SSL_CTX *context = make_context(TLS_client_method(), fault);

    ELAPSE__ASSERT((certificate == NULL) == (key == NULL));
    if (context == NULL || !load_authorities(context, authorities, fault) ||
        (certificate != NULL && !load(context, certificate, key, fault))) {
        SSL_CTX_free(context);
        return NULL;
    }
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    return (struct elapse__tls_keys *)(void *)context;
}

void elapse__tls_keys_free(struct elapse__tls_keys *keys)
{
    SSL_CTX_free(context_of(keys));
}

struct ssl_st *elapse__tls_session_new(struct elapse__tls_keys *keys)
{
    return SSL_new(context_of(keys));
}

/* Returns an SSL that reads and writes this socket; NULL if there is no memory. */
static SSL *new_ssl(struct elapse__tls_keys *keys, int socket)
{
    SSL *ssl = SSL_new(context_of(keys));

    if (ssl != NULL && SSL_set_fd(ssl, socket) == 1)
        return ssl;
    SSL_free(ssl);
    return NULL;
}

struct elapse__tls_session *elapse__tls_begin(struct elapse__tls_keys *keys, int socket)
{
    SSL *ssl = new_ssl(keys, socket);

    if (ssl == NULL)
        return NULL;
    SSL_set_accept_state(ssl);
    return (struct elapse__tls_session *)(void *)ssl;
}

/* Tells the server by which name the client has found it. OpenSSL copies the name, although its
 * function takes no `const`. */
static bool send_name(SSL *ssl, const char *host)
{
    char name[TLSEXT_MAXLEN_host_name + 1];
    size_t length = strlen(host);

    if (length >= sizeof name)
        return false;
    memcpy(name, host, length + 1);
    return SSL_set_tlsext_host_name(ssl, name) == 1;
}

struct elapse__tls_session *elapse__tls_connect(struct elapse__tls_keys *keys, int socket,
                                                const char *host)
{
    SSL *ssl = new_ssl(keys, socket);

    if (ssl == NULL)
        return NULL;
    /* An address stands in the certificate as an address, and is not sent as a name. */
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) != 1 &&
        (SSL_set1_host(ssl, host) != 1 || !send_name(ssl, host))) {
        SSL_free(ssl);
        return NULL;
    }
    ERR_clear_error();
    SSL_set_connect_state(ssl);
    return (struct elapse__tls_session *)(void *)ssl;
}

const char *elapse__tls_distrust(const struct elapse__tls_session *session)
{
    long result = SSL_get_verify_result(ssl_of(session));

    return result == X509_V_OK ? NULL : X509_verify_cert_error_string(result);
}

void elapse__tls_end(struct elapse__tls_session *session)
{
    elapse__tls_send_no_more(session);
    SSL_free(ssl_of(session));
    ERR_clear_error();
}

/* Returns the error number for a failure of SSL_read or SSL_write; 0 if the other side sends no
 * more. */
static int error_of(const struct elapse__tls_session *session, int result)
{
    int saved = errno;

    ELAPSE__ASSERT(result != 1);
    switch (SSL_get_error(ssl_of(session), result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        return EAGAIN;
    case SSL_ERROR_ZERO_RETURN:
        return 0;
    case SSL_ERROR_SYSCALL:
        return saved == 0 ? EPIPE : saved;
    default:
        return EPROTO;
    }
}

int elapse__tls_receive(struct elapse__tls_session *session, void *buffer, size_t bytes,
                        size_t *got)
{
    ELAPSE__ASSERT_THAT(bytes, >, 0);
    ERR_clear_error();
    int result = SSL_read_ex(ssl_of(session), buffer, bytes, got);
    if (result == 1) {
        ELAPSE__ASSERT(*got > 0 && *got <= bytes);
        return 0;
    }
    *got = 0;
    return error_of(session, result);
}

int elapse__tls_send(struct elapse__tls_session *session, const void *bytes, size_t count,
                     size_t *sent)
{
    ELAPSE__ASSERT_THAT(count, >, 0);
    ERR_clear_error();
    int result = SSL_write_ex(ssl_of(session), bytes, count, sent);
    if (result == 1) {
        ELAPSE__ASSERT(*sent > 0 && *sent <= count);
        return 0;
    }
    int error = error_of(session, result);
    return error == 0 ? EPIPE : error;
}

int elapse__tls_shake(struct elapse__tls_session *session)
{
    ERR_clear_error();
    int result = SSL_do_handshake(ssl_of(session));
    if (result == 1)
        return 0;
    int error = error_of(session, result);
    return error == 0 ? EPIPE : error;
}

void elapse__tls_send_no_more(struct elapse__tls_session *session)
{
    ERR_clear_error();
    (void)SSL_shutdown(ssl_of(session));
}

bool elapse__tls_is_open(const struct elapse__tls_session *session)
{
    return SSL_is_init_finished(ssl_of(session)) == 1;
}

bool elapse__tls_wants_to_write(const struct elapse__tls_session *session)
{
    return SSL_want_write(ssl_of(session)) != 0;
}

bool elapse__tls_has_more(const struct elapse__tls_session *session)
{
    return SSL_has_pending(ssl_of(session)) == 1;
}
