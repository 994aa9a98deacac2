/*
 * The functions of the operating system that the program `elapse` needs. Only this room makes
 * system calls. The program itself is written in ISO C, and uses some libraries.
 *
 *     src/cli                        program.h                    linux_program.c
 *     output.c, writer.c    ------>  elapse__os_write_all  -----> write()
 *     life.c                ------>  elapse__os_wait       -----> ppoll()
 *     exec.c, plot.c        ------>  elapse__os_run        -----> posix_spawn(), waitpid()
 *     work/run_program.c    ------>  elapse__os_start      -----> posix_spawn(), pidfd_open()
 *
 * Functions that can fail return 0, or an error number of errno.h. After an error, their other
 * results are undefined. A file is a descriptor, and other programs do not inherit it. Times are in
 * nanoseconds. Every thread may call every function, unless the comment of the function says
 * otherwise.
 */
#ifndef ELAPSE__OS_PROGRAM_H
#define ELAPSE__OS_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the error in words. */
const char *elapse__os_error_text(int error);

/* ---- clocks ---- */

/* Returns the time by a clock that nobody can set, since some moment in the past. */
uint64_t elapse__os_monotonic_ns(void);

/* Returns the wall-clock time since 1970-01-01T00:00:00Z. */
uint64_t elapse__os_wall_clock_ns(void);

/* ---- reading and writing ---- */

/* The files that are open when the program begins. */
enum { ELAPSE__OS_INPUT = 0, ELAPSE__OS_OUTPUT = 1, ELAPSE__OS_ERRORS = 2 };

/* Reads up to `bytes` bytes, and stores in `*got` how many it read: 0 at the end of the file. Waits
 * for at least one byte. If the file is non-blocking, fails with EAGAIN instead of waiting. */
int elapse__os_read(int file, void *buffer, size_t bytes, size_t *got);

/* Reads as elapse__os_read does, but also waits if the file is non-blocking. Another program that
 * has the same file open can make it non-blocking. */
int elapse__os_read_waiting(int file, void *buffer, size_t bytes, size_t *got);

/* Returns whether every user of this machine may read or write the file. Returns false if the file
 * does not exist. */
bool elapse__os_others_may_read(const char *path);

/* The format of a message about a file that others may read. The path is its argument twice. */
#define ELAPSE__OS_OTHERS_MAY_READ \
    "%.90s: every user of this machine may read or write it; say: chmod o-rwx %.90s"

/* Reads the file at `path` until the buffer is full or the file ends. Stores in `*got` how many
 * bytes it read. */
int elapse__os_read_path(const char *path, void *buffer, size_t bytes, size_t *got);

/* Reads a regular file from `offset` on, until the buffer is full or the file ends. Stores in
 * `*got` how many bytes it read. */
int elapse__os_read_at(int file, uint64_t offset, void *buffer, size_t bytes, size_t *got);

/* Writes all the bytes. Waits while there is no room for them, also if the file is non-blocking
 * (elapse__os_read_waiting). If the file is a pipe that nobody reads any more, the program ends or
 * the call fails with EPIPE (elapse__os_broken_pipe_ends). */
int elapse__os_write_all(int file, const void *bytes, size_t count);

/* Sets whether a write to a pipe that nobody reads ends the program. At the beginning of a program
 * it does. Returns the previous setting. Requires that no other thread writes. */
bool elapse__os_broken_pipe_ends(bool ends);

/* For each standard file that is closed, opens another file in its place. That file cannot be read,
 * if it stands for standard input, and cannot be written, if it stands for an output. Without this,
 * the next file or socket that is opened would become a standard file. Requires that nothing else
 * was opened. */
void elapse__os_hold_standard_files(void);

/* Returns 0 if this standard file was open when the program began. */
int elapse__os_check_open(int file);

/* Closes the file. An error may mean that some data could not be written. */
int elapse__os_close(int file);

/* Ends the process at once, whatever its threads are doing. Calls no function of atexit. */
_Noreturn void elapse__os_end_process(int status);

/* ---- files ---- */

enum elapse__os_kind {
    ELAPSE__OS_REGULAR,
    ELAPSE__OS_DIRECTORY,
    ELAPSE__OS_LINK,  /* a symbolic link */
    ELAPSE__OS_OTHER, /* a device, a pipe or a socket */
};

struct elapse__os_status {
    enum elapse__os_kind kind;
    uint64_t bytes; /* for a regular file */
    /* Two names or descriptors whose identities are equal belong to the same file. */
    uint64_t identity[2];
};

int elapse__os_open_to_read(const char *path, int *file);

/* Opens a file to write it from its beginning. Makes the file, or empties it. */
int elapse__os_open_to_write(const char *path, int *file);

