/*
 * Refuses requests without a right password. The answer to a wrong password waits, so that nobody
 * can try many passwords in a short time.
 */
#ifndef ELAPSE__HTTP_GUESS_H
#define ELAPSE__HTTP_GUESS_H

struct elapse__http;
struct evhttp_request;

/* Refuses a request. If it has a wrong password (`has_guessed`), refuses it after a while. If it
 * has none, refuses it at once. */
void elapse__http_refuse_stranger(struct elapse__http *http, struct evhttp_request *request,
                                  _Bool has_guessed);

/* Ends all requests whose refusal is waiting. */
void elapse__http_guesses_close(struct elapse__http *http);

#endif
