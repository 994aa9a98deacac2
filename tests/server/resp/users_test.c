/*
 * Tests what users may do, over RESP and over beanstalkd's protocol, and commands that a node of a
 * cluster sends for a user.
 */
#include <inttypes.h>

#include "core/guesses.h"
#include "talk.h"

#include "resp/commands.h"

static struct elapse__users users;
static char file[4096];

/* A digest that a test can write: the first bytes of the password, and zeros. */
static bool digest(const void *bytes, size_t size, unsigned char out[ELAPSE__DIGEST_BYTES])
{
    memset(out, 0, ELAPSE__DIGEST_BYTES);
    memcpy(out, bytes, size < ELAPSE__DIGEST_BYTES ? size : ELAPSE__DIGEST_BYTES);
    return true;
}

/* Reads a file of users anew, in the place of the table before. In `lines`, "PASSWORD#" after a
 * blank stands for the digest of the password. */
static void read_users(const char *lines)
{
    struct elapse__users_fault fault;
    size_t size = 0;

    for (const char *at = lines; *at != '\0';) {
        size_t word = strcspn(at, " \n");
        if (word > 0 && at[word - 1] == '#') {
            unsigned char hash[ELAPSE__DIGEST_BYTES];
            (void)digest(at, word - 1, hash);
            file[size++] = '#';
            for (unsigned i = 0; i < ELAPSE__DIGEST_BYTES; i++)
                size += (size_t)sprintf(file + size, "%02x", hash[i]);
        } else {
            memcpy(file + size, at, word);
            size += word;
        }
        at += word;
        if (*at != '\0')
            file[size++] = *at++;
        assert_true(size < sizeof file - 100);
    }
    elapse__users_free(&users);
    users.digest = digest;
    users.serial++;
    if (!elapse__users_parse(&users, file, size, &fault))
        fail_msg("line %u: %s", (unsigned)fault.line, fault.text);
}

/* Begins anew with users, and the connection `c`. */
static void serve_users(const char *lines)
{
    read_users(lines);
    options.keys.users = &users;
    hang_up(&c);
    serve();
    connect(&c);
}

static void become(const char *name_and_password)
{
    char words[100];
    snprintf(words, sizeof words, "AUTH %s", name_and_password);
    says(words, "+OK|");
}

/* Puts a job as a user with all rights, by another connection. Returns its id. */
static uint64_t job_in(const char *tube)
{
    struct client other;
    char words[100];
    unsigned long long id = 0;

    connect(&other);
    answers(&other, "AUTH all all", "+OK|");
    snprintf(words, sizeof words, "PUT %s body", tube);
    ask(&other, words);
    commit();
    assert_int_equal(sscanf(hear_some(&other, 1000), "*2\r\n:%llu", &id), 1);
    hang_up(&other);
    return id;
}

#define ALL "all all# put,work,look,admin,node\n"

RESP_TEST(a_user_is_known_by_name_and_password)
{
    serve_users(ALL "a secret# put mails\n");
    says("PING", "-NOAUTH Authentication required.|");
    become("a secret");
    says("PING", "+PONG|");
    says("PUT mails body", "*2|:1|+scheduled|");
    begins(&c, "PUT orders body", "-NOPERM user a may not put jobs to tube orders; ");
    /* Another user, on the same connection. */
    become("all all");
    says("PUT orders body", "*2|:2|+scheduled|");
    says("RESET", "+RESET|");
    says("PUT orders body", "-NOAUTH Authentication required.|");
    begins(&c, "HELLO 3 AUTH a secret", "%7|");
    begins(&c, "PUT orders body", "-NOPERM ");
}

RESP_TEST(a_client_asks_who_it_is)
{
    says("WHOAMI",
         "*6|$4|user|$7|default|$6|rights|*4|$3|put|$4|work|$4|look|$5|admin|$5|tubes|$-1|");
    says("WHOAMI x", "-ERR wrong number of arguments for 'whoami' command; syntax: WHOAMI |");
    serve_users(ALL "a secret# put,look mails,orders*\nb secreT# look\n");
    says("WHOAMI", "-NOAUTH Authentication required.|");
    become("a secret");
    says("WHOAMI", "*6|$4|user|$1|a|$6|rights|*2|$3|put|$4|look|$5|tubes|*2|$5|mails|$7|orders*|");
    become("b secreT");
    says("WHOAMI", "*6|$4|user|$1|b|$6|rights|*1|$4|look|$5|tubes|$-1|");
    become("all all");
    says("WHOAMI", "*6|$4|user|$3|all|$6|rights|*5|$3|put|$4|work|$4|look|$5|admin|$4|node|"
                   "$5|tubes|$-1|");
    begins(&c, "HELLO 3", "%7|");
    begins(&c, "WHOAMI", "%3|");
}

