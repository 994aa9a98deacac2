/*
 * Arguments of commands: words, ids and options, by the same rules as src/server/resp has them.
 */
#include <string.h>

#include "../../base/decimal.h"
#include "command.h"

#define ID_MAX ((UINT64_C(1) << 53) - 1) /* of a job, as src/queue/queue.h has it */

bool elapse__router_argument_is(struct elapse__wire_resp_argument argument, const char *word)
{
    uint32_t i = 0;

    for (; i < argument.size && word[i] != '\0'; i++) {
        unsigned char c = argument.bytes[i];
        if ((c >= 'a' && c <= 'z' ? c - 0x20 : c) != (unsigned char)word[i])
            return false;
    }
    return i == argument.size && word[i] == '\0';
}

bool elapse__router_argument_id(struct elapse__wire_resp_argument argument, uint64_t *id)
{
    return elapse__decimal_read(argument.bytes, argument.size, ID_MAX, id) && *id > 0;
}

bool elapse__router_route_options(const struct elapse__wire_resp_argument *arguments,
                                  uint32_t count, uint32_t first,
                                  const struct elapse__router_route_option *options,
                                  uint32_t option_count, uint32_t *places)
{
    uint32_t place = first;

    memset(places, 0, option_count * sizeof *places);
    while (place < count) {
        uint32_t option = 0;
        while (option < option_count &&
               !elapse__router_argument_is(arguments[place], options[option].name))
            option++;
        if (option == option_count || places[option] != 0 ||
            count - place - 1 < options[option].values)
            return false;
        places[option] = place + 1;
        place += 1 + options[option].values;
    }
    return true;
}
