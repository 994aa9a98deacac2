/*
 * Implements program.h for Linux.
 */
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "../base/assert.h"

enum { NANOSECONDS_A_SECOND = 1000000000 };

/* Returns the error number of a call. A call that fails has a negative result. */
static int error_of(long result)
{
    return result < 0 ? errno : 0;
}

/* Stores the descriptor that a call has returned, or returns the call's error number. */
static int store_file(int result, int *file)
{
    *file = result;
    return error_of(result);
}

/* Stops the program if a call has failed that cannot fail in a correct program. */
static void require_success(int error, const char *call)
{
    if (error == 0)
        return;
    fprintf(stderr, "elapse: %s failed: %s\n", call, strerror(error));
    abort();
}

const char *elapse__os_error_text(int error)
{
    return strerror(error);
}

/* ---- clocks ---- */

static uint64_t clock_now_ns(clockid_t clock)
{
    struct timespec now;

    require_success(error_of(clock_gettime(clock, &now)), "clock_gettime");
    ELAPSE__ASSERT(now.tv_sec >= 0);
    return (uint64_t)now.tv_sec * NANOSECONDS_A_SECOND + (uint64_t)now.tv_nsec;
}

uint64_t elapse__os_monotonic_ns(void)
{
    return clock_now_ns(CLOCK_MONOTONIC);
}

uint64_t elapse__os_wall_clock_ns(void)
{
    return clock_now_ns(CLOCK_REALTIME);
}

/* ---- reading and writing ---- */

int elapse__os_read(int file, void *buffer, size_t bytes, size_t *got)
{
    ssize_t result;

    ELAPSE__ASSERT(bytes > 0);
    do
        result = read(file, buffer, bytes);
    while (result < 0 && errno == EINTR);
    *got = result > 0 ? (size_t)result : 0;
    ELAPSE__ASSERT(*got <= bytes);
    return error_of(result);
}

int elapse__os_read_at(int file, uint64_t offset, void *buffer, size_t bytes, size_t *got)
{
    size_t done = 0;

    while (done < bytes) {
        ssize_t result = pread(file, (char *)buffer + done, bytes - done, (off_t)(offset + done));
        if (result == 0)
            break;
        if (result < 0 && errno != EINTR)
            return errno;
        done += result > 0 ? (size_t)result : 0;
    }
    ELAPSE__ASSERT(done <= bytes);
    *got = done;
    return 0;
}

/* Waits until a write to the file can begin, or fails. */
static int wait_until_writable(int file)
{
    struct pollfd writable = {.fd = file, .events = POLLOUT};

    return poll(&writable, 1, -1) < 0 && errno != EINTR ? errno : 0;
}

int elapse__os_write_all(int file, const void *bytes, size_t count)
{
    const char *next = bytes;

    ELAPSE__ASSERT(count == 0 || bytes != NULL);
    while (count > 0) {
        ssize_t written = write(file, next, count);
        int error = error_of(written);
        if (error == EAGAIN)
            error = wait_until_writable(file);
        if (error != 0 && error != EINTR)
            return error;
        if (written > 0) {
            ELAPSE__ASSERT((size_t)written <= count);
            next += written;
            count -= (size_t)written;
        }
    }
    return 0;
}

/* Whether this program ignores SIGPIPE. Programs that it starts do not. */
static atomic_bool ignores_broken_pipes;

bool elapse__os_broken_pipe_ends(bool ends)
{
    const struct sigaction action = {.sa_handler = ends ? SIG_DFL : SIG_IGN};
    struct sigaction before;

    require_success(error_of(sigaction(SIGPIPE, &action, &before)), "sigaction");
    atomic_store(&ignores_broken_pipes, !ends && before.sa_handler != SIG_IGN);
    return before.sa_handler != SIG_IGN;
}

/* Returns the mode of a file for a closed standard file: nobody can use it by mistake. */
static int mode_of_held(int file)
{
    return file == ELAPSE__OS_INPUT ? O_WRONLY : O_RDONLY;
}

void elapse__os_hold_standard_files(void)
{
    for (int file = ELAPSE__OS_INPUT; file <= ELAPSE__OS_ERRORS; file++) {
        /* The file gets the lowest free number, which is `file`. Programs that are started later
         * need the file, too, and inherit it. */
        if (fcntl(file, F_GETFD) < 0)
            (void)open("/dev/null", mode_of_held(file));
    }
}

