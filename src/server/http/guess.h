/*
 * Requests with a wrong password: their answer waits.
 */
#ifndef ELAPSE__HTTP_GUESS_H
#define ELAPSE__HTTP_GUESS_H

struct elapse__http;
struct evhttp_request;

/* Answers a request that has no password, at once; or one that has a wrong one, after a while. */
void elapse__http_refuse_stranger(struct elapse__http *http, struct evhttp_request *request,
                                  _Bool has_guessed);

/* Ends all requests that wait for such an answer. */
void elapse__http_guesses_close(struct elapse__http *http);

#endif
