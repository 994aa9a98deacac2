/*
 * The table of commands: COMMAND, the error texts and the dispatch come from it. It is ordered by
 * the length of the names, so that few names have to be compared; within a length, frequent ones
 * come first. tests/server/resp/client_test.c tests that each is found.
 */
#include <string.h>

#include "resp.h"

enum {
    WRITES = ELAPSE__RESP_WRITES | ELAPSE__RESP_FAST,
    SWEEPS = ELAPSE__RESP_WRITES, /* takes time that grows with the jobs */
    READS = ELAPSE__RESP_READS | ELAPSE__RESP_FAST,
    CLIENT = ELAPSE__RESP_READS | ELAPSE__RESP_FAST,
    BEFORE_AUTH = CLIENT | ELAPSE__RESP_NO_AUTH,
    LENGTH_MIN = 3,
    LENGTH_MAX = 12,
};

#define IN_OR_AT "IN duration | AT milliseconds"

static const struct elapse__resp_command commands[] = {
    {"PUT", elapse__resp_put, -3, WRITES, ELAPSE__VERB_PUT, "jobs",
     "tube body [IN duration | AT milliseconds | EVERY duration | CRON expression [ZONE zone]] "
     "[KEY key] [TAG tag] [IFKEY REPLACE | KEEP | FAIL | DEBOUNCE MAX duration] [PRIORITY number] "
     "[TTR duration] [EXPIRE duration] [RETRY count] [BACKOFF min max] [TOKEN token]",
     "Puts a job, due at once unless it says when"},
    {"ACK", elapse__resp_ack, -3, WRITES, ELAPSE__VERB_ACK, "workers", "id lease [id lease ...]",
     "Ends jobs whose work is done"},
    {"NACK", elapse__resp_nack, -3, WRITES, ELAPSE__VERB_NACK, "workers", "id lease [IN duration]",
     "Gives a job back, to be tried again"},
    {"PING", elapse__resp_ping, -1, CLIENT, ELAPSE__VERB_OTHER, "connection", "[message]",
     "Answers PONG, or the message"},
    {"BURY", elapse__resp_bury, 3, WRITES, ELAPSE__VERB_BURY, "workers", "id lease",
     "Sets a job aside until somebody kicks it"},
    {"KICK", elapse__resp_kick, 3, SWEEPS, ELAPSE__VERB_KICK, "jobs", "tube count",
     "Makes buried jobs ready; if there are none, delayed ones"},
    {"LIST", elapse__resp_list, -2, ELAPSE__RESP_READS, ELAPSE__VERB_LIST, "look",
     "tube [STATE state] [TAG tag] [CURSOR cursor] [COUNT count]", "Lists jobs of a tube"},
    {"ECHO", elapse__resp_echo, 2, CLIENT, ELAPSE__VERB_OTHER, "connection", "message",
     "Answers the message"},
    {"AUTH", elapse__resp_auth, -2, BEFORE_AUTH, ELAPSE__VERB_OTHER, "connection",
     "[user] password", "Says who the client is"},
    {"INFO", elapse__resp_info, -1, CLIENT, ELAPSE__VERB_OTHER, "server", "[section ...]",
     "Describes the server, as clients of Redis read it"},
    {"QUIT", elapse__resp_quit, -1, BEFORE_AUTH, ELAPSE__VERB_OTHER, "connection", "",
     "Ends the connection"},
    {"HELLO", elapse__resp_hello, -1, BEFORE_AUTH, ELAPSE__VERB_OTHER, "connection",
     "[version [AUTH user password] [SETNAME name]]", "Chooses RESP2 or RESP3"},
    {"STATS", elapse__resp_stats, -1, READS, ELAPSE__VERB_STATS, "look", "[tube]",
     "Counts the jobs of the server, or of a tube"},
    {"TUBES", elapse__resp_tubes, -1, ELAPSE__RESP_READS, ELAPSE__VERB_LIST_TUBES, "look",
     "[CURSOR cursor] [COUNT count]", "Lists the tubes"},
    {"PAUSE", elapse__resp_pause, 3, WRITES, ELAPSE__VERB_PAUSE_TUBE, "jobs", "tube duration",
     "Hands out nothing of a tube for so long; 0s ends a pause"},
    {"RESET", elapse__resp_reset, 1, BEFORE_AUTH, ELAPSE__VERB_OTHER, "connection", "",
     "Makes the connection as it was at its beginning"},
    {"CANCEL", elapse__resp_cancel, -3, WRITES, ELAPSE__VERB_CANCEL, "jobs", "tube key [key ...]",
     "Cancels jobs by their keys"},
    {"EXTEND", elapse__resp_extend, 3, WRITES, ELAPSE__VERB_EXTEND, "workers", "id lease",
     "Begins a lease anew: it lasts for TTR from now"},
    {"KICKID", elapse__resp_kick_id, 2, WRITES, ELAPSE__VERB_KICK_ID, "jobs", "id",
     "Makes a buried or delayed job ready"},
    {"LOOKUP", elapse__resp_look_up, 3, READS, ELAPSE__VERB_LOOK_UP, "look", "tube key",
     "Shows the job that has a key"},
    {"SELECT", elapse__resp_select, 2, CLIENT, ELAPSE__VERB_OTHER, "connection", "0",
     "Chooses the one database that there is"},
    {"CLIENT", elapse__resp_client, -2, CLIENT, ELAPSE__VERB_OTHER, "connection",
     "subcommand [argument ...]", "Names the connection, and tells about it"},
    {"CONFIG", elapse__resp_config, -2, CLIENT, ELAPSE__VERB_OTHER, "server", "GET name ...",
     "Answers that there is nothing to configure"},
    {"RESERVE", elapse__resp_reserve, -2, ELAPSE__RESP_WRITES | ELAPSE__RESP_BLOCKS,
     ELAPSE__VERB_RESERVE, "workers", "tube [tube ...] [COUNT count] [WAIT duration]",
     "Hands out jobs that are ready, the least priority first"},
    {"COMMAND", elapse__resp_command, -1, CLIENT, ELAPSE__VERB_OTHER, "server",
     "[COUNT | LIST | INFO [name ...] | DOCS [name ...]]", "Describes the commands"},
    {"CANCELID", elapse__resp_cancel_id, -2, WRITES, ELAPSE__VERB_CANCEL_ID, "jobs", "id [id ...]",
     "Cancels jobs by their ids"},
    {"LOOKUPID", elapse__resp_look_up_id, 2, READS, ELAPSE__VERB_LOOK_UP_ID, "look", "id",
     "Shows the job that has an id"},
    {"CANCELALL", elapse__resp_cancel_all, -2, SWEEPS, ELAPSE__VERB_CANCEL_ALL, "jobs",
     "tube [STATE state] [TAG tag]", "Cancels all jobs of a tube, or those that fit"},
    {"RESCHEDULE", elapse__resp_reschedule, 5, WRITES, ELAPSE__VERB_RESCHEDULE, "jobs",
     "tube key " IN_OR_AT, "Gives a job another due time, by its key"},
    {"RESCHEDULEID", elapse__resp_reschedule_id, 4, WRITES, ELAPSE__VERB_RESCHEDULE_ID, "jobs",
     "id " IN_OR_AT, "Gives a job another due time, by its id"},
};

