#!/usr/bin/env python3
"""gatherings.py [--long]: tests many gatherings. Each is a job that waits for the arrivals of its pieces (AWAIT), and
is put with them in one transaction. A worker ends a piece and arrives in a transaction that the piece's lease guards.
Workers lose their connections and send a transaction again, some pieces never arrive, and the server is killed again
and again. Each gathering must be ready once: at once if all its pieces came, otherwise at its time-out, with as many
missing as were lost (Q15 of docs/promises.md)."""

import pathlib
import random
import sys
import tempfile
import threading

import serving

LONG = "--long" in sys.argv[1:]
GATHERINGS = 1000 if LONG else 20
PIECES = 100 if LONG else 30
WORKERS = 4
KILLS = 20 if LONG else 3
BATCH = 20
OPTIONS = ("TTR", "1s", "BACKOFF", "0s", "0s", "ATTEMPTS", "0")


def lost_of(gathering):
    """How many pieces of a gathering never arrive."""
    return gathering % 7 + 1 if gathering % 3 == 0 else 0


class Place:
    """Where the server is, and how many pieces have ended."""

    def __init__(self):
        self.changed = threading.Condition()
        self.port = None
        self.ended = 0
        self.again = 0
        self.is_over = False
        self.fault = None  # what went wrong in a worker

    def serve(self, port):
        with self.changed:
            self.port = port
            self.changed.notify_all()

    def count(self, done, again):
        with self.changed:
            self.ended += done
            self.again += again
            self.changed.notify_all()

    def fail(self, fault):
        with self.changed:
            self.fault = fault
            self.changed.notify_all()

    def check(self):
        """Ends the test if a worker has failed: the others may end the pieces without it."""
        if self.fault is not None:
            raise self.fault

    def wait_for(self, ended):
        with self.changed:
            going = self.changed.wait_for(lambda: self.ended >= ended or self.fault, serving.PATIENCE_S)
            self.check()
            assert going, "the pieces do not go on"

    def connect(self):
        with self.changed:
            self.changed.wait_for(lambda: self.port is not None or self.is_over, serving.PATIENCE_S)
            if self.port is None:
                raise EOFError("there is no server now")
            return serving.Connection(self.port)


def transaction_of(job):
    """The end of a piece: it arrives, or is lost."""
    number, lease, _, _, body = job[:5]
    gathering, piece = map(int, body.split())
    end = [("BURY", number, lease)] if piece < lost_of(gathering) else [
        ("ACK", number, lease), ("ARRIVE", "sum", gathering)]
    return [("MULTI",), ("LEASED", number, lease), *end, ("EXEC",)]


class Worker(threading.Thread):
    def __init__(self, place, seed):
        super().__init__()
        self.place = place
        self.chance = random.Random(seed)
        self.told = []  # transactions that are to be sent again, because their answers were lost
        self.is_new = True

    def work(self, client):
        if not self.told:
            jobs = client.ask("RESERVE", "pieces", "COUNT", BATCH, "WAIT", "50ms") or []
            if self.chance.random() < 0.01:  # the worker has died with the jobs in hand
                return
            self.told = [transaction_of(job) for job in jobs]
        for commands in self.told:
            for command in commands:
                client.send(*command)
        if self.chance.random() < 0.05:
            raise EOFError("the connection is lost, and the answers with it")
        done = again = 0
        for commands in self.told:
            reply = [client.receive() for _ in commands][-1]
            assert reply is None or reply[0] == "ok", reply
            done += reply is not None
            again += reply is None
        self.place.count(done, again)
        # The first ones are sent twice for certain, and of the others some.
        keeps = self.is_new and bool(self.told)
        if self.told:
            self.is_new = False
        if self.chance.random() < 0.9 and not keeps:
            self.told = []

    def run(self):
        while not self.place.is_over:
            try:
                with self.place.connect() as client:
                    while not self.place.is_over:
                        self.work(client)
            except (EOFError, OSError):
                continue
            except Exception as fault:
                self.place.fail(fault)
                raise


def scatter(place):
    with place.connect() as client:
        for gathering in range(GATHERINGS):
            commands = [("MULTI",), ("PUT", "sum", gathering, "KEY", gathering, "AWAIT", PIECES, "IN", "1h")]
            commands += [("PUT", "pieces", f"{gathering} {piece}", *OPTIONS) for piece in range(PIECES)]
            for command in (*commands, ("EXEC",)):
                client.send(*command)
            replies = [client.receive() for _ in range(len(commands) + 1)]
            assert len(replies[-1]) == PIECES + 1, replies[-1]


def take(client):
    """Ends the gatherings that are ready, and returns how many pieces each of them lacks."""
    found = []
    while jobs := client.ask("RESERVE", "sum", "COUNT", "100", "DETAILS"):
        for job in jobs:
            details = dict(zip(job[8][::2], job[8][1::2]))
            found.append((int(job[4]), int(details.get("await", 0))))
            assert client.ask("ACK", job[0], job[1]) == ["ok"], job
    return sorted(found)


def gather(place):
    """Waits until no piece is left, and compares what is ready with what was lost."""
    with place.connect() as client:
        # Delayed, ready and reserved: the buried ones were lost.
        while any(client.ask("STATS", "pieces")[1:6:2]):
            place.check()
            client.ask("RESERVE", "nowhere", "WAIT", "20ms")
        whole = [(gathering, 0) for gathering in range(GATHERINGS) if not lost_of(gathering)]
        late = [(gathering, lost_of(gathering)) for gathering in range(GATHERINGS) if lost_of(gathering)]
        assert take(client) == whole
        for gathering, _ in late:
            assert client.ask("RESCHEDULE", "sum", gathering, "IN", "500ms") == "rescheduled"
        found = []
        while len(found) < len(late):
            place.check()
            client.ask("RESERVE", "nowhere", "WAIT", "20ms")
            found += take(client)
        assert sorted(found) == late, found
        assert client.ask("ARRIVE", "sum", late[0][0]) == "gone"
        return len(whole), len(late)


def run_server(directory, place, until):
    running = serving.ServerProcess(directory + "/log", [
        "--data", directory + "/data", *serving.FREE_PORT, "--segment-bits", "20"])
    try:
        place.serve(running.wait_for_port())
        result = until()
        place.serve(None)
        return result
    finally:
        running.kill()


def main():
    place = Place()
    workers = [Worker(place, seed) for seed in range(WORKERS)]

    def begin():
        scatter(place)
        for worker in workers:
            worker.start()

    try:
        with tempfile.TemporaryDirectory() as directory:
            run_server(directory, place, begin)
            for kill in range(1, KILLS):
                run_server(directory, place, lambda: place.wait_for(kill * GATHERINGS * PIECES // (KILLS + 1)))
            whole, late = run_server(directory, place, lambda: gather(place))
    finally:
        with place.changed:
            place.is_over = True
            place.changed.notify_all()
        for worker in workers:
            if worker.is_alive():
                worker.join()
    print(f"{whole} gatherings were whole, {late} came at their time-out; {GATHERINGS * PIECES} pieces, "
          f"{place.again} transactions stopped by their lease, {KILLS} kills")
    place.check()
    assert place.again > 0
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
    sys.exit(main())
