/*
 * The file of users, and what a user may do to which tubes.
 */
#include "test.h"
#include "users.h"

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define C "0123456789abcdefABCDEF0123456789abcdefABCDEF0123456789abcdefABCD"

static struct elapse__users users;

/* A digest that a test can write: the first bytes of the password, and zeros. */
static bool digest(const void *bytes, size_t size, unsigned char out[ELAPSE__DIGEST_BYTES])
{
    memset(out, 0, ELAPSE__DIGEST_BYTES);
    memcpy(out, bytes, size < ELAPSE__DIGEST_BYTES ? size : ELAPSE__DIGEST_BYTES);
    return true;
}

static bool parse(const char *text, struct elapse__users_fault *fault)
{
    elapse__users_free(&users);
    users = (struct elapse__users){.serial = 1, .digest = digest};
    return elapse__users_parse(&users, text, strlen(text), fault);
}

static void reads(const char *text)
{
    struct elapse__users_fault fault;
    if (!parse(text, &fault))
        fail_msg("line %u: %s", (unsigned)fault.line, fault.text);
}

static void refuses(const char *text, uint32_t line, const char *why)
{
    struct elapse__users_fault fault;
    assert_false(parse(text, &fault));
    assert_int_equal(fault.line, line);
    if (strstr(fault.text, why) == NULL)
        assert_string_equal(fault.text, why);
    assert_null(users.users);
}

static const struct elapse__user *named(const char *name)
{
    const struct elapse__user *user = elapse__users_named(&users, name, strlen(name));
    assert_non_null(user);
    return user;
}

static struct elapse__wire_resp_argument text_of(const char *text)
{
    return (struct elapse__wire_resp_argument){(const unsigned char *)text, (uint32_t)strlen(text)};
}

TEST(a_file_has_users_between_comments_and_empty_lines)
{
    reads("# who\n\n  mails\t#" A "  put,look  mails*,orders \r\n#" B " put\nops #" C ",#" B
          " admin,look,work,put");
    assert_int_equal(users.count, 2);
    assert_int_equal(named("mails")->rights, ELAPSE__RIGHT_PUT | ELAPSE__RIGHT_LOOK);
    assert_int_equal(named("mails")->line, 3);
    assert_false(named("mails")->has_all_tubes);
    assert_int_equal(named("mails")->digests[0][31], 0xaa);
    assert_int_equal(named("ops")->digest_count, 2);
    assert_int_equal(named("ops")->digests[0][0], 0x01);
    assert_int_equal(named("ops")->digests[0][9], 0xcd);
    assert_true(named("ops")->has_all_tubes);
    assert_int_equal(named("ops")->rights & ELAPSE__RIGHT_NODE, 0);
    elapse__users_free(&users);
}

TEST(a_wrong_line_is_named_with_its_fault)
{
    refuses("", 0, "no user");
    refuses("# mails #" A " put\n\n", 0, "no user");
    refuses("a #" A " put\nsecret\n", 2, "NAME #SHA256 RIGHTS [TUBES]");
    refuses("a #" A, 1, "NAME #SHA256 RIGHTS [TUBES]");
    refuses("a #" A " put b c", 1, "more than four words");
    refuses("a:b #" A " put", 1, "a name has 1 to 64");
    refuses("0123456789012345678901234567890123456789012345678901234567890123x #" A " put", 1,
            "a name has 1 to 64");
    refuses("default #" A " put", 1, "the user default");
    refuses("a #" A " put\nb #" B " put\na #" C " put", 3, "line 1 has this user");
    refuses("a secret put", 1, "never the password itself");
    refuses("a #" A "a put", 1, "64 hexadecimal digits");
    refuses("a " A " put", 1, "64 hexadecimal digits");
    refuses("a #" A ", put", 1, "64 hexadecimal digits");
    refuses("a #g123456789abcdefABCDEF0123456789abcdefABCDEF0123456789abcdefABCD put", 1,
            "64 hexadecimal digits");
    refuses("a #" A " put\nb #" B ",#" A " put", 2, "line 1 has this password");
    refuses("a #" A ",#" A " put", 1, "line 1 has this password");
    refuses("a #" A " put,", 1, "there is no right ''");
    refuses("a #" A " Put", 1, "there is no right 'Put'");
    refuses("a #" A " all", 1, "there is no right 'all'");
    refuses("a #" A " pu", 1, "there is no right 'pu'");
    refuses("a #" A " put *b", 1, "only at the end");
    refuses("a #" A " put b**", 1, "only at the end");
    refuses("a #" A " put b,,c", 1, "1 to 200 bytes");
    refuses("a #" A " put,node b", 1, "right node");
    struct elapse__users_fault fault;
    users = (struct elapse__users){.serial = 1, .digest = digest};
    assert_false(elapse__users_parse(&users, "a\0 #" A " put", 72, &fault));
    assert_string_equal(fault.text, "it has a byte 0");
}

TEST(a_user_has_at_most_four_passwords)
{
    refuses("a #" A ",#" B ",#" C
            ",#dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"
            ",#eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee put",
            1, "at most 4 passwords");
}

static bool may(const char *name, enum elapse__right right, const char *tube)
{
    return elapse__user_may(named(name), right, tube, strlen(tube));
}

