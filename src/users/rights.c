#include "users.h"

#include <stdio.h>
#include <string.h>

#include "../base/assert.h"
#include "../protocol/resp_options.h"

#define BUILT_IN UINT64_MAX

const struct elapse__rule *elapse__rule_of(struct elapse__wire_resp_argument name)
{
    static const struct elapse__rule rules[] = {
#define RULE(NAME, RIGHT, SCOPE) {#NAME, ELAPSE__RIGHT_##RIGHT, ELAPSE__SCOPE_##SCOPE},
#define FREE(NAME)               {#NAME, ELAPSE__RIGHT_NONE, ELAPSE__SCOPE_NONE},
        ELAPSE__RULES(RULE) ELAPSE__FREE_COMMANDS(FREE)
#undef RULE
#undef FREE
    };

    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (elapse__wire_resp_is(name, rules[i].name))
            return &rules[i];
    }
    return NULL;
}

const struct elapse__user elapse__user_node = {
    .name = {.bytes = (const unsigned char *)"of --node-password", .size = 18},
    .rights = ELAPSE__RIGHT_NODE,
    .has_all_tubes = true,
};

const struct elapse__user elapse__user_nobody = {
    .name = {.bytes = (const unsigned char *)"that is not in the file of --users", .size = 34},
};

/* ---- which user it is ---- */

static bool is_same(const void *left, size_t left_size, const void *right, size_t right_size)
{
    return left_size == right_size && (left_size == 0 || memcmp(left, right, left_size) == 0);
}

const struct elapse__user *elapse__users_named(const struct elapse__users *users, const void *name,
                                               size_t size)
{
    for (size_t i = 0; i < users->count; i++) {
        const struct elapse__user *user = &users->users[i];
        if (is_same(user->name.bytes, user->name.size, name, size))
            return user;
    }
    return NULL;
}

/* Returns the user with this digest. Compares all bytes of all digests, so the time depends neither
 * on how many bytes are right nor on which user it is. */
static const struct elapse__user *find_digest(const struct elapse__users *users,
                                              const unsigned char *digest)
{
    size_t found = users->count;

    for (size_t i = 0; i < users->count; i++) {
        const struct elapse__user *user = &users->users[i];
        for (unsigned place = 0; place < user->digest_count; place++) {
            unsigned differs = 0;
            for (unsigned at = 0; at < ELAPSE__DIGEST_BYTES; at++)
                differs |= (unsigned)(user->digests[place][at] ^ digest[at]);
            found = differs == 0 ? i : found;
        }
    }
    return found == users->count ? NULL : &users->users[found];
}

const struct elapse__user *elapse__users_find(const struct elapse__users *users,
                                              struct elapse__wire_resp_argument name,
                                              struct elapse__wire_resp_argument password,
                                              unsigned char digest[ELAPSE__DIGEST_BYTES])
{
    ELAPSE__ASSERT(users->digest != NULL);
    if (!users->digest(password.bytes, password.size, digest))
        return NULL;
    const struct elapse__user *user = find_digest(users, digest);
    if (user == NULL || !is_same(user->name.bytes, user->name.size, name.bytes, name.size))
        return NULL;
    return user;
}

bool elapse__identity_refresh(struct elapse__identity *identity, const struct elapse__users *users)
{
    ELAPSE__ASSERT((identity->user == NULL) == (identity->serial == 0));
    if (identity->serial == 0 || identity->serial == BUILT_IN)
        return true;
    if (users != NULL && identity->serial == users->serial)
        return true;
    const struct elapse__user *user = users == NULL ? NULL : find_digest(users, identity->digest);
    if (user == NULL) {
        *identity = (struct elapse__identity){.user = NULL};
        return false;
    }
    ELAPSE__ASSERT(users->serial != 0 && users->serial != BUILT_IN);
    identity->user = user;
    identity->serial = users->serial;
    return true;
}

struct elapse__identity elapse__identity_node(void)
{
    return (struct elapse__identity){.user = &elapse__user_node, .serial = BUILT_IN};
}

/* ---- what the user may do ---- */

static bool fits(const unsigned char *pattern, size_t pattern_size, const void *tube, size_t size)
{
    bool is_prefix = pattern_size > 0 && pattern[pattern_size - 1] == '*';

    if (!is_prefix)
        return is_same(pattern, pattern_size, tube, size);
    return size >= pattern_size - 1 && memcmp(pattern, tube, pattern_size - 1) == 0;
}

bool elapse__user_may(const struct elapse__user *user, enum elapse__right right, const void *tube,
                      size_t size)
{
    const unsigned char *at = user->tubes.bytes;
    size_t left = user->tubes.size;

    ELAPSE__ASSERT(right != ELAPSE__RIGHT_NONE);
    if ((user->rights & right) == 0)
        return false;
    if (user->has_all_tubes)
        return true;
    while (left > 0) {
        const unsigned char *comma = memchr(at, ',', left);
        size_t pattern_size = comma == NULL ? left : (size_t)(comma - at);
        if (fits(at, pattern_size, tube, size))
            return true;
        at += pattern_size + (comma != NULL);
        left -= pattern_size + (comma != NULL);
    }
    return false;
}

bool elapse__user_may_all(const struct elapse__user *user, enum elapse__right right)
{
    return (user->rights & right) != 0 && user->has_all_tubes;
}

bool elapse__user_may_run(const struct elapse__user *user,
                          const struct elapse__wire_resp_argument *arguments, uint32_t count,
                          struct elapse__refusal *refusal)
{
    ELAPSE__ASSERT_THAT(count, >, 0U);
    const struct elapse__rule *rule = elapse__rule_of(arguments[0]);
    uint32_t tubes = count > 1 ? 1 : 0;

