#!/usr/bin/env python3
"""chains.py [--long]: tests chains of steps. Each step takes a job, and puts the next job in a transaction that the
first job's lease guards. Workers lose their connections and send a step again. The server is killed
again and again. Each chain must end exactly once (Q14 of docs/promises.md)."""

import pathlib
import random
import sys
import tempfile
import threading

import serving

LONG = "--long" in sys.argv[1:]
CHAINS = 10_000 if LONG else 60
STEPS = 5 if LONG else 6
WORKERS = 5
KILLS = 40 if LONG else 4
OPTIONS = ("TTR", "300ms", "BACKOFF", "0s", "0s", "ATTEMPTS", "0")
SOME_STEPS = CHAINS * STEPS // (KILLS + 1)


class Place:
    """Where the server is, and how much was done."""

    def __init__(self):
        self.changed = threading.Condition()
        self.port = None
        self.steps = 0
        self.stopped = 0
        self.is_over = False

    def serve(self, port):
        with self.changed:
            self.port = port
            self.changed.notify_all()

    def count(self, was_done):
        with self.changed:
            self.steps += was_done
            self.stopped += not was_done
            self.changed.notify_all()

    def wait(self, condition):
        with self.changed:
            assert self.changed.wait_for(condition, serving.PATIENCE_S), "the chains do not go on"

    def connect(self):
        with self.changed:
            self.changed.wait_for(lambda: self.port is not None or self.is_over, serving.PATIENCE_S)
            return serving.Connection(self.port)


def commands_of(job):
    """The transaction of a step: the end of this job, and the next one."""
    number, lease, _, _, body = job[:5]
    chain, step = map(int, body.split())
    after = ("steps", f"{chain} {step + 1}", *OPTIONS) if step < STEPS else ("done", chain)
    return [("MULTI",), ("LEASED", number, lease), ("ACK", number, lease), ("PUT", *after), ("EXEC",)]


def say(client, commands):
    for command in commands:
        client.send(*command)


class Worker(threading.Thread):
    def __init__(self, place, seed):
        super().__init__()
        self.place = place
        self.chance = random.Random(seed)
        self.told = None  # a transaction that is to be sent again, because its answer was lost

    def step(self, client):
        if self.told is None:
            jobs = client.ask("RESERVE", "steps", "WAIT", "50ms")
            if not jobs or self.chance.random() < 0.05:  # the worker has died with the job in hand
                return
            self.told = commands_of(jobs[0])
        say(client, self.told)
        if self.chance.random() < 0.1:
            raise EOFError("the connection is lost, and the answer with it")
        replies = [client.receive() for _ in self.told]
        assert replies[:-1] == ["OK"] + ["QUEUED"] * (len(self.told) - 2), replies
        assert replies[-1] is None or replies[-1][:2] == ["ok", ["ok"]], replies
        self.place.count(replies[-1] is not None)
        if replies[-1] is None or self.chance.random() < 0.8:
            self.told = None

    def run(self):
        while not self.place.is_over:
            try:
                with self.place.connect() as client:
                    while not self.place.is_over:
                        self.step(client)
            except (EOFError, OSError, TypeError):
                continue


def run_server(directory, place, until):
    running = serving.ServerProcess(directory + "/log", [
        "--data", directory + "/data", *serving.FREE_PORT, "--segment-bits", "20"])
    try:
        place.serve(running.wait_for_port())
        until()
        place.serve(None)
    finally:
        running.kill()


def ended(place):
    """Waits until no step is left, and returns the chains that have ended, one for each end."""
    with place.connect() as client:
        while any((client.ask("STATS", "steps") or [])[1:8:2]):  # delayed, ready, reserved, buried
            client.ask("RESERVE", "nowhere", "WAIT", "20ms")
        chains = []
        while jobs := client.ask("RESERVE", "done", "COUNT", "1000"):
            chains += [int(job[4]) for job in jobs]
    return sorted(chains)


def main():
    place = Place()
    workers = [Worker(place, seed) for seed in range(WORKERS)]
    with tempfile.TemporaryDirectory() as directory:
        def begin():
            with place.connect() as client:
                for chain in range(CHAINS):
                    client.ask("PUT", "steps", f"{chain} 1", *OPTIONS)
            for worker in workers:
                worker.start()

        chains = []
        for kill in range(KILLS + 1):
            def until(kill=kill):
                if kill == 0:
                    begin()
                if kill < KILLS:
                    place.wait(lambda: place.steps >= (kill + 1) * SOME_STEPS // 2)
                else:
                    chains.extend(ended(place))
            run_server(directory, place, until)
        with place.changed:
            place.is_over = True
            place.changed.notify_all()
        for worker in workers:
            worker.join()
    print(f"{place.steps} steps, {place.stopped} stopped by their lease, {KILLS} kills")
    assert chains == list(range(CHAINS)), chains
    assert place.stopped > 0
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
    sys.exit(main())
