/*
 * A connection of the worker to the server. A link that is lost is made again, until it works.
 */
#ifndef ELAPSE_CLI_WORK_LINK_H
#define ELAPSE_CLI_WORK_LINK_H

#include "../client/connection.h"

struct link {
    const struct client_settings *settings;
    struct connection *connection;
    bool was_made;     /* the connection was made since the link was last opened */
    bool is_reported;  /* the user knows that there is no connection */
    uint64_t retry_ns; /* when to open the link; WORKER_NEVER: the link is open */
    uint64_t pause_ns; /* the pause between the next loss and the next attempt */
    uint64_t since_ns; /* when the oldest request without a reply was sent, or later */
    uint64_t limit_ns; /* the link is lost if a reply takes longer */
};

/* Makes a link that is not open. The settings must live longer than the link. */
void link_begin(struct link *link, const struct client_settings *settings, uint64_t limit_ns);

/* Returns whether the link is open, or is being made. */
bool link_is_there(const struct link *link);

/* Opens the link if its time has come. Returns whether it was opened. */
bool link_try(struct link *link, uint64_t now_ns);

/* Says once that there is no server, and later once that there is one again. */
void link_report(struct link *link);

/* Sends and receives what it can, if the socket is ready or the next address has to be tried. */
void link_turn(struct link *link, bool is_ready);

/* Gives the connection up if a reply takes too long. */
void link_watch_time(struct link *link, uint64_t now_ns);

/* Notes that a reply has come. */
void link_answered(struct link *link);

/* Notes that the connection was lost. The link tries again after a pause. */
void link_lost(struct link *link, uint64_t now_ns);

/* Closes the link for ever. */
void link_end(struct link *link);

/* Returns when the caller has to look after the link again. */
uint64_t link_wake_ns(const struct link *link);

#endif