    *refusal = (struct elapse__refusal){.right = ELAPSE__RIGHT_NODE};
    if (rule == NULL)
        return false;
    refusal->right = rule->right;
    if (rule->right == ELAPSE__RIGHT_NONE)
        return true;
    refusal->of_all = rule->scope == ELAPSE__SCOPE_ALL ||
                      (rule->scope == ELAPSE__SCOPE_TUBE_OR_ALL && count == 1);
    if (refusal->of_all)
        return elapse__user_may_all(user, rule->right);
    if (rule->scope == ELAPSE__SCOPE_ID || rule->scope == ELAPSE__SCOPE_NONE)
        return (user->rights & rule->right) != 0;
    if (rule->scope == ELAPSE__SCOPE_TUBES && count > 1)
        tubes = elapse__wire_resp_count_tubes(arguments, count);
    for (uint32_t i = 1; i <= tubes; i++) {
        if (!elapse__user_may(user, rule->right, arguments[i].bytes, arguments[i].size)) {
            refusal->tube = arguments[i];
            return false;
        }
    }
    return true;
}

/* ---- what the user lacks, in words ---- */

static const struct words {
    const char *right, *verb;
} * words_of(enum elapse__right right)
{
    static const struct words words[] = {
        {"put", "put jobs to"},
        {"work", "take jobs of"},
        {"look", "look at"},
        {"admin", "administer"},
        {"node", "be a node, and so change"},
    };
    unsigned place = 0;

    while (place < sizeof words / sizeof *words - 1 && right >> place != 1)
        place++;
    ELAPSE__ASSERT_THAT((unsigned)right, ==, 1U << place); /* one right, and a known one */
    return &words[place];
}

enum { RIGHTS = 5 };

size_t elapse__user_bytes(const struct elapse__user *user)
{
    size_t tubes = user == NULL ? 0 : user->tubes.size;
    size_t values = 3 * 2 + RIGHTS + 2 + tubes; /* no tube has less than a byte */

    return values * ELAPSE__WIRE_RESP_FRAME_MAX + ELAPSE__USER_NAME_MAX + tubes + 64;
}

static void write_tubes(struct elapse__wire_resp_writer *writer,
                        struct elapse__wire_resp_argument tubes)
{
    const unsigned char *at = tubes.bytes;
    size_t left = tubes.size;
    size_t count = 1;

    for (size_t i = 0; i < left; i++)
        count += at[i] == ',';
    elapse__wire_resp_write_array(writer, count);
    for (; count > 0; count--) {
        const unsigned char *comma = memchr(at, ',', left);
        size_t size = comma == NULL ? left : (size_t)(comma - at);
        ELAPSE__ASSERT((comma == NULL) == (count == 1));
        elapse__wire_resp_write_bytes(writer, at, size);
        at += size + (comma != NULL);
        left -= size + (comma != NULL);
    }
}

void elapse__user_write(struct elapse__wire_resp_writer *writer, const struct elapse__user *user)
{
    unsigned rights = user == NULL ? ELAPSE__RIGHT_PUT | ELAPSE__RIGHT_WORK | ELAPSE__RIGHT_LOOK |
                                         ELAPSE__RIGHT_ADMIN
                                   : user->rights;
    size_t count = 0;

    for (unsigned right = ELAPSE__RIGHT_PUT; right <= ELAPSE__RIGHT_NODE; right <<= 1)
        count += (rights & right) != 0;
    ELAPSE__ASSERT_THAT(count, <=, (size_t)RIGHTS);
    elapse__wire_resp_write_map(writer, 3);
    elapse__wire_resp_write_text(writer, "user");
    if (user == NULL)
        elapse__wire_resp_write_text(writer, "default");
    else
        elapse__wire_resp_write_bytes(writer, user->name.bytes, user->name.size);
    elapse__wire_resp_write_text(writer, "rights");
    elapse__wire_resp_write_array(writer, count);
    for (unsigned right = ELAPSE__RIGHT_PUT; right <= ELAPSE__RIGHT_NODE; right <<= 1) {
        if ((rights & right) != 0)
            elapse__wire_resp_write_text(writer, words_of((enum elapse__right)right)->right);
    }
    elapse__wire_resp_write_text(writer, "tubes");
    if (user == NULL || user->has_all_tubes)
        elapse__wire_resp_write_null(writer);
    else
        write_tubes(writer, user->tubes);
}

void elapse__refusal_write(char text[ELAPSE__REFUSAL_BYTES], const struct elapse__user *user,
                           const struct elapse__refusal *refusal)
{
    enum { SHOWN_MAX = 64 };
    const struct words *words = words_of(refusal->right);
    char tube[SHOWN_MAX + 1] = "";
    size_t size = refusal->tube.size < SHOWN_MAX ? refusal->tube.size : SHOWN_MAX;

    for (size_t i = 0; i < size; i++) {
        unsigned char byte = refusal->tube.bytes[i];
        tube[i] = (char)(byte <= ' ' || byte == 0x7f ? '?' : byte);
    }
    (void)snprintf(text, ELAPSE__REFUSAL_BYTES,
                   "NOPERM user %.*s may not %s %s%s; its line in the file of --users needs the "
                   "right %s%s",
                   (int)user->name.size, (const char *)user->name.bytes, words->verb,
                   refusal->of_all ? "all tubes"
                   : size == 0     ? "any tube"
                                   : "tube ",
                   tube, words->right,
                   refusal->of_all ? ", and all tubes"
                   : size == 0     ? ""
                                   : ", and this tube");
}
