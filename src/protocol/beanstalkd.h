/*
 * The protocol of beanstalkd 1.12: parses bytes into commands, and writes replies, statistics (as
 * YAML) included.
 *
 *      put 0 5 60 4\r\nbody\r\n   --parse-->  PUT, priority 0, delay 5 s, ttr 60 s, "body"
 *      INSERTED 1\r\n             <--write--  elapse__wire_beanstalkd_inserted
 *
 * Reading. The caller keeps the bytes in one piece, from the beginning of the command on. A parser
 * remembers how far it has read. It allocates and copies nothing, and a body that is too big is
 * skipped as it comes, never kept. Bytes that are wrong are a command, too: its verb says with
 * which error the server answers, and the connection goes on with the bytes after it.
 *
 * The rules are those of beanstalkd, also where its protocol document is silent:
 * - A line has at most 224 bytes, with its "\r\n". The rest of a longer one is skipped: BAD_FORMAT.
 * - A line with a NUL byte is BAD_FORMAT, whatever it begins with.
 * - A verb is known by how the line begins: "listx" is UNKNOWN_COMMAND, "list-tubesx" is
 *   BAD_FORMAT, "quitx" quits. Small letters alone count.
 * - Numbers are decimal digits; blanks before them and leading zeros are skipped. A sign, a number
 *   beyond 32 bits (an id: 64), or anything after the last argument is BAD_FORMAT.
 * - Two verbs are laxer. `kick` and `reserve-with-timeout` take a sign, all white space before the
 *   number and anything behind it; no number at all is 0 for the second; a negative time-out waits
 *   for ever, and kick counts a negative number down from 2^64. A number beyond 64 bits is
 *   BAD_FORMAT. (The server cuts what exceeds 32 bits; here it counts whole.)
 * - Tube names have 1 to 200 letters, digits and -+/;.$_(), and do not begin with "-".
 *   `pause-tube` alone takes more than one blank, or none, before the name.
 * - The bytes behind a bad `put` line are commands: nobody can know how many are its body.
 *
 * Two things differ. A "\r" without "\n" within a line is a byte like others; beanstalkd then does
 * not find the end of the line, and does not answer. And the end of a line that is too long is
 * found in whatever pieces the bytes were sent.
 */
#ifndef ELAPSE__PROTOCOL_BEANSTALKD_H
#define ELAPSE__PROTOCOL_BEANSTALKD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ELAPSE__WIRE_BEANSTALKD_LINE_BYTES_MAX = 224, /* with \r\n */
    ELAPSE__WIRE_BEANSTALKD_TUBE_BYTES_MAX = 200,
    ELAPSE__WIRE_BEANSTALKD_URGENT = 1024, /* a priority below is urgent */
};

/* The first verbs are errors, which have an answer. */
enum elapse__wire_beanstalkd_verb {
    ELAPSE__WIRE_BEANSTALKD_BAD_FORMAT,
    ELAPSE__WIRE_BEANSTALKD_UNKNOWN,
    ELAPSE__WIRE_BEANSTALKD_EXPECTED_CRLF, /* put: the body did not end where the line of the
                                              command said */
    ELAPSE__WIRE_BEANSTALKD_TOO_BIG,       /* put: the body was skipped */
    ELAPSE__WIRE_BEANSTALKD_PUT,
    ELAPSE__WIRE_BEANSTALKD_PEEK,
    ELAPSE__WIRE_BEANSTALKD_PEEK_READY,
    ELAPSE__WIRE_BEANSTALKD_PEEK_DELAYED,
    ELAPSE__WIRE_BEANSTALKD_PEEK_BURIED,
    ELAPSE__WIRE_BEANSTALKD_RESERVE,
    ELAPSE__WIRE_BEANSTALKD_RESERVE_WITH_TIMEOUT,
    ELAPSE__WIRE_BEANSTALKD_RESERVE_JOB,
    ELAPSE__WIRE_BEANSTALKD_DELETE,
    ELAPSE__WIRE_BEANSTALKD_RELEASE,
    ELAPSE__WIRE_BEANSTALKD_USE,
    ELAPSE__WIRE_BEANSTALKD_WATCH,
    ELAPSE__WIRE_BEANSTALKD_IGNORE,
    ELAPSE__WIRE_BEANSTALKD_BURY,
    ELAPSE__WIRE_BEANSTALKD_KICK,
    ELAPSE__WIRE_BEANSTALKD_KICK_JOB,
    ELAPSE__WIRE_BEANSTALKD_TOUCH,
    ELAPSE__WIRE_BEANSTALKD_STATS,
    ELAPSE__WIRE_BEANSTALKD_STATS_JOB,
    ELAPSE__WIRE_BEANSTALKD_STATS_TUBE,
    ELAPSE__WIRE_BEANSTALKD_LIST_TUBES,
    ELAPSE__WIRE_BEANSTALKD_LIST_TUBE_USED,
    ELAPSE__WIRE_BEANSTALKD_LIST_TUBES_WATCHED,
    ELAPSE__WIRE_BEANSTALKD_PAUSE_TUBE,
    ELAPSE__WIRE_BEANSTALKD_QUIT,
    ELAPSE__WIRE_BEANSTALKD_VERBS, /* how many */
};

