"""Two minutes: the wheel is built and installed without the network, fifteen lines put a job and do it."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import support

support.need(
    ("redis", "python3-redis"),
    ("pip", "python3-pip"),
    ("setuptools", "python3-setuptools"),
    ("wheel", "python3-wheel"),
    ("venv", "python3-venv"),
    ("ensurepip", "python3-venv"),
)

from elapse import testing  # noqa: E402

FIFTEEN_LINES = (support.PACKAGE.parent / "two_minutes" / "mine.py").read_text()
WHERE_IT_IS = """
from elapse import __file__ as place

print("site-packages" in place)
"""


class Wheel(unittest.TestCase):
    def run_in(self, directory, *words):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIP"))}
        done = subprocess.run(words, cwd=directory, capture_output=True, text=True, check=False, env=environment)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_from_the_wheel_to_a_job_done(self):
        with tempfile.TemporaryDirectory() as directory, testing.Server() as server:
            source = pathlib.Path(directory) / "source"
            shutil.copytree(
                support.PACKAGE, source, ignore=shutil.ignore_patterns("build", "dist", "*.egg-info", "__pycache__")
            )
            self.run_in(
                source,
                sys.executable,
                "-m",
                "pip",
                "wheel",
                "--no-build-isolation",
                "--no-deps",
                "--no-index",
                "-w",
                directory,
                ".",
            )
            (wheel,) = pathlib.Path(directory).glob("elapse-*.whl")
            self.run_in(directory, sys.executable, "-m", "venv", "--system-site-packages", "v")
            self.run_in(directory, "v/bin/pip", "install", "--no-index", str(wheel))
            (pathlib.Path(directory) / "mine.py").write_text(FIFTEEN_LINES + WHERE_IT_IS)
            self.assertEqual(self.run_in(directory, "v/bin/python", "mine.py", server.url), "a mail to ann\nTrue\n")


if __name__ == "__main__":
    support.main()
