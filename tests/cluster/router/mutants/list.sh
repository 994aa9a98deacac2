# shellcheck shell=bash
# The mutants. tests/support/mutants.sh says how a fault is written. N1 to N6 are the promises of src/cluster/router/router.h.

# ---- N1: one reply for each command, in its place ----

mutant reply_leaves_out_of_order src/cluster/router/command.c \
    '        if (!command->done){+ {+}
            [-break;-]{+command = ELAPSE__CONTAINER_OF(client->commands.previous, struct elapse__router_command, ring_node);
            size = elapse__buffer_size(&command->reply);
            if (!command->done)
                break;
        }+}'
mutant items_are_not_put_in_order src/cluster/router/answer.c \
    'if (command->items[i].[-partition != partition-]{+size != 0+})
            continue;'
mutant error_of_a_partition_is_said_once src/cluster/router/answer.c \
    'is_array ? at - begin : [-size-]{+i == 0 ? size : 0+});'
mutant reply_has_the_newest_version src/cluster/router/reply.c \
    'struct elapse__wire_resp_writer writer = {{+
        +}.resp3 = command->{+client == NULL ? command->resp3 : command->client->+}resp3};'
mutant cursor_without_its_partition src/cluster/router/merge.c \
    'cursor.integer * (int64_t)partitions[- + command->cursor_of-]'
mutant last_partition_has_no_page src/cluster/router/merge.c \
    'command->cursor_of + [-1-]{+2+} < partitions ?'
mutant greatest_is_added_up src/cluster/router/merge.c \
    'else if ([-!sum->is_greatest-]{+true+})'
mutant error_of_a_partition_is_not_said src/cluster/router/merge.c \
    '    if ([-head.kind == ELAPSE__WIRE_RESP_ERROR-]{+false+})
        elapse__router_keep_error(command, &head);'
mutant kick_asks_for_all_everywhere src/cluster/router/merge.c \
    'elapse__decimal_write(digits, command->wanted[- - command->counts[0]-])'
mutant kick_begins_elsewhere_each_time src/cluster/router/merge.c \
    '([-command->first-]{+elapse__router_home(client)+} + command->rounds)'

# ---- N2, N3: nothing twice; what was not sent was not done ----

mutant what_was_sent_is_sent_again src/cluster/router/fragment.c \
    '[-(was_sent && fragment->on_loss == ELAPSE__ROUTER_LOSS_UNKNOWN)-]{+false+}'
mutant partly_sent_is_wholly_sent src/cluster/router/fragment.c \
    'fragment->end_at [-<=-]{+- 10 <+} link->out_sent'
mutant wholly_sent_is_partly_sent src/cluster/router/fragment.c \
    'fragment->end_at <[-=-] link->out_sent'
mutant put_with_a_token_was_not_done src/cluster/router/fragment.c \
    '[-fragment->was_sent && fragment->on_loss != ELAPSE__ROUTER_LOSS_LOOK-]{+false+});'
mutant token_is_taken_for_a_look src/cluster/router/take.c \
    '[-put.may_repeat ? -]ELAPSE__ROUTER_LOSS_TOKEN[- : ELAPSE__ROUTER_LOSS_UNKNOWN-]'
mutant change_is_taken_for_a_look src/cluster/router/take.c \
    'return take_whole(call, partition,
                      [-call->route->looks ? -]ELAPSE__ROUTER_LOSS_LOOK[- : ELAPSE__ROUTER_LOSS_UNKNOWN-]);'
mutant greeting_is_not_waited_for src/cluster/router/link_bytes.c \
    'else if (!write_greeting(link))
        elapse__router_link_lose(link);{+
    else
        begin(link);+}'
mutant refused_greeting_is_taken src/cluster/router/link_bytes.c \
    "if ([-value[0] == '-'-]{+false+}) {"
mutant answer_before_the_command src/cluster/router/link_bytes.c \
    'if ([-fragment->end_at > link->out_sent || -]link->to_run == link->sent.next)
        return false;'
mutant answer_to_half_a_command src/cluster/router/link_bytes.c \
    '[- || link->to_run == link->sent.next-])'