int elapse__os_check_open(int file)
{
    int flags = fcntl(file, F_GETFL);

    ELAPSE__ASSERT(file <= ELAPSE__OS_ERRORS);
    if (flags >= 0 && (flags & O_ACCMODE) == mode_of_held(file))
        return EBADF;
    return error_of(flags);
}

_Noreturn void elapse__os_end_process(int status)
{
    _exit(status);
}

int elapse__os_close(int file)
{
    ELAPSE__ASSERT(file >= 0);
    return error_of(close(file));
}

/* ---- files ---- */

int elapse__os_open_to_read(const char *path, int *file)
{
    return store_file(open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY), file);
}

int elapse__os_open_to_write(const char *path, int *file)
{
    return store_file(open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666), file);
}

int elapse__os_open_in_memory(int *file)
{
    return store_file(memfd_create("elapse", MFD_CLOEXEC), file);
}

int elapse__os_duplicate(int file, int *copy)
{
    return store_file(fcntl(file, F_DUPFD_CLOEXEC, 0), copy);
}

int elapse__os_create_beside(const char *path, char *name, int *file)
{
    static const char suffix[] = ".XXXXXX";
    _Static_assert(sizeof suffix - 1 == ELAPSE__OS_SUFFIX_BYTES, "the suffix has the room it says");
    size_t length = strlen(path);

    (void)snprintf(name, length + sizeof suffix, "%s%s", path, suffix);
    int error = store_file(mkostemp(name, O_CLOEXEC), file);
    if (error != 0)
        return error;
    /* With mkostemp nobody else can read the file. A mask can be read only by setting it. */
    mode_t mask = umask(0);
    umask(mask);
    (void)fchmod(*file, 0666 & ~mask);
    return 0;
}

static void store_status(const struct stat *from, struct elapse__os_status *status)
{
    *status = (struct elapse__os_status){
        .kind = ELAPSE__OS_OTHER,
        .identity = {(uint64_t)from->st_dev, (uint64_t)from->st_ino},
    };
    if (S_ISREG(from->st_mode)) {
        status->kind = ELAPSE__OS_REGULAR;
        status->bytes = (uint64_t)from->st_size;
    } else if (S_ISDIR(from->st_mode)) {
        status->kind = ELAPSE__OS_DIRECTORY;
    } else if (S_ISLNK(from->st_mode)) {
        status->kind = ELAPSE__OS_LINK;
    }
}

int elapse__os_status_of_file(int file, struct elapse__os_status *status)
{
    struct stat found;

    if (fstat(file, &found) != 0)
        return errno;
    store_status(&found, status);
    return 0;
}

int elapse__os_status_of_path(const char *path, struct elapse__os_status *status)
{
    struct stat found;

    if (stat(path, &found) != 0)
        return errno;
    store_status(&found, status);
    ELAPSE__ASSERT(status->kind != ELAPSE__OS_LINK);
    return 0;
}

int elapse__os_status_of_link(const char *path, struct elapse__os_status *status)
{
    struct stat found;

    if (lstat(path, &found) != 0)
        return errno;
    store_status(&found, status);
    return 0;
}

int elapse__os_check_writable(const char *path)
{
    return error_of(access(path, W_OK));
}

int elapse__os_rename(const char *from, const char *to)
{
    return error_of(rename(from, to));
}

int elapse__os_remove(const char *path)
{
    return error_of(remove(path));
}

/* ---- signals ---- */

static const int signal_numbers[] = {
    [ELAPSE__OS_HANG_UP] = SIGHUP,       [ELAPSE__OS_INTERRUPT] = SIGINT,
    [ELAPSE__OS_QUIT] = SIGQUIT,         [ELAPSE__OS_TERMINATE] = SIGTERM,
    [ELAPSE__OS_SUSPEND] = SIGTSTP,      [ELAPSE__OS_USER] = SIGUSR1,
    [ELAPSE__OS_WINDOW_SIZE] = SIGWINCH,
};

enum { SIGNAL_COUNT = sizeof signal_numbers / sizeof signal_numbers[0], SIGNAL_NUMBERS = 64 };

