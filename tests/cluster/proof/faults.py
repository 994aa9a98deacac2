#!/usr/bin/env python3
"""faults.py [--trials N] [--only A,B] [--partitions P] [--nodes N] [--followers F] [--lease-ms N] [--csv FILE]
          [--minutes N]

Causes the faults that a cluster must survive, one after the other, again and again. Three nodes, or --nodes, and
three servers of PostgreSQL run on this machine, and clients send commands all the time (load.py). After
each trial everything that was answered is checked (ledger.py says what must not happen). Each line of
the CSV is a trial. A trial that has a line is not run again, so the script may be ended and started at
any time.

--expect-loss starts the nodes with --single-copy, so that they acknowledge what no standby has. The
proof must notice that, because a proof that cannot fail proves nothing.

With --followers each partition has so many copies beside its owner's, and each trial begins when all of them
are ready. The nodes even their partitions after 3 s, also in the middle of a trial. Some faults (copies.py) need
--followers 1 and four nodes, and are left out otherwise.

`--list` names the faults. ELAPSE_PROGRAM is the program. The script needs the packages postgresql and
libfaketime.
"""

import argparse
import os
import signal
import sys
import tempfile
import time

import copies
import nodes
from ledger import EARLY_CLOCKS_SET_S
from nodes import cluster, wait_until
from trials import Book, Runner

AN_HOUR_S = 3600


# ---- the faults ----


def owner_killed(trial):
    """kill -9 of a node that owns a partition."""
    node = trial.owner()
    trial.begin()
    node.kill()
    trial.wait_for_service()
    node.start()
    node.wait_until_ready()


def owner_ended(trial):
    """SIGTERM to it: it hands over."""
    node = trial.owner()
    trial.begin()
    node.signal(signal.SIGTERM)
    node.was_killed = True
    trial.wait_for_service()
    status = node.server.wait()
    if status != 0:
        trial.ledger.fault("wrong", f"a node that was ended had status {status}")
    node.start()
    node.wait_until_ready()


def primary_killed(trial):
    """kill -9 of the primary, and the right standby is promoted."""
    trial.begin()
    trial.databases.primary.kill()
    trial.promote()
    trial.wait_for_service()
    trial.databases.bring_back()


def standby_killed(trial):
    """kill -9 of a standby."""
    standby = trial.databases.standbys()[trial.number % 2]
    trial.begin()
    standby.kill()
    time.sleep(0.5)
    trial.wait_for_service()
    standby.start()
    trial.databases.bring_back()


def owner_stopped(trial):
    """SIGSTOP of an owner until another node has taken over, and SIGCONT."""
    node, epochs = trial.owner(), trial.it.epochs()
    trial.begin()
    node.freeze()
    try:
        trial.it.wait_for_another(trial.part, epochs[trial.part])
        trial.wait_for_service()
        time.sleep(0.5)
    finally:
        woken = time.monotonic()
        node.thaw()
    trial.count_zombies(node, epochs, woken)


def sync_withheld(trial):
    """The proxy passes on an append's Execute, and withholds Sync for longer than the lease. In every
    other trial the owner cannot connect anew meanwhile: another node has to get past its session."""
    epochs = trial.it.epochs()
    node, trap = trial.trap("hold", 4 * trial.it.lease_s)
    proxies = trial.it.proxies[node.number]
    trial.begin()
    for proxy in proxies:
        proxy.refuses = trial.number % 2 == 1
    try:
        trial.wait_for_service()
        wait_until(trap.ended.is_set, "the end of the trap")
    finally:
        for proxy in proxies:
            proxy.refuses = False
    trial.note = "the owner cannot connect" if trial.number % 2 == 1 else ""
    ended = time.monotonic()
    trial.count_zombies(node, epochs, ended)
    back = trial.back
    trial.wait_for_service()
    trial.back = back


def databases_killed(trial):
    """All servers of PostgreSQL are killed at once, and started again."""
    trial.begin()
    trial.databases.restart_all()
    trial.promoted = time.monotonic()
    trial.wait_for_service()


def after_waiting(trial):
    """The standbys answer again; or the primary is lost, and with it what no standby had."""
    time.sleep(0.3 if trial.number % 4 < 2 else 1.5 * trial.it.lease_s)
    if trial.number % 2 == 0:
        trial.note = "primary stays"
        trial.thaw_standbys()
        trial.wait_for_service()
        return
    trial.note = "primary lost"
    trial.lose_primary()
    trial.wait_for_service()
    trial.databases.bring_back()


