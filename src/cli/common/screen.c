#include "screen.h"

#include <errno.h>

#include "../../base/assert.h"
#include "output.h"

#define TAKEN_SIGNALS                                                            \
    (ELAPSE__OS_BIT(ELAPSE__OS_HANG_UP) | ELAPSE__OS_BIT(ELAPSE__OS_INTERRUPT) | \
     ELAPSE__OS_BIT(ELAPSE__OS_QUIT) | ELAPSE__OS_BIT(ELAPSE__OS_TERMINATE) |    \
     ELAPSE__OS_BIT(ELAPSE__OS_SUSPEND) | ELAPSE__OS_BIT(ELAPSE__OS_WINDOW_SIZE))

static void take_terminal(struct screen *screen)
{
    output_add_text(screen->begin);
    if (screen->has_keys)
        screen->has_keys = elapse__os_keys_open(ELAPSE__OS_INPUT) == 0;
}

static void restore_terminal(const struct screen *screen)
{
    output_add_text(screen->end);
    (void)output_finish();
    if (screen->has_keys)
        elapse__os_keys_close(ELAPSE__OS_INPUT);
}

enum exit_status screen_open(struct screen *screen, const char *begin, const char *end)
{
    *screen = (struct screen){
        .begin = begin, .end = end, .has_keys = elapse__os_is_terminal(ELAPSE__OS_INPUT)};
    int error = elapse__os_signals_open(&screen->signals, TAKEN_SIGNALS);

    if (error != 0)
        return error_of(STATUS_FAILED, "cannot take signals: %s", elapse__os_error_text(error));
    take_terminal(screen);
    return STATUS_OK;
}

void screen_close(struct screen *screen)
{
    restore_terminal(screen);
    elapse__os_signals_release(&screen->signals, TAKEN_SIGNALS);
    elapse__os_signals_close(&screen->signals);
}

/* Ends or stops the program, as the signal does by default. After a stop, returns when the program
 * is continued. */
static void obey(struct screen *screen, enum elapse__os_signal signal)
{
    ELAPSE__ASSERT(signal != ELAPSE__OS_WINDOW_SIZE);
    restore_terminal(screen);
    elapse__os_signals_release(&screen->signals, TAKEN_SIGNALS);
    elapse__os_signal_raise(signal);
    elapse__os_signals_hold(&screen->signals, TAKEN_SIGNALS);
    take_terminal(screen);
}

enum screen_event screen_wait(struct screen *screen, uint64_t timeout_ns, char *key)
{
    enum { SIGNALS, KEYS, WATCH_COUNT };
    size_t got = 0;
    struct elapse__os_watch watches[WATCH_COUNT] = {
        [SIGNALS] = {.file = screen->signals.file, .for_data = true},
        [KEYS] = {.file = screen->has_keys ? ELAPSE__OS_INPUT : -1, .for_data = true},
    };

    if (elapse__os_wait(watches, WATCH_COUNT, timeout_ns) == ETIMEDOUT)
        return SCREEN_TIMEOUT;
    if (watches[KEYS].ready) {
        ELAPSE__ASSERT(screen->has_keys);
        if (elapse__os_read(ELAPSE__OS_INPUT, key, 1, &got) != 0 || got == 0)
            *key = 'q';
        return SCREEN_KEY;
    }
    enum elapse__os_signal signal = elapse__os_signals_take(&screen->signals);
    if (signal == ELAPSE__OS_NO_SIGNAL)
        return SCREEN_NOTHING;
    if (signal != ELAPSE__OS_WINDOW_SIZE)
        obey(screen, signal);
    return SCREEN_REDRAW;
}
