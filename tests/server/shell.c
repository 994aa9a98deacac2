#include "shell.h"

#include <errno.h>

bool shell_turn(struct shell *shell, struct elapse__queue_now now)
{
    struct elapse__connection *connection;
    struct elapse__server_reading *reading;
    bool more = elapse__server_turn(shell->server, now);

    while (shell->reading_count < SHELL_READINGS_MAX &&
           (reading = elapse__server_reading(shell->server)) != NULL)
        shell->readings[shell->reading_count++] = reading;
    while ((connection = elapse__server_attention(shell->server)) != NULL)
        if (elapse__connection_wants_end(connection))
            shell->shut(connection);
    return more;
}

bool shell_read_one(struct shell *shell, struct elapse__queue_now now)
{
    if (shell->reading_count == 0)
        return false;
    struct elapse__server_reading *reading = shell->readings[--shell->reading_count];
    elapse__journal_read_perform(shell->engine->journal, true, &reading->reading, 1);
    elapse__server_reading_done(shell->server, now, reading);
    return true;
}

void shell_give_up_readings(struct shell *shell, struct elapse__queue_now now)
{
    struct elapse__server_reading *reading;

    while ((reading = shell->reading_count > 0 ? shell->readings[--shell->reading_count]
                                               : elapse__server_reading(shell->server)) != NULL) {
        reading->reading.error = EIO;
        elapse__server_reading_done(shell->server, now, reading);
    }
}
