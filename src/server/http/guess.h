/*
 * Refuses requests without the right password. The answer to a wrong password waits, so that nobody
 * can try many passwords in a short time.
 */
#ifndef ELAPSE__HTTP_GUESS_H
#define ELAPSE__HTTP_GUESS_H

struct elapse__http;
struct evhttp_request;

/* Refuses a request: after a while if it has a wrong password (`has_guessed`), at once if it has
 * none. */
void elapse__http_refuse_stranger(struct elapse__http *http, struct evhttp_request *request,
                                  _Bool has_guessed);

/* Ends all requests whose refusal waits. */
void elapse__http_guesses_close(struct elapse__http *http);

#endif
