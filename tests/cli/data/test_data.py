"""Tests elapse check, export, import and backup on small directories."""

import base64
import fcntl
import json
import os
import pathlib
import random
import socket
import subprocess
import sys
import time
import unittest

import support
from support import STATUS_FAILED, STATUS_OK, STATUS_USAGE

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from server_process import FREE_PORT, ServerProcess  # noqa: E402

SEGMENT = 1 << 14
FUTURE_MS = 4_000_000_000_000  # in 2096


def line(**members):
    return json.dumps({"tube": "t", "due_ms": FUTURE_MS, **members}) + "\n"


def many(count, body_bytes=100):
    """Lines of jobs with keys, enough for several segments."""
    return "".join(line(key=f"key-{i}", body=f"{i:0{body_bytes}}") for i in range(count))


class DataTest(support.ProgramTest):
    def make(self, name, lines):
        self.succeed("import", "--segment-bits", "14", name, stdin=lines)
        return self.directory / name

    def segments(self, name):
        """The files of the log, oldest first."""
        return sorted((self.directory / name / "journal").glob("*.log"),
                      key=lambda path: int(path.stem))

    def flip(self, path, offset):
        data = bytearray(path.read_bytes())
        data[offset] ^= 0x10
        path.write_bytes(data)

    def exported(self, name):
        return [json.loads(text) for text in self.succeed("export", name).splitlines()]


