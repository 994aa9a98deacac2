"""Runs one trial of a fault. Clients send commands while the fault happens, and afterwards everything is
checked."""

import time

from ledger import KINDS, Ledger
from load import ANSWER_LIMIT_S, Clients
from nodes import PATIENCE_S, cluster, last_line, wait_until
from proxy import Trap, append_of
from stalls import Stalls

WARM_S = 0.5
AFTER_S = 0.3
COUNTED = ("put", "removed", "read", "looked up", "handed out", "unsure", "unresolved")
COLUMNS = ("fault", "trial", "verdict", "seconds", *COUNTED, *KINDS, "zombies", "fenced", "gap_s",
           "promoted_s", "earliest_ms", "noticed", "note")


class Trial:
    """One fault, once. `number` counts from 0, and chooses among variants."""

    def __init__(self, it, name, number):
        self.it, self.name, self.number = it, name, number
        self.databases = it.databases
        self.part = number % it.partitions
        self.ledger = Ledger(it.partitions)
        self.clients = Clients(self.ledger, [node.port for node in it.nodes], it.partitions,
                               f"{name}-{number}", it.lease_s)
        self.begun = self.back = None
        self.promoted_s = None  # from the promotion until all partitions answer
        self.promoted = None
        self.zombies = self.fenced = 0
        self.noticed = ""
        self.note = ""
        self.answer_limit_s = ANSWER_LIMIT_S
        self.is_last = False  # nothing can be looked at afterwards
        self.may_be_early = False  # the database's own time was set
        self.expects_loss = "--single-copy" in it.options  # nodes acknowledge what no standby has
        self.spoils = False   # the next trial needs another cluster
        self.look_at = number % len(it.nodes)  # the node through which all is checked at the end

    # ---- for faults ----

    def begin(self):
        """The fault begins: from here on the time without service is measured."""
        self.begun = time.monotonic()

    def wait_for_service(self):
        """Waits until each partition has answered a write from now on."""
        now = time.monotonic()
        wait_until(lambda: all(self.ledger.answered_since(part, now)
                               for part in range(self.it.partitions)),
                   f"{self.name}: each partition answers again", PATIENCE_S)
        self.back = time.monotonic()
        if self.promoted is not None:
            self.promoted_s = self.back - self.promoted

    def owner(self):
        return self.it.wait_for_owners()[self.part]

    def promote(self):
        self.databases.promote_best()
        self.promoted = time.monotonic()

    def place(self, node):
        """Says that the partition of the trial belongs to the node, as `elapse cluster move` does."""
        self.databases.primary.sql(
            "insert into elapse.place (queue, part, preferred) select queue, %d, name from elapse.node"
            " where queue = '%s' and address = '%s' on conflict (queue, part)"
            " do update set preferred = excluded.preferred, target = '';\n"
            % (self.part, self.databases.queue, f"127.0.0.1:{node.port}"))

    def promote_lacking(self, wrong, had):
        """Promotes a standby that lacks acknowledged groups: `had` are the rows of the primary. Both other servers
        are dead. All nodes that live have to notice, and nothing may be answered any more."""
        databases, it = self.databases, self.it
        wrong.start()
        databases.servers.promote(wrong)
        databases.primary = wrong
        # The last group may not have been acknowledged yet. Nobody appends so soon.
        has = databases.rows()
        if not all(has[part][3] < had[part][3] - 1 for part in had):
            raise AssertionError(f"the wrong standby lacks too little: {has}, {had}")
        self.ledger.unsafe = (time.monotonic(), float("inf"))
        databases.bring_back()
        living = [node for node in it.nodes if not node.was_killed]
        with Stalls() as stalls:
            start = time.monotonic()
            try:
                wait_until(lambda: not any(node.runs for node in it.nodes), "all nodes have ended",
                           max(10 * it.lease_s, PATIENCE_S))
            except cluster.Failure:
                pass
            took_s = time.monotonic() - start - stalls.seconds
        time.sleep(2 * it.lease_s)
        ended = [node for node in living if not node.runs]
        loud = [node for node in ended if "cannot go on" in node.log()]
        self.noticed = "no" if len(loud) < len(living) else "yes" if took_s < 10 * it.lease_s else "late"
        self.note += ("; " if self.note else "") + \
            f"{len(ended)} of {len(living)} nodes have ended, within {took_s:.1f} s: " + \
            "; ".join(sorted({last_line(node) for node in ended}))
        self.is_last = self.spoils = True

    def freeze_standbys(self):
        """From now on no write may be answered."""
        for standby in self.databases.standbys():
            standby.freeze()
        self.ledger.unsafe = (time.monotonic(), float("inf"))

    def thaw_standbys(self):
        begin, end = self.ledger.unsafe
        self.ledger.unsafe = (begin, min(end, time.monotonic()))
        for standby in self.databases.standbys():
            standby.thaw()

    def lose_primary(self):
        """The standbys go on without it: what it alone has is gone."""
        self.databases.primary.kill()
        self.thaw_standbys()
        self.promote()

    def trap(self, kind, hold_s):
        """Sets a trap for the owner's next append, and waits until it has sprung. Returns the owner,
        and the trap. The owner may just have changed; then it is set again."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            node = self.owner()
            proxy = self.it.proxy_of(node)
            trap = proxy.set_trap(Trap(kind, append_of(self.databases.queue, self.part), hold_s))
            try:
                wait_until(trap.sprung.is_set, "an append", 3 * self.it.lease_s)
                return node, trap
            except cluster.Failure:
                if trap in proxy.traps:
                    proxy.traps.remove(trap)
                if trap.sprung.is_set():
                    return node, trap
        raise cluster.Failure("the owner appends nothing")

    def wait_until_waiting(self):
        return wait_until(lambda: self.databases.waiting(self.part), "a commit waits for a standby")

    def count_zombies(self, node, epochs, since):
        """Partitions that went from this living node to others: it has to answer by them."""
        rows = self.databases.rows()
        moved = [part for part, epoch in epochs.items()
                 if rows[part][0] > epoch and self.it.node_at(rows[part][2]) is not node]
        self.zombies = len(moved)
        readers = {reader.part: reader for reader in self.clients.readers
                   if reader.number == node.number}
        for part in moved:
            wait_until(lambda part=part: readers[part].last_answer > since, "the old owner answers")
            self.fenced += 1

    # ---- its course ----

    def run(self, fault):
        loop, clients = self.it.loop, self.clients
        loop.run(clients.start())
        try:
            time.sleep(WARM_S)
            self.begin()
            self.wait_for_service()
            self.begin()
            fault(self)
            if not self.is_last:
                time.sleep(AFTER_S)
                loop.run(clients.stop(self.answer_limit_s), ANSWER_LIMIT_S + 60)
                port = self.it.nodes[self.look_at].port
                loop.run(clients.check(port), ANSWER_LIMIT_S + 60)
        finally:
            loop.run(clients.abandon())

    def row(self, begun, error):
        counts = self.ledger.counts
        bad = self.ledger.faulty()
        if self.may_be_early:
            bad.pop("early", None)
        verdict = "error" if error else "bad" if bad or counts["unresolved"] or self.noticed in ("no", "late") \
            else "good"
        has_gap = self.back is not None and self.back > self.begun
        gap = self.ledger.gap_s(self.begun, self.back)[0] if has_gap else None
        row = {"fault": self.name, "trial": self.number, "verdict": verdict,
               "seconds": round(time.monotonic() - begun, 1), "zombies": self.zombies,
               "fenced": self.fenced, "gap_s": gap and round(gap, 3),
               "promoted_s": self.promoted_s and round(self.promoted_s, 3),
               "earliest_ms": self.ledger.earliest_s and round(self.ledger.earliest_s * 1e3, 1),
               "noticed": self.noticed, "note": " ".join((self.note, error)).strip()[:200]}
        return row | {name: counts[name] for name in (*COUNTED, *KINDS)}
