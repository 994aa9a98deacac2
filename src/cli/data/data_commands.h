/*
 * elapse check, export, import and backup: upkeep of the directory of a durable queue.
 */
#ifndef ELAPSE_CLI_DATA_DATA_COMMANDS_H
#define ELAPSE_CLI_DATA_DATA_COMMANDS_H

#include "../common/message.h"

enum exit_status check_command(int argc, char **argv);
enum exit_status export_command(int argc, char **argv);
enum exit_status import_command(int argc, char **argv);
enum exit_status backup_command(int argc, char **argv);

#endif