/* The answer to each of these comes at the same time and has the same text. */
RESP_TEST(a_wrong_name_is_as_slow_as_a_wrong_password)
{
    static const char *const guesses[] = {"AUTH a wrong", "AUTH nobody secret", "AUTH b secret",
                                          "AUTH default secret", "AUTH a secreT"};

    serve_users(ALL "a secret# put mails\nb other# put mails\n");
    for (size_t i = 0; i < sizeof guesses / sizeof *guesses; i++) {
        ask(&c, guesses[i]);
        hear(&c, "");
        pass(ELAPSE__GUESS_MS - 1);
        hear(&c, "");
        pass(1);
        hear(&c, "-WRONGPASS invalid username-password pair or user is disabled.|");
    }
    assert_true(elapse__connection_wants_end(c.connection));
}

RESP_TEST(the_user_default_has_the_other_passwords_and_all_rights)
{
    static const struct elapse__queue_text passwords[] = {{"plain", 5}};

    options.keys.passwords = passwords;
    options.keys.password_count = 1;
    serve_users("a secret# put mails\n");
    says("AUTH plain", "+OK|");
    says("PUT orders body", "*2|:1|+scheduled|");
    says("AUTH default plain", "+OK|");
    begins(&c, "STATS", "*");
    become("a secret");
    begins(&c, "STATS", "-NOPERM ");
}

/* ---- the table of commands ---- */

/* Well-formed arguments for each command. A command that is not here fails the test below. */
static const struct {
    const char *name, *words;
} samples[] = {
    {"PUT", "PUT t body"},
    {"ACK", "ACK 1 1-1"},
    {"NACK", "NACK 1 1-1"},
    {"PING", "PING"},
    {"BURY", "BURY 1 1-1"},
    {"KICK", "KICK t 1"},
    {"LIST", "LIST t"},
    {"FIND", "FIND k"},
    {"RECURRING", "RECURRING"},
    {"HISTORY", "HISTORY"},
    {"WHOAMI", "WHOAMI"},
    {"ECHO", "ECHO a"},
    {"AUTH", NULL},
    {"INFO", "INFO"},
    {"QUIT", NULL},
    {"HELLO", "HELLO 2"},
    {"STATS", "STATS t"},
    {"TUBES", "TUBES"},
    {"PAUSE", "PAUSE t 0s"},
    {"RESET", NULL},
    {"GROUPS", "GROUPS t"},
    {"CANCEL", "CANCEL t k"},
    {"EXTEND", "EXTEND 1 1-1"},
    {"KICKID", "KICKID 1"},
    {"LOOKUP", "LOOKUP t k"},
    {"SELECT", "SELECT 0"},
    {"CLIENT", "CLIENT ID"},
    {"CONFIG", "CONFIG GET x"},
    {"CLOCK", "CLOCK"},
    {"RESERVE", "RESERVE t"},
    {"COMMAND", "COMMAND COUNT"},
    {"LIMIT", "LIMIT t NONE"},
    {"EXEC", NULL},
    {"MULTI", NULL},
    {"WATCH", "WATCH k"},
    {"DISCARD", NULL},
    {"LEASED", "LEASED 1 1-1"},
    {"CANCELID", "CANCELID 1"},
    {"LOOKUPID", "LOOKUPID 1"},
    {"CANCELALL", "CANCELALL t"},
    {"RESCHEDULE", "RESCHEDULE t k IN 1s"},
    {"ARRIVE", "ARRIVE t k"},
    {"RESCHEDULEID", "RESCHEDULEID 1 IN 1s"},
};

static const char *sample_of(const char *name)
{
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        if (strcmp(samples[i].name, name) == 0)
            return samples[i].words;
    fail_msg("%s has no sample in this test", name);
    return NULL;
}

