#include "users.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/assert.h"

enum { TUBE_BYTES_MAX = 200, WORDS_MAX = 4 };

/* A line that is being read. */
struct line {
    const struct elapse__users *users; /* the users of the lines before this one */
    struct elapse__users_fault *fault;
    struct elapse__wire_resp_argument
        words[WORDS_MAX]; /* the words of the line: NAME PASSWORDS RIGHTS TUBES */
    uint32_t word_count;
};

__attribute__((format(printf, 2, 3))) static bool refuse(const struct line *line,
                                                         const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(line->fault->text, sizeof line->fault->text, format, arguments);
    va_end(arguments);
    return false;
}

static bool is_blank(unsigned char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r';
}

/* Takes the next part of a word, which ends at a comma. Returns false if the word has no more
 * parts. */
static bool next_part(struct elapse__wire_resp_argument *word,
                      struct elapse__wire_resp_argument *part)
{
    if (word->bytes == NULL)
        return false;
    const unsigned char *comma = memchr(word->bytes, ',', word->size);
    *part = *word;
    if (comma == NULL) {
        *word = (struct elapse__wire_resp_argument){.bytes = NULL};
        return true;
    }
    part->size = (uint32_t)(comma - word->bytes);
    ELAPSE__ASSERT_THAT(part->size, <, word->size); /* the comma is in the word */
    word->bytes = comma + 1;
    word->size -= part->size + 1;
    return true;
}

/* ---- the parts of a line ---- */

static bool read_name(const struct line *line, struct elapse__user *user)
{
    static const char others[] = "._-@";
    struct elapse__wire_resp_argument name = line->words[0];
    bool is_well = name.size <= ELAPSE__USER_NAME_MAX;

    for (uint32_t i = 0; i < name.size && is_well; i++) {
        unsigned char c = name.bytes[i];
        is_well = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  (c != '\0' && strchr(others, c) != NULL);
    }
    if (!is_well)
        return refuse(line, "a name has 1 to 64 letters, digits, and '.', '_', '-', '@'");
    if (name.size == 7 && memcmp(name.bytes, "default", 7) == 0)
        return refuse(line, "the user default has the passwords of --auth, and all rights");
    ELAPSE__ASSERT_THAT(name.size, >, 0U); /* words have no blanks, so none is empty */
    const struct elapse__user *other = elapse__users_named(line->users, name.bytes, name.size);
    if (other != NULL)
        return refuse(line,
                      "line %u has this user: one line may have up to 4 passwords, with "
                      "commas between them",
                      (unsigned)other->line);
    user->name = name;
    return true;
}