mutant begun_command_was_not_sent src/cluster/router/link_bytes.c \
    '    {+if (is_done)
        +}link->out_sent = elapse__router_fragment_at(link->to_run)->end_at;'
mutant last_command_is_given_again src/cluster/router/link_bytes.c \
    '    if (is_done{+ && link->to_run->next != &link->sent+})
        elapse__router_link_run_at(link, link->to_run->next);'
mutant lost_link_has_commands src/cluster/router/link.c \
    'ELAPSE__ROUTER_LINK_LOST;[-
    elapse__router_link_run_at(link, &link->sent);-]'
mutant commands_have_no_window src/cluster/router/link.c \
    '        link->out_end[- += fragment->memory-]{++++};'
mutant client_may_speak_as_a_node src/cluster/router/route.c \
    '    {+{.name = "NODE", .kind = ELAPSE__ROUTER_ROUTE_ANY, .least = 1},
    +}{.name = "PING",'

# ---- N4: order within a partition ----

mutant lost_fragments_go_behind_the_others src/cluster/router/fragment.c \
    '[-elapse__ring_prepend-]{+elapse__ring_append+}(&lane->queued, last);'
mutant refused_fragments_go_behind_the_others src/cluster/router/fragment.c \
    '    [-put_in_front(lane, &back);
    -]put_in_front(lane, &link->returned);{+
    put_in_front(lane, &back);+}'
mutant old_owner_gets_new_commands src/cluster/router/lane.c \
    'lane->carrier->state [-=-]{+>+}= ELAPSE__ROUTER_LINK_OPEN;'
mutant sweep_overtakes src/cluster/router/take.c \
    'if ([-call->route->slow && !elapse__ring_empty(&call->client->commands)-]{+false+})'
mutant nothing_waits_behind_a_sweep src/cluster/router/take.c \
    '[-command->is_barrier = call->route->slow;-]'
mutant nothing_waits_behind_a_reserve src/cluster/router/reserve.c \
    '[-command->is_barrier = true;-]'

# ---- N5: hand-outs ----

mutant jobs_of_a_gone_client_are_kept src/cluster/router/reserve.c \
    '    if (command->client == NULL) {[-
        elapse__router_hands_give_back(router, command);-]
    } else {'
mutant unsent_reply_is_forgotten src/cluster/router/client.c \
    '[-    if (command->hand_count > 0)
        elapse__router_hands_give_back(router, command);-]'
mutant sent_reply_is_given_back src/cluster/router/client.c \
    'if (command->end_at >{+=+} client->out_sent)'
mutant partly_sent_reply_is_sent src/cluster/router/client.c \
    'if (command->end_at > client->out_sent{+ + 1+})'
mutant partition_is_asked_to_wait src/cluster/router/reserve.c \
    'make_question(client, command->reserve, arguments, [-tubes, places-]{+count - 1, (const uint32_t[4]){0}+})'
mutant waiter_is_asked_twice src/cluster/router/reserve.c \
    '[-        if (reserve->asks) {
            reserve->missed = true;
            chain->has_missed = true;
            continue;
        }-]'
mutant missed_waiter_is_forgotten src/cluster/router/reserve.c \
    '[-    else if (missed)
        make_up(router);-]'
mutant news_of_the_first_round_are_forgotten src/cluster/router/reserve.c \
    'if ([-reserve->readied != router->readied-]{+false+})'
mutant only_the_first_waiter_is_asked src/cluster/router/reserve.c \
    '[-    if (by_chain)
        go_on(router, partition);-]'
mutant same_tubes_are_asked_for_again src/cluster/router/reserve.c \
    'if ([-chain->empties[i] == hash-]{+false+})'
mutant partition_that_was_not_asked_is_empty src/cluster/router/reserve.c \
    '[-        reserve->left_out = true;-]'
mutant partition_that_was_lost_is_empty src/cluster/router/reserve.c \
    '[-    reserve->left_out |= end != ELAPSE__ROUTER_FRAGMENT_ANSWERED;-]'
mutant order_of_a_round_never_changes src/cluster/router/reserve.c \
    '(reserve->serial [-==-]{+<=+} router->serial || reserve->partitions != NULL)'