static const struct elapse__rule *rule_of(const struct elapse__resp_command *command)
{
    const struct elapse__rule *rule = elapse__rule_of((struct elapse__wire_resp_argument){
        (const unsigned char *)command->name, (uint32_t)strlen(command->name)});

    if (rule == NULL)
        fail_msg("%s has no rule", command->name);
    return rule;
}

static bool is_refused(struct client *client, const char *words)
{
    ask(client, words);
    commit();
    return strncmp(hear_some(client, 100000), "-NOPERM ", 8) == 0;
}

RESP_TEST(each_command_needs_the_right_of_its_row_and_no_other)
{
    static const char *const names[] = {"put", "work", "look", "admin", "node"};
    enum { RIGHTS = sizeof names / sizeof *names };
    char lines[1000] = ALL;

    for (unsigned i = 0; i < RIGHTS; i++)
        snprintf(lines + strlen(lines), 100, "%s %s# %s\n", names[i], names[i], names[i]);
    serve_users(lines);
    for (unsigned i = 0; i < RIGHTS; i++) {
        struct client client;
        char words[40];
        connect(&client);
        snprintf(words, sizeof words, "AUTH %s %s", names[i], names[i]);
        answers(&client, words, "+OK|");
        for (unsigned place = 0; elapse__resp_command_at(place) != NULL; place++) {
            const struct elapse__resp_command *command = elapse__resp_command_at(place);
            const char *sample = sample_of(command->name);
            unsigned right = rule_of(command)->right;
            if (sample != NULL && is_refused(&client, sample) != (right != 0 && right >> i != 1))
                fail_msg("%s of a user with the right %s", command->name, names[i]);
        }
        hang_up(&client);
    }
}

/* Commands that pass a test of rights by having too few arguments are refused for that. */
RESP_TEST(a_command_that_names_a_tube_cannot_leave_it_out)
{
    for (unsigned place = 0; elapse__resp_command_at(place) != NULL; place++) {
        const struct elapse__resp_command *command = elapse__resp_command_at(place);
        unsigned scope = rule_of(command)->scope;
        int least = command->arity < 0 ? -command->arity : command->arity;
        if (scope == ELAPSE__SCOPE_TUBE || scope == ELAPSE__SCOPE_TUBES ||
            scope == ELAPSE__SCOPE_ID)
            assert_true(least >= 2);
    }
}

RESP_TEST(a_tube_outside_the_rights_is_refused_by_its_name)
{
    serve_users(ALL "a a# put,work,look,admin mails*,t\n");
    become("a a");
    for (unsigned place = 0; elapse__resp_command_at(place) != NULL; place++) {
        const struct elapse__resp_command *command = elapse__resp_command_at(place);
        unsigned scope = rule_of(command)->scope;
        const char *sample = sample_of(command->name);
        char words[100];
        if (scope != ELAPSE__SCOPE_TUBE && scope != ELAPSE__SCOPE_TUBES &&
            scope != ELAPSE__SCOPE_TUBE_OR_ALL)
            continue;
        assert_false(is_refused(&c, sample));
        const char *tube = strstr(sample, " t") + 2;
        snprintf(words, sizeof words, "%.*s%s%s", (int)(tube - sample - 1), sample, "other", tube);
        assert_true(is_refused(&c, words));
        snprintf(words, sizeof words, "%.*s%s%s", (int)(tube - sample - 1), sample, "mails2", tube);
        assert_false(is_refused(&c, words));
    }
    assert_true(is_refused(&c, "RESERVE t mails other COUNT 2"));
    assert_false(is_refused(&c, "RESERVE t mails COUNT 2"));
    assert_true(is_refused(&c, "TUBES"));
    assert_true(is_refused(&c, "STATS"));
    assert_true(is_refused(&c, "INFO"));
    assert_true(is_refused(&c, "LIST other CURSOR 1 KEYS"));
}

/* ---- by id ---- */

/* Expects that a command about job `id` answers as about a job that does not exist, that a user of
 * the job's tube gets another answer, and that the job stays as it is. */