class ExportImportTest(DataTest):
    def test_round_trip_is_equal(self):
        lines = [
            line(body="plain é\u2028\0 text", key="k", tag="g", group="ann"),
            line(body_base64=base64.b64encode(bytes(range(256))).decode(), priority=4294967295),
            line(key_base64="/w==", retry=3, backoff_min_ms=10, backoff_max_ms=99, ttr_ms=1),
            line(cron="*/5 * * * *", zone="Europe/Berlin", missed=2, failures=1),
            line(period_ms=1500, by_wall_clock=True, expire_ms=77),
            line(state="buried", reason="retries", attempts=4, handed_out=True, buries=1),
            line(due_ms=-5, first_ms=12, body=""),
            line(due_ms=900, put_ms=7, body="put before"),
        ]
        self.make("one", "".join(lines))
        first = self.succeed("export", "one")
        self.assertEqual(len(first.splitlines()), len(lines), first)
        for text, parsed in zip(lines, map(json.loads, first.splitlines())):
            for name, value in json.loads(text).items():
                if value != "":
                    self.assertEqual(parsed[name], value, parsed)
        self.make("two", first)
        self.assertEqual(self.succeed("export", "two"), first)

    def test_random_bodies_and_many_segments(self):
        source = random.Random(5)
        lines = "".join(line(body_base64=base64.b64encode(source.randbytes(
            source.choice((1, 2, 3, 500, 5000)))).decode()) for _ in range(60))
        self.make("one", lines)
        self.assertGreater(len(self.segments("one")), 3)
        first = self.succeed("export", "one")
        self.make("two", first)
        self.assertEqual(self.succeed("export", "two"), first)

    def test_bad_lines_are_named_and_the_others_are_added(self):
        bad = ["nonsense", "[]", '{"tube":"t"', '{"body":"x"}', line(colour=1).strip(),
               line(priority=-1).strip(), line(priority=2**32).strip(), line(due_ms="x").strip(),
               line(body_base64="/x").strip(), line(cron="nonsense").strip(),
               line(cron="* * * * *", zone="Mars/Base").strip(), line(state="odd").strip(),
               line(ttr_ms=0).strip(), line(key="x" * 251).strip(), line(body="x" * 20000).strip(),
               '{"tube":"t","tube":"u"}', line(zone="utc").strip(), line(tag=7).strip()]
        for text in bad:
            outcome = self.run_program("import", "--segment-bits", "14", "d",
                                       stdin=line(body="a") + text + "\n" + line(body="b"))
            self.assertEqual(outcome.status, STATUS_USAGE, (text, outcome))
            self.assertEqual(outcome.output, "2 jobs added\n", (text, outcome))
            self.assertRegex(outcome.errors, r"^elapse import: standard input: line 2: .+\n$")
        self.assertEqual(len(self.exported("d")), 2 * len(bad))

    def test_a_line_has_256_mib_at_most(self):
        lines = self.directory / "lines"
        with lines.open("wb") as file:  # a hole in a file is zeros, and takes no room
            file.write(line(body="a").encode())
            file.seek(1 << 28, os.SEEK_CUR)
            file.write(b"\n" + line(body="b").encode())
            file.truncate(file.tell() + (1 << 28) + 1)
            file.seek(0, os.SEEK_END)
            file.write(b"\n" + line(body="c").encode())
        with lines.open("rb") as file:
            outcome = subprocess.run([support.PROGRAM, "import", "--segment-bits", "14", "d"], stdin=file,
                                     capture_output=True, text=True, check=False, cwd=self.directory)
        self.assertEqual((outcome.returncode, outcome.stdout), (STATUS_FAILED, "2 jobs added\n"), outcome)
        self.assertRegex(outcome.stderr, r"^elapse import: standard input: line 2: .+\n"
                                         r"elapse import: standard input: line 4: the line is longer than "
                                         r"268435456 bytes\n$")
        self.assertEqual([job["body"] for job in self.exported("d")], ["a", "b"])

    def test_errors_come_through(self):
        lines = (line(key="a", body="x", error="no route to host", error_ms=1700000000000, attempts=2,
                      handed_out=True) +
                 line(key="b", error="it is broken", error_ms=5, state="buried", reason="worker"))
        self.make("d", lines)
        first = self.succeed("export", "d")
        self.assertEqual([(job["error"], job["error_ms"]) for job in self.exported("d")],
                         [("no route to host", 1700000000000), ("it is broken", 5)])
        self.make("two", first)
        self.assertEqual(self.succeed("export", "two"), first)
        outcome = self.run_program("import", "d", stdin=line(error="x" * 1025))
        self.assertEqual(outcome.status, STATUS_USAGE, outcome)
        # A damaged text is lost, and the job is not.
        path = self.segments("d")[0]
        self.flip(path, path.read_bytes().index(b"it is broken"))
        outcome = self.run_program("check", "--repair", "d")
        self.assertIn("the body is damaged\n", outcome.output)
        jobs = self.exported("d.repaired")
        self.assertEqual([job.get("error") for job in jobs], ["no route to host", None])
        self.assertEqual([job["state"] for job in jobs], ["waiting", "buried"])

    def test_the_settings_of_a_tube_come_through(self):
        end = int(time.time() * 1000) + 3600000
        tube = '{"settings_of":"mails","pause_ms":3600000,"pause_end_ms":%d}\n' % end
        over = '{"settings_of":"over","pause_ms":1000,"pause_end_ms":5}\n'
        outcome = self.run_program("import", "d", stdin=line(body="a") + tube + over)
        self.assertEqual((outcome.status, outcome.output), (0, "1 jobs added\n"), outcome)
        first = self.succeed("export", "d")
        self.assertEqual(first.split("\n")[0] + "\n", tube)
        self.assertEqual(len(first.splitlines()), 2)
        self.assertEqual(self.succeed("check", "d"), "all is whole: 3 records\n")
        for text in ['{"settings_of":"t","colour":1}', '{"settings_of":7}', '{"settings_of":""}',
                     '{"settings_of":"t","pause_ms":5}', '{"settings_of":"t","pause_ms":-1}',
                     '{"settings_of":"t","pause_ms":1,"pause_end_ms":%d}' % 2**62,
                     '{"settings_of":"%s"}' % ("x" * 201), '{"settings_of_base64":"/x"}']:
            outcome = self.run_program("import", "d", stdin=text)
            self.assertEqual(outcome.status, STATUS_USAGE, (text, outcome))
            self.assertRegex(outcome.errors, r"^elapse import: standard input: line 1: .+\n$")

    def test_the_limits_of_buried_jobs_come_through(self):
        limits = ('{"settings_of":"both","buried":7,"buried_age_ms":604800000}\n'
                  '{"settings_of":"most","buried":4294967295}\n')
        self.assertEqual(self.succeed("import", "d", stdin=limits), "0 jobs added\n")
        self.assertEqual(self.succeed("export", "d"), limits)
        outcome = self.run_program("import", "d", stdin='{"settings_of":"t","buried":4294967296}')
        self.assertEqual(outcome.status, STATUS_USAGE, outcome)

    def test_settings_of_a_tube_are_saved_by_a_repair(self):
        end = int(time.time() * 1000) + 3600000
        tube = '{"settings_of":"mails","pause_ms":3600000,"pause_end_ms":%d}\n' % end
        self.make("d", tube + many(3))
        path = self.segments("d")[0]
        self.flip(path, path.read_bytes().index(b"0" * 90))
        outcome = self.run_program("check", "--repair", "d")
        self.assertIn("d.repaired has the 2 jobs that are whole\n", outcome.output)
        self.assertIn(tube, self.succeed("export", "d.repaired"))

    def test_a_key_that_is_taken_is_a_bad_line(self):
        outcome = self.run_program("import", "d", stdin=line(key="k", body="1") + line(key="k"))
        self.assertEqual(outcome.status, STATUS_USAGE, outcome)
        self.assertIn("line 2: key: a job of this tube has it already", outcome.errors)
        self.assertEqual([job["body"] for job in self.exported("d")], ["1"])

    def test_ids_are_never_used_again(self):
        self.make("d", line(id=10))
        self.make("d", line(id=10) + line(id=5) + line(id=20))
        self.assertEqual([job["id"] for job in self.exported("d")], [10, 11, 12, 20])

    def test_the_last_line_may_lack_its_end(self):
        self.make("d", "\r\n" + line().strip())
        self.assertEqual(len(self.exported("d")), 1)

    def test_export_changes_nothing_but_the_lock(self):
        self.make("d", many(5))
        before = {path.name: path.read_bytes() for path in self.segments("d")}
        self.succeed("export", "d")
        self.assertEqual({path.name: path.read_bytes() for path in self.segments("d")}, before)