mutant own_partition_always_first src/cluster/router/reserve.c \
    '[-client->reserves++ % EVEN_ONE_IN == EVEN_ONE_IN - 1-]{+false+}'
mutant others_before_this_node src/cluster/router/reserve.c \
    'if (is_here == (pass == [-0-]{+1+}) &&'
mutant wait_has_no_end src/cluster/router/reserve.c \
    '[-elapse_wheel_start(&router->wheel, &reserve->alarm.timer, reserve->deadline_ms);-]'
mutant no_polling src/cluster/router/reserve.c \
    'if ([-router->partitions[i].chain.poll_at_ms <= router->now-]{+false+})'
mutant late_answer_is_thrown_away src/cluster/router/reserve.c \
    '    if ([-!reserve->asks-]{+true+})
        reply_nothing(reserve->command);'

# ---- N6: limits ----

mutant choked_client_goes_on src/cluster/router/client.c \
    'client->is_given[- ||
        elapse__router_client_is_choked(client)-])'
mutant expected_replies_do_not_count src/cluster/router/command.c \
    'return[- client->charges +-] elapse__buffer_size(&client->out) >='
mutant lane_is_never_full src/cluster/router/lane.c \
    'return [-lane->bytes >= lane->router->options.lane_bytes_max-]{+false+};'
mutant blocked_clients_are_forgotten src/cluster/router/fragment.c \
    '    elapse__router_fragment_free(fragment);[-
    let_in(lane);-]'
mutant link_takes_everything_at_once src/cluster/router/lane.c \
    '[-link->out_end - link->out_sent < ELAPSE__ROUTER_LINK_OUT-]{+true+}) {'
mutant reply_has_no_limit src/cluster/router/link_bytes.c \
    'return [-size - *used < most-]{+true+};'
mutant pipe_has_no_limit src/cluster/router/link.c \
    'return [-there < most ? most - there : 0-]{+most+};
    }'

# ---- time ----

mutant silent_link_stays src/cluster/router/lane.c \
    '[-if (elapse__ring_empty(&link->sent))
        -]return UINT64_MAX;'
mutant old_owner_is_waited_for src/cluster/router/lane.c \
    'return link->since_ms + options->[-parting_ms-]{+answer_ms+};'
mutant nothing_expires src/cluster/router/lane.c \
    '[-fragment->since_ms + router->options.retry_ms > router->now-]{+true+}) {'
mutant link_is_tried_at_once src/cluster/router/fragment.c \
    '[-(lane->has_moved ? 0 : lane->retry_after_ms)-]{+0+}'
mutant next_owner_has_to_wait src/cluster/router/fragment.c \
    '[-(lane->has_moved ? 0 : -]lane->retry_after_ms[-)-]'

# ---- routes ----

mutant tube_does_not_count src/cluster/router/route.c \
    '[-hash = (hash ^ tube_bytes[i]) * prime;-]'
mutant tube_and_key_run_together src/cluster/router/route.c \
    '[-    hash = (hash ^ (unsigned char)tube_size) * prime;-]'
mutant token_stays_at_home src/cluster/router/route.c \
    'else if ([-is_named-]{+false+}) {'
mutant id_zero_is_an_id src/cluster/router/route.c \
    '[- && *id > 0-];'
mutant password_is_not_asked_for src/cluster/router/take.c \
    'if ([-!client->known && !call->route->before_auth-]{+false+})'
mutant right_is_not_asked_for src/cluster/router/take.c \
    'if ([-!elapse__user_may_run(user, call->arguments, call->count, &refusal)-]{+false && refusal.of_all+}) {'
mutant right_is_checked_by_name_alone src/cluster/router/take.c \
    '    [-call->user = user;-]{+(void)user;+}'
mutant only_one_tube_of_a_reserve_is_checked src/users/rights.c \
    '[-i <= tubes-]{+i <= 1 && i <= tubes+}; i++)'
mutant users_before_hold_for_clients_that_are_there src/cluster/router/take.c \
    'if ([-!elapse__identity_refresh(&client->who, options->users)-]{+false+})'
