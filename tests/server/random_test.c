/*
 * Runs random scripts on a simulated disk. In a script, many clients send right and broken commands
 * of both protocols. script.h says what must be true.
 *
 *      server-random [--runs N] [--seed SEED]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "script.h"

enum { SCRIPT_BYTES = 1 << 16, STEPS_MAX = 400, LINE_BYTES = 250 };

static struct random_source source;

static uint8_t script[SCRIPT_BYTES];
static size_t length;

static void add(unsigned byte)
{
    if (length < SCRIPT_BYTES)
        script[length++] = (uint8_t)byte;
}

/* Lines of beanstalkd's protocol; %1 stands for a small number, %t for a tube. */
static const char *const lines[] = {
    "put %1 0 10 3\r\nabc\r\n",
    "put %1 0 1 5\r\nabcde\r\n",
    "put 0 %1 100 0\r\n\r\n",
    "put 0 0 1 2001\r\n",
    "put 0 0 1 %1\r\nxyz\r\n",
    "use %t\r\n",
    "watch %t\r\n",
    "ignore %t\r\n",
    "reserve\r\n",
    "reserve-with-timeout %1\r\n",
    "reserve-with-timeout 0\r\n",
    "reserve-with-timeout 0\r\nreserve-with-timeout 0\r\nreserve-with-timeout 0\r\n",
    "reserve-job %1\r\n",
    "delete %1\r\n",
    "release %1 %1 %1\r\n",
    "bury %1 %1\r\n",
    "touch %1\r\n",
    "kick %1\r\n",
    "kick-job %1\r\n",
    "peek %1\r\n",
    "peek-ready\r\n",
    "peek-delayed\r\n",
    "peek-buried\r\n",
    "stats\r\n",
    "stats-job %1\r\n",
    "stats-tube %t\r\n",
    "list-tubes\r\n",
    "list-tube-used\r\n",
    "list-tubes-watched\r\n",
    "pause-tube %t %1\r\n",
    "quit\r\n",
    "nonsense\r\n",
};

/* Commands of RESP, as words. */
static const char *const commands[] = {
    "PUT %t body",
    "PUT %t body IN %1s KEY k%1",
    "PUT %t body KEY k%1 IFKEY replace RETRY 2 BACKOFF 1s 2s",
    "PUT %t body KEY k%1 IFKEY keep TAG x EXPIRE 5s",
    "PUT %t body EVERY 3s",
    "PUT %t body TOKEN t%1 TTR 2s PRIORITY %1",
    "CANCEL %t k%1 k%1 k%1",
    "CANCELID %1 %1",
    "RESCHEDULE %t k%1 IN %1s",
    "ARRIVE %t k%1",
    "ARRIVE %t k%1 1 TOKEN t%2",
    "PUT %t b KEY k%1 AWAIT 2",
    "PUT %t b KEY k%1 AWAIT 3 IN %1s IFKEY REPLACE",
    "RESCHEDULEID %1 IN 0s",
    "RESERVE %t COUNT %1",
    "RESERVE %t %t COUNT 3 WAIT %1s",
    "RESERVE %t WAIT 100ms",
    "ACK %1 1-%1",
    "NACK %1 1-%1 IN 1s",
    "EXTEND %1 1-%1",
    "BURY %1 1-%1",
    "NACK %1 1-%1 %1 1-%1 %1 1-%1",
    "EXTEND %1 1-%1 %1 1-%1 %1 1-%1",
    "BURY %1 1-%1 %1 1-%1",
    "KICK %t %1",
    "KICKID %1",
    "LOOKUP %t k%1",
    "LOOKUPID %1",
    "LIST %t COUNT %1",
    "LIST %t KEYS",
    "CANCELALL %t TAG x",
    "CANCELALL %t",
    "STATS",
    "STATS %t",
    "TUBES",
    "PAUSE %t %1s",
    "PING",
    "HELLO 3",
    "INFO",
    "COMMAND",
    "CLIENT LIST",
    "QUIT",
    "NONSENSE a b",
    "MULTI",
    "EXEC",
    "DISCARD",
    "LEASED %1 1-%1",
};

/* Commands that may stand between MULTI and EXEC. */
static const char *const queued[] = {
    "PUT %t body",
    "PUT %t body IN %1s KEY k%1",
    "PUT %t body KEY k%1 IFKEY fail TOKEN t%1",
    "PUT %t body IN 1s KEY k%1 IFKEY debounce MAX 3s",
    "PUT %t body EVERY 3s HEADERS h=%1",
    "CANCEL %t k%1 k%1",
    "CANCELID %1",
    "RESCHEDULE %t k%1 IN %1s",
    "ARRIVE %t k%1",
    "ARRIVE %t k%1 1 TOKEN t%2",
    "PUT %t b KEY k%1 AWAIT 2",
    "PUT %t b KEY k%1 AWAIT 3 IN %1s IFKEY REPLACE",
    "RESCHEDULEID %1 IN 0s",
    "ACK %1 1-%1 %1 1-%1",
    "NACK %1 1-%1",
    "EXTEND %1 1-%1",
    "BURY %1 1-%1",
    "KICKID %1",
    "LEASED %1 1-%1",
    "PING",
};