TEST(a_tube_is_a_name_or_the_beginning_of_names)
{
    reads("a #" A " put,work mails*,orders\nb #" B " put *\nc #" C " look x,*");
    assert_true(may("a", ELAPSE__RIGHT_PUT, "orders"));
    assert_true(may("a", ELAPSE__RIGHT_WORK, "mails"));
    assert_true(may("a", ELAPSE__RIGHT_PUT, "mails{eu}"));
    assert_true(may("a", ELAPSE__RIGHT_PUT, "mails*"));
    assert_false(may("a", ELAPSE__RIGHT_LOOK, "orders"));
    assert_false(may("a", ELAPSE__RIGHT_PUT, "order"));
    assert_false(may("a", ELAPSE__RIGHT_PUT, "orders2"));
    assert_false(may("a", ELAPSE__RIGHT_PUT, "mail"));
    assert_false(may("a", ELAPSE__RIGHT_PUT, "xmails"));
    assert_false(may("a", ELAPSE__RIGHT_PUT, "orders,mails"));
    assert_false(may("a", ELAPSE__RIGHT_PUT, ""));
    assert_false(may("a", ELAPSE__RIGHT_PUT, "Orders"));
    assert_true(may("b", ELAPSE__RIGHT_PUT, "anything"));
    assert_true(may("c", ELAPSE__RIGHT_LOOK, "anything"));
    assert_true(elapse__user_may_all(named("c"), ELAPSE__RIGHT_LOOK));
    assert_false(elapse__user_may_all(named("c"), ELAPSE__RIGHT_PUT));
    assert_false(elapse__user_may_all(named("a"), ELAPSE__RIGHT_PUT));
    elapse__users_free(&users);
}

static void runs(const char *name, const char *const *words, const char *error)
{
    struct elapse__wire_resp_argument arguments[8];
    struct elapse__refusal refusal;
    char text[ELAPSE__REFUSAL_BYTES] = "";
    uint32_t count = 0;

    for (; words[count] != NULL; count++)
        arguments[count] = text_of(words[count]);
    if (!elapse__user_may_run(named(name), arguments, count, &refusal))
        elapse__refusal_write(text, named(name), &refusal);
    assert_string_equal(text, error);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

TEST(a_command_needs_its_right_for_each_tube_that_it_names)
{
    reads("a #" A " put,work,look m*\nb #" B " look,admin\nn #" C " node");
    runs("a", WORDS("PUT", "mails", "body"), "");
    runs("a", WORDS("PUT", "orders", "body"),
         "NOPERM user a may not put jobs to tube orders; its line in the file of --users needs the "
         "right put, and this tube");
    runs("a", WORDS("PUT", "a b\n", "body"),
         "NOPERM user a may not put jobs to tube a?b?; its line in the file of --users needs the "
         "right put, and this tube");
    runs("a", WORDS("RESERVE", "m1", "m2", "WAIT", "1s"), "");
    runs("a", WORDS("RESERVE", "m1", "x", "WAIT", "1s"),
         "NOPERM user a may not take jobs of tube x; its line in the file of --users needs the "
         "right work, and this tube");
    runs("a", WORDS("RESERVE", "wait", "m2"),
         "NOPERM user a may not take jobs of tube wait; its line in the file of --users needs the "
         "right work, and this tube");
    runs("a", WORDS("STATS", "m1"), "");
    runs("a", WORDS("STATS"),
         "NOPERM user a may not look at all tubes; its line in the file of --users needs the right "
         "look, and all tubes");
    runs("b", WORDS("STATS"), "");
    runs("a", WORDS("KICKID", "1"),
         "NOPERM user a may not administer any tube; its line in the file of --users needs the "
         "right admin");
    runs("b", WORDS("KICKID", "1"), "");
    runs("b", WORDS("NODE", "HELLO"),
         "NOPERM user b may not be a node, and so change any tube; its line in the file of --users "
         "needs the right node");
    runs("n", WORDS("NODE", "HELLO"), "");
    runs("n", WORDS("ping"), "");
    runs(
        "n", WORDS("PUT", "t", "b"),
        "NOPERM user n may not put jobs to tube t; its line in the file of --users needs the right "
        "put, and this tube");
    elapse__users_free(&users);
}

TEST(a_command_without_a_rule_lets_no_user_pass)
{
    struct elapse__wire_resp_argument name = text_of("NEW");
    struct elapse__refusal refusal;

    reads("b #" B " put,work,look,admin,node");
    assert_false(elapse__user_may_run(named("b"), &name, 1, &refusal));
    elapse__users_free(&users);
}

TEST(an_identity_lasts_as_long_as_its_password)
{
    unsigned char found[ELAPSE__DIGEST_BYTES];
    struct elapse__identity who = {.user = NULL};
    reads("a #" A ",#" B " put\nb #" C " look");
    unsigned char bytes[ELAPSE__DIGEST_BYTES];
    memset(bytes, 0xbb, sizeof bytes);
    struct elapse__wire_resp_argument password = {bytes, sizeof bytes};
    assert_null(elapse__users_find(&users, text_of("b"), password, found));
    assert_null(elapse__users_find(&users, text_of("nobody"), password, found));
    who.user = elapse__users_find(&users, text_of("a"), password, who.digest);
    who.serial = 1;
    assert_ptr_equal(who.user, named("a"));
    /* The user has other rights, and stands elsewhere. */
    reads("b #" C " look\na #" B " work");
    users.serial = 2;
    assert_true(elapse__identity_refresh(&who, &users));
    assert_int_equal(who.user->rights, ELAPSE__RIGHT_WORK);
    /* The user has another password. */
    reads("a #" A " work");
    users.serial = 3;
    assert_false(elapse__identity_refresh(&who, &users));
    assert_null(who.user);
    assert_int_equal(who.serial, 0);
    /* Who has given the first one is not let in again by the second one. */
    reads("a #" B " work");
    users.serial = 4;
    assert_true(elapse__identity_refresh(&who, &users));
    assert_null(who.user);
    elapse__users_free(&users);
}

TEST_MAIN("users")
