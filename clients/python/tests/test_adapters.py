"""The adapters: Django's transactions and command, tasks as Celery has them, and traces, by a stand-in of
the names of OpenTelemetry's API."""

import contextlib
import datetime
import importlib
import importlib.util
import pathlib
import sys
import tempfile
import types
import unittest

import support

support.need(("redis", "python3-redis"))

import elapse  # noqa: E402
from elapse import tasks, testing, tracing  # noqa: E402

UTC = datetime.timezone.utc


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = testing.Server()
        cls.addClassCleanup(cls.server.close)
        cls.client = cls.server.client()


@unittest.skipIf(importlib.util.find_spec("django") is None, "Django is not installed (python3-django)")
class Django(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        import django
        from django.conf import settings

        cls.directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.directory.cleanup)
        (pathlib.Path(cls.directory.name) / "shop_jobs.py").write_text(
            "import elapse\nseen = []\nworker = elapse.Worker()\n"
            "worker.handler('django')(lambda job: seen.append(job.text))\n"
        )
        sys.path.insert(0, cls.directory.name)
        settings.configure(
            INSTALLED_APPS=["elapse.django"],
            ELAPSE={"ADDRESSES": [cls.server.url], "WORKER": "shop_jobs:worker"},
            DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": cls.directory.name + "/database"}},
        )
        django.setup()

    def test_a_job_is_put_when_the_transaction_commits(self):
        from django.core.management import CommandError, call_command
        from django.db import transaction

        from elapse.django import client, enqueue_on_commit

        self.addCleanup(client().close)
        with transaction.atomic():
            enqueue_on_commit("django", "committed", key="k", in_="30m")
            self.assertIsNone(self.client.lookup("django", "k"))
        self.assertEqual(self.client.lookup("django", "k").state, "delayed")
        with contextlib.suppress(ZeroDivisionError), transaction.atomic():
            enqueue_on_commit("django", "rolled back")
            raise ZeroDivisionError
        with self.assertRaises(TypeError), transaction.atomic():
            enqueue_on_commit("django", "wrong", delay="30m")
        enqueue_on_commit("django", "without a transaction")
        self.server.advance("30m")
        call_command("elapse_worker", "--until-idle", "--concurrency", "1")
        seen = importlib.import_module("shop_jobs").seen
        self.assertEqual(sorted(seen), ["committed", "without a transaction"])
        for wrong in (["shop_jobs:nothing"], ["--concurrency", "0"]):
            with self.assertRaises(CommandError):
                call_command("elapse_worker", *wrong)


class Tasks(Case):
    def app(self, queue):
        return tasks.App(self.server.client(), queue=queue)

    def test_tasks_are_run(self):
        app, seen = self.app("run"), []

        @app.task
        def add(first, second=0):
            seen.append(first + second)
            return first + second

        self.assertEqual(add(1, 2), 3)
        seen.clear()
        add.delay(1, second=2)
        later = add.apply_async((10,), countdown=1800)
        eta = add.apply_async((20,), eta=self.server.now() + datetime.timedelta(hours=1), task_id="mine")
        self.assertEqual(eta.id, "mine")
        app.worker().run(until_idle=True)
        self.assertEqual(seen, [3])
        self.assertTrue(later.revoke())
        self.assertFalse(later.revoke())
        self.assertTrue(eta.reschedule(countdown=60))
        self.server.advance("1m")
        app.worker().run(until_idle=True)
        self.assertEqual(seen, [3, 20])
        again = add.apply_async((30,), countdown=60, task_id="other")
        self.assertTrue(app.revoke(again.id))

    def test_retries(self):
        app, seen = self.app("retries"), []

        @app.task(bind=True, max_retries=2)
        def flaky(self, text):
            seen.append((text, self.retries, self.id))
            raise self.retry(countdown=60, exc=ValueError("not yet"))

        flaky.apply_async(("x",), task_id="t")
        for _ in range(4):
            app.worker().run(until_idle=True)
            # The wait may be up to twice the shortest one, and BACKOFF has its own.
            self.server.advance("5m")
        self.assertEqual(seen, [("x", 0, "t"), ("x", 1, "t"), ("x", 2, "t")])
        job = self.client.lookup("retries", "t")
        self.assertEqual((job.state, job.error), ("buried", "ValueError: not yet"))

    def test_expires(self):
        app, seen = self.app("expires"), []
        task = app.task(seen.append, name="append")
        task.apply_async((1,), countdown=60, expires=120)
        self.server.advance("3m")
        app.worker().run(until_idle=True)
        self.assertEqual(seen, [])
        with self.assertRaises(ValueError):
            task.apply_async((1,), countdown=60, expires=60)
        with self.assertRaises(ValueError):
            task.apply_async((1,), countdown=60, eta=datetime.datetime.now(UTC))

    def test_an_unknown_task_fails_its_job(self):
        app = self.app("unknown")
        app.task(print, name="known")
        self.client.put("unknown", {"task": "other", "args": [], "kwargs": {}}, key="k", attempts=1)
        app.worker().run(until_idle=True)
        self.assertEqual(
            self.client.lookup("unknown", "k").error, "LookupError: there is no task 'other' in this worker"
        )
        with self.assertRaises(ValueError):
            app.task(print, name="known")


