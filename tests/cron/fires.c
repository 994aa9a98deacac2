/*
 * Prints the moments that expressions name, for the tests in Python. Each line of the input is
 *
 *     (utc|local|ZONE) AFTER_S COUNT EXPRESSION
 *
 * and is answered by one line of output: the next COUNT moments after AFTER_S, or fewer if
 * there are no more; or "error POSITION TEXT".
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <elapse/cron.h>

static int answer(char *line)
{
    char zone_name[64];
    int64_t after_s;
    unsigned count;
    int expression_at = 0;
    struct elapse_cron cron;
    struct elapse_cron_fault fault;

    line[strcspn(line, "\n")] = '\0';
    /* NOLINTNEXTLINE(cert-err34-c): the tests write the numbers */
    if (sscanf(line, "%63s %" SCNd64 " %u %n", zone_name, &after_s, &count, &expression_at) != 3) {
        fprintf(stderr, "not a question: %s\n", line);
        return EXIT_FAILURE;
    }
    enum elapse_zone zone = strcmp(zone_name, "utc") == 0 ? ELAPSE_ZONE_UTC : ELAPSE_ZONE_LOCAL;
    const struct elapse_time_zone *named = NULL;
    if (zone == ELAPSE_ZONE_LOCAL && strcmp(zone_name, "local") != 0 &&
        elapse_time_zone_find(zone_name, &named) != ELAPSE_OK) {
        printf("error 0 there is no such zone\n");
        return EXIT_SUCCESS;
    }
    if (elapse_cron_parse(&cron, line + expression_at, &fault) != ELAPSE_OK) {
        printf("error %zu %s\n", fault.position, fault.text);
        return EXIT_SUCCESS;
    }
    elapse_cron_set_time_zone(&cron, named);
    for (unsigned i = 0; i < count && elapse_cron_next(&cron, zone, after_s, &after_s); i++)
        printf("%s%" PRId64, i > 0 ? " " : "", after_s);
    printf("\n");
    return EXIT_SUCCESS;
}

int main(void)
{
    static char line[4096];

    while (fgets(line, sizeof line, stdin) != NULL) {
        if (answer(line) != EXIT_SUCCESS)
            return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
