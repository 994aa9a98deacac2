# shellcheck shell=bash
# What the lint checks look at; the working directory is the root of the project.

# Those of the given folders and files that there are.
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
    existing dev .ci scripts tests bench | xargs -I ROOM find ROOM -type f \
        \( -name '*.sh' -o -exec grep -qE '^#!.*\b(ba)?sh$' {} \; \) -print | sort
}

# Whatever people write: sources, scripts, build files, pages.
text_files()
{
    find . \( -name .git -o -name build -o -name corpus \) -prune -o -type f -print | sort
}