def end_waiting(trial, function):
    trial.begin()
    trial.freeze_standbys()
    try:
        process = trial.wait_until_waiting()
        trial.databases.primary.sql(f"select {function}({process});\n")
        after_waiting(trial)
    finally:
        trial.thaw_standbys()


def commit_cancelled(trial):
    """A commit that waits for a standby is cancelled: PostgreSQL then says success."""
    end_waiting(trial, "pg_cancel_backend")


def commit_terminated(trial):
    """Its backend is terminated."""
    end_waiting(trial, "pg_terminate_backend")


def names_emptied(trial):
    """synchronous_standby_names is emptied while commits wait: that releases them with success."""
    names = trial.databases.servers.names
    trial.begin()
    trial.freeze_standbys()
    try:
        trial.wait_until_waiting()
        primary = trial.databases.primary
        primary.set_names("")
        wait_until(lambda: trial.databases.waiting(trial.part) is None, "the commit is released")
        time.sleep(0.2)
        if trial.expects_loss:  # on a machine with much other work the answer comes later
            wait_until(lambda: trial.ledger.counts["unsafe"] > 0, "an answer that is not safe")
        if trial.number % 2 == 0:
            primary.set_names(names)
        after_waiting(trial)
    finally:
        trial.thaw_standbys()
    trial.databases.primary.set_names(names)


def connections_cut(trial):
    """The connection is cut in the middle of an append, or after it, six times."""
    trial.begin()
    for kind in ("cut", "cut_late") * 3:
        _node, trap = trial.trap(kind, 0.05)
        wait_until(trap.ended.is_set, "the end of the trap")
        time.sleep(0.1)
    trial.wait_for_service()


def clocks_set(trial):
    """Wall clocks are set by an hour, or by 3 s: of nodes, and of the primary."""
    def set_all(clocks, ahead_s):
        for clock in clocks:
            clock.set(ahead_s)
    node, epochs = trial.owner(), trial.it.epochs()
    trial.ledger.early_s = EARLY_CLOCKS_SET_S
    # The next trial begins with clocks that nobody has set.
    trial.spoils = True
    variant = trial.number % 4
    sign = 1 if trial.number % 8 < 4 else -1
    seconds = sign * (AN_HOUR_S if trial.number % 16 < 8 else 3)
    trial.may_be_early = variant == 2 and abs(seconds) == 3
    clocks = [[other.clock for other in trial.it.nodes if other is not node],
              [node.clock], [trial.databases.primary.clock], [node.clock]][variant]
    trial.note = ("followers, and the owner is killed", "owner", "primary",
                  "owner, and it is stopped")[variant] + f", {seconds:+d} s"
    trial.begin()
    set_all(clocks, seconds)
    try:
        if variant == 0:
            node.kill()
            trial.wait_for_service()
        elif variant == 3:
            owner_stopped(trial)
        time.sleep(1.5 * trial.it.lease_s)
        trial.wait_for_service()
        if variant in (1, 2) and trial.it.epochs() != epochs:
            trial.note += ", and another node took over"
    finally:
        set_all(clocks, 0)
    if variant == 0:
        node.start()
        node.wait_until_ready()
    trial.wait_for_service()


# ---- planned moves ----


