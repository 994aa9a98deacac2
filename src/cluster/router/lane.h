/*
 * The second layer of the router, above commands: fragments, and the lanes and links on which they
 * go to partitions. router.h defines these words.
 */
#ifndef ELAPSE__ROUTER_LANE_H
#define ELAPSE__ROUTER_LANE_H

#include "command.h"

/* ---- fragment.c ---- */

/* Returns a fragment with copies of these arguments, or NULL if there is no memory. */
struct elapse__router_fragment *
elapse__router_fragment_new(const struct elapse__wire_resp_argument *arguments, uint32_t count);

/* Returns the fragment at a place in a ring. Requires that the place is not the ring itself. */
static inline struct elapse__router_fragment *
elapse__router_fragment_at(struct elapse__ring_node *place)
{
    return ELAPSE__CONTAINER_OF(place, struct elapse__router_fragment, ring_node);
}

/* Returns whether a client sees the end of the fragment. */
bool elapse__router_fragment_is_counted(const struct elapse__router_fragment *fragment);

/* Ends a fragment that cannot wait any longer for a link. Requires that the fragment is in no
 * ring. */
void elapse__router_fragment_give_up(struct elapse__router_lane *lane,
                                     struct elapse__router_fragment *fragment);

/* Ends a fragment, tells its command, and frees the fragment. Requires that the fragment is in no
 * ring. */
void elapse__router_lane_end(struct elapse__router_lane *lane,
                             struct elapse__router_fragment *fragment,
                             enum elapse__router_fragment_end end, const unsigned char *value,
                             size_t size);

/* Called when the link of the lane is lost. The unanswered fragments of the link go back into the
 * lane, or end. */
void elapse__router_lane_lose(struct elapse__router_lane *lane, struct elapse__router_link *link);

/* ---- link.c ---- */

/* Makes a link for a lane, or a pipe for a client, and asks the shell to open it. Returns NULL if
 * there is no memory. */
struct elapse__router_link *elapse__router_link_new(struct elapse__router *router,
                                                    uint32_t partition,
                                                    struct elapse__router_lane *lane,
                                                    struct elapse__router_client *client);

/* Frees a link. Requires that no fragment is on it. */
void elapse__router_link_free(struct elapse__router_link *link);

/* Changes the state of a link. Requires that the link is not lost. */
void elapse__router_link_enter(struct elapse__router_link *link,
                               enum elapse__router_link_state state);

/* Notes that the link is lost. Its unanswered fragments go back to the lane, or end. The shell has
 * to close the link. */
void elapse__router_link_lose(struct elapse__router_link *link);

/* Does what elapse__router_link_lose does. Also frees the link if the shell has not got it yet. */
void elapse__router_link_give_up(struct elapse__router_link *link);

/* If the shell has to look at the link, puts the link among those that
 * elapse__router_link_attention returns. */
void elapse__router_link_arrange(struct elapse__router_link *link);

/* Appends a command to the output. Returns false if there is no memory. */
bool elapse__router_link_write(struct elapse__router_link *link,
                               const struct elapse__wire_resp_argument *arguments, uint32_t count);

/* Gives a fragment to the link, after the fragments that the link has. Returns false if there is no
 * memory. Then the fragment is in no ring. Requires that the link is open. */
bool elapse__router_link_send(struct elapse__router_link *link,
                              struct elapse__router_fragment *fragment);

/* Makes the fragment at this place of `sent` the next one that the core of this process runs. If
 * the place is the ring itself, no fragment is next. */
void elapse__router_link_run_at(struct elapse__router_link *link, struct elapse__ring_node *place);

/* Notes why links to this partition do not work. Requires that the text ends with a control
 * character, such as 0 or a newline. */
void elapse__router_link_complain(struct elapse__router_link *link, const char *why);

/* ---- lane.c ---- */

/* Returns whether the lane takes no further command. */
bool elapse__router_lane_is_full(const struct elapse__router_lane *lane);

/* Returns whether a fragment that is put into the lane now is sent at once. */
bool elapse__router_lane_is_open(const struct elapse__router_lane *lane);

/* Makes a fragment of these arguments, puts it into the lane, and sends what can be sent. Requires
 * that the command, if there is one, has counted the fragment. Returns false if there was no
 * memory. Then the fragment has ended with -OOM, and the command may have been freed. */
bool elapse__router_lane_send(struct elapse__router_lane *lane,
                              struct elapse__router_command *command,
                              enum elapse__router_on_loss on_loss,
                              const struct elapse__wire_resp_argument *arguments, uint32_t count);

/* Puts a finished fragment into the lane, and sends what can be sent. The fragment belongs to the
 * lane from now on. The same requirements and results as for elapse__router_lane_send. */
void elapse__router_lane_put(struct elapse__router_lane *lane,
                             struct elapse__router_command *command,
                             enum elapse__router_on_loss on_loss,
                             struct elapse__router_fragment *fragment);

/* Moves fragments from the lane to its link, as far as the link has room. Requires that the lane is
 * open. */
void elapse__router_lane_pump(struct elapse__router_lane *lane);

/* Ends fragments that have waited too long, gives up a link that does not answer, and makes the
 * lane want a link if it needs one. */
void elapse__router_lane_look(struct elapse__router_lane *lane);

/* Called when the partition has another owner. Gives up the link to the previous owner. If that
 * link still expects answers, it may take them first. */
void elapse__router_lane_moved(struct elapse__router_lane *lane);

/* ---- hands.c ---- */

/* Reads the jobs of an answer into the command. Returns false if the answer hands out no jobs, or
 * if there is no memory. */
bool elapse__router_hands_read(struct elapse__router_command *command, uint32_t partition,
                               const unsigned char *value, size_t size);

/* Gives the jobs of a command's reply back to their partition. */
void elapse__router_hands_give_back(struct elapse__router *router,
                                    const struct elapse__router_command *command);

#endif