/* Writes a text with its numbers and tubes filled in. Returns its length. */
static size_t fill_in(char *to, const char *text)
{
    size_t size = 0;
    for (; *text != '\0'; text++) {
        if (text[0] == '%' && text[1] == '1')
            size += (size_t)sprintf(to + size, "%d", (int)random_below(&source, 12));
        else if (text[0] == '%' && text[1] == 't')
            to[size++] = (char)('a' + random_below(&source, 3));
        else
            to[size++] = *text;
        text += text[0] == '%';
    }
    to[size] = '\0';
    return size;
}

static size_t write_resp(char *to, const char *command)
{
    char words[LINE_BYTES];
    char rest[LINE_BYTES];
    size_t count = 0;
    size_t size = 0;

    fill_in(words, command);
    rest[0] = '\0';
    for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " "), count++)
        size += (size_t)sprintf(rest + size, "$%zu\r\n%s\r\n", strlen(word), word);
    return (size_t)sprintf(to, "*%zu\r\n%s", count, rest);
}

static void add_text(unsigned client, char *text, size_t size)
{
    if (random_one_in(&source, 40))
        text[random_index(&source, size)] = (char)random_below(&source, 256);
    /* The text comes in one piece, or in two with another step in between. */
    size_t cut = random_one_in(&source, 4) ? random_index(&source, size) : size;
    add(SCRIPT_SEND);
    add(client);
    add((unsigned)cut);
    for (size_t i = 0; i < cut; i++)
        add((uint8_t)text[i]);
    if (cut == size)
        return;
    add(SCRIPT_WORK);
    add(SCRIPT_SEND);
    add(client);
    add((unsigned)(size - cut));
    for (size_t i = cut; i < size; i++)
        add((uint8_t)text[i]);
}

static void add_resp(unsigned client, const char *command)
{
    char text[LINE_BYTES * 2];
    size_t size = write_resp(text, command);

    add_text(client, text, size);
}

static void add_transaction(unsigned client)
{
    add_resp(client, "MULTI");
    for (uint64_t left = 1 + random_below(&source, 4); left > 0; left--)
        add_resp(client, queued[random_index(&source, sizeof queued / sizeof *queued)]);
    add_resp(client, "EXEC");
}

static void add_send(void)
{
    char text[LINE_BYTES * 2];
    unsigned client = (unsigned)random_below(&source, SCRIPT_CLIENTS);

    /* Half of the clients speak each protocol. */
    if (client % 2 == 0)
        add_text(client, text,
                 fill_in(text, lines[random_index(&source, sizeof lines / sizeof *lines)]));
    else if (random_one_in(&source, 6))
        add_transaction(client);
    else
        add_resp(client, commands[random_index(&source, sizeof commands / sizeof *commands)]);
}

static void add_step(void)
{
    unsigned size = (unsigned)random_below(&source, 32) << 3;

    switch (random_below(&source, 20)) {
    case 0:
    case 1:
        add(SCRIPT_WORK | size);
        return;
    case 2:
        add(SCRIPT_PASS | (size > 14 << 3 ? 0 : size));
        return;
    case 3:
    case 4:
    case 5:
        add(SCRIPT_HEAR | size);
        break;
    case 6:
        if (!random_one_in(&source, 4))
            return;
        add(SCRIPT_CLOSE | size);
        break;
    case 7:
        add(SCRIPT_READ | size);
        return;
    case 8:
        add(SCRIPT_TURN | (size & 3 << 3));
        return;
    default:
        add_send();
        return;
    }
    add((unsigned)random_below(&source, SCRIPT_CLIENTS));
}

int main(int count, char **arguments)
{
    uint64_t seed = 1;
    uint64_t runs = 300;
    uint64_t commands_run = 0;

    for (int i = 1; i + 1 < count; i += 2) {
        if (strcmp(arguments[i], "--runs") == 0)
            runs = strtoull(arguments[i + 1], NULL, 10);
        else if (strcmp(arguments[i], "--seed") == 0)
            seed = strtoull(arguments[i + 1], NULL, 10);
    }
    for (uint64_t run = 0; run < runs; run++) {
        source.state = seed + run;
        length = 0;
        uint64_t steps = random_below(&source, STEPS_MAX);
        for (uint64_t i = 0; i < steps; i++)
            add_step();
        /* The seed is printed before the run, so it is known if the run crashes. */
        fprintf(stderr, "\rseed %" PRIu64 " ", seed + run);
        script_run(script, length);
        commands_run += script_commands;
    }
    printf("\n%llu runs, %llu commands\n", (unsigned long long)runs,
           (unsigned long long)commands_run);
    return commands_run > runs * 10 ? 0 : 1;
}
