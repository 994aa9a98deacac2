/*
 * Where the server is, and how a client proves who it is. The values come from options that all
 * commands of the client have, or from variables of the environment.
 */
#ifndef ELAPSE_CLI_CLIENT_SETTINGS_H
#define ELAPSE_CLI_CLIENT_SETTINGS_H

#include <stdint.h>

#include "../../server/loop/settings.h"
#include "../../server/loop/tls.h"
#include "../common/options.h"

struct client_settings {
    const char *server; /* the address as the user gave it */
    const char *token_file;
    const char *user; /* NULL: "default" */
    const char *authorities;
    const char *certificate;
    const char *key;
    uint64_t timeout_ns; /* for making a connection, and for each reply */

    /* The next values are results of client_settings_read. */
    struct elapse__loop_listen address;
    struct elapse__tls_keys *trust; /* NULL: without TLS */
    char *token;                    /* the password; NULL: none */
};

enum { CLIENT_OPTION_COUNT = 8 };

/* Appends the options to a table that has room for CLIENT_OPTION_COUNT more. If timeout_ns is not
 * 0, it is the default of --timeout. */
void client_settings_add(struct client_settings *settings, struct command_option *table,
                         size_t *count);

/* Reads the files that the options name. Takes values that the options do not have from the
 * environment. Prints what is wrong, and returns the status for it. From now on a broken pipe does
 * not end the program. */
enum exit_status client_settings_read(struct client_settings *settings);

void client_settings_free(struct client_settings *settings);

/* Reads a file that has one secret, and returns its text without the line end. If that fails,
 * prints what is wrong and returns NULL. The caller frees the text. */
char *client_read_secret(const char *label, const char *path);

#endif