def awaiting(count, **members):
    """A line of a job that has no due time, but waits for arrivals."""
    return json.dumps({"tube": "t", "await": count, **members}) + "\n"


class ArrivalsTest(DataTest):
    """Jobs that wait for arrivals keep their counts, and none of them becomes due."""

    def serve(self, name, *commands):
        """Has a server perform commands of RESP on a directory. Returns the first line of each reply,
        and the whole of a reply that is an array."""
        server = ServerProcess(self.directory / "log", ["--data", self.directory / name, *FREE_PORT])
        try:
            with socket.create_connection(("127.0.0.1", server.wait_for_port())) as peer:
                replies = peer.makefile("rb")
                answers = []
                for words in commands:
                    parts = [word.encode() for word in words.split()]
                    peer.sendall(b"*%d\r\n" % len(parts) +
                                 b"".join(b"$%d\r\n%b\r\n" % (len(part), part) for part in parts))
                    answers.append(self.read_reply(replies))
            server.stop()
            return answers
        finally:
            server.kill()

    def read_reply(self, replies):
        first = replies.readline()[:-2].decode()
        if first.startswith("*"):
            return [self.read_reply(replies) for _ in range(int(first[1:]))]
        if first.startswith("$") and first != "$-1":
            return replies.read(int(first[1:]) + 2)[:-2].decode()
        return first

    def look_up(self, name, key):
        """What LOOKUP tells of a job, by names."""
        reply, = self.serve(name, f"LOOKUP t {key}")
        return dict(zip(reply[::2], reply[1::2]))

    def test_round_trip_is_equal(self):
        lines = [
            awaiting(4294967295, key="alone", put_ms=7, headers="{}", group="ann", tag="g"),
            awaiting(3, key="limited", due_ms=FUTURE_MS, by_wall_clock=True),
            awaiting(2, key="long ago", due_ms=0),
            awaiting(1, due_ms=FUTURE_MS, released=True, attempts=2, handed_out=True, retry=9),
            awaiting(5, state="buried", reason="worker", buries=1, released=True),
        ]
        self.make("one", "".join(lines))
        first = self.succeed("export", "one")
        jobs = self.exported("one")
        self.assertEqual(len(jobs), len(lines), first)
        for text, job in zip(lines, jobs):
            given = json.loads(text)
            self.assertEqual({name: job.get(name) for name in given}, given, job)
        self.assertNotIn("due_ms", jobs[0])
        self.make("two", first)
        self.assertEqual(self.succeed("export", "two"), first)

    def test_a_job_without_the_time_of_its_put_was_put_now(self):
        before = int(time.time() * 1000)
        self.make("d", awaiting(3, key="k"))
        job, = self.exported("d")
        self.assertNotIn("due_ms", job)
        self.assertGreaterEqual(job["put_ms"], before)

    def test_bad_lines_are_named(self):
        for text, fault in ((awaiting(3), "'await': it needs a key"),
                            (awaiting(-1, key="k"), "'await': it is negative"),
                            (awaiting(2**32, key="k"), "'await': it is above 4294967295"),
                            (awaiting(3, key="k", period_ms=5), "'await': a job that recurs waits"),
                            (awaiting(3, key="k", cron="* * * * *"), "'await': a job that recurs waits"),
                            (awaiting(3, key="k", first_ms=5), "'await': a job with first_ms waits"),
                            (line(key="k", released=True), "'released': it needs await"),
                            (awaiting(3, key="k", released=1), "'released': it is neither true nor")):
            outcome = self.run_program("import", "d", stdin=text)
            self.assertEqual((outcome.status, outcome.output), (STATUS_USAGE, "0 jobs added\n"), (text, outcome))
            self.assertIn(f"elapse import: standard input: line 1: {fault}", outcome.errors, text)
        self.assertEqual(self.exported("d"), [])

    @unittest.skipUnless(support.HAS_SERVER, "a server takes arrivals, and it is not built")
    def test_jobs_of_a_server_go_on_waiting_elsewhere(self):
        answers = self.serve("d", "PUT t body KEY a AWAIT 3", "PUT t body KEY b AWAIT 5 IN 1000d",
                             "PUT t body KEY c AWAIT 2", "PUT t body KEY lost AWAIT 2",
                             "ARRIVE t a 1 TOKEN x", "ARRIVE t b 2", "KICKID 3")
        self.assertEqual(answers[-3:], [":2", ":3", "+ok"], answers)
        jobs = self.exported("d")
        self.assertEqual([(job["key"], job["await"], "due_ms" in job, job.get("released")) for job in jobs],
                         [("a", 2, False, None), ("b", 3, True, None), ("c", 2, True, True),
                          ("lost", 2, False, None)])
        self.make("imported", self.succeed("export", "d"))
        self.assertEqual(self.exported("imported"), jobs)
        self.succeed("backup", "d", "copied")
        self.assertEqual(self.exported("copied"), jobs)
        path = self.segments("d")[-1]
        data = path.read_bytes()
        self.flip(path, data.index(b"body", data.index(b"lost")))
        outcome = self.run_program("check", "--repair", "d")
        self.assertIn("lost: job 4 of tube 't', key 'lost'\n", outcome.output)
        self.assertEqual(self.exported("d.repaired"), jobs[:3])
        # The tokens are not exported, as those of puts are not. The other two have them.
        for name, left in (("imported", ":1"), ("copied", ":2"), ("d.repaired", ":2")):
            found = self.look_up(name, "a")
            self.assertEqual((found["state"], found["await"]), ("delayed", ":2"), found)
            self.assertEqual(found["due"], "$-1", found)
            answers = self.serve(name, "ARRIVE t a 1 TOKEN x", "ARRIVE t c", "ARRIVE t b 2", "ARRIVE t a 9",
                                 "RESERVE t COUNT 9")
            self.assertEqual(answers[:4], [left, "+gone", ":1", ":0"], name)
            self.assertEqual(sorted(job[0] for job in answers[4]), [":1", ":3"], answers)


