#include "reader.h"

#include "../base/assert.h"

/* Every number that may be written is below this. */
enum { TOO_GREAT = 1000 };

bool elapse__is_blank(char c)
{
    return c == ' ' || c == '\t';
}

bool elapse__is_digit(char c)
{
    return c >= '0' && c <= '9';
}

char elapse__capital(char c)
{
    static const char capitals[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    if (c < 'a' || c > 'z')
        return c;
    return capitals[c - 'a'];
}

bool elapse__is_letter(char c)
{
    return elapse__capital(c) >= 'A' && elapse__capital(c) <= 'Z';
}

char elapse__reader_peek(const struct elapse__reader *reader)
{
    return elapse__capital(reader->text[reader->at]);
}

bool elapse__reader_take(struct elapse__reader *reader, char c)
{
    ELAPSE__ASSERT(c != '\0');
    ELAPSE__ASSERT(c == elapse__capital(c));
    if (elapse__reader_peek(reader) != c)
        return false;
    reader->at++;
    return true;
}

void elapse__reader_skip_blanks(struct elapse__reader *reader)
{
    while (elapse__is_blank(elapse__reader_peek(reader)))
        reader->at++;
}

bool elapse__reader_follows(const struct elapse__reader *reader, const char *word, size_t length)
{
    /* The terminator is no capital, so the comparison ends at the terminator at the latest. */
    for (size_t i = 0; i < length; i++) {
        ELAPSE__ASSERT(elapse__is_letter(word[i]));
        if (elapse__capital(reader->text[reader->at + i]) != word[i])
            return false;
    }
    return true;
}

/* Reads digits. Returns their number, but never more than TOO_GREAT. */
static unsigned read_digits(struct elapse__reader *reader)
{
    unsigned number = 0;
    for (; elapse__is_digit(elapse__reader_peek(reader)); reader->at++) {
        number = 10 * number + (unsigned)(elapse__reader_peek(reader) - '0');
        if (number > TOO_GREAT)
            number = TOO_GREAT;
    }
    ELAPSE__ASSERT(number <= TOO_GREAT);
    return number;
}

bool elapse__reader_number(struct elapse__reader *reader, unsigned low, unsigned high,
                           const char *fault, unsigned *number)
{
    size_t start = reader->at;
    ELAPSE__ASSERT(low <= high);
    ELAPSE__ASSERT(high < TOO_GREAT);
    if (!elapse__is_digit(elapse__reader_peek(reader)))
        return elapse__reader_fail(reader, start, fault);
    *number = read_digits(reader);
    ELAPSE__ASSERT(reader->at > start);
    if (*number < low || *number > high)
        return elapse__reader_fail(reader, start, fault);
    return true;
}

bool elapse__reader_fail(struct elapse__reader *reader, size_t position, const char *text)
{
    ELAPSE__ASSERT(text != NULL);
    ELAPSE__ASSERT(position <= ELAPSE_CRON_LENGTH_MAX);
    reader->fault.position = position;
    reader->fault.text = text;
    return false;
}