/* Returns a set of signals in the form of the system, without those that were blocked before. */
static sigset_t set_of(unsigned set, uint64_t blocked_before)
{
    sigset_t signals;

    sigemptyset(&signals);
    for (unsigned i = ELAPSE__OS_NO_SIGNAL + 1; i < SIGNAL_COUNT; i++) {
        uint64_t bit = UINT64_C(1) << (signal_numbers[i] - 1);
        if ((set & ELAPSE__OS_BIT(i)) != 0 && (blocked_before & bit) == 0)
            sigaddset(&signals, signal_numbers[i]);
    }
    return signals;
}

static unsigned without_ignored(unsigned set)
{
    struct sigaction action;

    for (unsigned i = ELAPSE__OS_NO_SIGNAL + 1; i < SIGNAL_COUNT; i++) {
        require_success(error_of(sigaction(signal_numbers[i], NULL, &action)), "sigaction");
        if (action.sa_handler == SIG_IGN)
            set &= ~ELAPSE__OS_BIT(i);
    }
    return set;
}

int elapse__os_signals_open(struct elapse__os_signals *signals, unsigned wanted)
{
    sigset_t before;

    *signals = (struct elapse__os_signals){.held = without_ignored(wanted)};
    sigset_t held = set_of(signals->held, 0);
    require_success(pthread_sigmask(SIG_BLOCK, &held, &before), "pthread_sigmask");
    for (int number = 1; number <= SIGNAL_NUMBERS; number++) {
        if (sigismember(&before, number) == 1)
            signals->blocked_before |= UINT64_C(1) << (number - 1);
    }
    return store_file(signalfd(-1, &held, SFD_CLOEXEC | SFD_NONBLOCK), &signals->file);
}

enum elapse__os_signal elapse__os_signals_take(const struct elapse__os_signals *signals)
{
    struct signalfd_siginfo taken;

    ELAPSE__ASSERT(signals->file >= 0);
    if (read(signals->file, &taken, sizeof taken) != (ssize_t)sizeof taken)
        return ELAPSE__OS_NO_SIGNAL;
    for (unsigned i = ELAPSE__OS_NO_SIGNAL + 1; i < SIGNAL_COUNT; i++) {
        if (signal_numbers[i] == (int)taken.ssi_signo)
            return (enum elapse__os_signal)i;
    }
    return ELAPSE__OS_NO_SIGNAL;
}

void elapse__os_signals_release(const struct elapse__os_signals *signals, unsigned set)
{
    sigset_t released = set_of(set & signals->held, signals->blocked_before);

    require_success(pthread_sigmask(SIG_UNBLOCK, &released, NULL), "pthread_sigmask");
}

void elapse__os_signals_hold(const struct elapse__os_signals *signals, unsigned set)
{
    sigset_t held = set_of(set & signals->held, 0);

    require_success(pthread_sigmask(SIG_BLOCK, &held, NULL), "pthread_sigmask");
}

void elapse__os_signals_close(struct elapse__os_signals *signals)
{
    (void)elapse__os_close(signals->file);
    signals->file = -1;
}

void elapse__os_signal_raise(enum elapse__os_signal signal)
{
    ELAPSE__ASSERT(signal != ELAPSE__OS_NO_SIGNAL);
    (void)raise(signal == ELAPSE__OS_SUSPEND ? SIGSTOP : signal_numbers[signal]);
}

const char *elapse__os_signal_text(int number)
{
    return strsignal(number);
}

/* ---- waiting ---- */

int elapse__os_wait(struct elapse__os_watch *watches, size_t count, uint64_t timeout_ns)
{
    struct pollfd files[ELAPSE__OS_WATCHES_MAX];
    const struct timespec timeout = {
        .tv_sec = (time_t)(timeout_ns / NANOSECONDS_A_SECOND),
        .tv_nsec = (long)(timeout_ns % NANOSECONDS_A_SECOND),
    };

    ELAPSE__ASSERT(count > 0);
    ELAPSE__ASSERT(count <= ELAPSE__OS_WATCHES_MAX);
    for (size_t i = 0; i < count; i++) {
        int events = (watches[i].for_data ? POLLIN : 0) | (watches[i].for_room ? POLLOUT : 0);
        files[i] = (struct pollfd){watches[i].file, (short)events, 0};
    }
    int ready = ppoll(files, count, timeout_ns == ELAPSE__OS_FOREVER ? NULL : &timeout, NULL);
    if (ready < 0 && errno != EINTR)
        return errno;
    for (size_t i = 0; i < count; i++) {
        watches[i].ready = ready > 0 && files[i].revents != 0;
        watches[i].failed = watches[i].ready && (files[i].revents & POLLERR) != 0;
    }
    return ready == 0 ? ETIMEDOUT : 0;
}

