"""What the tests of elapse work share: functions that run a worker, and functions that wait for what it
does."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import support

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "client"))
from client_support import LONG_S, OK, ClientTest  # noqa: E402


class Worker:
    """A running worker. Its output and its messages go to files."""

    def __init__(self, test, arguments):
        self.test = test
        number = len(test.workers)
        self.output_path = test.directory / f"output-{number}"
        self.errors_path = test.directory / f"errors-{number}"
        with open(self.output_path, "wb") as output, open(self.errors_path, "wb") as errors:
            self.process = subprocess.Popen(
                [support.PROGRAM, "work", *arguments], cwd=test.directory, env=test.environment(),
                stdin=subprocess.DEVNULL, stdout=output, stderr=errors)

    def output(self):
        return self.output_path.read_text()

    def errors(self):
        return self.errors_path.read_text()

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self):
        return self.process.wait(LONG_S)

    def kill(self):
        """Kills the worker and the programs that it has started, which nobody else would end."""
        programs = ()
        if self.process.poll() is None:
            number = self.process.pid
            programs = Path(f"/proc/{number}/task/{number}/children").read_text().split()
            self.process.kill()
        self.process.wait()
        for program in programs:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(int(program), signal.SIGKILL)


class WorkTest(ClientTest):
    def setUp(self):
        super().setUp()
        self.workers = []

    def work(self, *arguments):
        worker = Worker(self, arguments)
        self.workers.append(worker)
        self.addCleanup(worker.kill)
        return worker

    def until(self, condition, what):
        """Waits until the condition holds, and returns its value."""
        end = time.monotonic() + LONG_S
        while time.monotonic() < end:
            value = condition()
            if value:
                return value
            time.sleep(0.01)
        texts = [(worker.output(), worker.errors()) for worker in self.workers]
        self.fail(f"not {what}: {texts}")

    def counts(self, tube="t"):
        """Returns the counts of a tube; all are zero if it has no job and no worker."""
        outcome = self.client("stats", tube, "--json")
        if outcome.status != OK:
            return dict.fromkeys(("delayed", "ready", "reserved", "buried", "total_done",
                                  "total_timeouts", "total_dead"), 0)
        return json.loads(outcome.output)

    def until_empty(self, *arguments):
        """Runs a worker until there is no job. Returns it."""
        worker = self.work(*arguments[:1], "--until-empty", *arguments[1:])
        self.assertEqual(worker.wait(), OK, worker.errors())
        return worker

    def signal_twice(self, worker):
        """The first signal finishes the work under way, the second gives it up."""
        worker.signal(signal.SIGTERM)
        self.until(lambda: "finishing" in worker.errors(), "heard")
        worker.signal(signal.SIGTERM)

    def gives_back(self, has_begun, *arguments):
        """Expects that a worker with these arguments gives its job back at the second signal: the
        job is then ready, and has lost no retry."""
        self.done("put", "t", "x", "--key", "k", "--ttr", "1h", "--retry", "1")
        worker = self.work("t", *arguments)
        self.until(lambda: has_begun(worker), "begun")
        self.signal_twice(worker)
        self.assertEqual(worker.wait(), OK, worker.errors())
        [job] = self.json_of("lookup", "t", "k")
        self.assertEqual((job["state"], job["attempts"]), ("ready", 0))
