
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "../../os/program.h"
#include "../common/command.h"
#include "../common/options.h"
#include "../common/text.h"
#include "loop.h"

#define MILLISECOND_NS UINT64_C(1000000)
#define LIMIT_NS_MAX   (7 * 86400 * UINT64_C(1000000000))
#define HOOK_LIMIT_NS  (30 * UINT64_C(1000000000))
#define TUBES_MAX      1000

static const struct command_help help = {
    .usage = "Usage: elapse work TUBE... [OPTION]... --exec PROGRAM [ARGUMENT]...\n"
             "       elapse work TUBE... [OPTION]... --post URL\n",
    .purpose =
        "Has the jobs of a server done: each becomes a run of PROGRAM, with the body on its\n"
        "standard input, or a request to URL. What ends well is acknowledged (status 0, or\n"
        "2xx); otherwise the job is tried again as it was put. Leases are extended while the\n"
        "work goes on. SIGTERM finishes the work under way, a second one gives it back.\n",
    .example = "Examples:\n"
               "  elapse work mails --concurrency 4 --exec sendmail -t\n"
               "  elapse work orders --post https://shop.example/hooks --secret-file secret\n",
};

struct work {
    struct client_settings settings;
    struct work_options options;
    const char *secret_file;
    char **program;
    uint64_t concurrency;
    uint64_t limit_ns;
    uint64_t backoff_ns;
};

static enum exit_status check_hook(struct work *work, char **secret)
{
    struct hooks_options *hooks = &work->options.hooks;
    const char *fault = hooks_check_url(hooks->url);

    if (fault != NULL)
        return usage_error("--post: %s: %s", quote_string(hooks->url).text, fault);
    for (const char *at = hooks->content_type; *at != '\0'; at++)
        if ((unsigned char)*at < ' ' || (unsigned char)*at >= 0x7f)
            return usage_error("--content-type: it has bytes that are not printable ASCII");
    hooks->concurrency = (size_t)work->concurrency;
    hooks->limit_ms = (work->limit_ns == 0 ? HOOK_LIMIT_NS : work->limit_ns) / MILLISECOND_NS;
    if (work->secret_file == NULL)
        return STATUS_OK;
    *secret = client_read_secret("--secret-file", work->secret_file);
    hooks->secret = *secret;
    return *secret == NULL ? STATUS_USAGE : STATUS_OK;
}

/* Returns whether the texts are equal, if upper and lower case count as equal. `word` has no
 * capitals. */
static bool is_word(const char *text, const char *word)
{
    for (; *text != '\0' && tolower((unsigned char)*text) == *word; text++)
        word++;
    return *text == '\0' && *word == '\0';
}

static enum exit_status check_tubes(const struct command_line *line)
{
    if (line->argument_count == 0)
        return usage_error("a tube is missing");
    if (line->argument_count > TUBES_MAX)
        return usage_error("there are too many tubes: at most 1000");
    /* After the first tube, the server reads these words as options of RESERVE. */
    for (int i = 1; i < line->argument_count; i++)
        if (is_word(line->arguments[i], "count") || is_word(line->arguments[i], "wait") ||
            is_word(line->arguments[i], "details") || is_word(line->arguments[i], "holder"))
            return usage_error("a tube named %s has to be the first",
                               quote_string(line->arguments[i]).text);
    return STATUS_OK;
}

/* Warns if a word after the program looks like an option of this command. Such a word goes to the
 * program, and does not limit or end anything here. Options that many programs have are left
 * out. */
static void warn_of_options(const struct command_line *line, char *const *words)
{
    static const char *const usual[] = {"quiet", "user", "timeout", "token",
                                        "ca",    "cert", "cert-key"};

    for (; *words != NULL && strcmp(*words, "--") != 0; words++) {
        const char *name = *words + 2;
        size_t length = strncmp(*words, "--", 2) == 0 ? strcspn(name, "=") : 0;
        bool is_usual = false;
        for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++)
            is_usual = is_usual || (strlen(usual[i]) == length && !memcmp(usual[i], name, length));
        for (size_t i = 0; length > 0 && !is_usual && i < line->option_count; i++) {
            const char *own = line->options[i].name;
            if (strlen(own) == length && memcmp(own, name, length) == 0)
                print_error("--%s behind --exec goes to the program; put it before --exec if it "
                            "is for elapse work",
                            own);
        }
    }
}

