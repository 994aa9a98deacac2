/*
 * elapse password: draws a random password, and writes its line for the file of --users.
 */
#include <stdio.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../os/os.h"
#include "../../server/loop/users_file.h"
#include "../common/command.h"
#include "../common/options.h"
#include "../common/output.h"
#include "../common/text.h"

static const struct command_help help = {
    .usage = "Usage: elapse password [NAME RIGHTS [TUBES]]\n",
    .purpose = "Draws a password of 32 random bytes. The first line of the output is the\n"
               "password, for the client. The second one is for the file of --users of the\n"
               "server, and does not tell the password. RIGHTS are put, work, look, admin and\n"
               "node, TUBES are names of tubes, both with commas between them. A name that\n"
               "ends with '*' is for all tubes that begin so; without TUBES the user has all.\n",
    .example = "Examples:\n"
               "  elapse password shop put,look 'orders,mails*'\n"
               "  elapse password mailer work 'mails*'\n",
};

enum { SECRET_BYTES = 32, LINE_BYTES = 4096 };

static void write_hex(char *text, const unsigned char *bytes, size_t count)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < count; i++) {
        *text++ = digits[bytes[i] >> 4];
        *text++ = digits[bytes[i] & 15];
    }
    *text = '\0';
}

/* Checks the line in the same way as the server. */
static enum exit_status check(const char *line)
{
    struct elapse__users users = {.serial = 1};
    struct elapse__users_fault fault;

    if (!elapse__users_parse(&users, line, strlen(line), &fault))
        return usage_error("%s", fault.text);
    ELAPSE__ASSERT_THAT(users.count, ==, 1U);
    elapse__users_free(&users);
    return STATUS_OK;
}

static enum exit_status draw(const char *name, const char *rights, const char *tubes)
{
    unsigned char secret[SECRET_BYTES], digest[ELAPSE__DIGEST_BYTES];
    char password[2 * SECRET_BYTES + 1], hash[2 * ELAPSE__DIGEST_BYTES + 1];
    char line[LINE_BYTES];

    if (elapse__os->random_bytes(secret, sizeof secret) != 0)
        return error_of(STATUS_FAILED, "the system gives no random bytes now");
    write_hex(password, secret, sizeof secret);
    if (!elapse__users_digest(password, strlen(password), digest))
        return error_of(STATUS_FAILED, "out of memory");
    write_hex(hash, digest, sizeof digest);
    int size = snprintf(line, sizeof line, "%s #%s %s%s%s", name == NULL ? "NAME" : name, hash,
                        name == NULL ? "RIGHTS" : rights, tubes == NULL ? "" : " ",
                        tubes == NULL ? "" : tubes);
    if (size >= (int)sizeof line)
        return usage_error("the line is longer than 4095 bytes: edit the file of --users");
    enum exit_status status = name == NULL ? STATUS_OK : check(line);
    if (status != STATUS_OK)
        return status;
    output_add_format("%s\n%s\n", password, line);
    return output_finish();
}

enum exit_status password_command(int argc, char **argv)
{
    struct command_line line = {.help = &help};
    enum exit_status status;

    if (!options_read(&line, argc, argv, &status))
        return status;
    if (line.argument_count == 1 || line.argument_count > 3)
        return usage_error("give NAME RIGHTS [TUBES], or nothing");
    if (line.argument_count == 0)
        return draw(NULL, NULL, NULL);
    return draw(line.arguments[0], line.arguments[1],
                line.argument_count == 3 ? line.arguments[2] : NULL);
}
