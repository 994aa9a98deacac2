"""Tests elapse run --data: timers that survive the end of the process."""

import json
import os
import shutil
import signal
import subprocess
import time
import unittest
from pathlib import Path

import support
from run_support import MOMENT, RunTest

FIELDS = ["key", "due", "fired", "late_us", "run", "missed", "repetition", "payload"]


def firings(output):
    parsed = [json.loads(line) for line in output.splitlines()]
    for firing in parsed:
        assert list(firing) == FIELDS, firing
        assert MOMENT.fullmatch(firing["due"]) and firing["due"] <= firing["fired"], firing
        assert firing["late_us"] >= 0, firing
    return parsed


KEPT = 200  # some 12 MB, three files


def strace_refusal():
    """Why no process can be traced here; None if one can."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    tried = subprocess.run(["strace", "-f", "-o", "/dev/null", "true"], check=False,
                           capture_output=True)
    return None if tried.returncode == 0 else f"strace: {tried.stderr.decode().strip()}"


STRACE_REFUSAL = strace_refusal()


class DataTest(RunTest):
    def data(self, *lines, arguments=()):
        text = "".join(line + "\n" for line in lines)
        return firings(self.succeed("run", "--data", "d", *arguments, stdin=text))

    def begin_data(self, *arguments):
        return self.begin("--data", "d", *arguments)

    def answers(self, process, count):
        return [json.loads(process.stdout.readline()) for _ in range(count)]

    def wait_until_kept(self, process):
        """All lines so far are on the disk: the answer to a cancel says so."""
        self.tell(process, "cancel nothing")
        self.assertEqual(self.answers(process, 1), [{"cancel": "nothing", "answer": "gone"}])


class Firing(DataTest):
    def test_it_fires_as_without(self):
        fired = self.data("in 1s b second one ", "in 0s a", "at 2020-01-01T00:00:00Z c p")
        self.assertEqual(sorted((f["key"], f["payload"], f["repetition"], f["run"]) for f in fired),
                         [("a", "", False, 1), ("b", "second one ", False, 1), ("c", "p", False, 1)])
        by_key = {f["key"]: f for f in fired}
        self.assertEqual(by_key["c"]["due"], "2020-01-01T00:00:00.000000Z")
        # The disk may be so slow that all were due before one fired.
        if max(by_key[key]["fired"] for key in "ac") < by_key["b"]["due"]:
            self.assertEqual([f["key"] for f in fired], ["a", "c", "b"])
        self.assertEqual(self.data(), [])

    def test_keys_replace_and_cancel(self):
        fired = self.data("in 20s k old", "in 30ms k new", "in 20s gone", "cancel gone",
                          "cancel never")
        self.assertEqual([(f["key"], f["payload"]) for f in fired], [("k", "new")])

    def test_answers_and_list(self):
        process = self.begin_data("--answers", "--utc")
        self.tell(process, "in 1h a", "in 30m b", "every 20m c", 'cron "0 0 1 1 *" d', "list",
                  "cancel a", "cancel a", "nonsense")
        lines = self.answers(process, 8)
        self.assertEqual([line.get("list") for line in lines[:4]], ["c", "b", "a", "d"])
        self.assertEqual({line["state"] for line in lines[:4]}, {"pending"})
        self.assertEqual(lines[4:7], [{"listed": 4}, {"cancel": "a", "answer": "removed"},
                                      {"cancel": "a", "answer": "gone"}])
        self.assertEqual(lines[7]["line"], 8)

    def test_a_program_runs_with_its_environment(self):
        output = self.succeed("run", "--data", "d", "--workers", "4", "--exec", "sh", "-c",
                              "echo $ELAPSE_KEY:$ELAPSE_RUN:$ELAPSE_REPETITION:$ELAPSE_PAYLOAD",
                              stdin="in 1ms a x\nin 2ms b\nin 3ms c\n")
        self.assertEqual(sorted(output.splitlines()), ["a:1:false:x", "b:1:false:", "c:1:false:"])

    def test_without_data_nothing_speaks_of_repetition(self):
        output = self.succeed("run", "--exec", "sh", "-c", "echo [$ELAPSE_REPETITION]",
                              stdin="in 1ms a\n")
        self.assertEqual(output, "[]\n")

    def test_recurring_timers(self):
        process = self.begin_data()
        self.tell(process, "every 30ms e x", "after-each 30ms a y")
        fired = firings("".join(process.stdout.readline().decode() for _ in range(12)))
        for key, payload in (("e", "x"), ("a", "y")):
            mine = [f for f in fired if f["key"] == key]
            self.assertGreater(len(mine), 2)
            self.assertEqual([f["run"] for f in mine], list(range(1, len(mine) + 1)))
            self.assertEqual({(f["payload"], f["repetition"]) for f in mine}, {(payload, False)})


class Survival(DataTest):
    def test_timers_survive_a_kill(self):
        for ahead_ms in (150, 1000, 5000, 25000):
            process = self.begin_data("--answers")
            began = time.monotonic()
            self.tell(process, f"in {ahead_ms}ms soon p", "in 10h late q", "every 11h again", "in 10h never",
                      "cancel never")
            answer = self.answers(process, 1)[0]
            process.kill()
            process.wait()
            if time.monotonic() - began < ahead_ms / 1000:
                break
            # The machine, or its disk, was so slow that the timer was due before the kill.
            shutil.rmtree(self.directory / "d")
        else:
            self.fail("each time the timer was due before the kill")
        self.assertEqual(answer["answer"], "removed")
        time.sleep(ahead_ms / 1000 + 0.05)
        again = self.begin_data("--answers")
        fired = json.loads(again.stdout.readline())
        self.assertEqual((fired["key"], fired["payload"], fired["repetition"]), ("soon", "p", False))
        self.assertGreater(fired["late_us"], 0)
        while True:  # until its end is noted
            self.tell(again, "list")
            listed = self.answers(again, 1)
            while "listed" not in listed[-1]:
                listed += self.answers(again, 1)
            if listed[0].get("list") != "soon":
                break
        self.assertEqual([line.get("list") for line in listed], ["late", "again", None])
        again.send_signal(signal.SIGTERM)
        _, errors = self.finish(again)
        self.assertEqual((again.returncode, errors), (0, "elapse run: d keeps 2 timers\n"))

    def test_what_was_running_fires_again_and_says_so(self):
        """The program kills its parent, so nobody acknowledges."""
        for kind in ("in 1ms", "every 1h", "after-each 1h"):
            directory = kind.split()[0]
            script = "echo $ELAPSE_KEY:$ELAPSE_REPETITION; "
            text = f"{kind} k\n" if kind == "in 1ms" else f"{kind} k\nin 1ms k2\n"
            key = "k" if kind == "in 1ms" else "k2"
            outcome = self.run_program("run", "--data", directory, "--exec", "sh", "-c",
                                       script + "kill -9 $PPID", stdin=text)
            self.assertEqual(outcome.status, -signal.SIGKILL, outcome)
            self.assertEqual(outcome.output, f"{key}:false\n")
            process = self.begin("--data", directory, "--exec", "sh", "-c", script)
            self.assertEqual(process.stdout.readline().decode(), f"{key}:true\n")

    def fires_again(self, directory, keys):
        """The next run fires these timers again, and no other."""
        script = "echo $ELAPSE_KEY:$ELAPSE_REPETITION"
        output = self.succeed("run", "--data", directory, "--exec", "sh", "-c", script)
        self.assertEqual(sorted(output.splitlines()), [f"{key}:true" for key in keys])

    def test_a_signal_keeps_a_timer_that_waits_for_its_retry(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(signal=number):
                directory = number.name
                process = self.begin("--data", directory, "--retry", "9", "--backoff", "1h",
                                     "--exec", "false")
                self.tell(process, "in 1ms k")
                self.assertIn(b"exit status 1", process.stderr.readline())
                process.send_signal(number)
                self.assertEqual(self.finish(process),
                                 ("", f"elapse run: {directory} keeps 1 timer\n"))
                self.assertEqual(process.returncode, 0)
                self.fires_again(directory, ["k"])

    def test_an_interrupt_that_ends_the_programs_too_keeps_their_timers(self):
        """Ctrl-C goes to the whole group of processes, so a program may end before the run has
        taken the signal."""
        for name, script in (("killed", "echo begun; exec sleep 1000"),
                             ("caught", "trap 'exit 3' INT; echo begun; while :; do sleep 0.05; done")):
            with self.subTest(name=name):
                process = self.begin("--data", name, "--exec", "sh", "-c", script,
                                     start_new_session=True)
                self.tell(process, "in 0s a", "in 0s b", "in 0s c", "in 0s d")
                self.assertEqual([process.stdout.readline() for _ in range(4)], [b"begun\n"] * 4)
                os.killpg(process.pid, signal.SIGINT)
                errors = self.finish(process)[1].splitlines()
                self.assertEqual((process.returncode, errors[-1]),
                                 (0, f"elapse run: {name} keeps 4 timers"), errors)
                self.assertEqual(len(errors), 5, errors)
                self.fires_again(name, ["a", "b", "c", "d"])

    def test_a_program_that_succeeds_while_the_run_ends_is_done(self):
        process = self.begin_data("--exec", "sh", "-c", "echo begun; sleep 0.3")
        self.tell(process, "in 0s k")
        self.assertEqual(process.stdout.readline(), b"begun\n")
        process.send_signal(signal.SIGTERM)
        self.assertEqual((self.finish(process), process.returncode), (("", ""), 0))
        self.assertEqual(self.data(), [])

    def test_sigusr1_does_not_make_a_failure_the_end(self):
        process = self.begin_data("--exec", "sh", "-c", "kill -USR1 $PPID; exit 1")
        self.tell(process, "in 0s k")
        process.stdin.close()
        process.stdin = None
        _, errors = self.finish(process)
        self.assertEqual(process.returncode, support.STATUS_FAILED, errors)
        self.assertIn("sh ended with exit status 1", errors)
        self.assertEqual(self.data(), [])

    def test_lines_that_nobody_has_read_are_no_firings(self):
        """A pipe that is full: what was not written fires again after a kill."""
        process = self.begin_data()
        payload = "x" * 60000
        self.tell(process, *(f"in 0s k{i} {payload}" for i in range(20)))
        time.sleep(0.3)
        process.kill()
        output, _ = process.communicate()
        whole = [json.loads(line) for line in output.decode().split("\n")[:-1]]
        first = {f["key"] for f in whole}
        second = {f["key"]: f["repetition"] for f in self.data()}
        self.assertEqual(first | set(second), {f"k{i}" for i in range(20)})
        for key in first & set(second):
            self.assertTrue(second[key], key)

    def test_killed_again_and_again_nothing_is_lost(self):
        """Each timer whose line was answered for fires at least once, and twice only if it says
        that it may be a repetition."""
        promised, seen = set(), {}
        for turn in range(6):
            process = self.begin_data("--answers")
            keys = [f"t{turn}-{i}" for i in range(40)]
            self.tell(process, *(f"in {i * 3}ms {key}" for i, key in enumerate(keys)),
                      "cancel nothing")
            lines = []
            while not lines or "cancel" not in lines[-1]:
                lines.append(json.loads(process.stdout.readline()))
            promised.update(keys)
            time.sleep(0.01 * turn)
            process.kill()
            # communicate would pass over the lines that readline has read ahead.
            rest = process.stdout.read()
            process.communicate()
            lines += [json.loads(text) for text in rest.decode().split("\n")[:-1]]
            self.note(seen, lines)
        self.note(seen, self.data())
        self.assertEqual(set(seen), promised)

    def note(self, seen, lines):
        for firing in lines:
            if "key" in firing:
                if firing["key"] in seen:
                    self.assertTrue(firing["repetition"], firing)
                seen[firing["key"]] = True


class Refusals(DataTest):
    def test_a_second_process_is_refused(self):
        process = self.begin_data("--answers")
        self.wait_until_kept(process)
        outcome = self.run_program("run", "--data", "d")
        self.assertEqual(outcome.status, support.STATUS_USAGE, outcome)
        self.assertIn(f"--data: d: process {process.pid} has opened this queue", outcome.errors)
        outcome = self.run_program("export", "d")
        self.assertIn(f"d: process {process.pid} has opened this queue", outcome.errors)

    def test_a_directory_that_cannot_be_opened(self):
        """The status is that of export, and the message names the directory."""
        self.write("file", "no directory")
        for directory in ("file", "missing/d"):
            outcome = self.run_program("run", "--data", directory)
            self.assertEqual((outcome.status, outcome.output), (support.STATUS_USAGE, ""), outcome)
            self.assertTrue(outcome.errors.startswith(f"elapse run: --data: {directory}"), outcome)
            self.assertEqual(self.run_program("export", directory).status, support.STATUS_USAGE)

    def test_a_signal_ends_it_while_the_directory_is_read(self):
        """A pipe in place of a file of the log is read without end."""
        journal = Path(self.directory) / "d" / "journal"
        journal.mkdir(parents=True)
        os.mkfifo(journal / "1.log")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            (journal.parent / "lock").unlink(missing_ok=True)
            process = self.begin_data()
            while not (journal.parent / "lock").exists():
                self.assertIsNone(process.poll())
                time.sleep(0.01)
            process.send_signal(number)
            self.assertEqual(process.wait(timeout=100), -number)

    def test_what_a_queue_cannot_keep_is_reported(self):
        for text, says in (("in 1s " + "k" * 251, "at most 250 bytes"),
                           ("every 1500us k", "whole number of milliseconds"),
                           ('cron "* * * * *" k', "the zone needs a name")):
            outcome = self.run_program("run", "--data", "d", stdin=text + "\n", env={})
            self.assertEqual(outcome.status, support.STATUS_FAILED, outcome)
            self.assertRegex(outcome.errors, r"^elapse run: standard input: line 1: with --data ")
            self.assertIn(says, outcome.errors)

    def test_a_key_of_250_bytes_and_the_longest_payload(self):
        fired = self.data("in 0s " + "k" * 250 + " " + "p" * 65536)
        self.assertEqual((len(fired[0]["key"]), len(fired[0]["payload"])), (250, 65536))

    def test_usage(self):
        self.assert_usage_error("elapse run", "run", "--data", "", says=["a directory is missing"])
        self.assert_usage_error("elapse run", "run", "--data", "d", "--tick", "2ms",
                                says=["a tick of 1ms"])


class Backup(DataTest):
    def test_a_backup_under_load_opens_and_outlives_the_churn(self):
        """Jobs come and go, and the backup is taken meanwhile. Then so much more comes that every file
        that the backup has was cleaned in the original."""
        process = self.begin_data("--answers")
        self.tell(process, *(f"in 10h keep{i} {'k' * 60000}" for i in range(KEPT)))
        self.churn(process, 300)
        outcome = self.start_churn_and_backup(process)
        self.assertRegex(outcome, r"of which [1-9]\d* are linked")
        # The original may have cleaned a file meanwhile, so the links are not counted before.
        files = list((Path(self.directory) / "b" / "journal").glob("*.log"))
        for _ in range(40):
            if all(path.stat().st_nlink == 1 for path in files):
                break
            self.churn(process, 200)
        self.assertEqual([path.stat().st_nlink for path in files], [1] * len(files))
        keys = {json.loads(line)["key"] for line in self.succeed("export", "b").splitlines()}
        self.assertLessEqual({f"keep{i}" for i in range(KEPT)}, keys)
        self.assertEqual(self.succeed("check", "b").split(":")[0], "all is whole")
        copy = self.begin("--data", "b", "--answers")
        self.tell(copy, "cancel keep7")
        self.assertEqual(self.answers(copy, 1), [{"cancel": "keep7", "answer": "removed"}])
        self.assertFalse((Path(self.directory) / "b" / "journal" / "backup").exists())
        self.tell(process, "cancel keep7")
        self.assertEqual(self.answers(process, 1), [{"cancel": "keep7", "answer": "removed"}])

    def churn(self, process, count):
        for i in range(count):
            self.tell(process, f"in 9h churn {'x' * 60000}")
        self.wait_until_kept(process)

    def start_churn_and_backup(self, process):
        for i in range(300):
            self.tell(process, f"in 9h churn {'x' * 60000}")
            if i == 150:
                outcome = self.succeed("backup", "d", "b")
        self.wait_until_kept(process)
        return outcome


@unittest.skipIf(STRACE_REFUSAL, STRACE_REFUSAL)
class Syncs(DataTest):
    def test_timers_that_are_due_together_share_their_syncs(self):
        count = 3000
        jobs = [{"tube": "timers", "due_ms": 1000 + i, "key": f"k{i}", "body": f"once {i}"}
                for i in range(count)]
        self.succeed("import", "d", stdin="".join(json.dumps(job) + "\n" for job in jobs))
        traced = subprocess.run(
            ["strace", "-f", "-o", "trace", "-e", "trace=fsync,fdatasync", support.PROGRAM, "run",
             "--data", "d"], cwd=self.directory, stdin=subprocess.DEVNULL, capture_output=True,
            check=True, env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})  # which strace keeps out
        self.assertEqual([f["payload"] for f in firings(traced.stdout.decode())],
                         [str(i) for i in range(count)])
        syncs = (Path(self.directory) / "trace").read_text("ascii").count("sync(")
        self.assertIn(syncs, range(2, count // 20))


if __name__ == "__main__":
    unittest.main()