static void hides(uint64_t id, const char *command, const char *rest, const char *gone)
{
    enum elapse__queue_state state = state_of(id);
    char words[200], of_none[200];

    snprintf(words, sizeof words, "%s %" PRIu64 "%s", command, id, rest);
    snprintf(of_none, sizeof of_none, "%s 4711%s", command, rest);
    says(of_none, gone);
    says(words, gone);
    assert_int_equal(state_of(id), state);
}

RESP_TEST(a_job_of_another_tube_does_not_exist_by_its_id)
{
    char lease[60], words[200], pairs[200];

    serve_users(ALL "a a# put,work,look,admin mails*\n");
    become("a a");
    uint64_t ready = job_in("orders");
    uint64_t mine = job_in("mails");
    hides(ready, "LOOKUPID", "", "$-1|");
    hides(ready, "CANCELID", "", "*1|+gone|");
    hides(ready, "RESCHEDULEID", " IN 1s", "+gone|");
    hides(ready, "KICKID", "", "+gone|");
    snprintf(words, sizeof words, "CANCELID %" PRIu64 " %" PRIu64, ready, mine);
    says(words, "*2|+gone|+removed|");

    /* A lease that was guessed or stolen. */
    struct client worker;
    connect(&worker);
    answers(&worker, "AUTH all all", "+OK|");
    ask(&worker, "RESERVE orders");
    commit();
    unsigned life = 0;
    unsigned long long number = 0;
    assert_non_null(hear_some(&worker, 10000));
    struct elapse__queue_view view = look_at(ready);
    assert_int_equal(view.state, ELAPSE__QUEUE_RESERVED);
    life = view.lease.life;
    number = view.lease.number;
    snprintf(lease, sizeof lease, " %u-%llu", life, number);
    hides(ready, "EXTEND", lease, "+gone|");
    hides(ready, "NACK", lease, "+gone|");
    hides(ready, "BURY", lease, "+gone|");
    hides(ready, "ACK", lease, "*1|+gone|");
    snprintf(pairs, sizeof pairs, "NACK 4711 1-1 %" PRIu64 "%s IN 0s", ready, lease);
    says(pairs, "*2|+gone|+gone|");
    assert_int_equal(state_of(ready), ELAPSE__QUEUE_RESERVED);
    hides(ready, "LOOKUPID", "", "$-1|");

    /* A job that is cancelled and still in its worker's hands. */
    snprintf(words, sizeof words, "CANCELID %" PRIu64, ready);
    answers(&worker, words, "*1|+running|");
    assert_int_equal(state_of(ready), ELAPSE__QUEUE_SHADOW);
    hides(ready, "EXTEND", lease, "+gone|");
    hides(ready, "ACK", lease, "*1|+gone|");
    hides(ready, "CANCELID", "", "*1|+gone|");
    assert_int_equal(state_of(ready), ELAPSE__QUEUE_SHADOW);
    hang_up(&worker);
}

RESP_TEST(the_right_by_id_holds_in_the_tube_of_the_job)
{
    char words[100];

    serve_users(ALL "a a# look,admin mails*\nw w# work *\n");
    uint64_t mine = job_in("mails");
    become("a a");
    snprintf(words, sizeof words, "RESCHEDULEID %" PRIu64 " IN 0s", mine);
    says(words, "+rescheduled|");
    become("w w");
    begins(&c, words, "-NOPERM user w may not administer any tube");
    snprintf(words, sizeof words, "LOOKUPID %" PRIu64, mine);
    begins(&c, words, "-NOPERM ");
}

/* ---- transactions ---- */

