"""Tests what elapse serve prints on a terminal: what it tells the user to type next must fit the addresses
at which it listens."""

import os
import pty
import re
import select
import shlex
import shutil
import subprocess
import time
import urllib.request

import support
from serve_support import START_S, ServeTest


class Hints(ServeTest):
    def start(self, *arguments):
        """A server whose standard error is a terminal."""
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        server = subprocess.Popen([support.PROGRAM, "serve", "--data", "d", "--segment-bits", "18",
                                   *arguments], stdin=subprocess.DEVNULL, stdout=slave, stderr=slave,
                                  cwd=self.directory)
        os.close(slave)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        return server, master

    def read(self, terminal, wanted):
        text = b""
        end = time.monotonic() + START_S
        while not re.search(wanted, text) and time.monotonic() < end:
            if select.select([terminal], [], [], 1)[0]:
                text += os.read(terminal, 1 << 16)
        self.assertRegex(text, wanted)
        return text.decode().replace("\r\n", "\n")

    def hints(self, *arguments):
        _, terminal = self.start(*arguments)
        return self.read(terminal, rb"Ctrl-C ends the server.*\n")

    def command(self, text, words):
        lines = [line.strip() for line in text.splitlines() if words in line]
        self.assertEqual(len(lines), 1, text)
        return shlex.split(lines[0])

    def test_the_commands_reach_the_server(self):
        text = self.hints("--listen", "127.0.0.1:0", "--http", "127.0.0.1:0")
        self.assertIn("Its jobs stay in d.", text)
        self.assertNotIn(":11300", text)
        if support.HAS_CLIENT:
            done = subprocess.run(self.command(text, " put tea "), capture_output=True, check=True, text=True)
            self.assertRegex(done.stdout, r"\d")
        if shutil.which("redis-cli"):
            done = subprocess.run(self.command(text, " PUT tea "), capture_output=True, check=True, text=True)
            self.assertIn("scheduled", done.stdout)
        with urllib.request.urlopen(re.search(r"In a browser: (\S+)\n", text).group(1)) as page:
            self.assertIn(b"<html", page.read())

    def test_other_kinds_of_addresses(self):
        text = self.hints("--listen", "unix:socket", "--durability", "memory")
        self.assertIn("redis-cli -s socket RESERVE tea", text)
        self.assertNotIn("browser", text)
        self.assertIn("and its jobs.", text)
        if os.path.exists("/proc/sys/net/ipv6"):
            text = self.hints("--listen", "[::1]:0", "--durability", "memory")
            self.assertRegex(text, r"redis-cli -h ::1 -p \d+ RESERVE tea")

    def test_what_would_not_be_true_is_not_said(self):
        (self.directory / "passwords").write_text("secret\n")
        (self.directory / "passwords").chmod(0o600)
        for arguments in (("--auth", "passwords"), ("--log", "json")):
            server, terminal = self.start("--listen", "127.0.0.1:0", *arguments)
            text = self.read(terminal, rb"ready")
            server.terminate()
            text += self.read(terminal, rb"stopped")
            self.assertNotIn("another terminal", text)
        server = self.serve()
        server.addresses()
        server.stop()
        self.assertNotIn(b"another terminal", server.log())


if __name__ == "__main__":
    support.main()
