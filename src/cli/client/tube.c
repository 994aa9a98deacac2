#include "tube.h"

#include <string.h>

#include "../../base/assert.h"
#include "../common/nearest.h"

enum { NAME_PAGES = 10, NAMES_OF_PAGE = 1000 };

/* Offers the names of a page, and stores the cursor of the next page. Returns false if there is no
 * next page. */
static bool offer_page(struct nearest *nearest, const redisReply *page, uint64_t *cursor,
                       size_t *names)
{
    if (page->type != REDIS_REPLY_ARRAY || page->elements != 2 ||
        page->element[0]->type != REDIS_REPLY_INTEGER ||
        page->element[1]->type != REDIS_REPLY_ARRAY)
        return false;
    for (size_t i = 0; i < page->element[1]->elements; i++) {
        const redisReply *name = page->element[1]->element[i];
        *names += 1;
        if (name->type == REDIS_REPLY_STRING)
            nearest_offer(nearest, name->str, name->len);
    }
    *cursor = page->element[0]->integer > 0 ? (uint64_t)page->element[0]->integer : 0;
    return *cursor != 0;
}

/* Looks for names that are similar to that of the tube. Returns how many names there were. */
static size_t search(struct client *client, struct nearest *nearest)
{
    enum exit_status status;
    uint64_t cursor = 0;
    size_t names = 0;
    bool goes_on = connection_fault(client->connection) == CONNECTION_WORKS;

    for (int page = 0; goes_on && page < NAME_PAGES; page++) {
        request_clear(&client->request);
        request_add_text(&client->request, "TUBES");
        if (cursor != 0) {
            request_add_text(&client->request, "CURSOR");
            request_add_number(&client->request, cursor);
        }
        request_add_text(&client->request, "COUNT");
        request_add_number(&client->request, NAMES_OF_PAGE);
        redisReply *reply = client_ask(client, &status);
        goes_on = reply != NULL && offer_page(nearest, reply, &cursor, &names);
        if (reply != NULL)
            freeReplyObject(reply);
    }
    return names;
}

enum exit_status tube_say_gone(struct client *client, const char *tube)
{
    struct nearest nearest;

    nearest_begin(&nearest, tube, strlen(tube));
    /* The search only serves a message. So its own failure is not reported. */
    bool was_silent = message_silence(true);
    size_t names = search(client, &nearest);
    (void)message_silence(was_silent);
    struct nearest_question question = nearest_ask(&nearest);
    return error_of(STATUS_GONE, "there is no such tube: %s%s", quote_string(tube).text,
                    nearest.count > 0 ? question.text
                    : names > 0       ? "; 'elapse list' shows the tubes"
                                      : "");
}

enum exit_status tube_check(struct client *client, const char *tube)
{
    enum exit_status status;

    request_clear(&client->request);
    request_add_text(&client->request, "STATS");
    request_add_text(&client->request, tube);
    redisReply *reply = client_ask(client, &status);
    if (reply == NULL)
        return status;
    bool is_gone = reply->type == REDIS_REPLY_NIL;
    freeReplyObject(reply);
    return is_gone ? tube_say_gone(client, tube) : STATUS_OK;
}
