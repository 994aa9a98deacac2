"""test_watch.py PROGRAM: what watch-test lets pass, and what it ends.

Each test that must not be ended by its silence has some times as long as it takes on a quiet machine.
"""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = sys.argv.pop(1)
SLEEP_S = 1000  # longer than any test of this file


def watch(*words, script):
    return subprocess.run([PROGRAM, *words, "--", "bash", "-c", script], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def exists(process):
    """Whether a process is there, and is not one that has ended and waits for its parent."""
    try:
        state = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


class Passes(unittest.TestCase):
    def test_the_exit_status(self):
        for status in (0, 1, 77, 124):
            self.assertEqual(watch(script=f"exit {status}").returncode, status)

    def test_a_signal_as_a_shell_does(self):
        done = watch(script="kill -SEGV $$")
        self.assertEqual(done.returncode, 128 + signal.SIGSEGV)
        self.assertIn("ended by signal 11", done.stdout)

    def test_the_output_of_both_kinds_in_its_order(self):
        done = watch(script="for i in {1..20000}; do echo out $i; echo err $i >&2; done")
        self.assertEqual(done.stdout.splitlines(),
                         [f"{kind} {i}" for i in range(1, 20001) for kind in ("out", "err")])

    def test_standard_error_where_it_goes_elsewhere(self):
        done = subprocess.run([PROGRAM, "--", "bash", "-c", "echo out; echo err >&2"], text=True,
                              check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual((done.stdout, done.stderr), ("out\n", "err\n"))

    def test_what_is_slow_but_prints(self):
        done = watch("--quiet-s", "4", script="for i in {1..12}; do echo $i; sleep 0.4; done")
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_what_is_silent_but_works(self):
        # It takes 5 s to 6 s: SECONDS counts whole ones. The first look at all of --quiet-s comes a little later than
        # after --quiet-s.
        script = "end=$((SECONDS + 6)); while ((SECONDS < end)); do :; done"
        done = watch("--quiet-s", "2", script=script)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_what_closes_its_output(self):
        done = watch(script="exec >&- 2>&-; sleep 0.2; exit 5")
        self.assertEqual(done.returncode, 5)


class Ends(unittest.TestCase):
    def test_a_hang_and_names_its_processes(self):
        done = watch("--quiet-s", "1", script=f"echo begun; sleep {SLEEP_S}; true")
        self.assertEqual(done.returncode, 124)
        self.assertIn("begun", done.stdout)
        self.assertIn("ENDED: the test hangs", done.stdout)
        self.assertRegex(done.stdout, r"process \d+, sleep, state S")

    def test_a_busy_loop_by_its_processor_time(self):
        done = watch("--processor-s", "1", script="while :; do echo; done | cat >/dev/null")
        self.assertEqual(done.returncode, 124)
        self.assertIn("processor-seconds; its limit is 1", done.stdout)

    def test_what_the_test_leaves_running(self):
        script = f"setsid sleep {SLEEP_S} & echo $!; (sleep {SLEEP_S} & echo $!; exec setsid sleep 0)"
        done = watch(script=script + "; exit 3")
        self.assertEqual(done.returncode, 3)
        self.assertIn("had left running: 2 processes", done.stdout)
        for process in done.stdout.split()[:2]:
            self.assertFalse(exists(int(process)))

    def test_all_when_it_is_asked_to_end(self):
        script = f"trap 'echo asked; exit' TERM; sleep {SLEEP_S} & echo $!; wait"
        with subprocess.Popen([PROGRAM, "--", "bash", "-c", script], text=True,
                              stdout=subprocess.PIPE) as watched:
            sleeper = int(watched.stdout.readline())
            watched.terminate()
            self.assertIn("asked", watched.stdout.read())
            self.assertEqual(watched.wait(), 128 + signal.SIGTERM)
        self.assertFalse(exists(sleeper))

    def test_all_when_who_called_it_is_killed(self):
        caller = f"import subprocess; subprocess.run(['{PROGRAM}', '--', 'bash', '-c', " \
                 f"'sleep {SLEEP_S} & echo $!; wait'])"
        with subprocess.Popen([sys.executable, "-c", caller], text=True,
                              stdout=subprocess.PIPE) as process:
            sleeper = int(process.stdout.readline())
            process.kill()
        while exists(sleeper):
            time.sleep(0.05)


class Reports(unittest.TestCase):
    def test_the_processor_time_of_all_processes(self):
        with tempfile.TemporaryDirectory() as scratch:
            file = pathlib.Path(scratch) / "used"
            loop = "for ((i = 0; i < 300000; i++)); do :; done"
            before = os.times()
            done = watch("--report", str(file), script=f"({loop}) & ({loop}; {loop}); wait")
            after = os.times()
            self.assertEqual((done.returncode, done.stdout), (0, ""))
            used_s = float(file.read_text())
            all_s = (after.children_user - before.children_user
                     + after.children_system - before.children_system)
            self.assertGreater(used_s, 0.5 * all_s)
            self.assertLessEqual(used_s, all_s + 0.05)  # two clocks of the system are compared

    def test_wrong_options(self):
        for words in (["--quiet-s", "0"], ["--processor-s", "many"], ["--other", "1"]):
            self.assertEqual(watch(*words, script="true").returncode, 2)
        self.assertEqual(subprocess.run([PROGRAM, "--"], check=False, stderr=subprocess.PIPE).returncode, 2)

    def test_a_command_that_cannot_be_started(self):
        done = subprocess.run([PROGRAM, "--", "/no/such/program"], check=False, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 127)
        self.assertIn("cannot start /no/such/program", done.stdout)


unittest.main()
