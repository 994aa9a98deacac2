#!/usr/bin/env python3
"""idle_server.py PAGE FOLDER: the server that the page starts sends back what it is sent, and
closes a connection some time after the last word, not before. It is started as the page says,
with another port and time; FOLDER has the examples."""

import pathlib
import re
import socket
import subprocess
import sys
import time

COMMAND = re.compile(r"^build/release/examples/(\S+) (--listen )?(\d+) (--idle-seconds )?(\d+)$", re.M)
IDLE_S = 1
PATIENCE_S = 100  # a machine may be slow: a limit that no run comes near


def talk(port):
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as connection:
        for word in (b"first", b"second"):
            spoken = time.monotonic()
            connection.sendall(word)
            answer = b""
            while len(answer) < len(word):
                part = connection.recv(100)
                if not part:
                    sys.exit("it closes the connection while the client still sends")
                answer += part
            if answer != word:
                sys.exit(f"it sends back {answer!r}, not {word!r}")
        if connection.recv(100) != b"":
            sys.exit("it sends bytes that it was not sent")
        if time.monotonic() - spoken < IDLE_S:
            sys.exit("it closes too early")


def main():
    page, folder = pathlib.Path(sys.argv[1]).read_text(), pathlib.Path(sys.argv[2])
    command = COMMAND.search(page)
    if command is None:
        sys.exit(f"the page has no command like {COMMAND.pattern}")
    name, listen, port, idle, _ = command.groups()
    if f"nc 127.0.0.1 {port}" not in page:
        sys.exit(f"the page does not say how to talk to port {port}")
    said = f"{listen or ''}0 {idle or ''}{IDLE_S}".split()
    with subprocess.Popen([folder / name, *said],
                          stdout=subprocess.PIPE, text=True) as server:
        try:
            port = re.search(r"port (\d+)", server.stdout.readline())
            if port is None:
                sys.exit("it does not say which port it has")
            talk(int(port.group(1)))
        finally:
            server.kill()


main()
