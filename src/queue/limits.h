/*
 * The limits of the durable queue. Each is tested at its edge.
 */
#ifndef ELAPSE__QUEUE_LIMITS_H
#define ELAPSE__QUEUE_LIMITS_H

#include <stdint.h>

#define ELAPSE__QUEUE_ID_MAX       ((UINT64_C(1) << 53) - 1) /* the most that JavaScript can count */
#define ELAPSE__QUEUE_POSITION_MAX ((UINT64_C(1) << 57) - 8) /* of a record; a multiple of 8 */
#define ELAPSE__QUEUE_DELAY_MS_MAX INT64_C(9223372036854)    /* 292 years */
#define ELAPSE__QUEUE_WALL_MS_MAX  INT64_C(253402300799999)  /* the end of the year 9999 */
#define ELAPSE__QUEUE_FOREVER_MS   UINT64_MAX

enum {
    ELAPSE__QUEUE_JOBS_MAX = (1 << 28) - 1,
    ELAPSE__QUEUE_TUBES_MAX = (1 << 24) - 1, /* tubes and groups together, too */
    ELAPSE__QUEUE_TOKENS_MAX = 10000000,
    ELAPSE__QUEUE_TOKEN_MS = 600000, /* 10 minutes, the longest life of a token and the default */
    ELAPSE__QUEUE_TOKEN_MS_MIN = 1000,
    ELAPSE__QUEUE_BODY_BYTES_MAX = 32 << 20,
    ELAPSE__QUEUE_TUBE_BYTES_MAX = 200,
    ELAPSE__QUEUE_KEY_BYTES_MAX = 250, /* of a key, a tag, a token and a group */
    ELAPSE__QUEUE_HEADERS_BYTES_MAX = 4096,
    ELAPSE__QUEUE_ERROR_BYTES_MAX = 1024, /* what is longer is cut */
    ELAPSE__QUEUE_CRON_BYTES_MAX = 1023,
    ELAPSE__QUEUE_ZONE_BYTES_MAX = 64,
    ELAPSE__QUEUE_TURN_MAX = 1000, /* due jobs of one turn */
    ELAPSE__QUEUE_RESERVE_MAX = 1000,
};

#endif
