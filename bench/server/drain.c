/*
 * Hands out and acknowledges a backlog: RESERVE and ACK of RESP in batches of a thousand, reserve
 * and delete of beanstalkd with so many under way, or ZPOPMIN of Redis, which deletes before the
 * work is done. It prints how many jobs a second were acknowledged.
 *
 *     elapse-bench-server-drain PORT beanstalkd|resp|redis COUNT [WINDOW]
 *
 * beanstalkd's client asks for the next job with each delete. With RESP the ACK of a batch and the
 * next RESERVE go together, and WINDOW / 1000 such pairs are under way.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "commands.h"
#include "stream.h"

enum { BATCH = 1000, ACK_BATCH = 500 }; /* a command may have 1024 strings */

static uint64_t wanted, asked, handed, acknowledged;

/* ---- beanstalkd ---- */

static void drain_lines(uint64_t window)
{
    while (asked < window && asked < wanted) {
        APPEND("reserve\r\n");
        asked++;
    }
    while (acknowledged < wanted) {
        const char *line = take_line();
        if (strncmp(line, "DELETED", 7) == 0) {
            acknowledged++;
            continue;
        }
        if (strncmp(line, "RESERVED ", 9) != 0)
            refuse(line);
        char *next;
        uint64_t id = strtoull(line + 9, &next, 10);
        (void)take_bytes(strtoull(next, NULL, 10) + 2);
        char number[24];
        size_t digits = write_number(number, id);
        APPEND("delete ");
        append(number, digits);
        APPEND("\r\n");
        handed++;
        if (asked < wanted) {
            APPEND("reserve\r\n");
            asked++;
        }
    }
}

/* ---- RESP ---- */

static void ask_batch(void)
{
    if (handed + asked >= wanted)
        return;
    APPEND("*4\r\n$7\r\nRESERVE\r\n$1\r\nt\r\n$5\r\nCOUNT\r\n$4\r\n1000\r\n");
    asked += BATCH;
}

/* Takes the jobs of one RESERVE, and sends their ACK. */
static void take_jobs(uint64_t jobs)
{
    static char ids[BATCH][24], leases[BATCH][48];

    for (uint64_t i = 0; i < jobs; i++) {
        if (take_number('*') != 8)
            refuse("a job of another shape");
        ids[i][write_number(ids[i], take_number(':'))] = '\0';
        (void)take_string(leases[i], sizeof leases[i]);
        (void)take_string(NULL, 0); /* tube, key, body */
        (void)take_string(NULL, 0);
        (void)take_string(NULL, 0);
        (void)take_number(':'); /* due, attempt, missed */
        (void)take_number(':');
        (void)take_number(':');
    }
    for (uint64_t i = 0; i < jobs; i++) {
        if (i % ACK_BATCH == 0) {
            uint64_t count = jobs - i < ACK_BATCH ? jobs - i : ACK_BATCH;
            append_head(1 + 2 * count);
            APPEND("$3\r\nACK\r\n");
        }
        append_string(ids[i], strlen(ids[i]));
        append_string(leases[i], strlen(leases[i]));
    }
    handed += jobs;
}

static void take_acknowledgements(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        const char *line = take_line();
        if (line[0] != '+' || line[1] != 'o')
            refuse(line);
    }
    acknowledged += count;
}

static void drain_batches(uint64_t window)
{
    uint64_t pairs = window < BATCH ? 1 : window / BATCH;

    for (uint64_t i = 0; i < pairs; i++)
        ask_batch();
    while (acknowledged < wanted) {
        uint64_t count = take_number('*');
        if (count > 0 && peek() == '+') {
            take_acknowledgements(count);
            continue;
        }
        /* There may be fewer jobs than were asked for, and none. */
        asked -= BATCH;
        if (count > 0)
            take_jobs(count);
        ask_batch();
    }
}

/* ---- Redis ---- */

static void drain_members(uint64_t window)
{
    uint64_t pairs = window < BATCH ? 1 : window / BATCH;

    for (uint64_t i = 0; i < pairs && asked < wanted; i++, asked += BATCH)
        APPEND("*3\r\n$7\r\nZPOPMIN\r\n$1\r\nt\r\n$4\r\n1000\r\n");
    while (acknowledged < wanted) {
        uint64_t count = take_number('*');
        if (count == 0)
            refuse("no member");
        for (uint64_t i = 0; i < count; i++)
            (void)take_string(NULL, 0);
        acknowledged += count / 2;
        if (asked < wanted) {
            APPEND("*3\r\n$7\r\nZPOPMIN\r\n$1\r\nt\r\n$4\r\n1000\r\n");
            asked += BATCH;
        }
    }
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: PORT beanstalkd|resp|redis COUNT [WINDOW]\n");
        return 2;
    }
    uint64_t window = argc > 4 ? strtoull(argv[4], NULL, 10) : BATCH;
    wanted = strtoull(argv[3], NULL, 10);
    stream_open((uint16_t)atoi(argv[1]));
    uint64_t began_ns = now_ns();
    if (strcmp(argv[2], "beanstalkd") == 0)
        drain_lines(window);
    else if (strcmp(argv[2], "resp") == 0)
        drain_batches(window);
    else
        drain_members(window);
    printf("%.0f /s\n", (double)acknowledged / ((double)(now_ns() - began_ns) / 1e9));
    return 0;
}
