#include "guard.h"

#include <stdint.h>
#include <string.h>

#include "../../base/assert.h"

static unsigned char small(char letter)
{
    unsigned char byte = (unsigned char)letter;

    return byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte;
}

/* Compares the first `size` characters of `text` with a word. Upper and lower case count as
 * equal. */
static bool is_word(const char *text, size_t size, const char *word)
{
    ELAPSE__ASSERT(memchr(text, '\0', size) == NULL);
    if (strlen(word) != size)
        return false;
    for (size_t i = 0; i < size; i++)
        if (small(text[i]) != small(word[i]))
            return false;
    return true;
}

static bool is_digit(char letter)
{
    return letter >= '0' && letter <= '9';
}

/* Returns whether the text is four numbers up to 255. A browser turns every other form of an IPv4
 * address into this form. */
static bool is_ipv4(const char *text, size_t size)
{
    size_t at = 0;

    for (unsigned part = 0; part < 4; part++) {
        unsigned value = 0;
        size_t digits = 0;
        if (part > 0 && (at == size || text[at++] != '.'))
            return false;
        for (; at < size && is_digit(text[at]) && digits < 3; at++, digits++)
            value = value * 10 + (unsigned)(text[at] - '0');
        if (digits == 0 || value > 255)
            return false;
    }
    return at == size;
}

/* Returns whether the text is an IPv6 address: hexadecimal digits, colons and dots in brackets. It
 * is enough to look for a colon, because a name has none. */
static bool is_ipv6(const char *text, size_t size)
{
    bool has_colon = false;

    if (size < 4 || text[0] != '[' || text[size - 1] != ']')
        return false;
    for (size_t i = 1; i < size - 1; i++) {
        unsigned char letter = small(text[i]);
        if (!is_digit(text[i]) && !(letter >= 'a' && letter <= 'f') && letter != ':' &&
            letter != '.')
            return false;
        has_colon = has_colon || letter == ':';
    }
    return has_colon;
}

/* Returns how many characters come before the port, or SIZE_MAX if the port is no number. */
static size_t name_size(const char *host)
{
    const char *bracket = strchr(host, ']');
    const char *colon = strchr(bracket == NULL ? host : bracket, ':');

    if (colon == NULL)
        return strlen(host);
    size_t digits = strlen(colon + 1);
    if (digits == 0 || digits > 5)
        return SIZE_MAX;
    for (const char *digit = colon + 1; *digit != '\0'; digit++)
        if (!is_digit(*digit))
            return SIZE_MAX;
    return (size_t)(colon - host);
}

bool elapse__http_host_is_own(const char *host, const char *const *names, size_t count)
{
    if (host == NULL)
        return false;
    size_t size = name_size(host);
    if (size == SIZE_MAX || size == 0)
        return false;
    ELAPSE__ASSERT_THAT(size, <=, strlen(host));
    if (is_ipv4(host, size) || is_ipv6(host, size) || is_word(host, size, "localhost"))
        return true;
    for (size_t i = 0; i < count; i++)
        if (is_word(host, size, names[i]))
            return true;
    return false;
}

bool elapse__http_origin_is_own(const char *origin, const char *host)
{
    static const char *const schemes[] = {"http://", "https://"};

    if (origin == NULL)
        return true;
    for (size_t i = 0; host != NULL && i < sizeof schemes / sizeof *schemes; i++) {
        size_t length = strlen(schemes[i]);
        if (strlen(origin) > length && is_word(origin, length, schemes[i]) &&
            is_word(origin + length, strlen(origin + length), host))
            return true;
    }
    return false;
}

bool elapse__http_is_json(const char *content_type)
{
    if (content_type == NULL)
        return false;
    size_t size = strcspn(content_type, ";");
    while (size > 0 && (content_type[size - 1] == ' ' || content_type[size - 1] == '\t'))
        size--;
    return is_word(content_type, size, "application/json");
}

const char *elapse__http_bearer(const char *authorization)
{
    static const char scheme[] = "Bearer ";

    if (authorization == NULL || strlen(authorization) < sizeof scheme ||
        !is_word(authorization, sizeof scheme - 1, scheme))
        return NULL;
    authorization += sizeof scheme - 1;
    while (*authorization == ' ')
        authorization++;
    return *authorization == '\0' ? NULL : authorization;
}
