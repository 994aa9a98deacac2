"""test_inbox.py: Django puts by the inbox of a cluster that is in its database: a job is put if and only if the
transaction commits, also when the process dies in the moment of the commit. ../../in_cluster.py starts the cluster."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import support

support.need(("redis", "python3-redis"), ("django", "python3-django"), ("psycopg2", "python3-psycopg2"))

import django  # noqa: E402

import elapse  # noqa: E402

if "ELAPSE_CLUSTER" not in os.environ:
    print("skipped: there is no cluster (clients/in_cluster.py starts one)")
    sys.exit(support.SKIPPED)

ADDRESSES = os.environ["ELAPSE_CLUSTER"].split(",")


def configure(folder, inbox):
    from django.conf import settings

    sys.path.insert(0, folder)
    settings.configure(
        USE_TZ=True,
        INSTALLED_APPS=["elapse.django"],
        ELAPSE={"ADDRESSES": ADDRESSES, "WORKER": "shop_jobs:worker", **({"INBOX": "main"} if inbox else {})},
        DATABASES={
            "default": {
                "ENGINE": "django.db.backends.postgresql",
                "NAME": "postgres",
                "USER": "elapse",
                "HOST": os.environ["ELAPSE_CLUSTER_DATABASE"],
            }
        },
    )
    django.setup()


def die_at_the_commit(inbox, key):
    """The program of a process that dies when its transaction has committed, before anything else happens."""
    from django.db import transaction

    from elapse.django import enqueue_on_commit

    configure("/", inbox)
    with transaction.atomic():
        transaction.on_commit(lambda: os._exit(9))
        enqueue_on_commit("died", "x", key=key, in_="1h")


class Inbox(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        pathlib.Path(directory.name, "shop_jobs.py").write_text(
            "import elapse\nseen = []\nworker = elapse.Worker()\n"
            "worker.handler('paid')(lambda job: seen.append((job.text, job.headers)))\n"
        )
        configure(directory.name, inbox=True)
        cls.client = elapse.Client(*ADDRESSES)
        cls.addClassCleanup(cls.client.close)

    def comes(self, tube, key):
        """The job, when the owner has taken it from the inbox."""
        while (job := self.client.lookup(tube, key)) is None:
            self.client.reserve("nothing", wait="20ms")
        return job

    def test_a_job_is_put_with_the_transaction(self):
        import datetime

        from django.core.management import call_command
        from django.db import connection, transaction

        from elapse.django import cancel_on_commit, enqueue_on_commit

        with connection.cursor() as cursor:
            cursor.execute("create table orders (number text)")
        at = datetime.datetime(2100, 1, 1, tzinfo=datetime.timezone.utc)
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("insert into orders values ('4711')")
            enqueue_on_commit(
                "unpaid",
                {"order": "4711"},
                key="4711",
                at=at,
                tag="shop",
                priority=7,
                ttr="90s",
                expire=datetime.timedelta(hours=1),
                attempts=3,
                backoff=("2s", "1m"),
                headers={"who": "me"},
                if_key="keep",
            )
            self.assertIsNone(self.client.lookup("unpaid", "4711"))
        job = self.comes("unpaid", "4711")
        self.assertEqual(
            (job.due, job.tag, job.attempts_max, job.headers, job.body),
            (at, "shop", 3, {"who": "me"}, b'{"order":"4711"}'),
        )
        self.assertEqual(
            [job.fields[name] for name in ("priority", "ttr", "expire", "backoff_min", "backoff_max")],
            [7, 90_000, 3_600_000, 2000, 60_000],
        )
        # Rolled back: neither the order nor its job.
        with self.assertRaises(ZeroDivisionError), transaction.atomic():
            enqueue_on_commit("unpaid", "x", key="4712", in_="30m")
            cancel_on_commit("unpaid", "4711")
            raise ZeroDivisionError
        # Paid: the cancel is in the transaction, too. What comes behind the one that was rolled back is there.
        enqueue_on_commit("unpaid", "x", key="4713", in_="30m")
        self.comes("unpaid", "4713")
        self.assertIsNone(self.client.lookup("unpaid", "4712"))
        self.assertIsNotNone(self.client.lookup("unpaid", "4711"))
        with transaction.atomic():
            cancel_on_commit("unpaid", "4711")
            enqueue_on_commit("paid", "4711", headers={"who": "me"})
        while self.client.lookup("unpaid", "4711") is not None or not self.client.stats("paid").get("ready"):
            self.client.reserve("nothing", wait="20ms")
        call_command("elapse_worker", "--until-idle")
        self.assertEqual(__import__("shop_jobs").seen, [("4711", {"who": "me"})])

    def test_what_is_wrong_fails_the_call(self):
        from django.core.exceptions import ImproperlyConfigured
        from django.db import connection, transaction
        from django.db.utils import DataError

        from elapse.django import enqueue_on_commit

        for options in ({"group": "ann"}, {"token": "t", "token_for": "1m"}, {"delay": "30m"}):
            with self.assertRaises(TypeError), transaction.atomic():
                enqueue_on_commit("wrong", "x", **options)
        with self.assertRaises(ValueError), transaction.atomic():
            enqueue_on_commit("wrong", "x", in_="30")
        with self.assertRaises(DataError), transaction.atomic():
            enqueue_on_commit("t" * 201, "x")
        connection.vendor = "sqlite"
        try:
            with self.assertRaises(ImproperlyConfigured):
                enqueue_on_commit("wrong", "x")
        finally:
            connection.vendor = "postgresql"

    def test_the_process_dies_at_the_commit(self):
        for inbox, key in ((False, "by the client"), (True, "by the inbox")):
            done = subprocess.run(
                [sys.executable, "-B", __file__, "die", str(int(inbox)), key],
                capture_output=True,
                text=True,
                check=False,
            )
            self.assertEqual(done.returncode, 9, done.stderr)
        self.comes("died", "by the inbox")
        # That is what the inbox is for.
        self.assertIsNone(self.client.lookup("died", "by the client"))


if __name__ == "__main__":
    if sys.argv[1:2] == ["die"]:
        die_at_the_commit(sys.argv[2] == "1", sys.argv[3])
    else:
        support.main()