/* What a command says; the fields that its verb does not have are zero. */
struct elapse__wire_beanstalkd_command {
    enum elapse__wire_beanstalkd_verb verb;
    uint32_t priority;
    uint32_t delay_s; /* also of pause-tube */
    uint32_t ttr_s;   /* as the client gave it; 0 counts as 1 */
    uint32_t body_size;
    uint64_t id;
    uint64_t bound;     /* kick: at most so many jobs */
    uint64_t timeout_s; /* reserve-with-timeout */
    bool for_ever;      /* reserve; reserve-with-timeout with a negative number */
    uint32_t tube_size;
    const char *tube; /* in the caller's bytes, as body */
    const unsigned char *body;
};

/* The fields are private. A new parser is all zeros but for `body_bytes_max`. */
struct elapse__wire_beanstalkd_parser {
    uint32_t body_bytes_max; /* a larger body is TOO_BIG */
    bool skips_line;         /* the next bytes belong to a line that is too long */
    bool skips_body;         /* the next bytes belong to a body that is too big */
    uint64_t skip;           /* bytes that are left of the body */
    size_t searched;         /* in the first `searched` bytes no line ends */
};

struct elapse__wire_beanstalkd_parsed {
    bool whole;      /* the command is filled in */
    size_t consumed; /* how many bytes the caller has to drop, also if the command is not whole */
    /* If the command is not whole: the next call needs at least so many bytes after those consumed.
     * At most elapse__wire_beanstalkd_bytes_max. */
    size_t wanted;
};

/* Returns the most bytes that a command has, and so the most that a caller has to keep. */
size_t elapse__wire_beanstalkd_bytes_max(const struct elapse__wire_beanstalkd_parser *parser);

/* Reads on. `bytes` begin after the bytes that the last call has consumed. They may lie elsewhere
 * than at the last call. */
struct elapse__wire_beanstalkd_parsed
elapse__beanstalkd_parse(struct elapse__wire_beanstalkd_parser *parser, const unsigned char *bytes,
                         size_t size, struct elapse__wire_beanstalkd_command *command);

/* ---- replies ---- */

/* A reply without a body, as it is sent. The bytes are static. */
struct elapse__wire_beanstalkd_text {
    const char *bytes;
    size_t size;
};

enum elapse__wire_beanstalkd_reply {
    ELAPSE__WIRE_BEANSTALKD_SAYS_BAD_FORMAT,
    ELAPSE__WIRE_BEANSTALKD_SAYS_UNKNOWN_COMMAND,
    ELAPSE__WIRE_BEANSTALKD_SAYS_EXPECTED_CRLF,
    ELAPSE__WIRE_BEANSTALKD_SAYS_JOB_TOO_BIG,
    ELAPSE__WIRE_BEANSTALKD_SAYS_DRAINING,
    ELAPSE__WIRE_BEANSTALKD_SAYS_OUT_OF_MEMORY,
    ELAPSE__WIRE_BEANSTALKD_SAYS_INTERNAL_ERROR,
    ELAPSE__WIRE_BEANSTALKD_SAYS_NOT_FOUND,
    ELAPSE__WIRE_BEANSTALKD_SAYS_NOT_IGNORED,
    ELAPSE__WIRE_BEANSTALKD_SAYS_DEADLINE_SOON,
    ELAPSE__WIRE_BEANSTALKD_SAYS_TIMED_OUT,
    ELAPSE__WIRE_BEANSTALKD_SAYS_DELETED,
    ELAPSE__WIRE_BEANSTALKD_SAYS_RELEASED,
    ELAPSE__WIRE_BEANSTALKD_SAYS_BURIED,
    ELAPSE__WIRE_BEANSTALKD_SAYS_TOUCHED,
    ELAPSE__WIRE_BEANSTALKD_SAYS_KICKED,
    ELAPSE__WIRE_BEANSTALKD_SAYS_PAUSED,
    ELAPSE__WIRE_BEANSTALKD_REPLIES, /* how many */
};
struct elapse__wire_beanstalkd_text
elapse__wire_beanstalkd_reply(enum elapse__wire_beanstalkd_reply reply);