static int digit_of(unsigned char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static bool read_digest(struct elapse__wire_resp_argument part, unsigned char *digest)
{
    if (part.size != 1 + 2 * ELAPSE__DIGEST_BYTES || part.bytes[0] != '#')
        return false;
    for (unsigned i = 0; i < ELAPSE__DIGEST_BYTES; i++) {
        int high = digit_of(part.bytes[1 + 2 * i]);
        int low = digit_of(part.bytes[2 + 2 * i]);
        if (high < 0 || low < 0)
            return false;
        digest[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

/* Returns the number of the line that has this password already. Returns 0 if no line has it. */
static uint32_t line_with(const struct line *line, const struct elapse__user *user,
                          const unsigned char *digest)
{
    for (unsigned i = 0; i < user->digest_count; i++)
        if (memcmp(user->digests[i], digest, ELAPSE__DIGEST_BYTES) == 0)
            return user->line;
    for (size_t at = 0; at < line->users->count; at++) {
        const struct elapse__user *other = &line->users->users[at];
        for (unsigned i = 0; i < other->digest_count; i++)
            if (memcmp(other->digests[i], digest, ELAPSE__DIGEST_BYTES) == 0)
                return other->line;
    }
    return 0;
}

/* Reads the passwords of a user. A password may belong to only one user, because a connection is
 * known by its password when the file is read again. */
static bool read_passwords(const struct line *line, struct elapse__user *user)
{
    struct elapse__wire_resp_argument word = line->words[1], part;
    unsigned char digest[ELAPSE__DIGEST_BYTES];

    while (next_part(&word, &part)) {
        if (!read_digest(part, digest))
            return refuse(line, "a password is '#' and the 64 hexadecimal digits of its SHA-256, "
                                "never the password itself: 'elapse password' writes the line");
        if (user->digest_count == ELAPSE__USER_PASSWORDS_MAX)
            return refuse(line, "a user has at most %d passwords", ELAPSE__USER_PASSWORDS_MAX);
        uint32_t other = line_with(line, user, digest);
        if (other != 0)
            return refuse(line, "line %u has this password: each user has passwords of its own",
                          (unsigned)other);
        memcpy(user->digests[user->digest_count++], digest, sizeof digest);
    }
    return true;
}

static bool read_rights(const struct line *line, struct elapse__user *user)
{
    static const char *const names[] = {"put", "work", "look", "admin", "node"};
    enum { NAMES = sizeof names / sizeof *names };
    struct elapse__wire_resp_argument word = line->words[2], part;

    while (next_part(&word, &part)) {
        unsigned i = 0;
        while (i < NAMES &&
               (part.size != strlen(names[i]) || memcmp(part.bytes, names[i], part.size) != 0))
            i++;
        if (i == NAMES)
            return refuse(line, "there is no right '%.*s': put, work, look, admin and node are",
                          (int)(part.size < 40 ? part.size : 40), (const char *)part.bytes);
        user->rights = (uint8_t)(user->rights | 1U << i);
    }
    return true;
}

static bool read_tubes(const struct line *line, struct elapse__user *user)
{
    struct elapse__wire_resp_argument word = line->words[3], part;

    user->has_all_tubes = line->word_count < 4;
    if (user->has_all_tubes)
        return true;
    while (next_part(&word, &part)) {
        if (part.size == 0 || part.size > TUBE_BYTES_MAX + 1)
            return refuse(line, "the name of a tube has 1 to 200 bytes");
        const unsigned char *star = memchr(part.bytes, '*', part.size);
        if (star != NULL && star != part.bytes + part.size - 1)
            return refuse(line, "a '*' stands only at the end of a tube, for all that begin so");
        if (part.size == 1 && star != NULL)
            user->has_all_tubes = true;
    }
    if ((user->rights & ELAPSE__RIGHT_NODE) != 0 && !user->has_all_tubes)
        return refuse(line, "a node changes all tubes: the right node goes with no list of tubes");
    user->tubes = line->words[3];
    return true;
}

/* ---- lines ---- */

/* Splits a line into words. */
static bool split(struct line *line, const unsigned char *bytes, size_t size)
{
    size_t at = 0;

    line->word_count = 0;
    for (;;) {
        while (at < size && is_blank(bytes[at]))
            at++;
        if (at == size)
            break;
        if (line->word_count == WORDS_MAX)
            return refuse(line, "there are more than four words: several tubes are one word, with "
                                "commas between them");
        size_t begin = at;
        while (at < size && !is_blank(bytes[at]))
            at++;
        line->words[line->word_count++] = (struct elapse__wire_resp_argument){
            .bytes = bytes + begin, .size = (uint32_t)(at - begin)};
    }
    if (line->word_count < 3)
        return refuse(line,
                      "a line is NAME #SHA256 RIGHTS [TUBES], with RIGHTS of put, work, look, "
                      "admin and node");
    return true;
}

static bool add(struct elapse__users *users, const struct elapse__user *user)
{
    /* The lines are read from the first to the last. */
    ELAPSE__ASSERT(users->count == 0 || users->users[users->count - 1].line < user->line);
    struct elapse__user *grown = realloc(users->users, (users->count + 1) * sizeof *grown);

    if (grown == NULL)
        return false;
    users->users = grown;
    grown[users->count++] = *user;
    return true;
}

static bool read_line(struct elapse__users *users, const unsigned char *bytes, size_t size,
                      struct elapse__users_fault *fault)
{
    struct line line = {.users = users, .fault = fault};
    struct elapse__user user = {.line = fault->line};
    size_t blanks = 0;

    while (blanks < size && is_blank(bytes[blanks]))
        blanks++;
    if (blanks == size || bytes[blanks] == '#')
        return true;
    if (memchr(bytes, '\0', size) != NULL)
        return refuse(&line, "it has a byte 0");
    if (!split(&line, bytes, size) || !read_name(&line, &user) || !read_passwords(&line, &user) ||
        !read_rights(&line, &user) || !read_tubes(&line, &user))
        return false;
    ELAPSE__ASSERT(user.digest_count > 0 && user.rights != 0);
    ELAPSE__ASSERT(user.has_all_tubes || user.tubes.size > 0);
    return add(users, &user) || refuse(&line, "out of memory");
}

bool elapse__users_parse(struct elapse__users *users, const char *text, size_t size,
                         struct elapse__users_fault *fault)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t left = size;

    ELAPSE__ASSERT(users->users == NULL && users->count == 0);
    *fault = (struct elapse__users_fault){.line = 0};
    while (left > 0) {
        const unsigned char *end = memchr(at, '\n', left);
        size_t length = end == NULL ? left : (size_t)(end - at);
        ELAPSE__ASSERT_THAT(length + (end != NULL), <=, left);
        fault->line++;
        if (!read_line(users, at, length, fault)) {
            elapse__users_free(users);
            return false;
        }
        at += length + (end != NULL);
        left -= length + (end != NULL);
    }
    if (users->count > 0)
        return true;
    *fault = (struct elapse__users_fault){.text = "it has no user in it"};
    return false;
}

void elapse__users_free(struct elapse__users *users)
{
    free(users->users);
    users->users = NULL;
    users->count = 0;
}