def begin_move(trial):
    """Begins to move the partition to another node. Returns the owner and that node."""
    owner = trial.owner()
    others = [node for node in trial.it.nodes if node is not owner]
    target = others[trial.number // 2 % len(others)]
    trial.place(target)
    return owner, target


def wait_for_move(trial, target):
    wait_until(lambda: trial.it.owner_of(trial.part) is target, "the partition has moved")


def partition_moved(trial):
    """A partition moves to another node while clients use it: no answer may be lost."""
    before = trial.ledger.counts["unsure"]
    trial.begin()
    _owner, target = begin_move(trial)
    wait_for_move(trial, target)
    trial.wait_for_service()
    if trial.ledger.counts["unsure"] != before:
        trial.ledger.fault("wrong", "a planned move has left an answer unknown")


def wait_for_target(trial):
    wait_until(lambda: trial.databases.primary.sql(
        f"select count(*) from elapse.place where target <> '' and part = {trial.part};\n") == "1", "the move begins")


def moved_while_promoted(trial):
    """The primary is killed in the middle of a move, and a standby is promoted."""
    begin_move(trial)
    wait_for_target(trial)
    time.sleep(trial.number % 5 * 0.1)
    trial.begin()
    trial.databases.primary.kill()
    trial.promote()
    trial.wait_for_service()
    trial.databases.bring_back()


def moved_and_killed(trial):
    """The owner, or the node that is to own next, is killed in the middle of a move."""
    owner, target = begin_move(trial)
    wait_for_target(trial)
    time.sleep(trial.number % 5 * 0.1)
    node = (owner, target)[trial.number % 2]
    trial.note = ("the owner", "the next owner")[trial.number % 2]
    trial.begin()
    node.kill()
    trial.wait_for_service()
    node.start()
    node.wait_until_ready()


def promote_wrong(trial, lacking_s):
    """Promotes a standby that lacks at least the acknowledged groups of so long."""
    databases = trial.databases
    primary = databases.primary
    wrong, other = databases.standbys()[::1 if trial.number % 2 == 0 else -1]
    wrong.kill()
    for _ in range(3):
        trial.wait_for_service()
    time.sleep(lacking_s)
    trial.begin()
    had = databases.rows()
    primary.kill()
    other.kill()
    trial.promote_lacking(wrong, had)


def wrong_standby(trial):
    """A standby that lacks the acknowledged groups of a second is promoted: every node has to notice,
    and nothing may be answered any more."""
    promote_wrong(trial, 1.0)


def almost_right_standby(trial):
    """It lacks those of some milliseconds. A node that has not read them yet, either, cannot know of
    them: their owner has to mark the partition before the lease is over."""
    promote_wrong(trial, 0.0)


FAULTS = {fault.__name__: fault for fault in (
    owner_killed, owner_ended, owner_stopped, primary_killed, standby_killed, databases_killed,
    sync_withheld, connections_cut, commit_cancelled, commit_terminated, names_emptied, clocks_set,
    partition_moved, moved_while_promoted, moved_and_killed, wrong_standby, almost_right_standby,
    *copies.FAULTS)}
BY_HAND = {"almost_right_standby"}
PROXIED = {"sync_withheld", "connections_cut"}
CLOCKED = {"clocks_set"}
OF_COPIES = {fault.__name__ for fault in copies.FAULTS}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=20, help="of each fault (20)")
    parser.add_argument("--only", default=",".join(name for name in FAULTS if name not in BY_HAND),
                        help="these faults")
    parser.add_argument("--partitions", type=int, default=2)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--followers", type=int, default=0, help="of each partition (all other nodes)")
    parser.add_argument("--lease-ms", type=int, default=1000)
    parser.add_argument("--csv", help="the file of trials (one that is removed)")
    parser.add_argument("--minutes", type=float, default=1e6, help="begins no trial after so long")
    parser.add_argument("--expect-loss", action="store_true")
    parser.add_argument("--keep", action="store_true", help="keeps the directory of a bad trial")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.list:
        for name, fault in FAULTS.items():
            print(f"{name}: {fault.__doc__}")
        return
    options.only = options.only.split(",")
    if unknown := set(options.only) - set(FAULTS):
        parser.error(f"no such fault: {', '.join(unknown)}")
    if options.followers != 1 or options.nodes < 4:
        options.only = [name for name in options.only if name not in OF_COPIES]
    if nodes.library_of_clocks() is None:
        skipped = [name for name in options.only if name in CLOCKED]
        options.only = [name for name in options.only if name not in CLOCKED]
        print("".join(f"{name} is left out: the package libfaketime is not installed\n"
                      for name in skipped), end="")
    if cluster.folder_of_programs() is None or not options.only:
        print("skipped: PostgreSQL is not installed (the package postgresql)")
        sys.exit(77)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(1))
    with tempfile.TemporaryDirectory(prefix="elapse-book-") as directory:
        book = Book(options.csv or os.path.join(directory, "trials.csv"))
        runner = Runner(options, book, FAULTS, PROXIED, CLOCKED)
        try:
            bad = runner.all()
        finally:
            runner.end()
            runner.loop.stop()
        book.summary(FAULTS)
    if options.expect_loss:
        sys.exit(0 if book.sum("lost") + book.sum("unsafe") > 0 else 1)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
