/*
 * A firing with --exec: a program is run, and waited for, on the worker thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/message.h"
#include "../common/text.h"
#include "run.h"
#include "timestamp.h"

static const char *const names[] = {
    "ELAPSE_KEY=", "ELAPSE_DUE=",    "ELAPSE_FIRED=",   "ELAPSE_LATE_US=",
    "ELAPSE_RUN=", "ELAPSE_MISSED=", "ELAPSE_PAYLOAD=",
};

enum { NAME_COUNT = sizeof names / sizeof names[0] };

static bool is_own(const char *variable)
{
    for (size_t i = 0; i < NAME_COUNT; i++) {
        if (strncmp(variable, names[i], strlen(names[i])) == 0)
            return true;
    }
    return false;
}

void run_exec_init(struct run *run)
{
    size_t count = 0;
    size_t kept = 0;

    while (environ[count] != NULL)
        count++;
    run->environment = allocate((count + 1) * sizeof *run->environment);
    for (size_t i = 0; i < count; i++) {
        if (!is_own(environ[i]))
            run->environment[kept++] = environ[i];
    }
    run->environment[kept] = NULL;
    /* If it were ignored, as whoever began this program may have left it, there would be no exit
     * status to wait for. */
    (void)signal(SIGCHLD, SIG_DFL);
}

void run_exec_free(struct run *run)
{
    free(run->environment);
}

/* ---- the environment of one program ---- */

/* Writes NAME=text and a NUL, and returns where the next goes. */
static char *write_variable(char *out, const char *name, const char *text, size_t length)
{
    out = stpcpy(out, name);
    memcpy(out, text, length);
    out[length] = '\0';
    return out + length + 1;
}

static char *write_moment(char *out, const char *name, uint64_t unix_ns)
{
    char text[TIMESTAMP_BYTES];

    timestamp_write(text, unix_ns);
    return write_variable(out, name, text, sizeof text);
}

static char *write_number(char *out, const char *name, uint64_t number)
{
    char text[21];
    int length = snprintf(text, sizeof text, "%" PRIu64, number);

    return write_variable(out, name, text, (size_t)length);
}

/* The environment, in one allocation: pointers, then the texts that are this firing's own. */
static char **environment_new(const struct run_timer *timer, const struct elapse_run *firing)
{
    enum { FRAME_ROOM = 512 };
    const struct run *run = timer->run;
    struct run_times times = run_times_of(run, firing);
    size_t inherited = 0;

    while (run->environment[inherited] != NULL)
        inherited++;
    size_t pointers = inherited + NAME_COUNT + 1;
    char **environment = allocate(pointers * sizeof *environment + FRAME_ROOM + timer->key_bytes +
                                  timer->payload_bytes);
    memcpy(environment, run->environment, inherited * sizeof *environment);
    char **own = environment + inherited;
    char *out = (char *)(environment + pointers);
    own[0] = out;
    own[1] = out = write_variable(out, names[0], timer->text, timer->key_bytes);
    own[2] = out = write_moment(out, names[1], times.due_unix_ns);
    own[3] = out = write_moment(out, names[2], times.fired_unix_ns);
    own[4] = out = write_number(out, names[3], times.late_us);
    own[5] = out = write_number(out, names[4], firing->number);
    own[6] = out = write_number(out, names[5], firing->missed);
    own[NAME_COUNT] = NULL;
    (void)write_variable(out, names[6], run_timer_payload(timer), timer->payload_bytes);
    return environment;
}

/* ---- running it ---- */

/* Input from /dev/null, the signals that this program began with: its own are blocked. */
static int spawn(const struct run *run, char **environment, pid_t *process)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    char **program = run->options->program;

    int error = posix_spawn_file_actions_init(&actions);
    if (error != 0)
        return error;
    error = posix_spawnattr_init(&attributes);
    if (error == 0) {
        error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        if (error == 0)
            error = posix_spawnattr_setsigmask(&attributes, &run->first_signals);
        if (error == 0)
            error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
        if (error == 0)
            error = posix_spawnp(process, program[0], &actions, &attributes, program, environment);
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* Says what became of a program that failed; false if it did not. */
static bool report_end(const struct run_timer *timer, int status)
{
    const char *program = timer->run->options->program[0];
    struct quoted key = quote_text(timer->text, timer->key_bytes);

    if (WIFSIGNALED(status))
        run_message("%s: %s was ended by signal %d (%s)", key.text, program, WTERMSIG(status),
                    strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) != 0)
        run_message("%s: %s ended with exit status %d", key.text, program, WEXITSTATUS(status));
    else
        return false;
    return true;
}

void run_spawn(void *context, const struct elapse_run *firing)
{
    const struct run_timer *timer = context;
    struct run *run = timer->run;
    char **environment = environment_new(timer, firing);
    pid_t process;
    int status = 0;

    int error = spawn(run, environment, &process);
    free(environment);
    if (error == 0) {
        while (waitpid(process, &status, 0) < 0 && error == 0) {
            if (errno != EINTR)
                error = errno;
        }
    }
    if (error != 0)
        run_message("%s: cannot run %s: %s", quote_text(timer->text, timer->key_bytes).text,
                    run->options->program[0], strerror(error));
    if (error != 0 || report_end(timer, status))
        atomic_fetch_add(&run->failures, 1);
}
