#!/usr/bin/env python3
"""race_test.py TOOLS: what the race does with its file, its figures and wrong arguments, with
figures made for the test; and that the load programs in TOOLS refuse wrong arguments."""

import contextlib
import io
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
# pylint: disable=wrong-import-position
import contenders  # noqa: E402
import plots  # noqa: E402
import quick  # noqa: E402
import race  # noqa: E402
import report  # noqa: E402
import results as results_module  # noqa: E402
import server  # noqa: E402
import workloads  # noqa: E402
from results import Mismatch, Results  # noqa: E402

TOOLS = ""
PROMISES = {name: contenders.promises_of(name) for name in contenders.KNOWN}


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = os.path.join(self.folder, "figures.csv")


class File(InFolder):
    def test_what_was_written_is_read(self):
        written = Results(self.path)
        written.state("version", "elapse", "elapse 1, \"quoted\"")
        written.add(1, "put-1", "elapse", {"rate": 5000.5, "p99_us": 7}, 2.5)
        written.add(2, "put-1", "elapse", {"rate": 7000}, 2.5)
        written.add(1, "late-1k", "elapse", {"histogram": [[10, 3], [20, 1]]}, 2)
        written.add(2, "late-1k", "elapse", {"histogram": [[10, 1]]}, 2)
        for read in (written, Results(self.path)):
            self.assertEqual(read.contenders(), ["elapse"])
            self.assertEqual(read.median("put-1", "elapse", "rate"), 6000.25)
            self.assertEqual(read.summary("put-1", "elapse", "p99_us"), (1, 7, 7, 7))
            self.assertEqual(read.histogram("late-1k", "elapse"), [(10, 4), (20, 1)])
            self.assertIn((2, "put-1", "elapse"), read.done)

    def test_a_torn_end_is_cut_and_the_run_is_made_again(self):
        written = Results(self.path)
        written.add(1, "put-1", "elapse", {"rate": 1}, 1)
        with open(self.path, encoding="utf-8") as file:
            whole = file.read()
        written.add(2, "put-1", "elapse", {"rate": 3, "count": 4}, 1)
        with open(self.path, encoding="utf-8") as file:
            longer = file.read()
        for cut in range(len(whole), len(longer)):
            with open(self.path, "w", encoding="utf-8") as file:
                file.write(longer[:cut])
            read = Results(self.path)
            self.assertEqual(read.done, {(1, "put-1", "elapse")}, cut)
            self.assertEqual(read.median("put-1", "elapse", "rate"), 1)
            read.add(2, "put-1", "elapse", {"rate": 5}, 1)
            again = Results(self.path)
            self.assertEqual(again.median("put-1", "elapse", "rate"), 3)
            self.assertEqual(len(again.done), 2)

    def test_a_failed_run_is_made_again_and_forgotten_when_it_succeeds(self):
        written = Results(self.path)
        written.add(1, "rest", "redis", {"fill_rate": 9}, 1, "it ended")
        for read in (written, Results(self.path)):
            self.assertEqual(read.done, set())
            self.assertEqual(read.errors, {("rest", "redis"): "it ended"})
            self.assertEqual(read.median("rest", "redis", "fill_rate"), 9)
        written.add(1, "rest", "redis", {"rate": 5}, 1)
        for read in (written, Results(self.path)):
            self.assertEqual(read.errors, {})
            self.assertIsNone(read.median("rest", "redis", "fill_rate"))

    def test_another_race_is_refused(self):
        Results(self.path).state("scale", "", "full")
        with self.assertRaisesRegex(Mismatch, "scale is full there, and quick here"):
            Results(self.path).state("scale", "", "quick")
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("workload,threads\n")
        with self.assertRaisesRegex(Mismatch, "no file of this race"):
            Results(self.path)


