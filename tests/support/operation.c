/*
 * Prints operations.
 */
#include "operation.h"

#include <inttypes.h>

#include <elapse/timer.h>

static void print_tick(FILE *out, uint64_t tick)
{
    if (tick == ELAPSE_NEVER)
        fprintf(out, "NEVER");
    else if (tick > ELAPSE_NEVER - 1000 && ELAPSE_NEVER > 1000)
        fprintf(out, "NEVER - %" PRIu64, ELAPSE_NEVER - tick);
    else
        fprintf(out, "%" PRIu64, tick);
}

void operation_print(FILE *out, const struct operation *operation)
{
    switch (operation->kind) {
    case OPERATION_START:
        fprintf(out, "start timer %u at ", operation->timer);
        print_tick(out, operation->first);
        break;
    case OPERATION_START_WINDOW:
        fprintf(out, "start timer %u in the window ", operation->timer);
        print_tick(out, operation->first);
        fprintf(out, " to ");
        print_tick(out, operation->second);
        break;
    case OPERATION_STOP:
        fprintf(out, "stop timer %u", operation->timer);
        break;
    case OPERATION_ADVANCE:
        fprintf(out, "advance to ");
        print_tick(out, operation->first);
        break;
    case OPERATION_POP:
        fprintf(out, "pop");
        break;
    case OPERATION_POP_ALL:
        fprintf(out, "pop until NULL");
        break;
    case OPERATION_CASCADE:
        fprintf(out, "cascade %" PRIu64, operation->first);
        break;
    case OPERATION_CASCADE_ALL:
        fprintf(out, "cascade %" PRIu64 " until true", operation->first);
        break;
    case OPERATION_CASCADE_AHEAD:
        fprintf(out, "cascade ahead %" PRIu64, operation->first);
        break;
    case OPERATION_FOLLOW_NEXT:
        fprintf(out, "advance to next, pop until NULL");
        break;
    case OPERATION_INSPECT:
        fprintf(out, "inspect");
        break;
    case OPERATION_STOP_VISITED:
        fprintf(out, "for_each: stop each timer %% %" PRIu64 " == 0", operation->first);
        break;
    case OPERATION_CLEAR:
        fprintf(out, "clear");
        break;
    case OPERATION_KINDS:
        break;
    }
    fputc('\n', out);
}
