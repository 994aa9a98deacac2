/*
 * Tests which commands a user may send to the router, and with which user's rights the owner of a
 * partition runs a command.
 */
#include "../../../src/cluster/router/kinds.h"
#include "fixture.h"

static uint64_t no_wait(void *context, void *shell)
{
    (void)context, (void)shell;
    return 1;
}

static struct elapse__users users;

static bool digest_is_unused(const void *bytes, size_t size,
                             unsigned char digest[ELAPSE__DIGEST_BYTES])
{
    (void)bytes, (void)size;
    memset(digest, 0, ELAPSE__DIGEST_BYTES);
    return true;
}

/* A name is its own password; that of another node is "node". */
static bool admit(void *context, struct elapse__wire_resp_argument name,
                  struct elapse__wire_resp_argument password, struct elapse__identity *identity)
{
    (void)context;
    *identity = (struct elapse__identity){.user = NULL};
    if (password.size == 4 && memcmp(password.bytes, "node", 4) == 0)
        *identity = elapse__identity_node();
    else if (name.size == 1)
        *identity = (struct elapse__identity){
            .user = elapse__users_named(&users, name.bytes, name.size), .serial = users.serial};
    if (identity->user != NULL && identity->user != &elapse__user_node)
        memcpy(identity->digest, identity->user->digests[0], ELAPSE__DIGEST_BYTES);
    return name.size == 7 || identity->user != NULL;
}

static void read_users(const char *rights_of_a)
{
    static const char *const digits =
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abc";
    static char file[500];
    struct elapse__users_fault fault;
    uint64_t serial = users.serial + 1;

    snprintf(file, sizeof file, "a #%s000 %s\nb #%s111 look,admin\n", digits, rights_of_a, digits);
    elapse__users_free(&users);
    users = (struct elapse__users){.serial = serial, .digest = digest_is_unused};
    assert_true(elapse__users_parse(&users, file, strlen(file), &fault));
}

static void begin_with_users(struct fixture *f, const char *rights_of_a)
{
    read_users(rights_of_a);
    f->options.admit = admit;
    f->options.wrong_password = no_wait;
    f->options.users = &users;
    f->options.has_node_password = true;
    begin(f);
}

static void expect_refusal(struct fixture *f, struct elapse__router_client *from, const char *line)
{
    say(f, from, line);
    if (strncmp(got(f, from), "-NOPERM ", 8) != 0)
        fail_msg("%s is not refused", line);
}

/* The tests of the server compare the rules with each right. */
ROUTER_TEST(each_route_has_a_rule)
{
    (void)f;
    for (unsigned i = 0; elapse__router_route_at(i) != NULL; i++) {
        const struct elapse__router_route *route = elapse__router_route_at(i);
        const struct elapse__rule *rule = elapse__rule_of((struct elapse__wire_resp_argument){
            (const unsigned char *)route->name, (uint32_t)strlen(route->name)});
        assert_non_null(rule);
        assert_true(rule->right != ELAPSE__RIGHT_NONE || route->local != NULL || route->controls ||
                    strcmp(route->name, "COMMAND") == 0);
    }
}

ROUTER_TEST(a_user_does_what_its_line_says)
{
    begin_with_users(f, "put,work m*");
    struct elapse__router_client *c = client(f);
    say(f, c, "AUTH a a");
    expect(f, c, "+OK\r\n");
    expect_refusal(f, c, "PUT orders body");
    expect_refusal(f, c, "RESERVE mails orders");
    expect_refusal(f, c, "CANCEL orders k");
    expect_refusal(f, c, "KICKID 2");
    expect_refusal(f, c, "LIST mails");
    expect_refusal(f, c, "STATS");
    expect_refusal(f, c, "INFO");
    expect_refusal(f, c, "TUBES");
    expect_refusal(f, c, "CANCELALL mails");
    expect_refusal(f, c, "CLIENT LIST");
    expect_refusal(f, c, "NODE HELLO 1 orders 0");
    expect_sent(f, f->links[0], "");
    expect_sent(f, f->links[1], "");
    say(f, c, "PING\nCANCEL mails k");
    expect(f, c, "+PONG\r\n");
    /* A command by name is sent as it is, one by id with the user. */
    say(f, c, "ACK 2 1-1\nACK 3 1-1\nACK 2 1-1 3 1-1 4 1-2\nNACK 3 1-1 IN 1s");
    assert_non_null(strstr(sent(f, f->links[0]), "AS a ACK 2 1-1\nAS a ACK 2 1-1 4 1-2\n"));
    assert_non_null(
        strstr(sent(f, f->links[1]), "AS a ACK 3 1-1\nAS a ACK 3 1-1\nAS a NACK 3 1-1 IN 1s\n"));
    elapse__users_free(&users);
}

ROUTER_TEST(a_client_asks_who_it_is)
{
    struct elapse__router_client *c = client(f);

    say(f, c, "WHOAMI\nWHOAMI x");
    expect(f, c,
           "*6\r\n$4\r\nuser\r\n$7\r\ndefault\r\n$6\r\nrights\r\n*4\r\n$3\r\nput\r\n"
           "$4\r\nwork\r\n$4\r\nlook\r\n$5\r\nadmin\r\n$5\r\ntubes\r\n$-1\r\n"
           "-ERR wrong number of arguments for 'whoami' command\r\n");
    begin_with_users(f, "put mails,orders*");
    c = client(f);
    say(f, c, "AUTH a a");
    expect(f, c, "+OK\r\n");
    say(f, c, "WHOAMI");
    expect(f, c,
           "*6\r\n$4\r\nuser\r\n$1\r\na\r\n$6\r\nrights\r\n*1\r\n$3\r\nput\r\n"
           "$5\r\ntubes\r\n*2\r\n$5\r\nmails\r\n$7\r\norders*\r\n");
    elapse__users_free(&users);
}

