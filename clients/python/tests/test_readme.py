"""Each block of Python in README.md runs, against a server of its own; and the types are complete."""

import io
import contextlib
import logging
import re
import shutil
import subprocess
import time
import unittest
import unittest.mock

import support

support.need(("redis", "python3-redis"))

import elapse  # noqa: E402
from elapse import testing  # noqa: E402

README = (support.PACKAGE / "README.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```$", README, re.M | re.S)
HERE = "127.0.0.1:11300"


def replaced(block, texts):
    for old, new in texts.items():
        block = block.replace(old, new)
    return block


class Readme(unittest.TestCase):
    def run_block(self, words, more=""):
        blocks = [block for block in BLOCKS if words in block]
        self.assertEqual(len(blocks), 1, words)
        said = io.StringIO()
        with testing.Server() as server, contextlib.redirect_stdout(said):
            space = {"__name__": "readme", "server": server}
            exec(compile(blocks[0].replace(HERE, server.url) + more, "README.md", "exec"), space)
        return said.getvalue()

    def test_a_job_done(self):
        self.assertEqual(
            self.run_block("# later", 'server.advance("30m")\nworker.run(until_idle=True)\n'),
            "a mail to ann@example.org\na mail to bob@example.org\n",
        )

    def test_the_order(self):
        self.assertEqual(
            self.run_block(
                "def checkout",
                'server.advance("44m")\nworker.run(until_idle=True)\nprint("-")\n'
                'server.advance("1m")\nworker.run(until_idle=True)\n',
            ),
            "-\norder 4712 is cancelled: it was not paid\n",
        )

    def test_the_order_shows_itself(self):
        for words in ('write `in_="3s"` in `checkout`, `in_="4s"` in `reschedule`', "`worker.run()` as the last line"):
            self.assertIn(words, README)
        sooner = {'key=order, in_="30m"': 'key=order, in_="3s"', '"4712", in_="45m"': '"4712", in_="4s"'}
        with unittest.mock.patch.dict(globals(), BLOCKS=[replaced(block, sooner) for block in BLOCKS]):
            expected = "-\norder 4712 is cancelled: it was not paid\n"
            # Begins again if the machine stood still for so long that the order became due by itself.
            for _ in range(10):
                began = time.monotonic()
                said = self.run_block(
                    "def checkout",
                    'server.advance("3s")\nworker.run(until_idle=True)\nprint("-")\n'
                    'server.advance("1s")\nworker.run(until_idle=True)\n',
                )
                if said == expected or time.monotonic() - began < 1:
                    break
            self.assertEqual(said, expected)

    def test_failures_are_seen_and_kicked(self):
        self.assertIn('`logging.getLogger("elapse").setLevel("CRITICAL")` turns it off', README)
        level = logging.getLogger("elapse").level
        self.addCleanup(logging.getLogger("elapse").setLevel, level)
        for turned_off in (False, True):
            said = io.StringIO()
            if turned_off:
                logging.getLogger("elapse").setLevel("CRITICAL")
            with testing.Server() as server, contextlib.redirect_stderr(said):
                client = server.client()
                put = client.put("steps", "x", attempts=1)
                worker = elapse.Worker(client)

                def broken(job):
                    raise ValueError("no route to host")

                worker.handler("steps")(broken)
                worker.run(until_idle=True)
                self.assertEqual(
                    [job.error for job in client.list("steps", state="buried")], ["ValueError: no route to host"]
                )
                self.assertEqual(client.kick("steps"), 1)
                self.assertEqual(client.lookup_id(put.id).state, "ready")
                defaults = client.lookup_id(client.put("steps", "y").id).fields
                self.assertEqual(
                    [defaults[name] for name in ("attempts_max", "backoff_min", "backoff_max")], [20, 1000, 600_000]
                )
            self.assertEqual(
                f"job {put.id} of steps failed: ValueError: no route to host\n" in said.getvalue(), not turned_off
            )
            self.assertEqual(said.getvalue() == "", turned_off)

    def test_when(self):
        said = self.run_block("zone=")
        self.assertIn("weekly ", said)
        self.assertIn("hourly ", said)

    def test_what_a_handler_may_say(self):
        said = self.run_block(
            "job.check()",
            """
import asyncio
for text in ("not yet", "hopeless", "broken", "good"):
    worker.client.put("steps", text, attempts=1)
worker.run(until_idle=True)
asyncio.run(tasks.run(until_idle=True))
""",
        )
        self.assertIn("failed: no route to host\n", said)
        self.assertIn("failed: the address does not exist\n", said)
        self.assertTrue(said.endswith("good\n"), said)

    def test_tasks(self):
        self.assertEqual(self.run_block("max_retries=3"), "a mail to ann\n")

    def test_scatter_and_gather(self):
        said = self.run_block("client.gather(").splitlines()
        self.assertEqual(sorted(said[:10]), [f"drawn: page {i}" for i in range(10)])
        self.assertEqual(said[10:], ["holidays is complete"])

    def test_tests(self):
        self.run_block("testing.Server()")

    def test_the_guide(self):
        page = (support.PACKAGE.parents[1] / "docs/guide/clients.md").read_text()
        blocks = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
        self.assertEqual(len(blocks), 2)
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(
                compile(
                    "".join(blocks)
                    + """
with testing.Server() as server:
    client = server.client()
    try:
        pay("4712")
    except LookupError as error:
        print(error)
""",
                    "clients.md",
                    "exec",
                ),
                {"__name__": "guide"},
            )
        self.assertEqual(said.getvalue(), "order 4712 is cancelled\norder 4712 was not paid in time\n")

    def test_each_block_is_run(self):
        self.assertEqual(len(BLOCKS), 7)

    def test_types(self):
        if shutil.which("mypy") is None:
            self.skipTest("mypy is not installed (mypy)")
        done = subprocess.run(
            ["mypy", "--cache-dir=/dev/null"], cwd=support.PACKAGE, capture_output=True, text=True, check=False
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    support.main()