class RefusalTest(DataTest):
    def test_a_directory_in_use_is_refused_by_name(self):
        self.make("d", many(3))
        with open(self.directory / "d" / "lock", "r+b") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            lock.write(b"%-20d\n" % 4711)
            lock.flush()
            for command in (["check", "d"], ["check", "--repair", "d"], ["export", "d"],
                            ["import", "d"]):
                outcome = self.run_program(*command)
                self.assertEqual(outcome.status, STATUS_USAGE, outcome)
                self.assertEqual(outcome.errors, f"elapse {command[0]}: d: process 4711 has opened "
                                                 "this queue" + (
                                                     "; 'elapse backup' copies it meanwhile, and the copy "
                                                     "can be exported" if command[0] == "export" else "") +
                                                 "\n", outcome)

    def test_a_directory_without_a_queue_is_refused_and_stays_so(self):
        (self.directory / "empty").mkdir()
        for command in ("check", "export"):
            for name in ("empty", "missing"):
                outcome = self.run_program(command, name)
                self.assertEqual(outcome.status, STATUS_USAGE, outcome)
                self.assertIn(f"elapse {command}: {name}: ", outcome.errors)
        self.assertEqual(os.listdir(self.directory), ["empty"])
        self.assertEqual(os.listdir(self.directory / "empty"), [])

    def test_usage(self):
        for command, arguments in (("check", []), ("check", ["a", "b"]), ("export", []),
                                   ("import", []), ("backup", ["a"]), ("backup", ["a", "b", "c"])):
            self.assert_usage_error(f"elapse {command}", command, *arguments, says=["give "])