/* Opens a file to append to it. Makes the file if it does not exist. */
int elapse__os_open_to_append(const char *path, int *file);

/* Opens a new, empty file in memory, to read and write it. */
int elapse__os_open_in_memory(int *file);

/* Stores another descriptor of an open file. */
int elapse__os_duplicate(int file, int *copy);

enum { ELAPSE__OS_SUFFIX_BYTES = 7 };

/* Makes a new file, which can be written, in the folder of `path`. It has the rights that a new
 * file has. Writes its name to `name`, which has room for `path` and ELAPSE__OS_SUFFIX_BYTES
 * more. */
int elapse__os_create_beside(const char *path, char *name, int *file);

int elapse__os_status_of_file(int file, struct elapse__os_status *status);
int elapse__os_status_of_path(const char *path, struct elapse__os_status *status);

/* Stores the status of the path. For a symbolic link, stores the status of the link itself. */
int elapse__os_status_of_link(const char *path, struct elapse__os_status *status);

/* Returns 0 if this program may write to the file. */
int elapse__os_check_writable(const char *path);

/* Renames a file. If a file with the name `to` exists, replaces it in one step. */
int elapse__os_rename(const char *from, const char *to);

/* Removes a file, or an empty directory. */
int elapse__os_remove(const char *path);

/* ---- signals ---- */

enum elapse__os_signal {
    ELAPSE__OS_NO_SIGNAL,
    ELAPSE__OS_HANG_UP,
    ELAPSE__OS_INTERRUPT,
    ELAPSE__OS_QUIT,
    ELAPSE__OS_TERMINATE,
    ELAPSE__OS_SUSPEND, /* from the keyboard */
    ELAPSE__OS_WINDOW_SIZE,
    ELAPSE__OS_USER, /* SIGUSR1 */
};

/* The bit for a signal in a set of signals. */
#define ELAPSE__OS_BIT(signal) (1U << (signal))

/* Signals that the program takes one by one. They do not have their usual effect then. */
struct elapse__os_signals {
    int file; /* readable while there is a signal to take */
    unsigned held;
    uint64_t blocked_before; /* as bits of the system's numbers */
};

/* Holds the signals of the set `wanted` back, so that the program can take them. Leaves out signals
 * that this program was started to ignore, for example by nohup or by & of the shell. Requires that
 * no other thread runs yet, because later threads inherit which signals are held back. */
int elapse__os_signals_open(struct elapse__os_signals *signals, unsigned wanted);

/* Takes a signal that has arrived. Returns ELAPSE__OS_NO_SIGNAL if none has arrived. */
enum elapse__os_signal elapse__os_signals_take(const struct elapse__os_signals *signals);

/* Lets those signals of a set have their usual effect that have arrived, in the calling thread, and
 * holds the signals back again. */
void elapse__os_signals_release(const struct elapse__os_signals *signals, unsigned set);
void elapse__os_signals_hold(const struct elapse__os_signals *signals, unsigned set);

/* Stops taking signals. The signals are still held back. */
void elapse__os_signals_close(struct elapse__os_signals *signals);

/* Raises the signal, which has its usual effect on this program. ELAPSE__OS_SUSPEND stops the
 * program until somebody continues it. Requires that the signal is not held back. */
void elapse__os_signal_raise(enum elapse__os_signal signal);

/* Returns the name of the signal with this number, which has ended a program. */
const char *elapse__os_signal_text(int number);

/* ---- waiting ---- */

#define ELAPSE__OS_FOREVER UINT64_MAX

/* A file, and what the program waits for. */
struct elapse__os_watch {
    int file;      /* -1: wait for nothing */
    bool for_data; /* wait until the file can be read or has ended */
    bool for_room; /* wait until the file can be written; without flags, until it fails */
    bool ready;    /* result: the file is ready for that, or has failed */
    bool failed;   /* result: the file has failed, or is a pipe that nobody reads */
};

enum { ELAPSE__OS_WATCHES_MAX = 1040 };

/* Waits until one of the files is ready. May return although no file is ready. Returns ETIMEDOUT
 * when `timeout_ns` have passed. Requires that `count` is from 1 to ELAPSE__OS_WATCHES_MAX. */
int elapse__os_wait(struct elapse__os_watch *watches, size_t count, uint64_t timeout_ns);

/* Makes an event: a file that is ready from elapse__os_event_set until elapse__os_event_reset.
 * elapse__os_close closes it. */
int elapse__os_event_open(int *file);
void elapse__os_event_set(int file);

/* Makes the event unready. Returns whether it was ready. */
bool elapse__os_event_reset(int file);

/* ---- other programs ---- */

#define ELAPSE__OS_KILL_AFTER_NS UINT64_C(5000000000)

