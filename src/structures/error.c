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
        return "all places are taken";
    }
    return "unknown error";
}
