"""What the tests of this package share: the package from its sources, and a server on a disk that can be
killed and started again."""

import asyncio
import hashlib
import importlib.util
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = HERE.parent
sys.path.insert(0, str(PACKAGE / "src"))

try:
    import elapse  # noqa: E402
except ImportError:  # `need` says that redis-py is missing
    pass

PROGRAM = os.environ.get("ELAPSE_PROGRAM", "elapse")
SKIPPED = 77
LONG = "--long" in sys.argv


def need(*modules):
    """Ends the program as skipped, with a line, if a module is not installed."""
    for module, package in modules:
        if importlib.util.find_spec(module) is None:
            print(f"skipped: {module} is not installed ({package})")
            sys.exit(SKIPPED)


def main():
    """Runs the tests of the calling file."""
    need(("redis", "python3-redis"))
    unittest.main(argv=[word for word in sys.argv if word != "--long"], verbosity=2)


def users(test, rights):
    """The path of a file with the user ann, whose password is "right", and who has these rights. The file goes with
    the test."""
    directory = tempfile.TemporaryDirectory()
    test.addCleanup(directory.cleanup)
    path = pathlib.Path(directory.name) / "users"
    path.write_text(f"ann #{hashlib.sha256(b'right').hexdigest()} {rights}\n")
    path.chmod(0o600)
    return str(path)


def hold_port():
    """Returns a free port of loopback, and a socket that keeps it: as long as the socket is open, the system gives the
    port to nobody who wants any. A server that is told this port can listen there, again and again."""
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", 0))
    return holder.getsockname()[1], holder


class DiskServer:
    """`elapse serve` with a directory, on a port that stays the same."""

    def __init__(self):
        self.directory = tempfile.TemporaryDirectory()
        self.port, self.holder = hold_port()
        self.kills = 0
        self.start()
        self.url = f"redis://127.0.0.1:{self.port}"

    def start(self):
        self.process = subprocess.Popen(
            [
                PROGRAM,
                "serve",
                "--data",
                self.directory.name + "/data",
                "--segment-bits",
                "20",
                "--listen",
                f"127.0.0.1:{self.port}",
            ],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        said = b""
        for line in self.process.stderr:
            said += line
            if b" ready: " in line:
                break
        else:
            raise AssertionError(f"the server did not start: {said.decode()}")
        self.port = int(re.search(rb"listening: 127\.0\.0\.1:(\d+)", said).group(1))
        self.reader = threading.Thread(target=self.process.stderr.read, daemon=True)
        self.reader.start()

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stderr.close()

    def restart(self):
        """The server loses its power, as far as a process can, and comes back."""
        self.kill()
        self.kills += 1
        self.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        self.holder.close()
        self.directory.cleanup()


class Listener:
    """Takes connections at `url`, and serves each on a thread of its own by the method `serve`."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def serve(self, client):
        raise NotImplementedError

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def close(self):
        self.listener.close()


class Lossy(Listener):
    """A way to a server that can lose one answer: the command is done, and the connection ends."""

    def __init__(self, port):
        self.port, self.loses = port, False
        super().__init__()

    def serve(self, client):
        server = socket.create_connection(("127.0.0.1", self.port))
        threading.Thread(target=self.carry, args=(client, server, False), daemon=True).start()
        self.carry(server, client, True)

    def carry(self, source, target, is_answer):
        try:
            while data := source.recv(1 << 16):
                if is_answer and self.loses:
                    self.loses = False
                    break
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()


class Fake(Listener):
    """A server whose answers a test makes. `answer` gets the words of each command, and returns the reply as RESP has
    it, or None: the connection ends without one. `said` has the words of all commands, in their order."""

    def __init__(self, answer):
        self.answer, self.said = answer, []
        super().__init__()

    def serve(self, client):
        try:
            with client, client.makefile("rb") as file:
                while line := file.readline():
                    words = [file.read(int(file.readline()[1:]) + 2)[:-2] for _ in range(int(line[1:]))]
                    if words[0] == b"CLIENT":
                        client.sendall(b"+OK\r\n")
                        continue
                    self.said.append(words)
                    reply = self.answer(words)
                    if reply is None:
                        client.shutdown(socket.SHUT_RDWR)
                        return
                    client.sendall(reply)
        except OSError:
            pass


def call(kind, address, name, *arguments, of_client=None, **options):
    """What a method of a new client answers. `kind`: `Client` or `AsyncClient`; `address`: one, or a list of several;
    `of_client`: options of the client."""
    addresses = [address] if isinstance(address, str) else address
    if kind == "Client":
        with elapse.Client(*addresses, **(of_client or {})) as client:
            return getattr(client, name)(*arguments, **options)

    async def run():
        async with elapse.AsyncClient(*addresses, **(of_client or {})) as client:
            return await getattr(client, name)(*arguments, **options)

    return asyncio.run(run())
