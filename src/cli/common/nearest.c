#include "nearest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "../../base/assert.h"

void nearest_begin(struct nearest *nearest, const char *wanted, size_t length)
{
    memset(nearest, 0, sizeof *nearest);
    nearest->wanted = wanted;
    nearest->wanted_length = length;
}

static char folded(char letter)
{
    return (char)tolower((unsigned char)letter);
}

static size_t least(size_t one, size_t other)
{
    return one < other ? one : other;
}

/* Returns how many letters have to be changed, added, removed or exchanged with the next one, to
 * make one word from the other. Upper and lower case count as equal. */
static size_t distance(const char *one, size_t one_length, const char *other, size_t other_length)
{
    /* The rows of the table for the last three letters of `one`. */
    size_t rows[3][NEAREST_BYTES + 1];

    ELAPSE__ASSERT_THAT(one_length, <=, (size_t)NEAREST_BYTES);
    ELAPSE__ASSERT_THAT(other_length, <=, (size_t)NEAREST_BYTES);
    for (size_t j = 0; j <= other_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= one_length; i++) {
        size_t *row = rows[i % 3];
        const size_t *before = rows[(i - 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= other_length; j++) {
            bool is_same = folded(one[i - 1]) == folded(other[j - 1]);
            row[j] = least(least(before[j], row[j - 1]) + 1, before[j - 1] + !is_same);
            if (i > 1 && j > 1 && folded(one[i - 1]) == folded(other[j - 2]) &&
                folded(one[i - 2]) == folded(other[j - 1]))
                row[j] = least(row[j], rows[(i - 2) % 3][j - 2] + 1);
        }
    }
    return rows[one_length % 3][other_length];
}

/* Inserts a name among those that were found, the nearest first. */
static void keep(struct nearest *nearest, const char *name, size_t length, size_t away)
{
    size_t place = nearest->count;

    if (nearest->count < NEAREST_MAX)
        nearest->count++;
    else if (nearest->found[--place].distance <= away)
        return;
    for (; place > 0 && nearest->found[place - 1].distance > away; place--)
        nearest->found[place] = nearest->found[place - 1];
    ELAPSE__ASSERT_THAT(place, <, nearest->count);
    nearest->found[place].distance = away;
    nearest->found[place].length = length;
    memcpy(nearest->found[place].name, name, length);
}

void nearest_offer(struct nearest *nearest, const char *name, size_t length)
{
    size_t wanted = nearest->wanted_length;
    size_t allowed = wanted < 3 ? 1 : least((wanted + 2) / 3, 4);

    if (length == 0 || wanted == 0 || length > NEAREST_BYTES || wanted > NEAREST_BYTES)
        return;
    size_t away = distance(nearest->wanted, wanted, name, length);
    bool begins = length > wanted && memcmp(nearest->wanted, name, wanted) == 0;
    /* A name that begins with the word counts as if one letter were wrong. */
    if (begins && away > 1)
        away = 1;
    if (away <= allowed && away < wanted)
        keep(nearest, name, length, away);
}

struct nearest_question nearest_ask(const struct nearest *nearest)
{
    struct nearest_question question = {.text = ""};
    size_t end = 0;
    size_t count = 0;

    while (count < nearest->count && nearest->found[count].distance == nearest->found[0].distance)
        count++;
    for (size_t i = 0; i < count; i++) {
        const char *before = i == 0 ? "; did you mean " : i + 1 < count ? ", " : " or ";
        struct quoted name = quote_text(nearest->found[i].name, nearest->found[i].length);
        int length = snprintf(question.text + end, sizeof question.text - end, "%s%s%s", before,
                              name.text, i + 1 == count ? "?" : "");
        ELAPSE__ASSERT(length > 0 && (size_t)length < sizeof question.text - end);
        end += (size_t)length;
    }
    return question;
}