RESP_TEST(a_transaction_does_what_its_user_may_do_when_it_is_run)
{
    serve_users(ALL "a secret# put,work,look,admin mails*\n");
    become("a secret");
    uint64_t other = job_in("orders");
    char words[100];

    says("MULTI", "+OK|");
    says("PUT mails x", "+QUEUED|");
    begins(&c, "PUT orders x", "-NOPERM user a may not put jobs to tube orders");
    begins(&c, "EXEC", "-EXECABORT ");
    assert_int_equal(elapse__queue_jobs(f.engine.jobs), 1);
    /* The rights change between MULTI and EXEC. */
    says("MULTI", "+OK|");
    says("PUT mails x", "+QUEUED|");
    read_users(ALL "a secret# put,work,look,admin bills\n");
    begins(&c, "EXEC", "-NOPERM user a may not put jobs to tube mails");
    assert_int_equal(elapse__queue_jobs(f.engine.jobs), 1);
    says("MULTI", "+OK|");
    says("PUT bills x", "+QUEUED|");
    read_users(ALL);
    begins(&c, "EXEC", "-NOAUTH ");
    assert_int_equal(elapse__queue_jobs(f.engine.jobs), 1);
    /* By id a job of another tube does not exist there, either. */
    read_users(ALL "a secret# put,work,look,admin mails*\n");
    says("DISCARD", "-NOAUTH Authentication required.|");
    says("RESET", "+RESET|");
    become("a secret");
    says("MULTI", "+OK|");
    snprintf(words, sizeof words, "CANCELID %" PRIu64, other);
    says(words, "+QUEUED|");
    says("PUT mails x", "+QUEUED|");
    says("EXEC", "*2|*1|+gone|*2|:2|+scheduled|");
    assert_int_equal(state_of(other), ELAPSE__QUEUE_READY);
    /* A lease of another tube guards nothing: it has ended. */
    struct client worker;
    connect(&worker);
    answers(&worker, "AUTH all all", "+OK|");
    ask(&worker, "RESERVE orders");
    commit();
    assert_non_null(hear_some(&worker, 10000));
    struct elapse__queue_view view = look_at(other);
    says("MULTI", "+OK|");
    snprintf(words, sizeof words, "LEASED %" PRIu64 " %u-%" PRIu64, other,
             (unsigned)view.lease.life, view.lease.number);
    says(words, "+QUEUED|");
    says("PUT mails x", "+QUEUED|");
    says("EXEC", "*-1|");
    hang_up(&worker);
}

/* Commands by id, with what they answer about a job that is hidden, and about one that is not. The
 * job is reserved. */
static const struct change {
    const char *command, *rest; /* NULL: its lease */
    const char *gone, *done;
} changes[] = {
    {"ACK", NULL, "*1|+gone|", "*1|+ok|"},
    {"NACK", NULL, "+gone|", "+ok|"},
    {"EXTEND", NULL, "+gone|", "+ok|"},
    {"BURY", NULL, "+gone|", "+ok|"},
    {"CANCELID", "", "*1|+gone|", "*1|+running|"},
    {"RESCHEDULEID", " IN 1s", "+gone|", "+running|"},
    {"KICKID", "", "+gone|", "+running|"},
};

enum { CHANGES = sizeof changes / sizeof *changes };

struct held {
    uint64_t id;
    char lease[60]; /* with a blank before it */
};

/* Puts a job into a tube, and lets `owner` reserve it. */
static struct held held_in(struct client *owner, const char *tube)
{
    struct held held = {.id = job_in(tube)};
    char words[100];

    snprintf(words, sizeof words, "RESERVE %s", tube);
    begins(owner, words, "*1|*8|");
    struct elapse__queue_view view = look_at(held.id);
    assert_int_equal(view.state, ELAPSE__QUEUE_RESERVED);
    snprintf(held.lease, sizeof held.lease, " %u-%" PRIu64, (unsigned)view.lease.life,
             view.lease.number);
    return held;
}

/* Begins a transaction with a command about a job, and with a put behind it. */
static void queue_both(struct client *client, const struct change *row, const struct held *held,
                       const char *reply)
{
    char words[200];

    snprintf(words, sizeof words, "%s %" PRIu64 "%s", row->command, held->id,
             row->rest == NULL ? held->lease : row->rest);
    answers(client, "MULTI", "+OK|");
    begins(client, words, reply);
    answers(client, "PUT mails x", "+QUEUED|");
}

/* Runs the two, and expects this reply to the first. */
static void run_both(struct client *client, const char *answer)
{
    char reply[100];

    snprintf(reply, sizeof reply, "*2|%s*2|:", answer);
    begins(client, "EXEC", reply);
}

/* Expects that the job is as it was a second after it was reserved. */
static void is_untouched(uint64_t id)
{
    struct elapse__queue_view view = look_at(id);

    assert_int_equal(view.state, ELAPSE__QUEUE_RESERVED);
    assert_int_equal(view.left_ms, view.ttr_ms - 1000);
}