int elapse__os_event_open(int *file)
{
    return store_file(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), file);
}

void elapse__os_event_set(int file)
{
    const uint64_t one = 1;

    /* The write fails only if the event's count is at its maximum. The event is set then, too. */
    (void)!write(file, &one, sizeof one);
}

bool elapse__os_event_reset(int file)
{
    uint64_t count;

    return read(file, &count, sizeof count) == (ssize_t)sizeof count;
}

/* ---- other programs ---- */

/* Sets with which files and signals the new program begins. */
static int set_start(posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes,
                     const struct elapse__os_program *program, int input)
{
    int error = posix_spawn_file_actions_adddup2(actions, input, STDIN_FILENO);

    /* If the new program gets this program's standard output, that file stays as it is, open or
     * closed. */
    if (error == 0 && program->output != STDOUT_FILENO)
        error = posix_spawn_file_actions_adddup2(actions, program->output, STDOUT_FILENO);
    if (error != 0 || program->signals == NULL)
        return error;
    sigset_t mask;
    sigemptyset(&mask);
    for (int number = 1; number <= SIGNAL_NUMBERS; number++) {
        if ((program->signals->blocked_before >> (number - 1) & 1) != 0)
            sigaddset(&mask, number);
    }
    error = posix_spawnattr_setsigmask(attributes, &mask);
    short flags = POSIX_SPAWN_SETSIGMASK;
    if (program->timeout_ns > 0 || program->has_group)
        flags |= POSIX_SPAWN_SETPGROUP; /* the default, 0, makes a new group */
    if (error == 0 && atomic_load(&ignores_broken_pipes)) {
        sigset_t usual;
        sigemptyset(&usual);
        sigaddset(&usual, SIGPIPE);
        error = posix_spawnattr_setsigdefault(attributes, &usual);
        flags |= POSIX_SPAWN_SETSIGDEF;
    }
    return error != 0 ? error : posix_spawnattr_setflags(attributes, flags);
}

static int spawn(const struct elapse__os_program *program, int input, pid_t *process)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;

    ELAPSE__ASSERT(program->arguments[0] != NULL);
    int error = posix_spawn_file_actions_init(&actions);
    if (error != 0)
        return error;
    error = posix_spawnattr_init(&attributes);
    if (error == 0) {
        error = set_start(&actions, &attributes, program, input);
        if (error == 0)
            error = posix_spawnp(process, program->arguments[0], &actions, &attributes,
                                 program->arguments, program->environment);
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return error;
}

