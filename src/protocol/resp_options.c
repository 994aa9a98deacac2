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

/* Returns the rest of the word behind the argument, if the word begins with the argument, whatever
 * the case of its letters; otherwise NULL. A blank of the word never belongs to the argument. */
static inline const char *rest_behind(struct elapse__wire_resp_argument argument, const char *word)
{
    /* A letter of the word in small has one bit more; digits and blanks have that bit already. */
    for (uint32_t i = 0; i < argument.size; i++) {
        unsigned own = (unsigned char)word[i];
        ELAPSE__ASSERT((own >= 'A' && own <= 'Z') || own < 'A');
        if (own <= ' ' || ((argument.bytes[i] ^ own) & (own | 0xDFU)) != 0)
            return NULL;
    }
    return word + argument.size;
}

bool elapse__wire_resp_is(struct elapse__wire_resp_argument argument, const char *word)
{
    const char *rest = rest_behind(argument, word);

    return rest != NULL && *rest == '\0';
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
    for (uint32_t words = 0; words < left; words++) {
        const char *rest = rest_behind(arguments[words], name);
        if (rest != NULL && *rest == '\0')
            return words + 1;
        if (rest == NULL || *rest != ' ')
            return 0;
        name = rest + 1;
    }
    return 0;
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
