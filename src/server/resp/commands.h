/*
 * Declares the table of RESP's commands, and the functions that run them.
 */
#ifndef ELAPSE__RESP_COMMANDS_H
#define ELAPSE__RESP_COMMANDS_H

#include "resp.h"

/* Returns the command with this name, whatever the case of the letters. Returns NULL if there is no
 * such command. */
const struct elapse__resp_command *elapse__resp_find(struct elapse__wire_resp_argument name);

/* Returns the command with the number `place`. The numbers begin at 0. Returns NULL after the last
 * command. Only tests call this function. */
const struct elapse__resp_command *elapse__resp_command_at(unsigned place);

/* ---- the functions: the column `run` of the table ---- */

elapse__resp_function elapse__resp_put;
elapse__resp_function elapse__resp_cancel;
elapse__resp_function elapse__resp_cancel_id;
elapse__resp_function elapse__resp_cancel_all;
elapse__resp_function elapse__resp_reschedule;
elapse__resp_function elapse__resp_reschedule_id;
elapse__resp_function elapse__resp_arrive;
elapse__resp_function elapse__resp_kick;
elapse__resp_function elapse__resp_kick_id;
elapse__resp_function elapse__resp_pause;
elapse__resp_function elapse__resp_reserve;
elapse__resp_function elapse__resp_ack;
elapse__resp_function elapse__resp_nack;
elapse__resp_function elapse__resp_extend;
elapse__resp_function elapse__resp_bury;
elapse__resp_function elapse__resp_leased;
elapse__resp_function elapse__resp_multi;
elapse__resp_function elapse__resp_exec;
elapse__resp_function elapse__resp_discard;
elapse__resp_function elapse__resp_watch;
elapse__resp_function elapse__resp_look_up;
elapse__resp_function elapse__resp_look_up_id;
elapse__resp_function elapse__resp_list;
elapse__resp_function elapse__resp_recurring;
elapse__resp_function elapse__resp_history;
elapse__resp_function elapse__resp_find_key;
elapse__resp_function elapse__resp_stats;
elapse__resp_function elapse__resp_tubes;
elapse__resp_function elapse__resp_groups;
elapse__resp_function elapse__resp_limit;
elapse__resp_function elapse__resp_ping;
elapse__resp_function elapse__resp_echo;
elapse__resp_function elapse__resp_hello;
elapse__resp_function elapse__resp_auth;
elapse__resp_function elapse__resp_select;
elapse__resp_function elapse__resp_client;
elapse__resp_function elapse__resp_whoami;
elapse__resp_function elapse__resp_client_list;
elapse__resp_function elapse__resp_config;
elapse__resp_function elapse__resp_clock;
elapse__resp_function elapse__resp_info;
elapse__resp_function elapse__resp_quit;
elapse__resp_function elapse__resp_reset;

/* ---- the functions that format a reply that comes later, as struct elapse__protocol has them ----
 */

void elapse__resp_handed_out(struct elapse__connection *connection, uint64_t context,
                             const struct elapse__server_job *jobs, uint32_t count);
void elapse__resp_nothing(struct elapse__connection *connection, uint64_t context,
                          enum elapse__server_nothing why);
void elapse__resp_looked(struct elapse__connection *connection, uint64_t context,
                         const struct elapse__queue_view *view,
                         const struct elapse__engine_job *texts);

#endif
