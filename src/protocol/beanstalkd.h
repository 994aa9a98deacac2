/*
 * The protocol of beanstalkd 1.12. The parser makes commands from bytes. Other functions write
 * replies, and statistics as YAML.
 *
 *      put 0 5 60 4\r\nbody\r\n   --parse-->  PUT, priority 0, delay 5 s, ttr 60 s, "body"
 *      INSERTED 1\r\n             <--write--  elapse__wire_beanstalkd_inserted
 *
 * The caller keeps the received bytes in one piece, from the beginning of the command on. A parser
 * remembers how far it has read. It allocates nothing and copies nothing. A body that is too big is
 * skipped as it comes, and is never kept. Wrong bytes are a command, too. The verb of that command
 * says with which error the server answers. The connection goes on with the bytes after the wrong
 * bytes.
 *
 * The rules are those of beanstalkd, also where its protocol document is silent:
 * - A line has at most 224 bytes, with its "\r\n". The rest of a longer line is skipped, and the
 *   line is BAD_FORMAT.
 * - A line with a NUL byte is BAD_FORMAT, whatever it begins with.
 * - The beginning of a line says which verb it has: "listx" is UNKNOWN_COMMAND, "list-tubesx" is
 *   BAD_FORMAT, "quitx" quits. A verb has small letters only.
 * - A number has decimal digits. Blanks before a number and leading zeros are skipped. A sign, a
 *   number beyond 32 bits (64 bits for an id), or anything after the last argument is BAD_FORMAT.
 * - Two verbs accept more: `kick` and `reserve-with-timeout`. They take a sign, all white space
 *   before the number, and anything after it. Without a number, the time-out is 0. A negative
 *   time-out waits for ever. `kick` counts a negative number down from 2^64. A number beyond 64
 *   bits is BAD_FORMAT. (beanstalkd itself drops all but the lowest 32 bits of the number.)
 * - The name of a tube has 1 to 200 letters, digits and -+/;.$_(), and does not begin with "-".
 *   `pause-tube` alone takes more than one blank, or none, before the name.
 * - The bytes after a bad `put` line are commands, because nobody can know how many of them are the
 *   body.
 *
 * This parser differs from beanstalkd in two ways. A "\r" without "\n" within a line is a byte like
 * others. (beanstalkd does not find the end of such a line, and does not answer.) The end of a line
 * that is too long is found, whatever pieces the bytes were sent in.
 */
#ifndef ELAPSE__PROTOCOL_BEANSTALKD_H
#define ELAPSE__PROTOCOL_BEANSTALKD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ELAPSE__WIRE_BEANSTALKD_LINE_BYTES_MAX = 224, /* the longest line, with \r\n */
    ELAPSE__WIRE_BEANSTALKD_TUBE_BYTES_MAX = 200,
    ELAPSE__WIRE_BEANSTALKD_URGENT = 1024, /* a priority below this number is urgent */
};

/* The verbs of commands. The first verbs are errors, which the server answers. */
enum elapse__wire_beanstalkd_verb {
    ELAPSE__WIRE_BEANSTALKD_BAD_FORMAT,
    ELAPSE__WIRE_BEANSTALKD_UNKNOWN,
    ELAPSE__WIRE_BEANSTALKD_EXPECTED_CRLF, /* put: the body has not the size that the line says */
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
    ELAPSE__WIRE_BEANSTALKD_VERBS, /* the number of verbs */
};

/* A command. The fields that its verb does not have are zero. */
struct elapse__wire_beanstalkd_command {
    enum elapse__wire_beanstalkd_verb verb;
    uint32_t priority;
    uint32_t delay_s; /* put, release: the delay; pause-tube: the pause */
    uint32_t ttr_s;   /* the ttr that the client gave; 0 counts as 1 */
    uint32_t body_size;
    uint64_t id;
    uint64_t bound;     /* kick: the greatest number of jobs */
    uint64_t timeout_s; /* reserve-with-timeout */
    bool for_ever;      /* the verb is reserve, or reserve-with-timeout with a negative number */
    uint32_t tube_size;
    const char *tube; /* the name of a tube; points into the bytes of the caller, as `body` does */
    const unsigned char *body;
};

