#include "resp_options.h"

#include <string.h>

#include "../base/assert.h"

const struct elapse__wire_resp_option elapse__wire_resp_put_options[] = {
#define OPTION(NAME, json, form, values) {#NAME, values},
    ELAPSE__PUT_OPTIONS(OPTION)
#undef OPTION
};

_Static_assert((int)ELAPSE__PUT_OPTION_COUNT <= (int)ELAPSE__WIRE_RESP_OPTIONS_MAX,
               "a command may have all options of PUT");

bool elapse__wire_resp_is(struct elapse__wire_resp_argument argument, const char *word)
{
    uint32_t i = 0;

    /* A letter of the word in small has one bit more; digits and blanks have that bit already. */
    for (; i < argument.size; i++) {
        unsigned char c = argument.bytes[i], own = (unsigned char)word[i];
        ELAPSE__ASSERT((own >= 'A' && own <= 'Z') || own < 'A');
        if (own == '\0' || (c != own && c != (own | 0x20)))
            return false;
    }
    return word[i] == '\0';
}

uint32_t elapse__wire_resp_count_pairs(const struct elapse__wire_resp_argument *arguments,
                                       uint32_t count)
{
    uint32_t place = 3;

    ELAPSE__ASSERT_THAT(count, >, 0);
    while (place < count && arguments[place].size > 0 && arguments[place].bytes[0] >= '0' &&
           arguments[place].bytes[0] <= '9')
        place += 2;
    return place > count ? 0 : (place - 1) / 2;
}

uint32_t elapse__wire_resp_count_tubes(const struct elapse__wire_resp_argument *arguments,
                                       uint32_t count)
{
    uint32_t place = 2;

    ELAPSE__ASSERT_THAT(count, >, 1U);
    while (place < count && !elapse__wire_resp_is(arguments[place], "COUNT") &&
           !elapse__wire_resp_is(arguments[place], "WAIT") &&
           !elapse__wire_resp_is(arguments[place], "DETAILS") &&
           !elapse__wire_resp_is(arguments[place], "HOLDER"))
        place++;
    return place - 1;
}

/* Returns how many arguments from the place on are the name of the option; 0: they are not. */
static uint32_t name_words(const struct elapse__wire_resp_argument *arguments, uint32_t left,
                           const char *name)
{
    /* Most options are not the one that stands here, and the first letter tells. */
    if (arguments[0].size == 0 || (arguments[0].bytes[0] & ~0x20) != name[0])
        return 0;
    const char *second = strchr(name, ' ');
    if (second == NULL)
        return elapse__wire_resp_is(arguments[0], name);
    size_t size = (size_t)(second - name);
    char first[16] = {0};
    ELAPSE__ASSERT_THAT(size, <, sizeof first);
    memcpy(first, name, size);
    return left > 1 && elapse__wire_resp_is(arguments[0], first) &&
                   elapse__wire_resp_is(arguments[1], second + 1)
               ? 2
               : 0;
}

bool elapse__wire_resp_find_options(const struct elapse__wire_resp_argument *arguments,
                                    uint32_t count, uint32_t first,
                                    const struct elapse__wire_resp_option *options,
                                    uint32_t option_count, uint32_t *places,
                                    struct elapse__wire_resp_fault *fault)
{
    uint32_t place = first;
    const char *text = NULL;

    ELAPSE__ASSERT_THAT(option_count, <=, ELAPSE__WIRE_RESP_OPTIONS_MAX);
    memset(places, 0, option_count * sizeof *places);
    while (place < count && text == NULL) {
        uint32_t option = 0;
        uint32_t words = 0;
        while (option < option_count && words == 0) {
            words = name_words(&arguments[place], count - place, options[option].name);
            option += words == 0;
        }
        while (option + 1 < option_count && places[option] != 0 &&
               strcmp(options[option].name, options[option + 1].name) == 0)
            option++;
        if (option == option_count) {
            text = "there is no option";
        } else if (places[option] != 0) {
            text = "twice the option";
        } else if (count - place - words < options[option].values) {
            text = "a value is missing behind";
        } else {
            places[option] = place + words;
            place += words + options[option].values;
        }
    }
    ELAPSE__ASSERT(text != NULL || place == (first < count ? count : first));
    if (text != NULL && fault != NULL)
        *fault = (struct elapse__wire_resp_fault){.place = place, .text = text};
    return text == NULL;
}