/* The functions below write a line into `text`, without a NUL, and return how many bytes it has. No
 * line has more than ELAPSE__WIRE_BEANSTALKD_REPLY_BYTES_MAX. */
enum { ELAPSE__WIRE_BEANSTALKD_REPLY_BYTES_MAX = 224 };
size_t elapse__wire_beanstalkd_inserted(char *text, uint64_t id);
size_t elapse__wire_beanstalkd_using(char *text, const char *tube, size_t tube_size);
size_t elapse__wire_beanstalkd_watching(char *text, uint64_t count);
size_t elapse__wire_beanstalkd_kicked(char *text, uint64_t count);
/* The line before a body; "\r\n" follows the body. */
size_t elapse__wire_beanstalkd_reserved(char *text, uint64_t id, uint64_t body_size);
size_t elapse__wire_beanstalkd_found(char *text, uint64_t id, uint64_t body_size);
size_t elapse__wire_beanstalkd_ok(char *text, uint64_t body_size);

/* ---- YAML ---- */

/* A list begins with elapse__wire_beanstalkd_list_begin, and has one item a tube. */
enum { ELAPSE__WIRE_BEANSTALKD_ITEM_BYTES_MAX = 204, ELAPSE__WIRE_BEANSTALKD_LIST_BEGIN_BYTES = 4 };
size_t elapse__wire_beanstalkd_list_begin(char *text);
size_t elapse__wire_beanstalkd_list_item(char *text, const char *tube, size_t tube_size);
/* Returns how many bytes the item of a name of this size has. */
static inline size_t elapse__wire_beanstalkd_item_size(size_t tube_size)
{
    return tube_size + sizeof "- \n" - 1;
}

struct elapse__wire_beanstalkd_job_statistics {
    uint64_t id;
    const char *tube;
    size_t tube_size;
    const char *state; /* ready, delayed, reserved, buried */
    uint32_t priority;
    uint64_t age_s, delay_s, ttr_s, time_left_s;
    uint64_t file; /* the number of the segment of the journal */
    uint64_t reserves, timeouts, releases, buries, kicks;
};

struct elapse__wire_beanstalkd_tube_statistics {
    const char *name;
    size_t name_size;
    uint64_t urgent, ready, reserved, delayed, buried, total_jobs;
    uint64_t using_count, watching, waiting;
    uint64_t deletes, pauses;
    uint64_t pause_s, pause_left_s;
};

struct elapse__wire_beanstalkd_server_statistics {
    uint64_t urgent, ready, reserved, delayed, buried;
    const uint64_t *commands; /* ELAPSE__WIRE_BEANSTALKD_VERBS counters, by verb */
    uint64_t job_timeouts, total_jobs, max_job_size, tubes;
    uint64_t connections, producers, workers, waiting, total_connections;
    uint64_t pid;
    const char *version;
    uint64_t user_us, system_us; /* processor time */
    uint64_t uptime_s;
    uint64_t binlog_oldest, binlog_current, binlog_migrated, binlog_written, binlog_max_size;
    bool draining;
    const char *id, *hostname, *os, *platform;
};

/* Longer texts are cut, so that statistics fit into the room below. */
enum {
    ELAPSE__WIRE_BEANSTALKD_FACT_BYTES_MAX = 256,
    ELAPSE__WIRE_BEANSTALKD_YAML_BYTES_MAX = 4096
};
size_t
elapse__wire_beanstalkd_job_yaml(char *text,
                                 const struct elapse__wire_beanstalkd_job_statistics *statistics);
size_t
elapse__wire_beanstalkd_tube_yaml(char *text,
                                  const struct elapse__wire_beanstalkd_tube_statistics *statistics);
size_t elapse__wire_beanstalkd_server_yaml(
    char *text, const struct elapse__wire_beanstalkd_server_statistics *statistics);

#endif