class CheckTest(DataTest):
    def check(self, *arguments):
        outcome = self.run_program("check", *arguments)
        self.assertEqual(outcome.errors, "", outcome)
        return outcome

    def test_a_whole_directory(self):
        self.make("d", many(300))
        outcome = self.check("d")
        self.assertEqual((outcome.status, outcome.output), (STATUS_OK, "all is whole: 300 records\n"))
        self.check("--repair", "d")
        self.assertFalse((self.directory / "d.repaired").exists())

    def test_a_damaged_body_loses_one_job(self):
        self.make("d", many(300))
        path = self.segments("d")[1]
        place = path.read_bytes().index(b"0" * 90)
        self.flip(path, place + 5)
        jobs = self.exported_but_one()
        outcome = self.check("--repair", "d")
        self.assertEqual(outcome.status, STATUS_FAILED, outcome)
        self.assertRegex(outcome.output, rf"(?m)^d/journal/{path.name}: at offset \d+: the body is damaged$")
        self.assertRegex(outcome.output, r"(?m)^lost: job \d+ of tube 't', key 'key-\d+'$")
        self.assertIn("d.repaired has the 299 jobs that are whole\n", outcome.output)
        self.assertEqual(self.succeed("export", "d.repaired"), jobs)
        self.assertEqual(self.check("d.repaired").status, STATUS_OK)

    @unittest.skipUnless(support.HAS_SERVER, "a server cleans, and it is not built")
    def test_a_damaged_body_stays_lost_after_its_record_was_copied(self):
        self.make("d", many(4))
        self.make("d", line(key="last"))  # what is damaged is not in the last group
        path = self.segments("d")[0]
        self.flip(path, path.read_bytes().index(b"0" * 90) + 5)
        while path.exists():  # until the server has cleaned it, and copied what lives
            server = ServerProcess(self.directory / "log", ["--data", self.directory / "d", *FREE_PORT])
            try:
                server.stop()
            finally:
                server.kill()
        jobs = self.exported_but_one()
        outcome = self.check("--repair", "d")
        self.assertEqual(outcome.status, STATUS_FAILED, outcome)
        self.assertRegex(outcome.output, r"(?m)^lost: job \d+ of tube 't', key 'key-\d+'$")
        self.assertIn("d.repaired has the 4 jobs that are whole\n", outcome.output)
        self.assertEqual(self.succeed("export", "d.repaired"), jobs)
        self.assertEqual(self.check("d.repaired").status, STATUS_OK)

    def exported_but_one(self):
        outcome = self.run_program("export", "d")
        self.assertEqual(outcome.status, STATUS_FAILED, outcome)
        self.assertRegex(outcome.errors, r"^elapse export: job \d+: its body is damaged\n$")
        return outcome.output

    def test_a_damaged_record_and_a_missing_file(self):
        self.make("d", many(600))
        before = self.exported("d")
        paths = self.segments("d")
        self.assertGreater(len(paths), 4)
        data = paths[1].read_bytes()
        start = data.index(b"key-1", 1000)
        self.flip(paths[1], start)
        paths[3].unlink()
        outcome = self.check("--repair", "d")
        self.assertEqual(outcome.status, STATUS_FAILED, outcome)
        self.assertRegex(outcome.output, rf"(?m)^d/journal/{paths[1].name}: at offset \d+: up to \d+ bytes")
        self.assertIn(f"d/journal/{paths[3].name}: the file is missing\n", outcome.output)
        after = {job["id"]: job for job in self.exported("d.repaired")}
        lost = [job for job in before if job["id"] not in after]
        per_file = SEGMENT // 170
        self.assertGreater(len(lost), 10)
        self.assertLess(len(lost), per_file + 3)
        for job in before:
            if job["id"] in after:
                self.assertEqual(after[job["id"]], job)
        # Ids that may have been given are not given again.
        self.make("d.repaired", line(key="new"))
        self.assertGreater(self.exported("d.repaired")[-1]["id"], 600)

    def test_the_damaged_directory_stays_as_it_is(self):
        self.make("d", many(50))
        self.flip(self.segments("d")[0], 20)
        before = {path: path.read_bytes() for path in (self.directory / "d" / "journal").iterdir()}
        self.check("--repair", "d")
        after = {path: path.read_bytes() for path in (self.directory / "d" / "journal").iterdir()}
        self.assertEqual(after, before)

    def test_a_directory_that_exists_is_not_repaired_into(self):
        self.make("d", many(50))
        self.flip(self.segments("d")[0], 700)
        self.check("--repair", "d/")
        outcome = self.run_program("check", "--repair", "d")
        self.assertEqual(outcome.status, STATUS_USAGE, outcome)
        self.assertIn("d.repaired: File exists", outcome.errors)

    def test_an_unknown_version_is_refused(self):
        path = self.make("d", many(5)) / "journal" / "1.log"
        data = bytearray(path.read_bytes())
        data[8] = 9
        path.write_bytes(data)
        for command in ("check", "export", "backup"):
            outcome = self.run_program(command, "d", *(["b"] if command == "backup" else []))
            self.assertIn("d/journal/1.log: format version 9 is unknown to this program", outcome.errors)