class StandIn:
    """The names of OpenTelemetry's API that the package uses, with what they were called with."""

    def __init__(self):
        self.spans, self.counts, self.times = [], [], []
        context = types.SimpleNamespace(is_valid=True, trace="00-4bf9")

        @contextlib.contextmanager
        def start(name, kind, links, attributes):
            self.spans.append((name, kind, [link.context.trace for link in links], attributes))
            yield

        self.trace = types.SimpleNamespace(
            SpanKind=types.SimpleNamespace(CONSUMER="consumer"),
            Link=lambda linked: types.SimpleNamespace(context=linked),
            get_tracer=lambda name: types.SimpleNamespace(start_as_current_span=start),
            get_current_span=lambda carrier: types.SimpleNamespace(
                get_span_context=lambda: types.SimpleNamespace(is_valid=bool(carrier), trace=carrier.get("traceparent"))
            ),
        )
        self.propagate = types.SimpleNamespace(
            inject=lambda carrier: carrier.update(traceparent=context.trace), extract=lambda carrier: carrier
        )
        meter = types.SimpleNamespace(
            create_counter=lambda *_, **__: types.SimpleNamespace(add=lambda count, labels: self.counts.append(labels)),
            create_histogram=lambda *_, **__: types.SimpleNamespace(
                record=lambda took, labels: self.times.append(took)
            ),
        )
        self.metrics = types.SimpleNamespace(get_meter=lambda name: meter)


class Tracing(Case):
    def test_a_trace_goes_from_the_put_to_the_handler(self):
        stand_in = StandIn()
        before = tracing.trace, tracing.propagate, tracing.metrics
        tracing.trace, tracing.propagate, tracing.metrics = stand_in.trace, stand_in.propagate, stand_in.metrics

        def restore():
            tracing.trace, tracing.propagate, tracing.metrics = before
            tracing._instruments.clear()

        self.addCleanup(restore)
        self.client.put("traced", "x", headers={"mine": "y"})
        self.client.put("traced", "x", headers={"traceparent": "own"})
        results = self.client.transaction(
            elapse.put("untouched", "x", key="k"),
            *elapse.gather("untouched", "y", [elapse.put("untouched", "z")], timeout="1h"),
        )
        for result in results[:2]:
            self.assertEqual(self.client.lookup_id(result.id).headers, {"traceparent": "00-4bf9"})
        worker, headers = elapse.Worker(self.client), []
        worker.handler("traced")(lambda job: headers.append(dict(job.headers)))
        worker.run(until_idle=True)
        self.assertEqual(sorted(headers, key=str), [{"traceparent": "00-4bf9", "mine": "y"}, {"traceparent": "own"}])
        self.assertEqual(
            {(span[0], span[1], *span[2]) for span in stand_in.spans},
            {("traced process", "consumer", "00-4bf9"), ("traced process", "consumer", "own")},
        )
        self.assertEqual(stand_in.counts, [{"tube": "traced", "outcome": "done"}] * 2)
        self.assertEqual(len(stand_in.times), 2)

    def test_without_it_nothing_is_written(self):
        if tracing.installed():
            self.skipTest("OpenTelemetry is installed")
        self.client.put("untraced", "x", key="k")
        self.assertEqual(self.client.lookup("untraced", "k").headers, {})


if __name__ == "__main__":
    support.main()