mutant default_is_a_node src/cluster/router/take.c \
    'return [-!options->has_node_password-]{+true+} ||'
mutant client_guesses_on src/cluster/router/local.c \
    '++client->guesses >[-=-] ELAPSE__WIRE_GUESSES_MAX'
mutant reply_to_a_guess_does_not_wait src/cluster/router/local.c \
    'elapse_wheel_start(&router->wheel, &client->alarm.timer, router->now[- + wait_ms-])'
mutant commands_are_taken_behind_a_guess src/cluster/router/local.c \
    '[-command->is_barrier = true;-]'
mutant bytes_are_read_behind_a_guess src/cluster/router/command.c \
    'client->is_given[- ||
        client->guess != NULL-])'
mutant guess_of_a_closed_client_rings src/cluster/router/client.c \
    '[-(void)elapse_wheel_stop(&router->wheel, &client->alarm.timer);-]'
mutant leases_are_not_looked_at src/cluster/router/take.c \
    '[-leases_are_well_formed(call->arguments, end_of(items))-]{+true+}'
mutant options_behind_leases_are_not_looked_at src/cluster/router/take.c \
    '[-options_are_well_formed(call, end_of(items))-]{+true+}'
mutant options_behind_leases_are_lost src/cluster/router/take.c \
    '[-count += behind;-]'
mutant duration_behind_leases_is_not_looked_at src/cluster/router/take.c \
    'return [-place == 0 ||-]{+true ||+}'

# ---- what the node says of itself ----

mutant partition_is_here_before_it_can_be_asked src/cluster/router/local.c \
    '[- &&
                elapse__router_lane_is_open(&router->partitions[i].quick)-]'
mutant trouble_has_no_end src/cluster/router/link_bytes.c \
    "[-link->router->partitions[link->partition].trouble[0] = '\\0';-]"
mutant moving_is_trouble src/cluster/router/link_bytes.c \
    'if ([-!begins_with(value, size, "-NOTOWNER ")-]{+true+})'
mutant idle_with_answers_to_come src/cluster/router/life.c \
    '[-elapse__ring_empty(&link->sent) && -]elapse__buffer_size(&link->out) == 0'
mutant idle_with_unsent_answers src/cluster/router/life.c \
    'ELAPSE__CONTAINER_OF(i, const struct elapse__router_client, ring_node)->out) [-== 0-]{+< SIZE_MAX+};'

# ---- transactions ----

mutant put_with_a_brief_token_is_sent_again src/cluster/router/route.c \
    '[-life_ns >= least_ns-]{+life_ns > 0+};'
mutant old_node_hears_of_the_holder src/cluster/router/link.c \
    'return [-link->is_old && has_holder ? count - 2 : count-]{+count+}'
mutant old_node_is_never_greeted_as_one src/cluster/router/link_bytes.c \
    'link->router->partitions[link->partition].is_old = [-true-]{+false+}'
mutant next_owner_is_taken_for_an_old_node src/cluster/router/life.c \
    '[-    changed->is_old = false;-]'
mutant partition_hears_of_no_holder src/cluster/router/reserve.c \
    'count += [-asked[count + 1].size > 0 ? 2 : 0-]{+0+}'
mutant old_name_is_noted_each_time src/cluster/router/route.c \
    '[-    client->said_retry = true;-]'

# ---- braces ----

mutant braces_do_not_choose_a_puts_partition src/cluster/router/route.c \
    'if ([-elapse__router_find_whole(router, arguments[1], &put.partition)-]{+false+})'
mutant braces_count_without_hash_tags src/cluster/router/route.c \
    'return [-router->options.hash_tags && -]tube.size <='
mutant key_is_hashed_beside_braces src/cluster/router/route.c \
    'return [-elapse__router_find_whole(router, tube, &partition)-]{+false+}
               ? partition'
mutant all_partitions_are_asked_for_braces src/cluster/router/reserve.c \
    'const uint32_t rounds =
        [-reserve->partitions == NULL-]{+true+} ? router->options.partitions'