class Worker(server.Server):
    """A server that burns processor time when its load runs."""

    program_text = ("import time; input(); end = time.process_time() + 0.2\n"
                    "while time.process_time() < end: pass\n"
                    "print(flush=True); input()")

    def start(self):
        self.process = subprocess.Popen([sys.executable, "-c", self.program_text],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def start_load(self, verb, **options):
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()

    def finish_load(self, load, limit_s=None):
        self.process.stdout.readline()
        return {"count": 1000}


class Work(unittest.TestCase):
    def test_what_a_server_needs_for_a_command_is_among_the_figures(self):
        worker = Worker(None, None)
        worker.start()
        figures = worker.run("put")
        worker.process.communicate(b"\n")
        self.assertGreater(figures["server_ns"], 100_000)  # 200 ms for 1,000
        self.assertIn("server_faults", figures)


class FakeServer(server.Server):
    """It counts its calls, and fails on demand."""

    name = "elapse"
    verbs = frozenset(("put", "put-now", "delete"))
    calls = []
    fault = None

    def start(self):
        self.calls.append("start")
        return 0.25

    def stop(self):
        self.calls.append("stop")

    def kill(self):
        self.calls.append("kill")

    def wait_for_rest(self, quiet_s=0.5, limit_s=20):
        pass

    def run(self, verb, **options):
        self.calls.append(verb)
        if verb == self.fault:
            raise server.Failure("as the test wants it")
        return {"rate": 10, "count": options.get("count", 1)}


class Runs(InFolder):
    def race(self, *arguments, fault=None):
        """Status and figures of a race of one made-up contender."""
        FakeServer.calls = []
        FakeServer.fault = fault
        with mock.patch.object(contenders, "KNOWN", {"elapse": FakeServer}), \
                mock.patch.object(contenders, "missing_of", lambda name, options: []), \
                contextlib.redirect_stdout(io.StringIO()), \
                contextlib.redirect_stderr(io.StringIO()):
            _, options = race.parse_arguments(
                ["--tiny", "--contenders", "elapse", "--csv", self.path, *arguments])
            return race.run_all(options), Results(self.path)

    def test_resumes_where_it_was(self):
        status, found = self.race("--only", "put-1,rest")
        self.assertEqual(status, 0)
        self.assertEqual(FakeServer.calls, ["start", "put", "stop", "start", "put", "kill", "start",
                                            "delete", "stop"])
        self.assertEqual(found.median("rest", "elapse", "restart_s"), 0.25)
        self.race("--only", "put-1,rest")
        self.assertEqual(FakeServer.calls, [])
        self.race("--only", "put-1", "--rounds", "3")
        self.assertEqual(FakeServer.calls.count("start"), 2)

    def test_a_late_fault_keeps_the_figures_before_it(self):
        status, found = self.race("--only", "rest", fault="delete")
        self.assertEqual(status, 1)
        self.assertEqual(FakeServer.calls[-1], "stop")
        self.assertEqual(found.median("rest", "elapse", "restart_s"), 0.25)
        self.assertEqual(found.errors, {("rest", "elapse"): "as the test wants it"})
        self.assertEqual(self.race("--only", "rest")[0], 0)

    def test_a_workload_that_it_cannot_do_is_left_out(self):
        _, found = self.race("--only", "put-1,keyed,backlog")
        self.assertEqual(found.done, {(1, "put-1", "elapse")})

    def test_no_run_begins_that_ends_too_late(self):
        with mock.patch.object(race.Stand, "measure") as measure:
            self.race("--only", "put-1", "--minutes", "0.001")
            measure.assert_not_called()

    def test_puts_share_a_server_and_others_do_not(self):
        _, found = self.race("--only", "put-1,put-64,rest", "--rounds", "2")
        put = ["start", "put", "put", "stop"]
        rest = ["start", "put", "kill", "start", "delete", "stop"]
        self.assertEqual(FakeServer.calls, (put + rest) * 2)
        self.assertEqual(len(found.done), 6)

    def test_after_a_fault_comes_a_new_server(self):
        self.race("--only", "put-1,put-64", fault="put")
        self.assertEqual(FakeServer.calls, ["start", "put", "stop"] * 2)

    def test_no_directory_stays(self):
        self.race("--only", "rest", fault="delete")
        self.assertEqual(os.listdir(self.folder), ["figures.csv"])


def made_up():
    found = Results()
    for name in contenders.KNOWN:
        found.state("version", name, f"{name} 1.0")
    found.state("processor", "", "a processor")
    found.state("system", "", "a system")
    for number in (1, 2, 3):
        for place, row in enumerate(report.ROWS):
            for step, name in enumerate(contenders.KNOWN):
                if workloads.takes_part(contenders.kind_of(name), name,
                                        workloads.WORKLOADS[row.workload]):
                    found.values.setdefault((row.workload, name, row.metric), {})[number] = (
                        1000 * (place + 1) * (step + 1) + number)
    for name in ("elapse", "redis"):
        found.add(1, "late-20k", name, {"histogram": [[100, 50], [2000, 3], [9000, 1]]}, 1)
    return found


class Quick(InFolder):
    def test_it_takes_ten_minutes_at_most(self):
        _, options = race.parse_arguments(["--quick"])
        self.assertEqual((options.rounds, options.minutes, options.csv), (1, 10, None))
        self.assertEqual(options.only, quick.WORKLOADS)
        expected_s = [workloads.WORKLOADS[name].expected_s * options.scale.share
                      for _, name, _ in race.runs_of(options, options.contenders)]
        self.assertLess(sum(expected_s), options.minutes * 60)
        _, full = race.parse_arguments([])
        self.assertEqual((full.rounds, full.minutes, full.scale), (3, 120, workloads.FULL))

    def test_the_columns_are_what_is_measured(self):
        self.assertEqual({row.workload for _, columns in quick.TABLES for _, row in columns},
                         set(quick.WORKLOADS))

    def table(self, found, left_out=(), load=0.1):
        text = list(quick.lines(found, PROMISES, left_out, load))
        for line in text[2:text.index(next(l for l in text if l.startswith("The small")))]:
            self.assertLessEqual(len(line), 80, line)
        return text

    def test_ratios_are_to_elapse(self):
        found = Results()
        for name, rate in (("elapse", 400_000), ("redis", 100_000), ("beanstalkd", 4_000_000)):
            found.state("version", name, f"{name} 1.0")
            found.add(1, "put-1000", name, {"rate": rate}, 1)
        found.add(1, "put-1", "redis", {"rate": 5}, 1)   # there is nothing to compare it with
        found.add(1, "put-1", "elapse", {}, 1, "it ended")
        text = self.table(found, [("rabbitmq", "rabbitmq-server")])
        rows = {line.split()[0]: line.split()[1:] for line in text
                if line.startswith(("elapse ", "redis ", "beanstalkd "))}
        self.assertEqual(rows["elapse"], ["failed", "400", "k", "-"])
        self.assertEqual(rows["redis"], ["5", "100", "k", "0.25", "-"])
        self.assertEqual(rows["beanstalkd"], ["-", "4.00", "M°", "10", "-"])
        self.assertIn("  rabbitmq (Debian: rabbitmq-server)", text)
        self.assertIn("  put-1, elapse: it ended", text)
        self.assertFalse(any(line.startswith("Jobs a second") for line in text))  # nobody ran these

    def test_a_busy_machine_is_told(self):
        for load, told in ((quick.BUSY_LOAD - 0.01, False), (quick.BUSY_LOAD, True), (5.6, True)):
            text = "\n".join(self.table(made_up(), load=load))
            self.assertEqual(f"at work when it began (load {load:.1f})" in text, told, load)

    def test_all_contenders_fit(self):
        text = self.table(made_up())
        self.assertEqual(sum(line.startswith("postgres-100 ") for line in text), 2)

    def test_who_is_not_here_is_named_with_the_package(self):
        _, options = race.parse_arguments(
            ["--quick", "--tools", self.folder, "--elapse", "/nonexistent"])
        missing = {"postgresql", "elapse-bench-server-postgres"}
        with mock.patch.object(contenders, "missing_of", lambda name, options: sorted(
                missing if name.startswith("postgres") else ())):
            self.assertEqual(race.left_out(options), [
                (name, "libpq-dev, postgresql") for name in options.contenders
                if name.startswith("postgres")])


class Report(unittest.TestCase):
    def goal(self, row, values, **more):
        """The line of a goal: values by contender of one figure; more: (contender, metric)."""
        found = Results()
        for name in ("floor", "elapse", "elapse-lines", "redis", "beanstalkd"):
            found.state("version", name, "1")
            if name in values:
                found.add(1, row.workload, name, {row.metric: values[name]}, 1)
        for metric, value in more.items():
            found.values[row.workload, "elapse", metric] = {1: value}
        goal = next(goal for goal in report.GOALS if goal.row is row)
        return report.goal_line(found, goal, PROMISES)

    def test_goals_are_met_or_missed(self):
        put = report.row_of("put-20000", "rate")
        for values, outcome in (({"floor": 4e6, "elapse": 1.4e6}, "| met |"),
                                ({"floor": 4e6, "elapse": 1.39e6}, "| **missed** |"),
                                ({"floor": 2e6, "elapse": 0.99e6}, "| **missed** |"),
                                ({"floor": 2e6, "elapse": 1, "elapse-lines": 1e6}, "| met |"),
                                ({"elapse": 2e6}, "| not judged |")):
            self.assertIn(outcome, self.goal(put, values), values)
        self.assertIsNone(self.goal(put, {"floor": 1e6}))
        late = report.row_of("late-20k", "p99_us")
        self.assertIn("| met |", self.goal(late, {"elapse": 2000}))
        self.assertIn("| **missed** |", self.goal(late, {"elapse": 2001}))
        early = report.row_of("late-20k", "early")
        self.assertIn("| met |", self.goal(early, {"elapse": 0}))
        self.assertIn("| **missed** |", self.goal(early, {"elapse": 1}))
        disk = report.row_of("churn", "disk_most_bytes")
        for most, outcome in ((420, "| met |"), (421, "| **missed** |")):
            self.assertIn(outcome, self.goal(disk, {"elapse": most * report.MIB},
                                             live_bytes=50 * report.MIB))

    def test_the_best_of_the_others_promises_the_same_if_any_does(self):
        put = report.row_of("put-1000", "rate")
        for values, best in (({"redis": 2000, "beanstalkd": 9000}, "| 2.0 k, redis |"),
                             ({"beanstalkd": 9000}, "| 9.0 k, beanstalkd ° |")):
            self.assertIn(best, self.goal(put, {"elapse": 1, **values}))

    def test_a_start_with_fewer_jobs_is_not_compared(self):
        found = Results()
        for name, seconds, jobs in (("elapse", 0.6, 1000), ("redis", 3, 1000),
                                    ("beanstalkd-f0", 0.1, 30)):
            found.state("version", name, "1")
            found.add(1, "rest", name, {"restart_s": seconds, "jobs": jobs}, 1)
        row = report.row_of("rest", "restart_s")
        goal = next(goal for goal in report.GOALS if goal.row is row)
        self.assertIn("| 3.00 s, redis |", report.goal_line(found, goal, PROMISES))
        self.assertEqual([name for name, _ in plots.bar_rows(found, row)], ["elapse", "redis"])

    def test_the_table_marks_missing_promises(self):
        text = "\n".join(report.lines(made_up(), PROMISES))
        row = next(line for line in text.splitlines() if line.startswith("| put, window 64"))
        cells = [cell.strip() for cell in row.strip("|").split("|")][1:]
        for name, cell in zip(contenders.KNOWN, cells):
            self.assertEqual(cell.endswith(report.MARK),
                             name != "floor" and not PROMISES[name]["durable"], name)
        widths = {line.count("|") for line in text.splitlines() if line.startswith("| put")}
        self.assertLessEqual(len(widths), 2)  # two tables

    def test_numbers(self):
        for value, unit, text in ((1_250_000, "count", "1.25 M"), (5940, "count", "5.9 k"),
                                  (229_400, "count", "229 k"), (999, "count", "999"),
                                  (1400, "us", "1.40 ms"), (43_210, "us", "43.2 ms"),
                                  (2_500_000, "us", "2.50 s"), (0.144, "s", "0.14 s"),
                                  (400 * report.MIB, "MiB", "400 MiB"), (70.1, "bytes", "70")):
            self.assertEqual(report.number_text(value, unit), text)


class Plots(InFolder):
    def test_missing_promises_are_hatched(self):
        text = "\n".join(plots.script(made_up(), PROMISES, self.folder))
        parts = text.split("set output ")
        puts = next(part for part in parts if part.startswith(f"'{self.folder}/put-64.svg'"))
        hatched = [name for name in contenders.KNOWN
                   if name != "floor" and not PROMISES[name]["durable"]]
        self.assertEqual(puts.count("set object rectangle"), len(
            [name for name in contenders.KNOWN if "put" in contenders.kind_of(name).verbs]))
        self.assertEqual(len([line for line in puts.splitlines()
                              if line.startswith("set object") and "pattern" in line]),
                         len([name for name in hatched
                              if "put" in contenders.kind_of(name).verbs]))
        self.assertIn("a processor; a system", puts)
        self.assertIn("redis 1.0", puts)

    def test_curves_fall(self):
        points = plots.later_than([(100, 50), (2000, 3), (9000, 1)])
        self.assertEqual([x for x, _ in points], [1, 100, 2000, 9000])
        shares = [share for _, share in points]
        self.assertEqual(shares, sorted(shares, reverse=True))
        self.assertAlmostEqual(shares[1], 4 / 54)
        self.assertGreater(shares[-1], 0)

    @unittest.skipIf(shutil.which("gnuplot") is None, "there is no gnuplot")
    def test_gnuplot_draws_them(self):
        plots.draw(made_up(), PROMISES, self.folder)
        names = os.listdir(self.folder)
        self.assertEqual(sorted(names), sorted(
            [plot[0] + ".svg" for plot in plots.BARS] + ["lateness-late-20k.svg"]))
        for name in names:
            self.assertGreater(os.path.getsize(os.path.join(self.folder, name)), 1000, name)


class Arguments(unittest.TestCase):
    def test_race_refuses_wrong_ones(self):
        for arguments in (["--contenders", "kafka"], ["--contenders", ""], ["--only", "put-2"],
                          ["--only", "x*"], ["--rounds", "0"], ["--rounds", "1.5"],
                          ["--minutes", "0"], ["--minutes", "nan"], ["--quik"], ["more"]):
            with self.assertRaises(SystemExit) as stopped, \
                    contextlib.redirect_stderr(io.StringIO()) as said:
                race.parse_arguments(arguments)
            self.assertEqual(stopped.exception.code, 2, arguments)
            self.assertEqual(said.getvalue().count("\n"), 1, said.getvalue())

    def test_names_with_a_star(self):
        _, options = race.parse_arguments(["--only", "late*,rest", "--contenders", "redis*"])
        self.assertEqual(options.only, ("late-1k", "late-20k", "rest"))
        self.assertTrue(all(name.startswith("redis") for name in options.contenders))
        self.assertGreater(len(options.contenders), 1)

    def test_programs_refuse_wrong_ones(self):
        programs = [name for name in os.listdir(TOOLS) if name.startswith("elapse-bench-server-")
                    and not name.endswith(("-floor", "-keeper"))]
        self.assertIn("elapse-bench-server-load", programs)
        for name in programs:
            for arguments in ([], ["1"], ["1", "put", "--count"], ["1", "put", "--count", "x"],
                              ["1", "put", "--counts", "1"], ["1", "put", "--window", "0"],
                              ["1", "put", "--seconds", "0"], ["1", "put", "--share", "101"]):
                done = subprocess.run([os.path.join(TOOLS, name), *arguments], check=False,
                                      capture_output=True, text=True, timeout=60)
                self.assertEqual((done.returncode, done.stdout), (2, ""), (name, arguments))
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


class Answers:
    """A server of one connection that answers commands, which have so many bytes, with texts; it
    sends in pieces of some bytes."""

    def __init__(self, command_bytes, answers, piece):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        if isinstance(command_bytes, int):
            command_bytes = [command_bytes] * len(answers)
        self.exchanges, self.piece = list(zip(command_bytes, answers)), piece
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        try:
            client, _ = self.listener.accept()
        except OSError:  # closed: nobody came
            return
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with client, contextlib.suppress(OSError):
            for left, answer in self.exchanges:
                while left > 0:
                    got = client.recv(left)
                    if not got:
                        return
                    left -= len(got)
                for at in range(0, len(answer), self.piece):
                    client.sendall(answer[at:at + self.piece])
            client.recv(1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(10)


PUT_LINE = len(b"put 1 1800 60 100\r\n") + 102
PUT_RESP = len(b"*5\r\n$3\r\nPUT\r\n$1\r\nt\r\n$100\r\n\r\n$2\r\nIN\r\n$3\r\n30m\r\n") + 100


class Loads(unittest.TestCase):
    """Every answer is looked at."""

    def load(self, program, verb, command_bytes, answers, *arguments, piece=1):
        with Answers(command_bytes, answers, piece) as peer:
            return subprocess.run(
                [os.path.join(TOOLS, "elapse-bench-server-" + program), str(peer.port), verb,
                 "--count", "3", "--seconds", "20", *arguments], check=False, capture_output=True,
                text=True, timeout=60)

    def accepted(self, done, count):
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        figures = json.loads(done.stdout)
        self.assertEqual(figures["count"], count)
        self.assertGreater(figures["rate"], 0)
        return figures

    def refused(self, done, said):
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr, said + "\n")

    def test_puts(self):
        good = {"beanstalkd": (PUT_LINE, [b"INSERTED 1\r\n", b"INSERTED 22\r\n",
                                          b"INSERTED 333\r\n"]),
                "resp": (PUT_RESP, [b"*2\r\n:1\r\n+scheduled\r\n"] * 3)}
        bad = {"beanstalkd": ((b"BURIED 2\r\n", "put: BURIED 2"),
                              (b"OUT_OF_MEMORY\r\n", "put: OUT_OF_MEMORY")),
               "resp": ((b"*2\r\n:1\r\n+kept\r\n", "put: +kept"),
                        (b"-ERR full\r\n", "put: -ERR full"))}
        for speech, (size, answers) in good.items():
            for piece in (1, 3, 1000):
                for window in ("1", "2", "1000"):
                    done = self.load("load", "put", size, answers, "--speech", speech, "--window",
                                     window, piece=piece)
                    figures = self.accepted(done, 3)
                    self.assertLessEqual(figures["p50_us"], figures["max_us"])
                for answer, said in bad[speech]:
                    done = self.load("load", "put", size, [answers[0], answer], "--speech", speech,
                                     piece=piece)
                    self.refused(done, said)

    def test_an_answer_too_many(self):
        answer = b"INSERTED 1\r\n" * 2
        done = self.load("load", "put", PUT_LINE, [answer], "--speech", "beanstalkd", piece=1000)
        self.refused(done, "a reply that was not asked for: INSERTED 1")

    def test_a_server_that_ends(self):
        done = self.load("load", "put", PUT_RESP, [])
        self.assertEqual(done.returncode, 1)

    def test_hand_out_and_acknowledge(self):
        job = b"*8\r\n:7\r\n$3\r\n1-1\r\n$1\r\nt\r\n$-1\r\n$1\r\nx\r\n:1\r\n:1\r\n:0\r\n"
        reserve = len(b"*4\r\n$7\r\nRESERVE\r\n$1\r\nt\r\n$5\r\nCOUNT\r\n$1\r\n3\r\n")
        acknowledge = len(b"*7\r\n$3\r\nACK\r\n") + 3 * len(b"$1\r\n7\r\n$3\r\n1-1\r\n")
        jobs = b"*3\r\n" + job * 3
        for words, outcome in ((b"+ok\r\n" * 3, None),
                               (b"+ok\r\n+gone\r\n+ok\r\n", "ACK: +gone")):
            for piece in (1, 1000):
                done = self.load("drain", "drain", [reserve, acknowledge],
                                 [jobs, b"*3\r\n" + words], "--batch", "3", piece=piece)
                if outcome is None:
                    self.assertEqual(self.accepted(done, 3)["missing"], 0)
                else:
                    self.refused(done, outcome)


class Workloads(unittest.TestCase):
    def test_a_boundary_is_the_next_one_that_leaves_time(self):
        with mock.patch.object(workloads.time, "time", lambda: workloads.SLOT_MS - 10):
            self.assertEqual(workloads.next_boundary_ms(9), 1000 * workloads.SLOT_MS)
            self.assertEqual(workloads.next_boundary_ms(11), 1001 * workloads.SLOT_MS)

    def test_who_takes_part(self):
        for name, workload, takes_part in (
                ("floor", "put-1", True), ("floor", "rest", False),
                ("beanstalkd", "late-20k", True), ("beanstalkd-f0", "late-20k", False),
                ("beanstalkd-f0", "late-1k", True), ("elapse", "many", True),
                ("elapse-50ms", "many", False), ("beanstalkd", "keyed", False)):
            self.assertEqual(workloads.takes_part(contenders.kind_of(name), name,
                                                  workloads.WORKLOADS[workload]),
                             takes_part, (name, workload))

    def test_all_that_can_be_measured_is_reported(self):
        self.assertEqual({row.workload for row in report.ROWS}, set(workloads.WORKLOADS))
        for _, _, (workload, metric) in plots.BARS:
            report.row_of(workload, metric)
        self.assertEqual(results_module.HEAD[-2:], ("metric", "value"))


if __name__ == "__main__":
    TOOLS = sys.argv.pop(1)
    unittest.main()
