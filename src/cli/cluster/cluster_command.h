/*
 * elapse cluster: the queue of a cluster, in its database.
 */
#ifndef ELAPSE_CLI_CLUSTER_CLUSTER_COMMAND_H
#define ELAPSE_CLI_CLUSTER_CLUSTER_COMMAND_H

#include "../common/command.h"

enum exit_status cluster_command(int argc, char **argv);

#endif