enum { COMMANDS = sizeof commands / sizeof *commands };

/* Names of n letters stand from place first_of_length[n] on, up to first_of_length[n + 1]. */
static const uint8_t first_of_length[LENGTH_MAX + 2] = {
    [3] = 0,  [4] = 2,   [5] = 11,  [6] = 16,  [7] = 23,        [8] = 25,
    [9] = 27, [10] = 28, [11] = 29, [12] = 29, [13] = COMMANDS,
};

const struct elapse__resp_command *elapse__resp_find(struct elapse__wire_resp_argument name)
{
    unsigned char folded[sizeof commands->name] = {0};

    if (name.size < LENGTH_MIN || name.size > LENGTH_MAX)
        return NULL;
    for (uint32_t i = 0; i < name.size; i++) {
        unsigned char c = name.bytes[i];
        folded[i] = c >= 'a' && c <= 'z' ? (unsigned char)(c - 0x20) : c;
    }
    for (unsigned i = first_of_length[name.size]; i < first_of_length[name.size + 1]; i++) {
        if (memcmp(commands[i].name, folded, sizeof folded) == 0)
            return &commands[i];
    }
    return NULL;
}

const struct elapse__resp_command *elapse__resp_command_at(unsigned place)
{
    return place < COMMANDS ? &commands[place] : NULL;
}
