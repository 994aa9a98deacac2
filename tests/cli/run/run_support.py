"""What the tests of elapse run share."""

import json
import re
import signal
import subprocess

import support

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
FIELDS = ["key", "due", "fired", "late_us", "run", "missed", "payload"]


def firings(output):
    """The lines of JSON, parsed, each of the form that all have."""
    lines = output.split("\n")
    assert lines.pop() == "", output
    parsed = [json.loads(line) for line in lines]
    for firing in parsed:
        assert list(firing) == FIELDS, firing
        assert MOMENT.fullmatch(firing["due"]) and MOMENT.fullmatch(firing["fired"]), firing
        assert firing["due"] <= firing["fired"], firing
        assert firing["late_us"] >= 0 and firing["run"] >= 1 and firing["missed"] >= 0, firing
    return parsed


class RunTest(support.ProgramTest):
    """Runs elapse run."""

    def fire(self, *lines, arguments=()):
        """Returns the timers that fire. Requires that the program succeeds."""
        text = "".join(line + "\n" for line in lines)
        return firings(self.succeed("run", *arguments, stdin=text))

    def fired_keys(self, *lines):
        return [firing["key"] for firing in self.fire(*lines)]

    def begin(self, *arguments, **options):
        """Starts the program and returns it. It is killed when the test ends."""
        def reset():
            signal.signal(signal.SIGINT, signal.SIG_DFL)

        process = subprocess.Popen(
            [support.PROGRAM, "run", *arguments], cwd=self.directory, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=reset, **options)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def tell(self, process, *lines):
        process.stdin.write("".join(line + "\n" for line in lines).encode())
        process.stdin.flush()

    def finish(self, process):
        """Waits for the program to end. Returns the rest of its output, and of its errors."""
        output, errors = process.communicate(timeout=100)
        return output.decode(), errors.decode()

    def counts(self, errors):
        """The counts that --stats or SIGUSR1 printed last."""
        line = [line for line in errors.splitlines() if " scheduled, " in line][-1]
        return {name: int(count) for count, name in re.findall(r"(\d+) (\w+)", line)}
