# shellcheck shell=bash
# needs_nothing_foreign OBJECT: fails when the object needs any function from outside
# but the memory and string functions that a freestanding C implementation provides.
needs_nothing_foreign()
{
    local allowed='memset|memcpy|memmove|memcmp|strcmp' needed foreign
    needed=$(nm --undefined-only "$1" | awk '{print $2}')
    foreign=$(grep -Evx "$allowed" <<<"$needed" || true)
    if [ -n "$foreign" ]; then
        echo "the structures need from outside: $foreign" >&2
        return 1
    fi
    echo "from outside: $(xargs <<<"$needed")"
}
