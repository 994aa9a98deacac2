"""Tests elapse work --exec, which runs a program for each job."""

import contextlib
import os
import pty
import select
import signal
import subprocess
import threading
import time
from pathlib import Path

import support
from work_support import OK, WorkTest
from client_support import FAILED, NOT_AUTHORISED, UNKNOWN, USAGE, Stranger
from server_process import hold_port


class Programs(WorkTest):
    def setUp(self):
        super().setUp()
        self.start()

    def test_a_program_gets_the_job(self):
        body = bytes(range(256)) * 200
        self.done("put", "t", stdin=body)
        self.done("put", "t", "two", "--key", "k\n")
        worker = self.until_empty(
            "t", "--exec", "sh", "-c",
            'cat >body-$ELAPSE_JOB_ID; echo "$ELAPSE_JOB_ID|$ELAPSE_TUBE|${ELAPSE_KEY-none}|'
            '$ELAPSE_ATTEMPT|$ELAPSE_MISSED|${ELAPSE_LEASE:+lease}|$ELAPSE_DUE_MS"')
        self.assertEqual(worker.errors(), "")
        first, second, third = worker.output().splitlines()
        self.assertRegex(first, r"^1\|t\|none\|1\|0\|lease\|\d{13}$")
        self.assertRegex(second + third, r"^2\|t\|k\|1\|0\|lease\|\d{13}$")
        self.assertEqual((self.directory / "body-1").read_bytes(), body)
        self.assertEqual((self.directory / "body-2").read_bytes(), b"two")
        self.assertEqual(self.counts()["ready"], 0)

    def test_variables_of_another_job_are_not_inherited(self):
        self.done("put", "t", "x")
        os.environ["ELAPSE_KEY"] = "of another job"
        self.addCleanup(os.environ.pop, "ELAPSE_KEY")
        worker = self.until_empty("t", "--exec", "sh", "-c", 'echo "${ELAPSE_KEY-none}"')
        self.assertEqual(worker.output(), "none\n")

    def test_headers_are_variables(self):
        headers = ('{"traceparent":"00-1","X-Shop_Id":"7","x-shop-id":"second","with space":"no","PATH":"p",'
                   '"number":1,"nul":"a\\u0000b","lines":"a\\nb"}')
        self.done("put", "t", "x", "--headers", headers)
        self.done("put", "t", "x", "--headers", "no JSON")
        self.done("put", "t", "x")
        os.environ["ELAPSE_HEADER_OLD"] = "of another job"
        self.addCleanup(os.environ.pop, "ELAPSE_HEADER_OLD")
        worker = self.until_empty("t", "--exec", "sh", "-c", "env -0 | grep -z ^ELAPSE_HEADER_ | sort -z | tr '\\0' '|'; echo")
        self.assertEqual(worker.output(), "ELAPSE_HEADER_LINES=a\nb|ELAPSE_HEADER_PATH=p|"
                         "ELAPSE_HEADER_TRACEPARENT=00-1|ELAPSE_HEADER_X_SHOP_ID=7|\n\n\n")

    def test_a_program_that_reads_nothing(self):
        self.done("put", "t", "--lines", stdin=(b"x" * 65000 + b"\n") * 20)
        self.assertEqual(self.until_empty("t", "--concurrency", "4", "--exec", "true").errors(), "")

    def test_many_tubes_and_options_behind_them(self):
        for tube in ("a", "b", "c"):
            self.done("put", tube, "x")
        worker = self.work("a", "b", "c", "--until-empty", "--concurrency", "3", "--exec", "sh",
                           "-c", "echo $ELAPSE_TUBE")
        self.assertEqual(worker.wait(), OK, worker.errors())
        self.assertEqual(sorted(worker.output().split()), ["a", "b", "c"])

    def test_a_failed_job_is_tried_again_and_buried(self):
        self.done("put", "t", "x", "--retry", "3", "--backoff", "10ms..20ms")
        worker = self.work("t", "--exec", "sh", "-c", "echo $ELAPSE_ATTEMPT; exit 9")
        self.until(lambda: self.counts()["buried"] == 1, "buried")
        worker.signal(signal.SIGTERM)
        self.assertEqual(worker.wait(), OK)
        self.assertEqual(worker.output().split(), ["1", "2", "3"])
        # The signal may come before the server's answer to the last NACK: the job is then still under way.
        finishing = "elapse work: finishing the work under way; another signal gives it up\n"
        self.assertEqual(worker.errors().replace(finishing, ""), "".join(
            f"elapse work: job 1 of 't': attempt {number} failed: exit status 9\n"
            for number in (1, 2, 3)))
        [job] = self.json_of("list", "t")
        self.assertEqual((job["error"], job["reason"]), ("exit status 9", "no retry was left"))
        self.assertIn("exit status 9", self.done("list", "t"))

    def test_a_program_that_a_signal_ends_has_failed(self):
        self.done("put", "t", "x", "--retry", "1")
        worker = self.work("t", "--exec", "sh", "-c", "kill -SEGV $$")
        self.until(lambda: self.counts()["buried"] == 1, "buried")
        self.assertIn("ended by signal 11", worker.errors())
        self.assertIn("ended by signal 11", self.json_of("list", "t")[0]["error"])

    def test_a_backoff_of_the_worker(self):
        self.done("put", "t", "x", "--retry", "1", "--key", "k")
        worker = self.work("t", "--backoff", "1h", "--exec", "false")
        self.until(lambda: self.counts()["delayed"] == 1, "waiting")
        [job] = self.json_of("lookup", "t", "k")
        self.assertGreater(job["left"], 3000000)
        self.assertEqual(job["attempts"], 0)
        self.assertIsNone(worker.process.poll())

    def test_a_program_that_is_not_there(self):
        """It is told at once; and if it goes away later, the job loses no attempt."""
        for name, why in (("./nothing", "No such file"), ("no-such-program", "No such file"),
                          (".", "Permission denied")):
            self.fails(USAGE, f"--exec: cannot run '{name}': {why}", "work", "t", "--exec", name)
        program = self.directory / "nothing"
        program.write_text("#!/bin/sh\n")
        program.chmod(0o700)
        worker = self.work("t", "--exec", "./nothing")
        self.until(lambda: self.json_of("stats")[0]["waiting"], "waiting")
        program.unlink()
        self.done("put", "t", "x", "--retry", "1", "--key", "k")
        self.until(lambda: "cannot run ./nothing: No such file" in worker.errors(), "refused")
        self.until(lambda: self.counts()["delayed"] == 1, "given back")
        [job] = self.json_of("lookup", "t", "k")
        self.assertEqual((job["attempts"], job["error"]), (0, "the program cannot be run"))

    def test_options_behind_the_program(self):
        self.assert_usage_error("elapse work", "work", "t", "--exec", "--until-empty", "true",
                                says=["options of elapse work come before --exec"])
        worker = self.until_empty("t", "--exec", "true", "--concurrency=3", "--quiet", "--", "--post")
        self.assertEqual(worker.errors(), "elapse work: --concurrency behind --exec goes to the "
                         "program; put it before --exec if it is for elapse work\n")

    def test_until_empty_tells_when_nothing_was_done(self):
        self.done("put", "t", "--lines", "--backoff", "1h", stdin=b"x\ny\n")
        worker = self.work("t", "--until-empty", "--exec", "false")
        self.assertEqual(worker.wait(), FAILED)
        self.assertIn("no job was done: all attempts have failed, 2\n", worker.errors())
        self.done("put", "t", "--lines", "--backoff", "1h", stdin=b"x\ny\n")
        self.until_empty("t", "--exec", "sh", "-c", "read word; test $word = x")
        self.until_empty("t", "--exec", "false")

    def test_a_job_without_limit_and_backoff_is_no_hot_loop(self):
        """The first attempts follow each other; then the worker asks for a second between them."""
        self.done("put", "t", "x", "--attempts", "0", "--backoff", "0s", "--key", "k")
        began = time.monotonic()
        worker = self.work("t", "--until-empty", "--exec", "false")
        self.assertEqual(worker.wait(), FAILED)
        failed = worker.errors().count(" failed: exit status 1")
        # A worker that stands still for a second finds the job ready again.
        self.assertIn(failed, range(10, 11 + int(time.monotonic() - began)))
        [job] = self.json_of("lookup", "t", "k")
        self.assertEqual((job["attempts"], job["state"] in ("delayed", "ready")), (failed, True))

    def test_a_terminal_is_told_what_is_waited_for(self):
        ours, theirs = pty.openpty()
        with subprocess.Popen([support.PROGRAM, "work", "ordres", "--exec", "true"], stderr=theirs,
                              stdin=subprocess.DEVNULL, env=self.environment()) as worker:
            self.addCleanup(worker.kill)
            os.close(theirs)
            self.assertTrue(select.select([ours], [], [], 60)[0])
            self.assertIn(b"waiting for jobs of 'ordres'; Ctrl-C ends", os.read(ours, 1000))
            worker.terminate()
        os.close(ours)

    def test_a_lease_is_extended(self):
        self.done("put", "t", "x", "--ttr", "6s")
        worker = self.until_empty("t", "--exec", "sh", "-c", "sleep 7; echo done")
        self.assertEqual((worker.output(), worker.errors()), ("done\n", ""))
        [server] = self.json_of("stats")
        self.assertEqual((server["total_timeouts"], server["total_done"]), (0, 1))

    def test_cancelled_work_is_ended(self):
        self.done("put", "t", "x", "--key", "k", "--ttr", "4s")
        worker = self.work("t", "--exec", "sh", "-c", "echo begun; sleep 600; echo done")
        self.until(lambda: worker.output() == "begun\n", "begun")
        self.done("cancel", "t", "k")
        self.until(lambda: "cancelled: the work is ended" in worker.errors(), "ended")
        self.until(lambda: self.json_of("stats")[0]["cancelled_running"] == 0, "told")
        worker.signal(signal.SIGTERM)
        self.assertEqual(worker.wait(), OK)
        self.assertEqual(worker.output(), "begun\n")

    def test_the_time_limit(self):
        self.done("put", "t", "x", "--retry", "1")
        # The programs that it has started are ended too.
        worker = self.work("t", "--time-limit", "200ms", "--exec", "sh", "-c",
                           "(sleep 600; echo late) & wait")
        self.until(lambda: self.counts()["buried"] == 1, "buried")
        self.assertIn("the time limit is over", worker.errors())
        self.assertEqual(worker.output(), "")

    def test_as_many_at_once_as_allowed(self):
        self.done("put", "t", "--lines", stdin=b"x\n" * 12)
        self.until_empty("t", "--concurrency", "4", "--exec", "sh", "-c",
                         'touch run-$ELAPSE_JOB_ID; ls | grep -c run- >>most; sleep 0.1; '
                         'rm run-$ELAPSE_JOB_ID')
        most = max(map(int, (self.directory / "most").read_text().split()))
        self.assertLessEqual(most, 4)
        self.assertGreater(most, 1)

    def test_sigterm_finishes_work_under_way(self):
        self.done("put", "t", "--lines", stdin=b"x\ny\nz\n")
        worker = self.work("t", "--concurrency", "2", "--exec", "sh", "-c",
                           "echo begun; while [ ! -e go ]; do sleep 0.02; done; echo done")
        self.until(lambda: worker.output() == "begun\n" * 2, "begun")
        worker.signal(signal.SIGTERM)
        self.until(lambda: "finishing the work under way" in worker.errors(), "heard")
        self.write("go", "")
        self.assertEqual(worker.wait(), OK, worker.errors())
        self.assertEqual(worker.output(), "begun\n" * 2 + "done\n" * 2)
        counts = self.counts()
        self.assertEqual((counts["ready"], counts["reserved"]), (1, 0))

    def test_signals_that_end_an_idle_worker(self):
        # If nohup runs this test, the worker would inherit that it ignores the signal.
        before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
        self.addCleanup(signal.signal, signal.SIGHUP, before)
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
            worker = self.work("t", "--exec", "true")
            self.until(lambda: self.json_of("stats")[0]["waiting"] == 1, "waiting")
            worker.signal(number)
            self.assertEqual(worker.wait(), OK)
            self.assertEqual(worker.errors(), "")
            self.until(lambda: self.json_of("stats")[0]["waiting"] == 0, "gone")

    def test_a_second_signal_gives_jobs_back(self):
        self.gives_back(lambda worker: worker.output() == "begun\n",
                        "--exec", "sh", "-c", "echo begun; sleep 600")

    def test_nothing_stays_behind_of_work_that_was_ended(self):
        """The program ends when it is asked to; a program that it has started does not."""
        self.done("put", "t", "x", "--ttr", "1h")
        worker = self.work("t", "--exec", "sh", "-c",
                           "sh -c 'trap \"\" TERM; echo $$; exec sleep 600' & wait")
        number = int(self.until(lambda: worker.output().strip(), "begun"))
        self.signal_twice(worker)
        self.assertEqual(worker.wait(), OK, worker.errors())

        def is_gone():
            try:
                status = Path(f"/proc/{number}/stat").read_text()
            except OSError:
                return True
            return status.rpartition(") ")[2].startswith("Z")
        try:
            self.assertTrue(self.until(is_gone, "gone"))
        finally:
            if not is_gone():
                os.kill(number, signal.SIGKILL)

    def test_a_job_of_a_killed_worker_is_delivered_again(self):
        self.done("put", "t", "x", "--ttr", "1s", "--key", "k")
        worker = self.work("t", "--exec", "sh", "-c", "echo $$; exec sleep 60")

        def end_programs():
            """When a worker is killed, nobody ends the program that it runs. It may have run several, one after another,
            if it stood still for longer than the lease."""
            for number in worker.output().split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(number), signal.SIGKILL)

        self.addCleanup(end_programs)
        self.until(worker.output, "begun")
        worker.process.kill()
        worker.wait()
        second = self.work("t", "--exec", "sh", "-c", 'echo "again $ELAPSE_JOB_ID"')
        self.until(lambda: self.json_of("stats")[0]["total_done"] == 1, "delivered again, and done")
        self.assertEqual(set(second.output().splitlines()), {"again 1"})

    def test_no_job_is_lost_by_killed_workers(self):
        self.done("put", "t", "--lines", "--ttr", "700ms",
                  stdin=b"".join(b"%d\n" % number for number in range(200)))
        for _ in range(4):
            worker = self.work("t", "--concurrency", "8", "--exec", "sh", "-c",
                               'echo "$(cat)"; sleep 0.02')
            begun = len(worker.output())
            self.until(lambda: len(worker.output()) > begun + 20, "busy")
            worker.process.kill()
            worker.wait()
        self.work("t", "--concurrency", "8", "--exec", "sh", "-c", 'echo "$(cat)"')
        self.until(lambda: self.json_of("stats")[0]["total_done"] == 200, "done")
        bodies = "".join(worker.output() for worker in self.workers)
        self.assertEqual({int(body) for body in bodies.split()}, set(range(200)))

    def test_a_server_that_goes_and_comes_back(self):
        self.servers.pop().stop()
        port, holder = hold_port()
        self.addCleanup(holder.close)
        self.start(listen=f"127.0.0.1:{port}")
        self.done("put", "t", "x", "--ttr", "1h")
        worker = self.work("t", "--exec", "sh", "-c",
                           "echo begun; while [ ! -e go ]; do sleep 0.02; done; echo done")
        self.until(lambda: worker.output() == "begun\n", "begun")
        self.servers[0].stop()
        self.until(lambda: "no connection: " in worker.errors(), "noticed")
        self.write("go", "")
        self.until(lambda: worker.output() == "begun\ndone\n", "done")
        self.start(listen=self.address)
        # Over its new connection, the worker reports the end of the job and gets the next job.
        self.until(lambda: self.json_of("stats")[0]["total_done"] == 1, "told")
        self.assertIn("connected again", worker.errors())
        self.done("put", "t", "x")
        self.until(lambda: worker.output() == "begun\ndone\nbegun\ndone\n", "going on")
        self.assertEqual(worker.errors().count("no connection"), 1)

    def test_jobs_that_cannot_be_given_back(self):
        self.done("put", "t", "x", "--ttr", "1h")
        worker = self.work("t", "--exec", "sh", "-c", "echo begun; exec sleep 600")
        self.until(lambda: worker.output() == "begun\n", "begun")
        self.servers[0].stop()
        self.signal_twice(worker)
        self.assertEqual(worker.wait(), UNKNOWN)
        self.assertIn("jobs that could not be given back: 1;", worker.errors())

    def test_bad_command_lines(self):
        self.write("secret", "s\n")
        for says, *arguments in (
                ("a tube is missing", "--exec", "true"), ("give --exec", "t"),
                ("give --exec", "t", "--post", "http://x/", "--exec", "true"),
                ("the program is missing", "t", "--exec"),
                ("named 'Count' has to be the first", "a", "Count", "--exec", "true"),
                ("named 'wait' has to be the first", "count", "wait", "--exec", "true"),
                ("is no URL", "t", "--post", "http://"),
                ("begins neither with http://", "t", "--post", "file:///etc/passwd"),
                ("0' is not a whole number from 1 to 1000", "t", "--concurrency", "0", "--exec", "x"),
                ("1001' is not a whole", "t", "--concurrency", "1001", "--exec", "x"),
                ("--secret-file needs --post", "t", "--secret-file", "secret", "--exec", "true"),
                ("not printable ASCII", "t", "--post", "http://x/", "--content-type", "a\r\nb: c"),
                ("others can read", "t", "--token", "x", "--exec", "true")):
            self.assert_usage_error("elapse work", "work", *arguments, says=[says])
        worker = self.work("x" * 201, "--exec", "true")
        self.assertEqual(worker.wait(), USAGE)
        self.assertIn("the name of a tube has 1 to 200 bytes", worker.errors())


