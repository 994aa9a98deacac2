/*
 * The options of PUT, one row for each option. The server, the router of a cluster, HTTP and the
 * client use these rows. Each of them gives a macro of its own as X, and makes from the rows what
 * it needs.
 *
 *      X(NAME, json, form, values)
 *
 *      NAME     the word in a command of RESP
 *      json     the member in a request of HTTP
 *      form     the kind of value in a request of HTTP: TEXT, a string, or NUMBER
 *      values   how many values follow the word; in a request of HTTP two values are an array
 *
 * Only PUT decides what a value means (src/server/resp/put.c). RETRY is the old name of ATTEMPTS.
 */
#ifndef ELAPSE__PROTOCOL_PUT_OPTIONS_H
#define ELAPSE__PROTOCOL_PUT_OPTIONS_H

/* clang-format off */
#define ELAPSE__PUT_OPTIONS(X)         \
    X(IN,       in,       TEXT,   1)   \
    X(AT,       at,       NUMBER, 1)   \
    X(EVERY,    every,    TEXT,   1)   \
    X(CRON,     cron,     TEXT,   1)   \
    X(ZONE,     zone,     TEXT,   1)   \
    X(KEY,      key,      TEXT,   1)   \
    X(AWAIT,    await,    NUMBER, 1)   \
    X(IFKEY,    if_key,   TEXT,   1)   \
    X(MAX,      max,      TEXT,   1)   \
    X(TAG,      tag,      TEXT,   1)   \
    X(GROUP,    group,    TEXT,   1)   \
    X(TTR,      ttr,      TEXT,   1)   \
    X(EXPIRE,   expire,   TEXT,   1)   \
    X(TOKEN,    token,    TEXT,   1)   \
    X(FOR,      token_for, TEXT,  1)   \
    X(HEADERS,  headers,  TEXT,   1)   \
    X(BACKOFF,  backoff,  TEXT,   2)   \
    X(PRIORITY, priority, NUMBER, 1)   \
    X(ATTEMPTS, attempts, NUMBER, 1)   \
    X(RETRY,    retry,    NUMBER, 1)

/* The values of IFKEY: X(NAME, word). */
#define ELAPSE__IF_KEY_WORDS(X) \
    X(REPLACE,  "replace")      \
    X(KEEP,     "keep")         \
    X(FAIL,     "fail")         \
    X(DEBOUNCE, "debounce")
/* clang-format on */

/* The places of the options in an array that has one element for each. */
enum elapse__put_option {
#define ELAPSE__PUT_PLACE(NAME, json, form, values) ELAPSE__PUT_##NAME,
    ELAPSE__PUT_OPTIONS(ELAPSE__PUT_PLACE)
#undef ELAPSE__PUT_PLACE
        ELAPSE__PUT_OPTION_COUNT,
};

enum {
    ELAPSE__PUT_TTR_MS_DEFAULT = 60000,  /* the default of TTR */
    ELAPSE__PUT_PRIORITY_DEFAULT = 1024, /* jobs can have a smaller or a greater number */
    /* A job that always fails is buried in the end. So it does not run for ever, and somebody sees
     * it. */
    ELAPSE__PUT_ATTEMPTS_DEFAULT = 20,
    ELAPSE__PUT_BACKOFF_MIN_MS_DEFAULT = 1000,
    ELAPSE__PUT_BACKOFF_MAX_MS_DEFAULT = 600000,
};

#endif
