# shellcheck shell=bash
# How far a long step is, on standard error: on a terminal one line that is rewritten, elsewhere a line
# every 15 seconds.

progress_shown_s=$SECONDS

progress_show()
{
    if [[ -t 2 ]]; then
        printf '\r\033[K%s' "$1" >&2
    elif ((SECONDS - progress_shown_s >= 15)); then
        echo "$1" >&2
        progress_shown_s=$SECONDS
    fi
}

# Removes the line from the terminal, so that other output can follow.
progress_clear()
{
    [[ ! -t 2 ]] || printf '\r\033[K' >&2
}
