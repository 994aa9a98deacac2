#include <elapse/error.h>

const char *elapse_error_text(enum elapse_error error)
{
    switch (error) {
    case ELAPSE_OK:
        return "success";
    case ELAPSE_ERROR_ABI:
        return "header and library are of different versions";
    case ELAPSE_ERROR_STORAGE:
        return "storage is missing, too small or not aligned";
    case ELAPSE_ERROR_FULL:
        return "storage is full";
    case ELAPSE_ERROR_ARGUMENT:
        return "an argument is out of range";
    case ELAPSE_ERROR_MEMORY:
        return "out of memory";
    case ELAPSE_ERROR_SYSTEM:
        return "the system refused a thread, a file descriptor or a clock";
    case ELAPSE_ERROR_LIMIT:
        return "there are as many tasks or jobs as the limit allows";
    case ELAPSE_ERROR_KEY_PENDING:
        return "a task or job with this key is pending";
    case ELAPSE_ERROR_GONE:
        return "the task, job or lease is gone";
    case ELAPSE_ERROR_CLOSED:
        return "the scheduler or queue is closed";
    case ELAPSE_ERROR_IN_ACTION:
        return "not to be called from an action of the same scheduler";
    case ELAPSE_ERROR_BUSY:
        return "another thread is inside the same call";
    case ELAPSE_ERROR_NOTHING_DUE:
        return "nothing came due within the time-out";
    case ELAPSE_ERROR_TIMEOUT:
        return "the time-out has passed";
    case ELAPSE_ERROR_CANCELLED:
        return "the job was cancelled while it ran";
    case ELAPSE_ERROR_DISK_FULL:
        return "the disk is full";
    case ELAPSE_ERROR_IN_USE:
        return "the directory is in use";
    case ELAPSE_ERROR_DAMAGED:
        return "a file is damaged or missing";
    case ELAPSE_ERROR_FORMAT:
        return "a newer version wrote the files";
    case ELAPSE_ERROR_BROKEN:
        return "writing to the disk has failed";
    case ELAPSE_ERROR_WALL_CLOCK:
        return "a task by the wall clock cannot be moved to another deadline";
    }
    return "unknown error";
}