class OtherServers(WorkTest):
    def test_an_end_that_only_takes_connections_is_not_hammered(self):
        """Each of the two connections pauses 0.1, 0.2, 0.4 and 0.8 s before its fifth attempt."""
        times = []
        def close_soon(_):
            times.append(time.monotonic())
            time.sleep(0.02)  # so that the worker sees the connection made
        stranger = Stranger(self, close_soon)
        self.work("t", "--server", stranger.address, "--exec", "true")
        self.until(lambda: len(times) >= 10, "connected")
        self.assertGreater(times[9] - times[0], 1.2)

    def test_a_partition_that_cannot_be_asked_is_no_end(self):
        """The worker asks again until the answer is empty, and says once why."""
        answers = [b"-TRYAGAIN not every partition could be asked\r\n"] * 2 + [b"*0\r\n"]
        asked = []
        def serve(connection):
            while received := connection.recv(4096):
                if b"RESERVE" in received:
                    asked.append(received)  # before the answer, which may end the worker and the test
                    connection.sendall(answers[len(asked) - 1])
        worker = self.until_empty("t", "--server", Stranger(self, serve).address, "--exec", "true")
        self.assertEqual(len(asked), 3)
        self.assertEqual(worker.errors().count("not every partition could be asked"), 1, worker.errors())

    def works_on_one_job(self, verb, answers, program):
        """Runs a worker against a server that hands out one job, and gives these answers to the
        verb. Returns the worker, and the requests with the verb."""
        job = b"*1\r\n*8\r\n:1\r\n$3\r\n1-1\r\n$1\r\nt\r\n$-1\r\n$1\r\nx\r\n:1\r\n:1\r\n:0\r\n"
        reserved, told = [job], []
        def serve(connection):
            while received := connection.recv(4096):
                if verb in received:
                    told.append(received)
                    connection.sendall(answers[len(told) - 1])
                elif b"RESERVE" in received:
                    connection.sendall(reserved.pop() if reserved else b"*0\r\n")
                else:
                    connection.sendall(b"-TRYAGAIN not now\r\n")
        def serve_in_thread(connection):
            """The worker has two connections at once."""
            own = connection.dup()
            def run():
                with own, contextlib.suppress(OSError):
                    serve(own)
            threading.Thread(target=run, daemon=True).start()
        worker = self.work("t", "--until-empty", "--server", Stranger(self, serve_in_thread).address,
                           "--exec", program)
        status = worker.wait()
        return worker, status, told

    def test_the_error_of_a_job_outlives_what_a_cluster_answers(self):
        """A server of an older version refuses the error with ERR, and only that takes it away."""
        answers = [b"-TRYAGAIN no owner\r\n", b"-UNKNOWN it was lost\r\n", b"-ERR syntax\r\n", b"+ok\r\n"]
        worker, status, told = self.works_on_one_job(b"NACK", answers, "false")
        self.assertEqual((status, [b"exit status 1" in request for request in told]),
                         (FAILED, [True, True, True, False]), worker.errors())

    def test_an_ack_that_may_have_been_done_is_not_reported_as_lost(self):
        for first, is_reported in ((b"-UNKNOWN it was lost\r\n", False), (b"-TRYAGAIN no owner\r\n", True)):
            worker, status, told = self.works_on_one_job(b"ACK", [first, b"+gone\r\n"], "true")
            self.assertEqual((status, len(told)), (OK, 2), worker.errors())
            self.assertEqual("it may be done twice" in worker.errors(), is_reported, worker.errors())

    def test_tls(self):
        self.serve_tls()
        self.done("put", "t", "--lines", "--ca", "server.pem", stdin=b"x\n" * 20)
        worker = self.until_empty("t", "--ca", "server.pem", "--concurrency", "3", "--exec", "echo",
                                  "run")
        self.assertEqual((worker.output(), worker.errors()), ("run\n" * 20, ""))
        # An idle worker ends its waiting reserve, and no job is lost by that.
        worker = self.work("t", "--ca", "server.pem", "--exec", "true")
        self.until(lambda: self.json_of("stats", "--ca", "server.pem")[0]["waiting"] == 1, "waiting")
        worker.signal(signal.SIGTERM)
        self.assertEqual((worker.wait(), worker.errors()), (OK, ""))

    def test_a_wrong_password(self):
        self.write("passwords", "right\n")
        (self.directory / "passwords").chmod(0o600)
        self.write("wrong", "wrong\n")
        self.start("--auth", "passwords", listen="unix:socket")
        worker = self.work("t", "--token-file", "wrong", "--exec", "true")
        self.assertEqual(worker.wait(), NOT_AUTHORISED)
        self.assertIn("does not know this password", worker.errors())
        self.done("put", "t", "x", "--token-file", "passwords")
        worker = self.work("t", "--token-file", "passwords", "--until-empty", "--exec", "echo", "run")
        self.assertEqual((worker.wait(), worker.output()), (OK, "run\n"), worker.errors())


if __name__ == "__main__":
    support.main()