/* Checks the words after --exec. A program that does not exist is reported at once, and not when
 * the first job comes. */
static enum exit_status check_program(const struct command_line *line, char *const *words)
{
    if (words[0] == NULL)
        return usage_error("--exec: the program is missing");
    if (words[0][0] == '-')
        return usage_error("--exec: %s is no program: options of elapse work come before --exec",
                           quote_string(words[0]).text);
    int error = elapse__os_find_program(words[0]);
    if (error != 0)
        return error_of(STATUS_USAGE, "--exec: cannot run %s: %s", quote_string(words[0]).text,
                        elapse__os_error_text(error));
    warn_of_options(line, words + 1);
    return STATUS_OK;
}

static enum exit_status check(struct work *work, const struct command_line *line, char **secret)
{
    bool has_hook = work->options.hooks.url != NULL;
    enum exit_status status = check_tubes(line);

    if (status != STATUS_OK)
        return status;
    if ((work->program != NULL) == has_hook)
        return usage_error("give --exec PROGRAM or --post URL");
    status = work->program == NULL ? STATUS_OK : check_program(line, work->program);
    if (status != STATUS_OK)
        return status;
    if (work->secret_file != NULL && !has_hook)
        return usage_error("--secret-file needs --post");
    work->options.settings = &work->settings;
    work->options.tubes = line->arguments;
    work->options.tube_count = (size_t)line->argument_count;
    work->options.program = work->program;
    work->options.worker.concurrency = (size_t)work->concurrency;
    work->options.worker.backoff_ms = work->backoff_ns / MILLISECOND_NS;
    /* libcurl ends a request that takes too long, so the worker need not. */
    work->options.worker.limit_ns = has_hook ? 0 : work->limit_ns;
    return has_hook ? check_hook(work, secret) : STATUS_OK;
}

static enum exit_status run(struct work *work, const struct command_line *line)
{
    char *secret = NULL;
    enum exit_status status = check(work, line, &secret);

    if (status == STATUS_OK)
        status = client_settings_read(&work->settings);
    if (status == STATUS_OK)
        status = work_loop(&work->options);
    free(secret);
    return status;
}

/* NOLINTNEXTLINE(readability-function-size): a table of options */
enum exit_status work_command(int argc, char **argv)
{
    struct work work = {.concurrency = 1, .options.hooks.content_type = "application/octet-stream"};
    enum exit_status status;
    struct command_option table[16 + CLIENT_OPTION_COUNT] = {
        option_rest("exec", "PROGRAM", &work.program,
                    "run this for each job, with the rest of the command line as its arguments"),
        option_text("post", "URL", &work.options.hooks.url,
                    "send each job there, as the body of a POST"),
        option_number("concurrency", "N", &work.concurrency, 1, WORKER_JOBS_MAX,
                      "up to so many jobs at once, 1 to 1000 (default 1)"),
        option_duration("time-limit", &work.limit_ns, MILLISECOND_NS, LIMIT_NS_MAX,
                        "the work on a job fails after so long; --post: 30s unless given"),
        option_noting(&work.options.worker.has_backoff,
                      option_duration("backoff", &work.backoff_ns, 0, LIMIT_NS_MAX,
                                      "a job that failed waits so long, in place of its own "
                                      "back-off, and the attempt does "
                                      "not count, unless the answer of --post has Retry-After")),
        option_text("secret-file", "FILE", &work.secret_file,
                    "sign each request with the secret in this file (HMAC-SHA256)"),
        option_text("content-type", "TYPE", &work.options.hooks.content_type,
                    "of the bodies that are sent (default application/octet-stream)"),
        option_flag("until-empty", &work.options.worker.until_empty,
                    "end when no job is ready and all are done"),
        option_flag("quiet", &work.options.quiet, "print nothing about single jobs"),
    };
    size_t count = 9;

    client_settings_add(&work.settings, table, &count);
    struct command_line line = {.help = &help, .options = table, .option_count = count};
    if (options_read(&line, argc, argv, &status))
        status = run(&work, &line);
    client_settings_free(&work.settings);
    return status;
}
