#!/usr/bin/env python3
"""workers.py [WORKER]: runs the workers of examples/ against a server. WORKER is the program of worker.c,
if hiredis is installed. A worker whose client is not installed is skipped. (clients/javascript/test runs
the worker in JavaScript, because it needs the package there.)"""

import pathlib
import shutil
import subprocess
import sys
import unittest

import serving

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "examples"


def finds(*command):
    """Returns whether the language of a worker and its client library are installed."""
    return shutil.which(command[0]) is not None and subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, timeout=serving.PATIENCE_S, check=False).returncode == 0


class Workers(unittest.TestCase):
    def run_worker(self, *command, failures=2):
        """The worker fails on the job `broken`, which is buried when it has no retry left."""
        with serving.server() as port, serving.Connection(port) as client:
            for words in (["PUT", "mails", "one", "RETRY", "2", "BACKOFF", "1ms", "1ms"],
                          ["PUT", "mails", "two", "IN", "50ms"],
                          ["PUT", "mails", "broken", "RETRY", "2", "BACKOFF", "1ms", "1ms"]):
                client.ask(*words)
            done = subprocess.run(
                [*map(str, command), str(port), str(2 + failures)], stdin=subprocess.DEVNULL, check=False,
                capture_output=True, text=True, timeout=serving.PATIENCE_S)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(sorted(done.stdout.splitlines()),
                             ["did one", "did two", *["failed broken"] * failures])
            left = client.ask("LIST", "mails")
            self.assertEqual(len(left[1]), 1, left)
            self.assertEqual(client.ask("LIST", "mails", "STATE", "buried")[1], left[1])

    def test_c(self):
        if not WORKER:
            self.skipTest("hiredis is not installed (libhiredis-dev)")
        self.run_worker(WORKER[0])

    def test_ruby(self):
        if not finds("ruby", "-e", "require 'redis'"):
            self.skipTest("the client of ruby is not installed (ruby-redis)")
        self.run_worker("ruby", EXAMPLES / "worker.rb")

    def test_php(self):
        if not finds("php", "-r", "new Redis();"):
            self.skipTest("the client of PHP is not installed (php-cli, php-redis)")
        self.run_worker("php", EXAMPLES / "worker.php")

    def test_php_as_a_client_of_beanstalkd(self):
        if not finds("php", "-r", "require 'Pheanstalk/autoload.php';"):
            self.skipTest("Pheanstalk is not installed (php-cli, php-pda-pheanstalk)")
        self.run_worker("php", EXAMPLES / "worker_beanstalkd.php", failures=1)


WORKER = sys.argv[1:]
if __name__ == "__main__":
    outcome = unittest.main(argv=sys.argv[:1], exit=False, verbosity=2).result
    if outcome.testsRun and len(outcome.skipped) == outcome.testsRun:
        sys.exit(serving.SKIPPED)
    sys.exit(not outcome.wasSuccessful())
