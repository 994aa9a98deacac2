# shellcheck shell=bash
# The files that the lint checks read. Requires the root of the project as working directory.

# existing NAME...: prints those of the names that exist.
existing()
{
    local room
    for room in "$@"; do
        [[ ! -e $room ]] || echo "$room"
    done
}

c_files()
{
    existing include src tests bench examples | xargs -I ROOM find ROOM -name '*.[ch]' | sort
}

shell_files()
{
    existing dev .ci scripts tests bench clients | xargs -I ROOM find ROOM -type f \
        \( -name '*.sh' -o -exec grep -qE '^#!.*\b(ba)?sh$' {} \; \) -print | sort
}