class MessageTest(DataTest):
    """Each message about a file begins with its path, as the user can give it to another program."""

    def assert_names(self, path, *arguments, **options):
        outcome = self.run_program(*arguments, **options)
        self.assertNotEqual(outcome.status, STATUS_OK, outcome)
        first = (outcome.output + outcome.errors).splitlines()[0]
        name = first.removeprefix(f"elapse {arguments[0]}: ").removeprefix("--data: ").split(": ")[0]
        self.assertEqual(name, path, outcome)
        self.assertTrue((self.directory / name).exists(), outcome)

    def refused(self, path):
        """Expects that whoever opens the directory d names this file of it."""
        self.assert_names(path, "run", "--data", "d", stdin="")
        self.assert_names(path, "import", "d", stdin="")
        self.assert_names(path, "export", "d")
        self.assert_names(path, "check", "d")

    def test_a_damaged_header(self):
        self.make("d", many(600))
        self.flip(self.segments("d")[1], 20)
        self.refused("d/journal/2.log")

    def test_an_unknown_version(self):
        path = self.make("d", many(5)) / "journal" / "1.log"
        path.write_bytes(path.read_bytes()[:8] + b"\x09" + path.read_bytes()[9:])
        self.refused("d/journal/1.log")

    def test_damaged_records(self):
        self.make("d", many(600))
        self.flip(self.segments("d")[1], 700)
        self.refused("d/journal/2.log")

    def test_a_file_of_another_queue(self):
        self.make("d", many(600))
        self.make("other", many(600))
        self.segments("d")[1].write_bytes(self.segments("other")[1].read_bytes())
        self.refused("d/journal/2.log")

    def test_a_file_that_is_a_directory(self):
        self.make("d", many(600))
        self.segments("d")[1].unlink()
        (self.directory / "d" / "journal" / "2.log").mkdir()
        self.refused("d/journal/2.log")

    def test_a_journal_that_is_a_file(self):
        self.make("d", "")
        (self.directory / "d" / "journal").rename(self.directory / "away")
        (self.directory / "d" / "journal").write_bytes(b"")
        self.assert_names("d/journal", "run", "--data", "d", stdin="")
        self.assert_names("d", "check", "d")

    def test_a_directory_that_is_a_file(self):
        (self.directory / "d").write_bytes(b"")
        self.assert_names("d", "run", "--data", "d", stdin="")
        self.assert_names("d", "check", "d")


