#include "verbs.h"

#include <stddef.h>
#include <string.h>

#define ERROR_OPTION                                       \
    {                                                      \
        .name = "error", .value = "TEXT", .word = "ERROR", \
        .help = "what went wrong: list shows it"           \
    }

static const struct verb verbs[] = {
    {
        .name = "kick",
        .help =
            {
                .usage = "Usage: elapse kick TUBE COUNT | --all [OPTION]...\n"
                         "       elapse kick --id ID... [OPTION]...\n",
                .purpose = "Makes up to COUNT buried jobs of a tube ready, the oldest first, and "
                           "prints how\nmany; if none is buried, delayed ones that are due first. "
                           "With --id, prints a\nword for each job: ok; running, if a worker has "
                           "it; or gone.\n",
                .example = "Examples:\n"
                           "  elapse kick mails --all\n"
                           "  elapse kick --id 4711\n",
            },
        .word = "KICK",
        .first = {VERB_TUBE, VERB_COUNT_OF_JOBS},
        .word_by_id = "KICKID",
        .has_all = true,
        .reply = VERB_COUNT,
        .counted = "kicked",
    },
    {
        .name = "pause",
        .help =
            {
                .usage = "Usage: elapse pause TUBE DURATION [OPTION]...\n",
                .purpose = "Hands out nothing of a tube for so long. The pause goes on after a "
                           "restart of\nthe server. 'elapse resume' ends it.\n",
                .example = "Example:\n"
                           "  elapse pause mails 10m\n",
            },
        .word = "PAUSE",
        .first = {VERB_TUBE, VERB_DURATION},
    },
    {
        .name = "resume",
        .help =
            {
                .usage = "Usage: elapse resume TUBE [OPTION]...\n",
                .purpose = "Ends the pause of a tube.\n",
                .example = "Example:\n"
                           "  elapse resume mails\n",
            },
        .word = "PAUSE",
        .behind = "0s",
        .first = {VERB_TUBE},
    },
    {
        .name = "limit",
        .help =
            {
                .usage = "Usage: elapse limit TUBE [--NAME [VALUE]...]... [OPTION]...\n",
                .purpose =
                    "Sets the limits of a tube in place of those that it has; without a limit, "
                    "shows\nthem; with --none, takes them away. Each --NAME that is not an option "
                    "below goes\nto the server as the limit NAME: elapse-resp(7) lists them at "
                    "LIMIT. The words\nof the protocol do as well: CONCURRENCY 4.\n",
                .example = "Examples:\n"
                           "  elapse limit mails --concurrency 4\n"
                           "  elapse limit mails\n"
                           "  elapse limit mails --none\n",
            },
        .word = "LIMIT",
        .first = {VERB_TUBE},
        .repeated = {VERB_WORD},
        .hands_on = true,
    },
    {
        .name = "arrive",
        .help =
            {
                .usage = "Usage: elapse arrive TUBE KEY [COUNT] [OPTION]...\n",
                .purpose =
                    "Takes COUNT arrivals, or one, off the number that a job waits for: "
                    "--await of\n'elapse put'. Prints how many are missing; at 0 the job "
                    "is ready. The status is\n3 if no job with the key waits for arrivals.\n",
                .example = "Examples:\n"
                           "  elapse put reports all --key 7 --await 100 --in 1h\n"
                           "  elapse arrive reports 7 --arrive-token part-12\n",
            },
        .word = "ARRIVE",
        .first = {VERB_TUBE, VERB_KEY},
        .optional = VERB_COUNT_OF_ARRIVALS,
        .reply = VERB_LEFT,
        .options =
            {
                {.name = "arrive-token",
                 .value = "TOKEN",
                 .word = "TOKEN",
                 .help = "the same token at this key, while it lives, takes nothing off"},
                {.name = "arrive-token-for",
                 .value = "DURATION",
                 .word = "FOR",
                 .help = "how long the token lives: 1s to 10m, the default",
                 .is_duration = true},
            },
    },
    {
        .name = "reserve",
        .help =
            {
                .usage = "Usage: elapse reserve TUBE... [OPTION]...\n",
                .purpose = "Hands out jobs that are ready. Each is printed with its lease, which "
                           "lasts for\nthe job's time to run: within that time say 'elapse ack', "
                           "'nack', 'bury' or\n'extend', or another worker gets the job. The "
                           "status is 3 if no job is ready.\n'elapse work' does all of this for a "
                           "program.\n",
                .example = "Examples:\n"
                           "  elapse reserve mails --wait 30s --json\n"
                           "  elapse ack 4711 3-17\n",
            },
        .word = "RESERVE",
        .first = {VERB_TUBE},
        .repeated = {VERB_TUBE},
        .reply = VERB_JOBS,
        .options =
            {
                {.name = "count",
                 .value = "N",
                 .word = "COUNT",
                 .help = "up to so many jobs, 1 to 1000 (default 1)"},
                {.name = "wait",
                 .value = "DURATION",
                 .word = "WAIT",
                 .help = "wait so long for a job if none is ready",
                 .is_duration = true},
                {.name = "holder",
                 .value = "WHO",
                 .word = "HOLDER",
                 .help = "who has the jobs, for list and lookup; without it the client's address"},
            },
    },
    {
        .name = "ack",
        .help =
            {
                .usage = "Usage: elapse ack ID LEASE [ID LEASE]... [OPTION]...\n",
                .purpose = "Ends jobs whose work is done. Prints a word for each: ok; or gone, if "
                           "the lease\nhas ended, and perhaps another worker has the job.\n",
                .example = "Example:\n"
                           "  elapse ack 4711 3-17\n",
            },
        .word = "ACK",
        .first = {VERB_ID, VERB_LEASE},
        .repeated = {VERB_ID, VERB_LEASE},
    },
    {
        .name = "nack",
        .help =
            {
                .usage = "Usage: elapse nack ID LEASE [ID LEASE]... [OPTION]...\n",
                .purpose = "Gives jobs back whose work has failed: each waits as its back-off "
                           "says, or is\nburied when it has no attempt left. Prints a word for "
                           "each: ok; cancelled, if it\nwas cancelled meanwhile, and ends; or "
                           "gone, if the lease has ended.\n",
                .example = "Example:\n"
                           "  elapse nack 4711 3-17 --error 'no route to host'\n",
            },
        .word = "NACK",
        .first = {VERB_ID, VERB_LEASE},
        .repeated = {VERB_ID, VERB_LEASE},
        .may_cancel = true,
        .options =
            {
                {.name = "in",
                 .value = "DURATION",
                 .word = "IN",
                 .help = "due again after this time; the attempt does not count",
                 .is_duration = true},
                {.name = "after",
                 .value = "DURATION",
                 .word = "AFTER",
                 .help = "wait at least so long before the next attempt",
                 .is_duration = true},
                ERROR_OPTION,
            },
    },
    {
        .name = "bury",
        .help =
            {
                .usage = "Usage: elapse bury ID LEASE [ID LEASE]... [OPTION]...\n",
                .purpose = "Sets jobs aside until somebody kicks them. Prints a word for each: "
                           "ok;\ncancelled, if it was cancelled meanwhile, and ends; or gone, if "
                           "the lease has\nended.\n",
                .example = "Example:\n"
                           "  elapse bury 4711 3-17 --error 'the address is wrong'\n",
            },
        .word = "BURY",
        .first = {VERB_ID, VERB_LEASE},
        .repeated = {VERB_ID, VERB_LEASE},
        .may_cancel = true,
        .options = {ERROR_OPTION},
    },
    {
        .name = "extend",
        .help =
            {
                .usage = "Usage: elapse extend ID LEASE [ID LEASE]... [OPTION]...\n",
                .purpose = "Begins leases anew: each lasts for its job's time to run from now. "
                           "Prints a\nword for each: ok; cancelled, if the work is to stop; or "
                           "gone, if the lease has\nended.\n",
                .example = "Example:\n"
                           "  elapse extend 4711 3-17\n",
            },
        .word = "EXTEND",
        .first = {VERB_ID, VERB_LEASE},
        .repeated = {VERB_ID, VERB_LEASE},
    },
};

const struct verb *verb_find(const char *name)
{
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(verbs[i].name, name) == 0)
            return &verbs[i];
    }
    return NULL;
}