static bool has_ended(const struct elapse__os_process *process)
{
    siginfo_t ended = {.si_pid = 0};

    return waitid(P_PID, (id_t)process->number, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           ended.si_pid != 0;
}

/* Waits for the end of the process or the given time. Does not collect the status. Returns whether
 * the process has ended. */
static bool wait_until(const struct elapse__os_process *process, uint64_t when_ns)
{
    enum { TRY_AGAIN_AFTER_MS = 10 };

    for (;;) {
        uint64_t now_ns = elapse__os_monotonic_ns();
        bool ended = has_ended(process);
        if (ended || now_ns >= when_ns)
            return ended;
        uint64_t wait_ms = (when_ns - now_ns) / 1000000 + 1;
        /* If the process has no file, the loop asks for its status again and again. */
        if (process->file < 0 && wait_ms > TRY_AGAIN_AFTER_MS)
            wait_ms = TRY_AGAIN_AFTER_MS;
        struct pollfd exit = {.fd = process->file, .events = POLLIN};
        (void)poll(&exit, 1, wait_ms < INT_MAX ? (int)wait_ms : INT_MAX);
    }
}

void elapse__os_end_group(const struct elapse__os_process *process, bool at_once)
{
    ELAPSE__ASSERT(process->number > 0);
    (void)kill(-process->number, at_once ? SIGKILL : SIGTERM);
}

/* Ends the group of the process if the process runs too long. */
static void limit_time(const struct elapse__os_process *process, uint64_t timeout_ns,
                       struct elapse__os_end *end)
{
    ELAPSE__ASSERT(timeout_ns > 0);
    for (int i = 0; i < 2; i++) {
        uint64_t now_ns = elapse__os_monotonic_ns();
        if (wait_until(process,
                       timeout_ns < UINT64_MAX - now_ns ? now_ns + timeout_ns : UINT64_MAX)) {
            /* Programs that the process has started may ignore the request to end. */
            if (end->timed_out)
                elapse__os_end_group(process, true);
            return;
        }
        end->timed_out = true;
        elapse__os_end_group(process, i == 1);
        timeout_ns = ELAPSE__OS_KILL_AFTER_NS;
    }
}

static int wait_for_end(struct elapse__os_process *process, struct elapse__os_end *end)
{
    int status = 0;
    int error = 0;

    while (waitpid(process->number, &status, 0) < 0) {
        error = errno;
        if (error != EINTR)
            break;
        error = 0;
    }
    if (process->file >= 0)
        (void)close(process->file);
    process->file = -1;
    end->by_signal = error == 0 && WIFSIGNALED(status);
    end->number = end->by_signal ? WTERMSIG(status) : WEXITSTATUS(status);
    /* The system does not say how the process ended. That does not count as success. */
    if (error != 0)
        end->number = ELAPSE__OS_STATUS_UNKNOWN;
    return error;
}

/* Opens the input of the program in memory, so that nothing is written while the program runs. */
static int open_input(const struct elapse__os_program *program, int *input)
{
    ELAPSE__ASSERT(program->input_bytes == 0 || program->input != NULL);
    if (program->input_bytes == 0)
        return elapse__os_open_to_read("/dev/null", input);
    int error = elapse__os_open_in_memory(input);
    size_t written = 0;
    while (error == 0 && written < program->input_bytes) {
        /* pwrite does not move the position, so the program reads from the beginning. */
        ssize_t some = pwrite(*input, program->input + written, program->input_bytes - written,
                              (off_t)written);
        if (some >= 0)
            written += (size_t)some;
        else if (errno != EINTR) {
            error = errno;
            (void)close(*input);
        }
    }
    return error;
}

int elapse__os_start(const struct elapse__os_program *program, struct elapse__os_process *process)
{
    pid_t number;
    int input;

    ELAPSE__ASSERT(program->environment != NULL);
    ELAPSE__ASSERT(program->output >= 0);
    /* If the parent process has left this signal ignored, the system keeps no exit status. */
    (void)signal(SIGCHLD, SIG_DFL);
    int error = open_input(program, &input);
    if (error != 0)
        return error;
    error = spawn(program, input, &number);
    (void)elapse__os_close(input);
    if (error != 0)
        return error;
    *process = (struct elapse__os_process){.number = number,
                                           .file = (int)syscall(SYS_pidfd_open, number, 0)};
    return 0;
}

bool elapse__os_collect(struct elapse__os_process *process, bool with_group,
                        struct elapse__os_end *end)
{
    if (!has_ended(process))
        return false;
    /* Kills the group before wait_for_end releases the process's number, which is the group's
     * too. */
    if (with_group)
        elapse__os_end_group(process, true);
    end->timed_out = false;
    (void)wait_for_end(process, end);
    return true;
}

int elapse__os_run(const struct elapse__os_program *program, struct elapse__os_end *end)
{
    struct elapse__os_process process;
    int error = elapse__os_start(program, &process);

    if (error != 0)
        return error;
    end->timed_out = false;
    if (program->timeout_ns > 0)
        limit_time(&process, program->timeout_ns, end);
    return wait_for_end(&process, end);
}

char *const *elapse__os_environment(void)
{
    return environ;
}

/* ---- the terminal ---- */

bool elapse__os_is_terminal(int file)
{
    return isatty(file) == 1;
}

bool elapse__os_terminal_size(int file, unsigned *columns, unsigned *rows)
{
    struct winsize size;

    if (!elapse__os_is_terminal(file) || ioctl(file, TIOCGWINSZ, &size) != 0)
        return false;
    *columns = size.ws_col;
    *rows = size.ws_row;
    return true;
}

static struct termios terminal_before;

int elapse__os_keys_open(int file)
{
    if (tcgetattr(file, &terminal_before) != 0)
        return errno;
    if (tcgetpgrp(file) != getpgrp())
        return EIO; /* a program in the background that sets the terminal is stopped */
    struct termios keys = terminal_before;
    keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    keys.c_cc[VMIN] = 1;
    keys.c_cc[VTIME] = 0;
    return error_of(tcsetattr(file, TCSADRAIN, &keys));
}

void elapse__os_keys_close(int file)
{
    (void)tcsetattr(file, TCSADRAIN, &terminal_before);
}

bool elapse__os_locale_is_utf8(void)
{
    return setlocale(LC_CTYPE, "") != NULL && strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

/* ---- threads ---- */

struct elapse__os_background {
    pthread_t thread;
    void (*main)(void *);
    void *argument;
};

static void *background_main(void *context)
{
    const struct elapse__os_background *background = context;

    background->main(background->argument);
    return NULL;
}

int elapse__os_background_start(struct elapse__os_background **background, void (*main)(void *),
                                void *argument)
{
    ELAPSE__ASSERT(main != NULL);
    *background = malloc(sizeof **background);
    if (*background == NULL)
        return ENOMEM;
    (*background)->main = main;
    (*background)->argument = argument;
    int error = pthread_create(&(*background)->thread, NULL, background_main, *background);
    if (error != 0)
        free(*background);
    return error;
}

void elapse__os_background_join(struct elapse__os_background *background)
{
    require_success(pthread_join(background->thread, NULL), "pthread_join");
    free(background);
}

struct elapse__os_monitor {
    pthread_mutex_t lock;
    pthread_cond_t condition;
};

/* Makes a condition whose waits can end at a time by the monotonic clock. */
static int init_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    int error = pthread_condattr_init(&attributes);

    if (error != 0)
        return error;
    error = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    if (error == 0)
        error = pthread_cond_init(condition, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    return error;
}

int elapse__os_monitor_new(struct elapse__os_monitor **monitor)
{
    pthread_mutexattr_t attributes;

    *monitor = malloc(sizeof **monitor);
    if (*monitor == NULL)
        return ENOMEM;
    require_success(pthread_mutexattr_init(&attributes), "pthread_mutexattr_init");
    require_success(pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK),
                    "pthread_mutexattr_settype");
    int error = pthread_mutex_init(&(*monitor)->lock, &attributes);
    (void)pthread_mutexattr_destroy(&attributes);
    if (error == 0) {
        error = init_condition(&(*monitor)->condition);
        if (error != 0)
            (void)pthread_mutex_destroy(&(*monitor)->lock);
    }
    if (error != 0)
        free(*monitor);
    return error;
}

void elapse__os_monitor_free(struct elapse__os_monitor *monitor)
{
    require_success(pthread_cond_destroy(&monitor->condition), "pthread_cond_destroy");
    require_success(pthread_mutex_destroy(&monitor->lock), "pthread_mutex_destroy");
    free(monitor);
}

void elapse__os_monitor_enter(struct elapse__os_monitor *monitor)
{
    require_success(pthread_mutex_lock(&monitor->lock), "pthread_mutex_lock");
}

void elapse__os_monitor_leave(struct elapse__os_monitor *monitor)
{
    require_success(pthread_mutex_unlock(&monitor->lock), "pthread_mutex_unlock");
}

void elapse__os_monitor_wait(struct elapse__os_monitor *monitor)
{
    require_success(pthread_cond_wait(&monitor->condition, &monitor->lock), "pthread_cond_wait");
}

void elapse__os_monitor_wait_until(struct elapse__os_monitor *monitor, uint64_t when_ns)
{
    const struct timespec when = {
        .tv_sec = (time_t)(when_ns / NANOSECONDS_A_SECOND),
        .tv_nsec = (long)(when_ns % NANOSECONDS_A_SECOND),
    };
    int error = pthread_cond_timedwait(&monitor->condition, &monitor->lock, &when);

    require_success(error == ETIMEDOUT ? 0 : error, "pthread_cond_timedwait");
}

void elapse__os_monitor_wake_all(struct elapse__os_monitor *monitor)
{
    require_success(pthread_cond_broadcast(&monitor->condition), "pthread_cond_broadcast");
}
