#include "lines.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Each %k is a key, %i an id, %l a lease, %n a small number. */
static const char *const templates[] = {
    "PUT t body KEY %k IN %ns",
    "PUT t body",
    "PUT u b PRIORITY %n TTR 5s",
    "PUT t b KEY %k IFKEY KEEP",
    "PUT t b KEY %k IFKEY FAIL TAG g",
    "PUT t b KEY %k IFKEY DEBOUNCE MAX 9s IN 1s",
    "PUT t b TOKEN %k",
    "PUT t b KEY %k AWAIT %n",
    "ARRIVE t %k",
    "ARRIVE t %k %n TOKEN %k",
    "PUT t b TOKEN %k FOR 20s",
    "PUT t b FOR 20s",
    "PUT t b KEY",
    "PUT t b EVERY 5s KEY %k",
    "put t b IN 3",
    "CANCEL t %k %k %k",
    "CANCELID %i %i",
    "CANCELID %i x",
    "CANCELALL t TAG g",
    "CANCELALL u STATE %k",
    "RESCHEDULE t %k IN %ns",
    "RESCHEDULEID %i IN %ns",
    "RESCHEDULEID %i",
    "RESERVE t",
    "RESERVE t u COUNT %n",
    "RESERVE u WAIT x",
    "ACK %i %l",
    "ACK %i %l %i %l",
    "ACK %i",
    "NACK %i %l",
    "NACK %i %l IN 1s",
    "EXTEND %i %l",
    "BURY %i %l",
    "NACK %i %l %i %l %i %l",
    "NACK %i %l %i %l IN 1s",
    "NACK %i %l %i %l IN 1",
    "NACK %i %l %i %l AFTER 1h",
    "PUT t b ATTEMPTS 1 BACKOFF 0s 0s",
    "EXTEND %i %l %i %l %i %l",
    "EXTEND %i %l %i %l IN 1s",
    "BURY %i %l %i %l",
    "BURY %i %l %i %l ERROR x",
    "BURY %i %l %i %l IN 1s",
    "EXTEND %i %l %i %l ERROR x",
    "NACK %i %l %i %l ERROR x",
    "NACK %i %l %i %l ERROR x IN 1s AFTER 1s",
    "KICK t %n",
    "KICK t %n BURIED",
    "KICK t x",
    "KICKID %i",
    "LOOKUP t %k",
    "LOOKUPID %i",
    "LOOKUPID 0",
    "LIST t COUNT %n",
    "LIST t COUNT 2 CURSOR %n",
    "LIST t STATE ready",
    "LIST t KEYS",
    "LIST t COUNT 1 KEYS CURSOR %n",
    "LIST t STATE delayed SOONEST BODY 1",
    "LIST t STATE buried NEWEST COUNT %n CURSOR 0",
    "FIND %k",
    "RECURRING KEYS CURSOR %n",
    "HISTORY COUNT %n",
    "WHOAMI",
    "LIST t RECURRING COUNT %n",
    "FIND %k CURSOR %n COUNT 1",
    "TUBES TROUBLE PREFIX t COUNTS",
    "TUBES",
    "TUBES CURSOR %n COUNT 1",
    "STATS t",
    "STATS nowhere",
    "PAUSE t 1s",
    "PAUSE nowhere 1s",
    "PING",
    "ECHO hello",
    "SELECT 0",
    "CONFIG GET x",
    "COMMAND COUNT",
    "COMMAND INFO put",
    "SET a b",
    "RESET",
};

void make_line(struct random_source *random, char line[WORDS_MAX])
{
    char *to = line;
    const char *from = templates[random_below(random, sizeof templates / sizeof *templates)];

    for (; *from != '\0'; from++) {
        unsigned long long number = random_below(random, from[0] == '%' && from[1] == 'i' ? 60 : 9);
        if (*from != '%') {
            *to++ = *from;
            continue;
        }
        from++;
        to += sprintf(to,
                      *from == 'k'   ? "k%llu"
                      : *from == 'l' ? "1-%llu"
                                     : "%llu",
                      *from == 'l' ? (unsigned long long)random_below(random, 60) : number);
    }
    *to = '\0';
}

void make_queued_line(struct random_source *random, char line[WORDS_MAX])
{
    static const char *const names[] = {
        "PUT ",    "ARRIVE ",       "CANCEL ", "CANCELID ", "RESCHEDULE ", "ACK ", "NACK ",
        "EXTEND ", "RESCHEDULEID ", "BURY ",   "KICKID ",   "PING",        "ECHO "};
    bool is_queued = false;

    while (!is_queued) {
        make_line(random, line);
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            is_queued = is_queued || strncmp(line, names[i], strlen(names[i])) == 0;
    }
    if (random_below(random, 6) == 0)
        sprintf(line, "LEASED %u 1-%u", (unsigned)random_below(random, 20),
                (unsigned)random_below(random, 20));
}
