/*
 * The subcommands: functions that get an argument vector of their own, in which argv[0] is "elapse"
 * and the name of the subcommand, as in its messages.
 */
#ifndef ELAPSE_CLI_COMMON_COMMAND_H
#define ELAPSE_CLI_COMMON_COMMAND_H

#include "message.h"

typedef enum exit_status command_function(int argc, char **argv);

/* Each function is in the file with its name. The exception is stats_command, which is in
 * lookup_command.c. verb_command runs the commands of client/verbs.h, and finds the command by
 * argv[0]. A program may be built without some of these functions. */
command_function backup_command, cancel_command, check_command, clients_command, cluster_command,
    cron_command, ended_command, export_command, find_command, generate_command, groups_command,
    history_command, whoami_command, import_command, list_command, lookup_command, password_command,
    put_command, replay_command, reschedule_command, run_command, serve_command, show_command,
    stats_command, top_command, verb_command, work_command;

#endif