RESP_TEST(a_transaction_changes_no_job_of_another_tube)
{
    struct client owner;

    serve_users(ALL "a a# put,work,look,admin mails*\n");
    become("a a");
    connect(&owner);
    answers(&owner, "AUTH all all", "+OK|");
    for (size_t i = 0; i < CHANGES; i++) {
        struct held held = held_in(&owner, changes[i].command);
        pass(1000);
        queue_both(&c, &changes[i], &held, "+QUEUED|");
        run_both(&c, changes[i].gone);
        is_untouched(held.id);
        queue_both(&owner, &changes[i], &held, "+QUEUED|");
        run_both(&owner, changes[i].done);
    }
    hang_up(&owner);
}

/* The rights by which a command was queued are those of another tube, or of another kind, when the
 * transaction is run. */
RESP_TEST(rights_that_are_taken_away_before_exec_hold)
{
    static const struct change leased = {"LEASED", NULL, "", ""};
    struct client owner;

    serve_users(ALL);
    connect(&owner);
    answers(&owner, "AUTH all all", "+OK|");
    for (size_t i = 0; i <= CHANGES; i++) {
        const struct change *row = i < CHANGES ? &changes[i] : &leased;
        struct held held = held_in(&owner, row->command);
        pass(1000);
        read_users(ALL "a a# put,work,admin\n");
        become("a a");
        queue_both(&c, row, &held, "+QUEUED|");
        uint64_t jobs = elapse__queue_jobs(f.engine.jobs);
        read_users(ALL "a a# put\n");
        begins(&c, "EXEC", "-NOPERM user a may not ");
        assert_int_equal(elapse__queue_jobs(f.engine.jobs), jobs);
        is_untouched(held.id);
        says("EXEC", "-ERR EXEC without MULTI|");

        read_users(ALL "a a# put,work,admin\n");
        queue_both(&c, row, &held, "+QUEUED|");
        read_users(ALL "a a# put,work,admin mails\n");
        if (row == &leased)
            says("EXEC", "*-1|");
        else
            run_both(&c, row->gone);
        is_untouched(held.id);
        assert_int_equal(elapse__queue_jobs(f.engine.jobs), jobs + (row != &leased));
    }
    hang_up(&owner);
}

RESP_TEST(a_transaction_takes_no_command_without_its_right)
{
    static const struct change leased = {"LEASED", NULL, "", ""};
    struct client owner;

    serve_users(ALL "p p# put\n");
    become("p p");
    connect(&owner);
    answers(&owner, "AUTH all all", "+OK|");
    for (size_t i = 0; i <= CHANGES; i++) {
        const struct change *row = i < CHANGES ? &changes[i] : &leased;
        struct held held = held_in(&owner, row->command);
        uint64_t jobs = elapse__queue_jobs(f.engine.jobs);
        pass(1000);
        queue_both(&c, row, &held, "-NOPERM user p may not ");
        begins(&c, "EXEC", "-EXECABORT ");
        is_untouched(held.id);
        assert_int_equal(elapse__queue_jobs(f.engine.jobs), jobs);
    }
    hang_up(&owner);
}

/* ---- the file changes ---- */

RESP_TEST(a_file_that_is_read_again_holds_for_connections_that_are_there)
{
    serve_users(ALL "a secret# put mails\n");
    become("a secret");
    says("PUT mails body", "*2|:1|+scheduled|");
    read_users("x x# look\na secret# put orders\n");
    begins(&c, "PUT mails body", "-NOPERM ");
    says("PUT orders body", "*2|:2|+scheduled|");
    read_users("x x# look\na other# put orders\n");
    says("PUT orders body", "-NOAUTH Authentication required.|");
    read_users("a secret# put orders\n");
    says("PUT orders body", "-NOAUTH Authentication required.|");
    become("a secret");
    says("PUT orders body", "*2|:3|+scheduled|");
    read_users("a other# put orders\n");
    become("a other");
}

/* ---- behind a router ---- */

