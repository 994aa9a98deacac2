/*
 * Writes and reads the fields of the queue's records as bytes. All numbers are little-endian.
 *
 *      PUT      the whole job: what the client gave, and its present state
 *      CHANGE   the present state of a job: due time, priority, counters, recurrence; the body is
 * the text of an error, if a worker has told one LEASE    what CHANGE has; the job was handed out,
 * or its lease was extended DELETE   the job ended TOKEN    a token, and the id that it stands for;
 * behind them the tube and the key, if it is the token of an arrival
 *
 * (TUBE has the settings of a tube: settings.h.) Each of these records begins with the id of a job.
 * PUT, CHANGE and LEASE share the part that is the present state. A part that is absent takes no
 * bytes: the bits in `parts` say which parts follow. Bit 15 says that a second word of such bits
 * follows, which programs of 0.2 refuse. The body of a PUT is the body of the job, and behind it
 * the headers, whose size the fields tell. So a reader that wants the fields alone reads no
 * headers.
 */
#ifndef ELAPSE__QUEUE_FIELDS_H
#define ELAPSE__QUEUE_FIELDS_H

#include "queue.h"

enum { ELAPSE__QUEUE_FIELDS_MAX = 2272 };

/* Counters of what has happened to a job: X(field). They are numbers of 32 bits, and lie on disk in
 * this order. Never change the rows; a new number needs a bit of its own in `parts`. */
#define ELAPSE__QUEUE_COUNTERS(X) X(attempts) X(reserves) X(timeouts) X(releases) X(buries) X(kicks)

/* Counters of what has happened to the occurrences of a job that recurs, with the same rule. */
#define ELAPSE__QUEUE_OCCURRENCES(X) X(missed) X(reported) X(failures)

/* What is known of the last hand-out that failed. */
enum elapse__queue_failure {
    ELAPSE__QUEUE_FAILURE_NONE,        /* nothing */
    ELAPSE__QUEUE_FAILURE_LEASE_ENDED, /* its lease ended by itself */
    ELAPSE__QUEUE_FAILURE_TOLD,        /* its worker has told an error, whose text has a record */
};

/* What a job has to do with arrivals. */
enum elapse__queue_awaits {
    ELAPSE__QUEUE_AWAITS_NONE,    /* nothing: it waits for none, and none is missing */
    ELAPSE__QUEUE_AWAITS_MISSED,  /* it was released before all had arrived */
    ELAPSE__QUEUE_AWAITS_WAITING, /* DELAYED: it waits for them, and for its due time if it has one
                                   */
};

struct elapse__queue_fields {
    uint64_t id;

    /* the present state: PUT, CHANGE, LEASE */
    enum elapse__queue_state state; /* DELAYED (ready jobs too), RESERVED, BURIED or SHADOW */
    bool by_wall;
    bool handed_out;
    uint8_t reason;
    enum elapse__queue_awaits awaits;
    uint32_t await;    /* arrivals that are missing; 0: none */
    bool no_due;       /* WAITING: there is no due time, and due_ms is 0 */
    bool has_error;    /* CHANGE: the error lies in this record */
    bool has_buried;   /* BURIED: it is known when the job was buried */
    int64_t buried_ms; /* then: wall clock */
    int64_t due_ms;
    uint32_t priority;
#define FIELD(field) uint32_t field;
    ELAPSE__QUEUE_COUNTERS(FIELD)
    enum elapse__queue_failure failure;
    int64_t error_ms;                 /* when the error was told, wall clock */
    struct elapse__queue_lease lease; /* RESERVED */
    int64_t lease_end_ms;             /* RESERVED, wall clock */
    bool recurring;
    int64_t occurrence_ms;
    ELAPSE__QUEUE_OCCURRENCES(FIELD)
#undef FIELD

    /* the rest of the job: PUT */
    int64_t put_ms; /* when the job was put, wall clock; 0: not known, due_ms is used instead */
    struct elapse__queue_text tube, key, tag, group, cron, zone;
    enum elapse__queue_when kind; /* EVERY or CRON, if it is recurring */
    uint64_t period_ms;
    uint64_t ttr_ms, expire_ms, backoff_min_ms, backoff_max_ms;
    uint32_t retry;
    bool has_first;
    int64_t first_ms;      /* DEBOUNCE, wall clock */
    uint16_t headers_size; /* of the record's body, at its end */

    /* TOKEN */
    struct elapse__queue_text token;
    int64_t token_ms; /* when it came, wall clock */
    /* The token of an arrival has the tube and the key of the job, too; that of a put has none. */
};

/* Returns the body of a job from its record, which fits the fields; and its headers. */
static inline struct elapse__queue_text
elapse__queue_body_of(const struct elapse__record *record,
                      const struct elapse__queue_fields *fields)
{
    return (struct elapse__queue_text){record->body, record->body_size - fields->headers_size};
}

static inline struct elapse__queue_text
elapse__queue_headers_of(const struct elapse__record *record,
                         const struct elapse__queue_fields *fields)
{
    const unsigned char *body = record->body;
    size_t size = body == NULL ? 0 : fields->headers_size;
    return (struct elapse__queue_text){
        size == 0 ? NULL : body + record->body_size - fields->headers_size, size};
}

/* Writes the fields of a record of this type. Returns how many bytes. `bytes` has room for
 * ELAPSE__QUEUE_FIELDS_MAX. Requires that texts are within their limits. */
uint16_t elapse__queue_fields_encode(const struct elapse__queue_fields *fields,
                                     enum elapse__record_type type, unsigned char *bytes);

/* Reads the fields of a record. The texts point into the record. Returns false if
 * elapse__queue_fields_encode cannot have written these bytes; then `fields` is undefined. */
bool elapse__queue_fields_decode(struct elapse__queue_fields *fields,
                                 const struct elapse__record *record);

#endif