/* The fields are private. A new parser is all zeros but for `body_bytes_max`. */
struct elapse__wire_beanstalkd_parser {
    uint32_t body_bytes_max; /* a larger body is TOO_BIG */
    bool skips_line;         /* the next bytes belong to a line that is too long */
    bool skips_body;         /* the next bytes belong to a body that is too big */
    uint64_t skip;           /* how many bytes of the body are left to skip */
    size_t searched;         /* no line ends in the first `searched` bytes */
};

struct elapse__wire_beanstalkd_parsed {
    bool whole;      /* the whole command has come, and `command` has it */
    size_t consumed; /* how many bytes the caller must drop, also if the command is not whole */
    /* If the command is not whole: the least number of bytes after the consumed bytes that the next
     * call needs. This number is at most elapse__wire_beanstalkd_bytes_max. */
    size_t wanted;
};

/* Returns the greatest number of bytes of a command. A caller never has to keep more bytes. */
size_t elapse__wire_beanstalkd_bytes_max(const struct elapse__wire_beanstalkd_parser *parser);

/* Goes on parsing. `bytes` must begin after the bytes that the last call has consumed. The address
 * of the bytes may differ from that of the last call. */
struct elapse__wire_beanstalkd_parsed
elapse__beanstalkd_parse(struct elapse__wire_beanstalkd_parser *parser, const unsigned char *bytes,
                         size_t size, struct elapse__wire_beanstalkd_command *command);

/* ---- replies ---- */

/* The bytes of a reply without a body. The bytes are static. */
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
    ELAPSE__WIRE_BEANSTALKD_REPLIES, /* the number of such replies */
};
struct elapse__wire_beanstalkd_text
elapse__wire_beanstalkd_reply(enum elapse__wire_beanstalkd_reply reply);

/* Each function below writes a line into `text`, without a NUL at its end, and returns how many
 * bytes the line has. No line has more than ELAPSE__WIRE_BEANSTALKD_REPLY_BYTES_MAX bytes. */
enum { ELAPSE__WIRE_BEANSTALKD_REPLY_BYTES_MAX = 224 };
size_t elapse__wire_beanstalkd_inserted(char *text, uint64_t id);
size_t elapse__wire_beanstalkd_using(char *text, const char *tube, size_t tube_size);
size_t elapse__wire_beanstalkd_watching(char *text, uint64_t count);
size_t elapse__wire_beanstalkd_kicked(char *text, uint64_t count);
/* Writes the line before the body of a reserved job. The caller sends the body and "\r\n" after the
 * line. */
size_t elapse__wire_beanstalkd_reserved(char *text, uint64_t id, uint64_t body_size);
size_t elapse__wire_beanstalkd_found(char *text, uint64_t id, uint64_t body_size);
size_t elapse__wire_beanstalkd_ok(char *text, uint64_t body_size);

/* ---- YAML ---- */

/* A list of tubes begins with the bytes of elapse__wire_beanstalkd_list_begin. Then the list has
 * one item for each tube. */
enum { ELAPSE__WIRE_BEANSTALKD_ITEM_BYTES_MAX = 204, ELAPSE__WIRE_BEANSTALKD_LIST_BEGIN_BYTES = 4 };
size_t elapse__wire_beanstalkd_list_begin(char *text);
size_t elapse__wire_beanstalkd_list_item(char *text, const char *tube, size_t tube_size);
/* Returns how many bytes the item of a tube has, if the name of the tube has `tube_size` bytes. */
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
    uint64_t file; /* the number of the segment of the journal that has the job */
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
    const uint64_t *commands; /* an array with a counter for each verb */
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

/* A text that is longer than this is cut, so that the statistics fit into the room below. */
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