RESP_TEST(a_node_says_for_whom_a_command_by_id_is)
{
    serve_users(ALL "a a# put,work,look,admin mails*\nw w# work\n");
    uint64_t other = job_in("orders");
    char words[100];

    options.is_behind_router = true;
    hang_up(&c);
    serve();
    connect(&c);
    snprintf(words, sizeof words, "AS a KICKID %" PRIu64, other);
    says(words, "+gone|");
    snprintf(words, sizeof words, "AS nobody KICKID %" PRIu64, other);
    begins(&c, words, "-NOPERM user that is not in the file of --users");
    snprintf(words, sizeof words, "AS w KICKID %" PRIu64, other);
    begins(&c, words, "-NOPERM user w may not administer");
    snprintf(words, sizeof words, "AS w AS all KICKID %" PRIu64, other);
    begins(&c, words, "-ERR unknown command 'AS'");
    begins(&c, "AS a", "-ERR unknown command 'AS'");
    snprintf(words, sizeof words, "AS all KICKID %" PRIu64, other);
    says(words, "+ok|");
    snprintf(words, sizeof words, "KICKID %" PRIu64, other);
    says(words, "+ok|");
    /* The user of one command is not that of the next one. */
    says("AS a LOOKUPID 4711", "$-1|");
    says("PUT orders x", "*2|:2|+scheduled|");
}

RESP_TEST(a_client_cannot_say_for_whom_a_command_is)
{
    serve_users(ALL "a a# put,work,look,admin mails*\n");
    uint64_t other = job_in("orders");
    char words[100];

    become("a a");
    snprintf(words, sizeof words, "AS all CANCELID %" PRIu64, other);
    says(words, "-ERR unknown command 'AS'|");
    assert_int_equal(state_of(other), ELAPSE__QUEUE_READY);
}

RESP_TEST(a_command_that_has_begun_is_not_refused)
{
    static const char *const later[][2] = {{ALL "a a# put t\n", "-NOPERM "}, {ALL, "-NOAUTH "}};
    enum { JOBS = 300 };
    static char words[JOBS * 5], expected[JOBS * 10];

    for (unsigned i = 0; i < 2; i++) {
        serve_users(ALL "a a# put,admin t\n");
        become("a a");
        ask_many(&c, JOBS, "PUT t b IN 1h");
        size_t size = (size_t)sprintf(words, "CANCELID");
        size_t reply = (size_t)sprintf(expected, "*%d|", JOBS);
        for (unsigned id = 1; id <= JOBS; id++) {
            size += (size_t)sprintf(words + size, " %u", id + i * JOBS);
            reply += (size_t)sprintf(expected + reply, "+%s|",
                                     id <= ELAPSE__RESP_PARTS_A_STEP ? "removed" : "gone");
        }
        ask(&c, words);
        read_users(later[i][0]);
        hear(&c, expected);
        begins(&c, words, later[i][1]);
    }
}

/* ---- beanstalkd's protocol ---- */

static void serve_beanstalkd(const char *lines, const char *user, struct client *client)
{
    options.beanstalkd = &elapse__beanstalkd;
    options.beanstalkd_user = user;
    serve_users(lines);
    connect(client);
}

static void line(struct client *client, const char *text, const char *reply)
{
    char lines[200];

    snprintf(lines, sizeof lines, "%s\r\n", text);
    say(client, lines);
    commit();
    const char *heard = hear_some(client, 10000);
    if (strncmp(heard, reply, strlen(reply)) != 0)
        assert_string_equal(heard, reply);
}