ROUTER_TEST(a_user_of_all_tubes_needs_no_name_before_its_commands)
{
    begin_with_users(f, "put m*");
    struct elapse__router_client *c = client(f);
    say(f, c, "AUTH b b\nKICKID 3\nCANCELID x");
    expect_sent(f, f->links[1], "KICKID 3\n");
    elapse__users_free(&users);
}

ROUTER_TEST(a_command_by_id_that_is_not_well_formed_has_its_user_too)
{
    begin_with_users(f, "admin m*");
    struct elapse__router_client *c = client(f);
    say(f, c, "AUTH a a\nCANCELID 2 x");
    expect_sent(f, f->links[0], "AS a CANCELID 2 x\n");
    elapse__users_free(&users);
}

/* The owner looks at the tubes of ids and leases when EXEC runs. */
ROUTER_TEST(a_transaction_has_its_user_before_exec)
{
    begin_with_users(f, "put,work m*");
    struct elapse__router_client *c = client(f);
    say(f, c, "AUTH a a\nMULTI\nLEASED 2 1-1\nPUT mails body\nEXEC");
    expect_sent(f, f->links[0], "MULTI\nLEASED 2 1-1\nPUT mails body\nAS a EXEC\n");
    answer(f, f->links[0], "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+ok\r\n+ok\r\n");
    say(f, c, "MULTI\nPUT mails body KEY k\nEXEC");
    (void)got(f, c);
    assert_null(strstr(sent(f, f->links[0]), "AS"));
    assert_null(strstr(sent(f, f->links[1]), "AS"));
    elapse__users_free(&users);
}

ROUTER_TEST(rights_hold_when_a_command_comes_and_at_exec)
{
    begin_with_users(f, "put m*");
    struct elapse__router_client *c = client(f), *stranger = client(f);
    say(f, stranger, "MULTI\nKICKID 2\nEXEC");
    expect(f, stranger,
           "-NOAUTH Authentication required.\r\n-NOAUTH Authentication required.\r\n"
           "-NOAUTH Authentication required.\r\n");
    say(f, c, "AUTH a a\nMULTI\nPUT mails body\nPUT orders body\nEXEC");
    assert_non_null(strstr(got(f, c), "+QUEUED\r\n-NOPERM "));
    assert_non_null(strstr(f->text, "\r\n-EXECABORT "));
    say(f, c, "MULTI\nPUT mails body");
    expect(f, c, "+OK\r\n+QUEUED\r\n");
    read_users("put orders");
    expect_refusal(f, c, "EXEC");
    say(f, c, "EXEC");
    expect(f, c, "-ERR EXEC without MULTI\r\n");
    expect_sent(f, f->links[0], "");
    expect_sent(f, f->links[1], "");
    elapse__users_free(&users);
}

/* A password that is gone spoils the transaction: what comes after AUTH is no part of it. */
ROUTER_TEST(a_password_that_is_gone_spoils_a_transaction)
{
    begin_with_users(f, "put m*");
    struct elapse__router_client *c = client(f);
    say(f, c, "AUTH a a\nMULTI\nPUT mails 1");
    (void)got(f, c);
    elapse__users_free(&users);
    users = (struct elapse__users){.serial = 9, .digest = digest_is_unused};
    say(f, c, "PUT mails 2");
    expect(f, c, "-NOAUTH Authentication required.\r\n");
    read_users("put m*");
    say(f, c, "AUTH a a\nPUT mails 3\nEXEC");
    expect(f, c,
           "+OK\r\n+QUEUED\r\n"
           "-EXECABORT Transaction discarded because of previous errors.\r\n");
    expect_sent(f, f->links[0], "");
    expect_sent(f, f->links[1], "");
    elapse__users_free(&users);
}

ROUTER_TEST(users_that_are_read_again_hold_for_clients_that_are_there)
{
    begin_with_users(f, "put m*");
    struct elapse__router_client *c = client(f);
    say(f, c, "AUTH a a");
    expect(f, c, "+OK\r\n");
    read_users("put orders");
    expect_refusal(f, c, "PUT mails body");
    say(f, c, "PUT orders body KEY k");
    expect(f, c, "");
    elapse__users_free(&users);
}

ROUTER_TEST(only_nodes_are_nodes)
{
    begin_with_users(f, "put,work,look,admin");
    struct elapse__router_client *c = client(f), *node = client(f), *plain = client(f);
    struct elapse__router_given given;

    say(f, c, "AUTH a a");
    expect(f, c, "+OK\r\n");
    expect_refusal(f, c, "NODE HELLO 1 orders 0");
    /* The user default has all rights but this one. */
    say(f, plain, "AUTH anything");
    expect(f, plain, "+OK\r\n");
    expect_refusal(f, plain, "NODE HELLO 1 orders 0");
    say(f, plain, "KICKID 2");
    expect_sent(f, f->links[0], "KICKID 2\n");
    /* A node is nothing else. */
    say(f, node, "AUTH default node");
    expect(f, node, "+OK\r\n");
    expect_refusal(f, node, "PUT mails body");
    expect_refusal(f, node, "STATS");
    say(f, node, "NODE HELLO 1 orders 0");
    expect(f, node, "+OK\r\n");
    assert_true(elapse__router_client_given(node, &given));
    elapse__users_free(&users);
}

TEST_MAIN("router users")
