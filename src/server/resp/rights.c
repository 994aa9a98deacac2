#include "rights.h"

#include "reply.h"

/* Takes AS and the name of a user off the front of a command that came from a node. The command
 * then runs as this user. */
static void take_named_user(struct elapse__resp_call *call)
{
    struct elapse__wire_resp_argument name = call->arguments[1];

    call->user = elapse__users_named(elapse__session_options(call->connection)->keys.users,
                                     name.bytes, name.size);
    if (call->user == NULL)
        call->user = &elapse__user_nobody;
    call->arguments += 2;
    call->count -= 2;
    ELAPSE__ASSERT_THAT(call->count, >, 0); /* the name of the command is left */
}

void elapse__resp_find_user(struct elapse__resp_call *call)
{
    const struct elapse__server_options *options = elapse__session_options(call->connection);
    struct elapse__resp_session *session = call->session;

    ELAPSE__ASSERT(options->keys.users != NULL);
    if (options->is_behind_router) {
        if (call->count > 2 && elapse__wire_resp_is(call->arguments[0], "AS"))
            take_named_user(call);
        return;
    }
    if (!elapse__identity_refresh(&session->who, options->keys.users))
        session->known = false;
    call->user = session->who.user;
}

bool elapse__resp_is_allowed(const struct elapse__resp_call *call)
{
    struct elapse__refusal refusal;
    char text[ELAPSE__REFUSAL_BYTES];

    if (!call->session->known && (call->command->flags & ELAPSE__RESP_NO_AUTH) == 0) {
        (void)elapse__resp_reply_error(call->connection, "NOAUTH Authentication required.", NULL);
        return false;
    }
    if (call->user == NULL ||
        elapse__user_may_run(call->user, call->arguments, call->count, &refusal))
        return true;
    elapse__refusal_write(text, call->user, &refusal);
    (void)elapse__resp_reply_error(call->connection, text, NULL);
    return false;
}

bool elapse__resp_may_see(const struct elapse__resp_call *call, uint64_t id)
{
    const struct elapse__rule *rule = elapse__rule_of(call->arguments[0]);
    struct elapse__queue_view view;

    ELAPSE__ASSERT(rule != NULL && rule->scope == ELAPSE__SCOPE_ID);
    if (call->user == NULL)
        return true;
    if (elapse__queue_look_up_id(elapse__session_queue(call->connection),
                                 elapse__session_now(call->connection), id,
                                 &view) == ELAPSE__QUEUE_GONE)
        return true;
    /* The look-up also finds a cancelled job that a worker still has. */
    return elapse__user_may(call->user, rule->right, view.tube.bytes, view.tube.size);
}
