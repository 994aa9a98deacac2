#!/usr/bin/env python3
"""hooks_proof.py [--program PATH] [--seconds N] [--rate N]: tests web hooks that fail and hang.

Starts a server, a web hook, and `elapse work --post` with 64 requests at a time and a time limit of 2 s.
The web hook fails one request in ten, and never answers one in a hundred. The test puts jobs at a rate.
It checks that each job was delivered or buried, that every request had its signature and the number of
its attempt, and that the waits between attempts were those of the back-off. It prints its figures, and
ends with 1 if a promise was broken. It is run by hand."""

import argparse
import asyncio
import collections
import hashlib
import hmac
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

SECRET = b"a secret of the proof"
BACKOFF_MIN_S, BACKOFF_MAX_S = 0.2, 2.0
RETRIES = 2
LIMIT_S = 2.0
FAIL, HANG, TAKE = "failed", "hung", "taken"


class Hook:
    """A web hook, by hand, because it has to answer thousands of requests a second."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.requests = collections.defaultdict(list)  # body -> [(time, attempt, outcome)]
        self.counts = collections.Counter()
        self.connections = 0
        self.faults = []
        self.open = 0
        self.open_most = 0
        self.lag_s = 0.0  # how late this program was at worst

    async def watch_lag(self):
        """A request is noted when this program comes to it. So the time that one hung seems shorter
        than it was, by no more than this."""
        while True:
            begin = time.monotonic()
            await asyncio.sleep(0.005)
            self.lag_s = max(self.lag_s, time.monotonic() - begin - 0.005)

    def choose(self):
        number = self.random.random()
        return HANG if number < 0.01 else FAIL if number < 0.11 else TAKE

    def check(self, headers, body):
        wanted = hmac.new(SECRET, b"%s.%s.%s" % (headers[b"elapse-time-ms"],
                                                 headers[b"elapse-job-id"], body),
                          hashlib.sha256).hexdigest()
        if headers[b"elapse-signature"] != b"sha256=" + wanted.encode():
            self.faults.append(f"the signature of {body!r} is wrong")

    async def serve(self, reader, writer):
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                lines = head.split(b"\r\n")[1:-2]
                headers = {name.lower(): value.strip() for name, _, value in
                           (line.partition(b":") for line in lines)}
                body = await reader.readexactly(int(headers[b"content-length"]))
                self.open += 1
                self.open_most = max(self.open_most, self.open)
                outcome = self.choose()
                self.counts[outcome] += 1
                self.check(headers, body)
                self.requests[body].append(
                    (time.monotonic(), int(headers[b"elapse-attempt"]), outcome))
                if outcome == HANG:
                    await reader.read()  # until the worker has had enough
                    self.open -= 1
                    break
                status = b"200 OK" if outcome == TAKE else b"500 Internal Server Error"
                writer.write(b"HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n" % status)
                self.open -= 1
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        writer.close()


async def put_all(program, seconds, rate, environment):
    """Puts the jobs evenly, and returns how many and how long it took."""
    putter = await asyncio.create_subprocess_exec(
        program, "put", "proof", "--lines", "--retry", str(RETRIES), "--backoff",
        f"{int(BACKOFF_MIN_S * 1000)}ms..{int(BACKOFF_MAX_S * 1000)}ms", env=environment,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL)
    begin = time.monotonic()
    count = 0
    while count < seconds * rate:
        due = min(int((time.monotonic() - begin) * rate) + 1, seconds * rate)
        putter.stdin.write(b"".join(b"job-%d\n" % number for number in range(count, due)))
        count = due
        await asyncio.sleep(0.02)
    putter.stdin.close()
    if await putter.wait() != 0:
        sys.exit("elapse put has failed")
    return count, time.monotonic() - begin


async def states(program, environment):
    """Counts of the tube, empty if nothing is left in it."""
    asked = await asyncio.create_subprocess_exec(
        program, "stats", "proof", "--json", env=environment, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL)
    output, _ = await asked.communicate()
    return json.loads(output) if asked.returncode == 0 else {}


async def buried_bodies(program, environment):
    async def run(*words):
        asked = await asyncio.create_subprocess_exec(program, *words, env=environment,
                                                     stdout=asyncio.subprocess.PIPE)
        output = (await asked.communicate())[0]
        if asked.returncode != 0:
            sys.exit(f"elapse {words} has failed")
        return output
    lines = (await run("list", "proof", "--state", "buried", "--json")).splitlines()
    return {await run("lookup", "--id", str(json.loads(line)["id"]), "--body") for line in lines}


def check_attempts(hook):
    """The attempts of each job are numbered, and wait as the back-off says."""
    waits = []
    for body, requests in hook.requests.items():
        for number, (when, attempt, outcome) in enumerate(requests, 1):
            if attempt != number:
                hook.faults.append(f"{body!r}: attempt {number} was called {attempt}")
            if number == len(requests):
                continue
            if outcome == TAKE:
                hook.counts["delivered again"] += 1
                continue
            least = min(BACKOFF_MIN_S * 2 ** (number - 1), BACKOFF_MAX_S)
            least += LIMIT_S if outcome == HANG else 0
            waited = requests[number][0] - when
            waits.append(waited / least)
            if waited < least - 0.02 - (hook.lag_s if outcome == HANG else 0):
                hook.faults.append(f"{body!r}: tried again after {waited:.3f} s, not {least} s")
    return sorted(waits)


async def prove(arguments, directory, environment, server):
    hook = Hook(arguments.seed)
    lag = asyncio.create_task(hook.watch_lag())
    listener = await asyncio.start_server(hook.serve, "127.0.0.1", 0, backlog=256)
    port = listener.sockets[0].getsockname()[1]
    with open(os.path.join(directory, "secret"), "wb") as secret:
        secret.write(SECRET + b"\n")
    worker = await asyncio.create_subprocess_exec(
        arguments.program, "work", "proof", "--post", f"http://127.0.0.1:{port}/hook",
        "--concurrency", "64", "--time-limit", f"{LIMIT_S}s", "--secret-file",
        os.path.join(directory, "secret"), "--quiet", env=environment)
    begin = time.monotonic()
    count, put_s = await put_all(arguments.program, arguments.seconds, arguments.rate,
                                 environment)
    end = time.monotonic() + 600  # a busy machine may take long
    left = {}
    while time.monotonic() < end:
        left = await states(arguments.program, environment)
        if not any(left.get(state) for state in ("ready", "delayed", "reserved")):
            break
        await asyncio.sleep(0.2)
    all_s = time.monotonic() - begin
    buried = await buried_bodies(arguments.program, environment)
    worker.send_signal(signal.SIGTERM)
    status = await asyncio.wait_for(worker.wait(), 30)
    bodies = {b"job-%d" % number for number in range(count)}
    taken = {body for body, requests in hook.requests.items()
             if any(outcome == TAKE for _, _, outcome in requests)}
    waits = check_attempts(hook)
    lost = bodies - taken - buried
    if lost:
        hook.faults.append(f"{len(lost)} jobs are lost, such as {sorted(lost)[0]!r}")
    if status != 0:
        hook.faults.append(f"the worker ended with {status}")
    if hook.requests.keys() - bodies:
        hook.faults.append("there were jobs that nobody put")
    print(f"put {count} jobs in {put_s:.1f} s ({count / put_s:.0f}/s); all done after {all_s:.1f} s")
    print(f"requests {sum(map(len, hook.requests.values()))}: {hook.counts[TAKE]} taken, "
          f"{hook.counts[FAIL]} failed, {hook.counts[HANG]} hung; {hook.connections} connections, "
          f"at most {hook.open_most} at once")
    print(f"delivered {len(taken)}, buried {len(buried)}, both {len(taken & buried)}, "
          f"lost {len(lost)}; delivered again {hook.counts['delivered again']}")
    unfinished = {state: left[state] for state in ("ready", "delayed", "reserved") if
                  left.get(state)}
    if unfinished:
        hook.faults.append(f"these were not finished: {unfinished}")
    if waits:
        print(f"waits before a retry, as a multiple of the back-off: least {waits[0]:.3f}, median "
              f"{waits[len(waits) // 2]:.3f}, longest {waits[-1]:.3f}")
    print(f"this program was late by at most {hook.lag_s * 1000:.0f} ms")
    for fault in hook.faults[:20]:
        print("FAULT:", fault)
    listener.close()
    lag.cancel()
    return not hook.faults


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default=os.environ.get("ELAPSE_PROGRAM", "elapse"))
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--rate", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="elapse-proof-") as directory:
        address = "unix:" + os.path.join(directory, "socket")
        environment = {**os.environ, "ELAPSE_SERVER": address}
        server = subprocess.Popen([arguments.program, "serve", "--data",
                                   os.path.join(directory, "data"), "--listen", address],
                                  stderr=subprocess.DEVNULL)
        try:
            while not os.path.exists(os.path.join(directory, "socket")):
                time.sleep(0.01)
                if server.poll() is not None:
                    sys.exit("elapse serve has ended")
            good = asyncio.run(prove(arguments, directory, environment, server))
        finally:
            server.terminate()
            server.wait()
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
