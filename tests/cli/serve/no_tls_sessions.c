/*
 * A library that is loaded before the others (LD_PRELOAD). With it, OpenSSL has no memory for a
 * session of TLS.
 */
struct ssl_st;
struct ssl_ctx_st;

struct ssl_st *SSL_new(struct ssl_ctx_st *context);

struct ssl_st *SSL_new(struct ssl_ctx_st *context)
{
    (void)context;
    return 0;
}
