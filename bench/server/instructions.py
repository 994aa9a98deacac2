#!/usr/bin/env python3
"""Counts the instructions of an operation of the server, by callgrind. Unlike times, they are the same
on a busy machine.

    instructions.py PROGRAM DIRECTORY [CASE ...]

PROGRAM is the server, build/release/elapse; with -g in CMAKE_C_FLAGS_RELEASE the profiles name lines.
DIRECTORY gets the profile of each case, for callgrind_annotate --inclusive=yes. The cases are those
of CASES below, all unless some are named. Jobs have 100 bytes, and every reply waits for its sync.

A case first prepares, then the counters begin anew, then it does COUNT operations. So the start of the
server does not count. All threads count; the system does not. An instruction that repeats itself counts
as often as it repeats, so long copies count more than they cost.
"""

import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

import server

COUNT = 20_000
LONELY = 2_000  # operations that wait for each reply
BODY = b"x" * 100
READY_LIMIT_S = 60


class Client:
    """A connection that speaks RESP, and reads lines."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.bytes = b""
        self.at = 0

    def receive(self):
        more = self.socket.recv(1 << 20)
        if not more:
            raise server.Failure("the server closed the connection")
        self.bytes = self.bytes[self.at:] + more
        self.at = 0

    def line(self):
        while (end := self.bytes.find(b"\r\n", self.at)) < 0:
            self.receive()
        line = self.bytes[self.at:end]
        self.at = end + 2
        return line

    def reply(self):
        line = self.line()
        if line[:1] == b"-":
            raise server.Failure(line.decode())
        if line[:1] == b"*":
            return [self.reply() for _ in range(int(line[1:]))]
        if line[:1] != b"$":
            return line[1:]
        size = int(line[1:])
        if size < 0:
            return None
        while len(self.bytes) - self.at < size + 2:
            self.receive()
        self.at += size + 2
        return self.bytes[self.at - size - 2:self.at - 2]

    def run(self, commands, window, read):
        """Sends commands, `window` at a time, and reads the replies of these."""
        for first in range(0, len(commands), window):
            part = commands[first:first + window]
            self.socket.sendall(b"".join(part))
            for _ in part:
                read()


def command(*words):
    words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)


def put(client, count, window=1000):
    client.run([command("PUT", "t", BODY, "IN", f"{1800 + i % 60}s") for i in range(count)], window,
               client.reply)


def put_line(client, count):
    client.run([b"put 1024 %d 60 100\r\n%s\r\n" % (1800 + i % 60, BODY) for i in range(count)], 1000,
               client.line)


def put_ready(client, count):
    client.run([command("PUT", "t", BODY)] * count, 1000, client.reply)


def hand_out(client, count):
    """RESERVE COUNT 100, and in the next pipeline their ACK and the next RESERVE."""
    reserve = command("RESERVE", "t", "COUNT", 100)
    held = []
    for _ in range(count // 100):
        client.socket.sendall(ack_of(held) + reserve)
        if held:
            client.reply()
        held = client.reply()
    client.socket.sendall(ack_of(held))
    client.reply()


def ack_of(held):
    return command("ACK", *(word for job in held for word in job[:2])) if held else b""


def at_random(count):
    ids = list(range(1, count + 1))
    random.Random(1).shuffle(ids)
    return ids


def cancel(client, count):
    client.run([command("CANCELID", job) for job in at_random(count)], 1000, client.reply)


def delete(client, count):
    client.run([b"delete %d\r\n" % job for job in range(1, count + 1)], 1000, client.line)


# name, what it does before, what counts, how many operations
CASES = {
    "put": (lambda c: put(c, COUNT), put, COUNT),
    "put-lonely": (lambda c: put(c, 500, 1), lambda c, n: put(c, n, 1), LONELY),
    "put-beanstalkd": (lambda c: put_line(c, COUNT), put_line, COUNT),
    "hand-out": (lambda c: (put_ready(c, COUNT + 2000), hand_out(c, 2000)), hand_out, COUNT),
    "cancel": (lambda c: put(c, COUNT + 2000), cancel, COUNT),
    "delete": (lambda c: put_line(c, COUNT + 2000), delete, COUNT),
}


class Counted:
    """A server under callgrind, on an empty directory."""

    def __init__(self, program, directory, name):
        self.profile = os.path.join(directory, f"callgrind.{name}")
        for old in os.listdir(directory):
            if old.startswith(os.path.basename(self.profile) + "."):
                os.unlink(os.path.join(directory, old))
        self.data = os.path.join(directory, f"data.{name}")
        shutil.rmtree(self.data, ignore_errors=True)
        port = server.free_port()
        self.process = subprocess.Popen(
            ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={self.profile}", program,
             "serve", "--listen", f"127.0.0.1:{port}", "--data", self.data],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.client = self.connect(port)

    def connect(self, port):
        end = time.monotonic() + READY_LIMIT_S
        while time.monotonic() < end and self.process.poll() is None:
            try:
                return Client(port)
            except OSError:
                time.sleep(0.1)
        self.stop()
        raise server.Failure("the server does not answer")

    def begin_anew(self):
        """Writes the profile so far, and sets the counters to 0. Returns the file."""
        subprocess.run(["callgrind_control", "--dump", str(self.process.pid)], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        written = [name for name in os.listdir(os.path.dirname(self.profile))
                   if re.fullmatch(re.escape(os.path.basename(self.profile)) + r"\.\d+", name)]
        last = max(written, key=lambda name: int(name.rsplit(".", 1)[1]))
        return os.path.join(os.path.dirname(self.profile), last)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def measure(program, directory, name):
    prepare, work, count = CASES[name]
    counted = Counted(program, directory, name)
    try:
        prepare(counted.client)
        time.sleep(0.5)  # what the last sync has left to do
        counted.begin_anew()
        work(counted.client, count)
        profile = counted.begin_anew()
    finally:
        counted.stop()
    with open(profile, encoding="ascii", errors="replace") as file:
        total = int(re.search(r"^(?:summary|totals): (\d+)", file.read(), re.M).group(1))
    print(f"{name:16} {total / count:8.0f} instructions an operation, {profile}", flush=True)


def main(arguments):
    if len(arguments) < 2 or any(name not in CASES for name in arguments[2:]):
        sys.exit(f"Usage: instructions.py PROGRAM DIRECTORY [CASE ...]\nCases: {' '.join(CASES)}")
    missing = [tool for tool in ("valgrind", "callgrind_control") if shutil.which(tool) is None]
    if missing:
        sys.exit(f"instructions.py: {missing[0]} is missing")
    directory = os.path.abspath(arguments[1])
    os.makedirs(directory, exist_ok=True)
    for name in arguments[2:] or CASES:
        measure(arguments[0], directory, name)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (server.Failure, subprocess.SubprocessError) as failure:
        sys.exit(f"instructions.py: {failure}")
