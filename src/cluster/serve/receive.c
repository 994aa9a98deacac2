/*
 * Receives bytes from the sockets of clients and of links.
 */
#include "../../base/assert.h"
#include "base.h"

size_t elapse__cluster_receive(struct elapse__cluster *cluster, struct elapse__peer *peer,
                               size_t room)
{
    size_t most = ELAPSE__BATCH_PEER_BYTES;

    if (peer->has_ended || room == 0 || peer->peers->is_stopping)
        return 0;
    ELAPSE__ASSERT_NO_LOCK_HELD();
    /* The peer goes to the end of the ring, so that other peers have their turn. Bytes that the
     * socket gets later are read in the next turn. */
    elapse__peer_enter(peer, ELAPSE__PEER_READY);
    return elapse__peer_receive(peer, cluster->batch, room < most ? room : most);
}