RESP_TEST(beanstalkds_protocol_has_the_rights_of_its_user)
{
    static const char *const refused[] = {
        "put 0 0 1 1\r\nx", "peek-ready",        "peek-delayed",           "peek-buried",
        "kick 1",           "reserve",           "reserve-with-timeout 0", "stats",
        "list-tubes",       "stats-tube orders", "pause-tube orders 1",
    };
    struct client b;
    char words[100];

    serve_beanstalkd(ALL "bean bean# put,work,look,admin mails*\n", "bean", &b);
    uint64_t other = job_in("orders");
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        line(&b, refused[i], "UNAUTHORIZED: user bean may not ");
    static const char *const by_id[] = {"peek",  "reserve-job", "delete",
                                        "touch", "kick-job",    "stats-job"};
    for (size_t i = 0; i < sizeof by_id / sizeof *by_id; i++) {
        snprintf(words, sizeof words, "%s %" PRIu64, by_id[i], other);
        line(&b, words, "NOT_FOUND\r\n");
    }
    snprintf(words, sizeof words, "release %" PRIu64 " 0 0", other);
    line(&b, words, "NOT_FOUND\r\n");
    snprintf(words, sizeof words, "bury %" PRIu64 " 0", other);
    line(&b, words, "NOT_FOUND\r\n");
    assert_int_equal(state_of(other), ELAPSE__QUEUE_READY);
    line(&b, "use mails", "USING mails");
    line(&b, "put 0 0 1 1\r\nx", "INSERTED 2");
    line(&b, "watch mails", "WATCHING 2");
    line(&b, "reserve-with-timeout 0", "UNAUTHORIZED: user bean may not take jobs of tube default");
    line(&b, "ignore default", "WATCHING 1");
    line(&b, "watch orders", "WATCHING 2");
    line(&b, "reserve-with-timeout 0", "UNAUTHORIZED: user bean may not take jobs of tube orders");
    line(&b, "ignore orders", "WATCHING 1");
    line(&b, "reserve-with-timeout 0", "RESERVED 2 1\r\nx");
    line(&b, "touch 2", "TOUCHED");
    line(&b, "delete 2", "DELETED");
    line(&b, "list-tube-used", "USING mails");
    line(&b, "list-tubes-watched", "OK");
    /* The file is read again: the user has less rights, or is gone. */
    read_users("bean bean# look mails*\n");
    line(&b, "put 0 0 1 1\r\nx", "UNAUTHORIZED: user bean may not put");
    line(&b, "peek-ready", "NOT_FOUND");
    read_users("x x# look\n");
    line(&b, "peek-ready", "UNAUTHORIZED: user that is not in the file");
}

RESP_TEST(a_beanstalkd_user_without_admin_deletes_what_it_has_reserved_alone)
{
    struct client b;

    serve_beanstalkd(ALL "bean bean# put,work\n", "bean", &b);
    line(&b, "put 0 0 9 1\r\nx", "INSERTED 1");
    line(&b, "delete 1", "NOT_FOUND");
    line(&b, "kick-job 1", "NOT_FOUND");
    line(&b, "peek 1", "NOT_FOUND");
    line(&b, "stats-job 1", "NOT_FOUND");
    line(&b, "reserve", "RESERVED 1");
    line(&b, "delete 1", "DELETED");
}

RESP_TEST(a_command_of_beanstalkd_that_has_begun_is_not_refused)
{
    struct client b;

    serve_beanstalkd(ALL "bean bean# admin,look,work default\n", "bean", &b);
    become("all all");
    ask_many(&c, 3000, "PUT default b IN 1h");
    say(&b, "kick 3000\r\n");
    read_users(ALL "bean bean# work default\n");
    line(&b, "kick 1", "KICKED 3000\r\nUNAUTHORIZED: ");
    /* A command that waits for the reply to another one finds no job of another tube. */
    uint64_t other = job_in("orders");
    char words[60];
    snprintf(words, sizeof words, "reserve-job 1\r\ndelete %" PRIu64, other);
    line(&b, words, "RESERVED 1 1\r\nb\r\nNOT_FOUND\r\n");
}

/* Each command of beanstalkd has a row with a scope: without one it fails an assertion. */
RESP_TEST(each_command_of_beanstalkd_is_known_to_the_rights)
{
    static const char *const all[] = {"put 0 0 1 1\r\nx",
                                      "peek 9",
                                      "peek-ready",
                                      "peek-delayed",
                                      "peek-buried",
                                      "reserve-with-timeout 0",
                                      "reserve-job 9",
                                      "delete 9",
                                      "release 9 0 0",
                                      "use t",
                                      "watch t",
                                      "ignore t",
                                      "bury 9 0",
                                      "kick 1",
                                      "kick-job 9",
                                      "touch 9",
                                      "stats",
                                      "stats-job 9",
                                      "stats-tube t",
                                      "list-tubes",
                                      "list-tube-used",
                                      "list-tubes-watched",
                                      "pause-tube t 0"};
    struct client b;

    serve_beanstalkd("none none# node\n", "none", &b);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        line(&b, all[i], "");
    assert_int_equal(elapse__queue_jobs(f.engine.jobs), 0);
}

TEST_MAIN("resp-users")
