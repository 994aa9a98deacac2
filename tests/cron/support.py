"""What the tests in Python share: asking cron-fires. ELAPSE_CRON_FIRES is the command that runs it."""

import os
import shlex
import subprocess
import sys
import unittest
from pathlib import Path

FIRES = shlex.split(os.environ.get("ELAPSE_CRON_FIRES", "cron-fires"))
SOURCE_ROOT = Path(__file__).resolve().parents[2]
SKIPPED = 77  # what ctest takes for "skipped"


def ask(questions, zone="utc"):
    """For each (after_s, count, expression): the moments, or what the fault is."""
    lines = "".join(f"{zone} {after_s} {count} {expression}\n"
                    for after_s, count, expression in questions)
    output = subprocess.run(FIRES, input=lines, stdout=subprocess.PIPE, text=True,
                            check=True, timeout=120).stdout
    answers = [line if line.startswith("error") else [int(word) for word in line.split()]
               for line in output.splitlines()]
    if len(answers) != len(questions):
        raise ValueError(f"{len(questions)} questions, {len(answers)} answers")
    return answers


def main():
    """Runs the tests of the calling file; SKIPPED when there was none to run."""
    result = unittest.main(exit=False, verbosity=2).result
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(SKIPPED if result.testsRun == len(result.skipped) else 0)
