#include "settings.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../os/program.h"
#include "../common/text.h"

enum { SECRET_BYTES_MAX = 4096 };

#define TIMEOUT_NS     (30 * UINT64_C(1000000000))
#define TIMEOUT_NS_MAX (86400 * UINT64_C(1000000000))

/* Refuses a password on the command line, because everybody on the machine can read it there. */
static enum exit_status refuse_token(void *context, const char *value)
{
    (void)context;
    (void)value;
    return usage_error("--token: others can read a command line; put the password into a file, and "
                       "name it by --token-file or ELAPSE_TOKEN_FILE");
}

void client_settings_add(struct client_settings *settings, struct command_option *table,
                         size_t *count)
{
    const struct command_option own[CLIENT_OPTION_COUNT] = {
        option_text("server", "ADDRESS", &settings->server,
                    "host:port, [IPv6]:port, unix:PATH, or one of the first two after tls:; "
                    "otherwise ELAPSE_SERVER, or 127.0.0.1:11300"),
        option_text("token-file", "FILE", &settings->token_file,
                    "a file with the password of the server; otherwise ELAPSE_TOKEN_FILE"),
        option_text("user", "NAME", &settings->user,
                    "the user of the server's file of --users whose password that is; otherwise "
                    "ELAPSE_USER, or default"),
        option_function("token", "PASSWORD", refuse_token, NULL,
                        "refused, because others can read a command line"),
        option_text("ca", "FILE", &settings->authorities,
                    "with tls: the certificates to trust, in PEM; otherwise those of this machine"),
        option_text("cert", "FILE", &settings->certificate,
                    "with tls: a certificate of this client, in PEM"),
        option_text("cert-key", "FILE", &settings->key,
                    "with tls: the key of that certificate, in PEM"),
        option_duration("timeout", &settings->timeout_ns, UINT64_C(1000000), TIMEOUT_NS_MAX,
                        "wait so long for the connection, and for a reply (default 30s)"),
    };

    if (settings->timeout_ns == 0)
        settings->timeout_ns = TIMEOUT_NS;
    memcpy(table + *count, own, sizeof own);
    *count += CLIENT_OPTION_COUNT;
    ELAPSE__ASSERT(*count <= OPTIONS_MAX);
}

/* Returns the value of the option, or the variable of the environment if the option was not given.
 * An empty variable counts as not set. An empty option is returned, so that it is refused later. A
 * script may have taken it from a variable that was not set. */
static const char *or_variable(const char *given, const char *variable)
{
    const char *value = getenv(variable);

    if (given != NULL)
        return given;
    return value != NULL && *value != '\0' ? value : NULL;
}

char *client_read_secret(const char *label, const char *path)
{
    const size_t room = SECRET_BYTES_MAX + 3; /* CR, LF, and one byte too many */
    size_t length;
    char *text = allocate(room + 1);
    int error = elapse__os_read_path(path, text, room, &length);
    const char *fault = error != 0 ? elapse__os_error_text(error) : NULL;

    text[length] = '\0';
    while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == '\r'))
        text[--length] = '\0';
    if (fault == NULL && length > SECRET_BYTES_MAX)
        fault = "a secret has at most 4096 bytes";
    if (fault == NULL && length == 0)
        fault = "the file is empty";
    if (fault == NULL && (strlen(text) != length || strchr(text, '\n') != NULL))
        fault = "a secret is one line of text";
    ELAPSE__ASSERT_THAT(length, <=, room);
    if (fault == NULL)
        return text;
    print_error("%s: %s: %s", label, *path == '\0' ? "''" : path, fault);
    free(text);
    return NULL;
}

static enum exit_status read_trust(struct client_settings *settings)
{
    char fault[ELAPSE__TLS_FAULT_BYTES];

    ELAPSE__ASSERT(settings->trust == NULL);
    if ((settings->certificate == NULL) != (settings->key == NULL))
        return usage_error("--cert and --cert-key need each other");
    if (!settings->address.tls) {
        if (settings->authorities != NULL || settings->certificate != NULL)
            return usage_error("--ca, --cert and --cert-key need an address with tls:");
        return STATUS_OK;
    }
    settings->trust =
        elapse__tls_trust_read(settings->authorities, settings->certificate, settings->key, fault);
    if (settings->trust != NULL)
        return STATUS_OK;
    return error_of(STATUS_USAGE, "%s", fault);
}

enum exit_status client_settings_read(struct client_settings *settings)
{
    const char *label = settings->server != NULL ? "--server" : "ELAPSE_SERVER";

    ELAPSE__ASSERT(settings->trust == NULL && settings->token == NULL);
    ELAPSE__ASSERT_THAT(settings->timeout_ns, >, 0U);
    settings->server = or_variable(settings->server, "ELAPSE_SERVER");
    if (settings->server == NULL)
        settings->server = "127.0.0.1:11300";
    const char *fault = elapse__loop_parse_listen(settings->server, "11300", &settings->address);
    if (fault == NULL && settings->address.host[0] == '\0')
        fault = "the host is missing";
    if (fault != NULL)
        return usage_error("%s: %s: %s", label, quote_string(settings->server).text, fault);
    label = settings->token_file != NULL ? "--token-file" : "ELAPSE_TOKEN_FILE";
    const char *path = or_variable(settings->token_file, "ELAPSE_TOKEN_FILE");
    bool is_named = settings->user != NULL;
    settings->user = or_variable(settings->user, "ELAPSE_USER");
    if (is_named && path == NULL)
        return usage_error("--user needs --token-file or ELAPSE_TOKEN_FILE, with the password");
    enum exit_status status = read_trust(settings);
    if (status == STATUS_OK && path != NULL) {
        settings->token = client_read_secret(label, path);
        if (settings->token == NULL)
            return STATUS_USAGE;
    }
    ELAPSE__ASSERT(status != STATUS_OK || (settings->trust != NULL) == settings->address.tls);
    (void)elapse__os_broken_pipe_ends(false);
    return status;
}

void client_settings_free(struct client_settings *settings)
{
    if (settings->trust != NULL)
        elapse__tls_keys_free(settings->trust);
    free(settings->token);
}