mutant waiters_are_asked_about_everywhere src/cluster/router/reserve.c \
    'if ([-!has_partition(reserve, partition)-]{+false+})
            continue;'
mutant one_tube_with_braces_is_enough src/cluster/router/reserve.c \
    'if (!elapse__router_find_whole(reserve->router, arguments[i], &partition))
            [-return true-]{+break+};'
mutant page_of_braces_goes_on_elsewhere src/cluster/router/merge.c \
    'if (cursor.integer == 0[- && command->is_whole-]{+ && false+})'
mutant kick_of_braces_goes_on_elsewhere src/cluster/router/merge.c \
    'is_over = [-command->is_whole-]{+false+} ||'
mutant limit_is_sent_again src/cluster/router/take.c \
    'call->count == [-2 ? ELAPSE__ROUTER_LOSS_LOOK : ELAPSE__ROUTER_LOSS_UNKNOWN-]{+0 ? ELAPSE__ROUTER_LOSS_UNKNOWN : ELAPSE__ROUTER_LOSS_LOOK+});'

# ---- transactions: one partition, one fragment, whole ----

mutant transaction_of_several_partitions_is_sent src/cluster/router/transaction.c \
    'if (transaction->partition != partition)
            transaction->where = ELAPSE__ROUTER_PARTS_[-SEVERAL-]{+ONE+};'
mutant token_chooses_before_a_key src/cluster/router/transaction.c \
    'if (is_likely && transaction->where != ELAPSE__ROUTER_PARTS_ANYWHERE)
        return;
    if (transaction->where >= ELAPSE__ROUTER_PARTS_[-ONE-]{+LIKELY+})'
mutant token_does_not_choose src/cluster/router/take.c \
    'if (put.chosen [-!= ELAPSE__ROUTER_PUT_ANYWHERE-]{+== ELAPSE__ROUTER_PUT_BY_PLACE+})'
mutant transaction_is_sent_again src/cluster/router/take.c \
    'elapse__router_lane_put(lane, command, ELAPSE__ROUTER_LOSS_[-UNKNOWN-]{+TOKEN+}, fragment);'
mutant core_that_has_begun_with_multi_has_begun_with_exec src/cluster/router/link_bytes.c \
    'if (is_done)
            link->run_first = link->run_first->behind;{+
        link->out_sent = elapse__router_fragment_at(link->to_run)->end_at;+}'
mutant transaction_goes_on_where_it_was_cut src/cluster/router/link.c \
    'for (struct elapse__router_fragment *at = fragment->front; at != NULL; at = at->behind) {{+
        if (fragment->sent_ms != 0 && at == fragment->front)
            continue;+}'
mutant core_gets_exec_alone src/cluster/router/link.c \
    'place == &link->sent ? NULL : [-elapse__router_fragment_at(place)->front-]{+NULL+};'
mutant answer_to_multi_is_that_of_exec src/cluster/router/link.c \
    'fragment->awaits = [-fragment->front-]{+NULL+};'
mutant old_node_gets_a_transaction src/cluster/router/lane.c \
    'if ([-link->is_old-]{+false+} && fragment->front != NULL) {'
mutant own_commands_are_run_if_nothing_is_done src/cluster/router/transaction.c \
    'else if (head.kind == ELAPSE__WIRE_RESP_NULL)
        [-reply_nothing(command);-]{+{
        while (command->locals != NULL)
            run_local(command);
        elapse__buffer_free(&command->reply);
        reply_nothing(command);
    }+}'
mutant commands_behind_exec_do_not_wait src/cluster/router/take.c \
    'command->is_barrier = [-command->locals != NULL-]{+false+};
    command->fragments = 1;
    elapse__router_lane_put'
mutant rights_are_looked_at_once src/cluster/router/take.c \
    'if ([-client->router->options.admit != NULL-]{+false+} && !check_rights_again(&exec)) {'
mutant wrong_command_is_forgotten src/cluster/router/take.c \
    'strlen(text) - 1);
    [-elapse__router_transaction_spoil(client);-]'
mutant transactions_of_before_are_counted_for_ever src/cluster/router/transaction.c \
    '[-router->kept -= transaction->memory;-]'