class BackupTest(DataTest):
    def test_a_backup_opens_and_is_equal(self):
        self.make("d", many(600))
        output = self.succeed("backup", "d", "b/")
        paths = self.segments("b")
        self.assertEqual(len(paths), len(self.segments("d")))
        self.assertIn(f"{len(paths)} files, of which {len(paths) - 1} are linked", output)
        for path in paths[:-1]:
            self.assertEqual(path.stat().st_nlink, 2, path)
        self.assertEqual(paths[-1].stat().st_nlink, 1)
        self.assertEqual(self.succeed("export", "b"), self.succeed("export", "d"))
        self.assertFalse((self.directory / "b.partial").exists())

    def test_a_directory_in_use_is_backed_up(self):
        self.make("d", many(30))
        with open(self.directory / "d" / "lock", "r+b") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.succeed("backup", "d", "b")
        self.assertEqual(self.succeed("export", "b"), self.succeed("export", "d"))

    def test_leftovers_of_a_backup_that_was_killed_do_not_matter(self):
        self.make("d", many(30))
        (self.directory / "b.partial" / "journal").mkdir(parents=True)
        (self.directory / "b.partial" / "journal" / "77.log").write_bytes(b"x")
        (self.directory / "b").mkdir()
        self.succeed("backup", "d", "b")
        self.assertEqual(self.succeed("export", "b"), self.succeed("export", "d"))

    def test_a_target_that_has_files_and_a_source_that_has_none_are_refused(self):
        self.make("d", many(3))
        self.make("other", many(3))
        outcome = self.run_program("backup", "d", "other")
        self.assertEqual(outcome.status, STATUS_FAILED, outcome)
        self.assertEqual(outcome.errors, "elapse backup: other: File exists\n")
        outcome = self.run_program("backup", "missing", "b")
        self.assertEqual(outcome.status, STATUS_FAILED, outcome)
        self.assertIn("missing", outcome.errors)
        self.assertFalse((self.directory / "b").exists())


if __name__ == "__main__":
    unittest.main()
