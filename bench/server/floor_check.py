#!/usr/bin/env python3
"""Checks the floor: floor_check.py PROGRAM

A client that sends and does not read: the floor takes what there is room for, and then rests. When
the client reads, every command has its reply.
"""
import socket
import subprocess
import sys
import tempfile
import time

LINE = b"put 1 0 60 100\r\n" + b"x" * 100 + b"\r\n"
QUIET_S = 1
PATIENCE_S = 60


def processor_s(process):
    with open(f"/proc/{process.pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


def send_until_full(client):
    """Returns how many bytes were sent when nothing more was taken for a while."""
    data = LINE * 10000
    sent = 0
    client.settimeout(QUIET_S)
    while True:
        try:
            sent += client.send(data[sent % len(data):])
        except TimeoutError:
            return sent


def count_replies(client, wanted):
    lines = 0
    client.settimeout(PATIENCE_S)
    while lines < wanted:
        lines += client.recv(1 << 20).count(b"\n")
    return lines


def main():
    with tempfile.TemporaryDirectory() as directory:
        with subprocess.Popen([sys.argv[1], directory + "/floor"],
                              stdout=subprocess.PIPE) as floor:
            try:
                port = int(floor.stdout.readline())
                with socket.create_connection(("127.0.0.1", port)) as client:
                    sent = send_until_full(client)
                    before = processor_s(floor)
                    time.sleep(QUIET_S)
                    spent = processor_s(floor) - before
                    replies = count_replies(client, sent // len(LINE))
            finally:
                floor.kill()
    print(f"{sent} bytes, {replies} replies, {spent} s of a processor while full")
    return 0 if spent < QUIET_S / 20 else 1


if __name__ == "__main__":
    sys.exit(main())