struct elapse__os_program {
    char *const *arguments;   /* the program, which is found by PATH, its arguments, then NULL */
    char *const *environment; /* the variables, then NULL */
    const char *input;        /* the bytes of the program's standard input */
    size_t input_bytes;
    int output; /* the file that becomes the program's standard output */
    /* How long the program may run; only for elapse__os_run. After that time, the program and the
     * programs that it has started are asked to end. They are a group of processes. The group is
     * killed ELAPSE__OS_KILL_AFTER_NS later, or as soon as the program itself has ended. 0: there
     * is no limit, and the program stays in the group of this program. */
    uint64_t timeout_ns;
    /* Puts the program into a group of processes of its own, as a `timeout_ns` does.
     * elapse__os_end_group needs such a group. Keys of the terminal that raise a signal, such as
     * Ctrl-C, do not reach such a program. */
    bool has_group;
    const struct elapse__os_signals
        *signals; /* signals that the program does not inherit as held back; may be NULL */
};

/* Stands for an exit status that the system does not tell. */
enum { ELAPSE__OS_STATUS_UNKNOWN = 255 };

/* How a program ended. */
struct elapse__os_end {
    bool timed_out;
    bool by_signal;
    int number; /* the exit status, or the number of the signal */
};

/* A program that is running. */
struct elapse__os_process {
    int number;
    int file; /* readable when the program has ended; -1 before Linux 5.3: no file */
};

/* Starts a program, and does not wait for its end. The program need not read all its input. */
int elapse__os_start(const struct elapse__os_program *program, struct elapse__os_process *process);

/* Looks for a program as elapse__os_start does: it looks for a name without '/' in the directories
 * of PATH. Returns 0 if this process may run the program, or an error number: ENOENT, EACCES. */
int elapse__os_find_program(const char *name);

/* Returns whether the program has ended. If it has, stores how it ended, and frees the process.
 * With `with_group`, first kills the rest of the program's group. That requires that the program
 * has a group of its own. */
bool elapse__os_collect(struct elapse__os_process *process, bool with_group,
                        struct elapse__os_end *end);

/* Asks the program's group of processes to end, or kills the group if `at_once`. Requires that the
 * program has a group of its own, and was not collected. */
void elapse__os_end_group(const struct elapse__os_process *process, bool at_once);

/* Runs a program, and waits until it has ended. The program need not read all its input. */
int elapse__os_run(const struct elapse__os_program *program, struct elapse__os_end *end);

/* Returns the environment of this program: texts NAME=value, then NULL. */
char *const *elapse__os_environment(void);

/* ---- the terminal ---- */

bool elapse__os_is_terminal(int file);

/* Stores the size of the terminal's window. A side whose size is unknown is 0. Returns false if the
 * file is no terminal. */
bool elapse__os_terminal_size(int file, unsigned *columns, unsigned *rows);

/* elapse__os_keys_open makes a terminal deliver each key at once without showing it.
 * elapse__os_keys_close restores the terminal. Keys that raise a signal still raise it. Opening
 * fails if the file is no terminal, or if this program is in the background. Requires that at most
 * one terminal is open at a time. */
int elapse__os_keys_open(int file);
void elapse__os_keys_close(int file);

/* Sets the locale of characters to that of the user. Returns whether it uses UTF-8. Requires that
 * no other thread runs. */
bool elapse__os_locale_is_utf8(void);

/* ---- threads ---- */

/* A thread that runs main(argument). */
struct elapse__os_background;
int elapse__os_background_start(struct elapse__os_background **background, void (*main)(void *),
                                void *argument);

/* Waits until the thread has returned from its main function, and frees the thread. */
void elapse__os_background_join(struct elapse__os_background *background);

/* A lock with a condition. An error that a correct program cannot have stops the program with a
 * message. */
struct elapse__os_monitor;
int elapse__os_monitor_new(struct elapse__os_monitor **monitor);
void elapse__os_monitor_free(struct elapse__os_monitor *monitor);

void elapse__os_monitor_enter(struct elapse__os_monitor *monitor);
void elapse__os_monitor_leave(struct elapse__os_monitor *monitor);

/* Leaves the monitor, waits for elapse__os_monitor_wake_all, and enters the monitor again. May
 * return without a reason. Requires that the calling thread has entered the monitor. */
void elapse__os_monitor_wait(struct elapse__os_monitor *monitor);

/* Waits as elapse__os_monitor_wait does, but only until `when_ns` by elapse__os_monotonic_ns. */
void elapse__os_monitor_wait_until(struct elapse__os_monitor *monitor, uint64_t when_ns);
void elapse__os_monitor_wake_all(struct elapse__os_monitor *monitor);

#endif
