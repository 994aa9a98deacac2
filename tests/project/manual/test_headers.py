#!/usr/bin/env python3
"""The public headers are the manual: each function that a program can call has its effect, what
errors it returns or that it cannot fail, its cost, who may call it, and since when; and each time
its unit. Said at the function, or for all of a header at its head: "What holds for every function
below"."""

import os
import pathlib
import shutil
import tempfile
import unittest

import rules

COMPILER = os.environ.get("CC", "cc")
INCLUDE = rules.INCLUDE

# Header, what stands there, what takes its place, what has to be said of that.
PLANTED = (
    ("version.h", "ELAPSE_API const char *elapse_version(void);",
     "ELAPSE_API const char *elapse_version(void);\n\nELAPSE_API int elapse_more(void);",
     "elapse_more: no comment in front of it"),
    ("wheel.h", "/*\n * Returns the time of the wheel: the latest `now` that it was given.\n * Cost: O(1).\n */",
     "/* Cost: O(1). */", "elapse_wheel_now: no effect"),
    ("heap.h", "/* Returns how many timers fit. Cost: O(1). Cannot fail. */",
     "/* Returns how many timers fit. Cost: O(1). */",
     "elapse_heap_capacity: neither errors nor «Cannot fail.»"),
    ("heap.h", "/* Returns how many timers fit. Cost: O(1). Cannot fail. */",
     "/* Returns how many timers fit. Cannot fail. */", "elapse_heap_capacity: no cost"),
    ("heap.h", "/* Returns how many timers fit. Cost: O(1). Cannot fail. */",
     "/* Returns how many timers fit. Cost: Cannot fail. */", "elapse_heap_capacity: no cost"),
    ("heap.h", " * - Threads: one at a time, as in wheel.h.\n", "", "elapse_heap_pop: no threads"),
    ("wheel.h", " * - Threads: a wheel", " * - A wheel", "elapse_wheel_pop: no threads"),
    ("dials.h", " * - Since: version 0.1.\n", "", "elapse_dials_pop: no since"),
    ("dials.h", " * - Times: in ticks, as in wheel.h.\n", "",
     "elapse_dials_reserve: delay has no unit"),
    ("error.h", "people to read; never NULL. An unknown\n * number gives \"unknown error\". The text is static. Any thread, any time.",
     "people to read.", "elapse_error_text: no threads"),
    ("wheel.h", " * Errors: ELAPSE_ERROR_ABI when the sizes of struct elapse_wheel in header and\n * library differ; nothing is written then.\n",
     "", "elapse_wheel_init: returns an error, but names none"),
    ("scheduler.h", " * Errors: as elapse_task_take; ARGUMENT also for a capacity of 0.\n", "",
     "elapse_task_take_batch: returns an error, but names none"),
    ("scheduler.h", "Errors: as elapse_task_take; ARGUMENT also", "Errors: as elapse_task_give;",
     "elapse_task_take_batch: returns an error, but names none"),
    ("wheel.h", "Errors: ELAPSE_ERROR_ABI when", "Errors: ELAPSE_ERROR_ABY when",
     "elapse_wheel_init: unknown error ELAPSE_ERROR_ABY"),
    ("scheduler.h", "Errors: GONE (it was not taken", "Errors: GONE, LOST (it was not taken",
     "elapse_task_done: unknown error LOST"),
    ("heap.h", "/* As elapse_wheel_now. Cost: O(1). Cannot fail. */",
     "/* As elapse_wheel_now. Cost: O(1). Errors: ELAPSE_ERROR_FULL. */",
     "elapse_heap_now: names errors, but returns none"),
    ("scheduler.h", "                           uint64_t delay_ns, struct elapse_handle *handle);",
     "                           uint64_t delay, struct elapse_handle *handle);",
     "elapse_task_schedule_after: delay has no unit"),
    ("scheduler.h", "uint64_t elapse_scheduler_now_ns(const", "uint64_t elapse_scheduler_now(const",
     "elapse_scheduler_now: elapse_scheduler_now has no unit"),
    ("scheduler.h", "    uint64_t slack_ns;", "    uint64_t slack;", "elapse_task: slack has no unit"),
    ("cron.h", "int64_t after_s,", "int64_t after,", "elapse_cron_next: after has no unit"),
    ("scheduler.h", "    uint32_t shard;      /* where that place is */", "    uint32_t shard;",
     "elapse_handle: shard has no comment"),
    ("scheduler.h", "/* What a scheduler counts. */\n", "",
     "elapse_statistics: no comment in front of it"),
    ("wheel.h", "/* What elapse_wheel_pop calls when", "/* What elapse_wheel_pull calls when",
     "elapse_wheel_pop_due: elapse_wheel_pull, which calls it, is not there"),
    ("wheel.h", "/*\n * Elapse: the hier", "/*\n * The hier", "wheel.h:1: the head does not begin"),
    ("version.h", "ELAPSE_API const char *elapse_version(void);",
     "ELAPSE_API const char *elapse_version(void);\n#define elapse_twice(more) int more(void)\n"
     "elapse_twice(elapse_hidden);", "elapse_hidden: the manual has overlooked it"),
    ("wheel.h", "#ifdef __cplusplus\n}\n#endif\n",
     "#if 0\n/* Waits. Cost: O(1). */\nvoid elapse_wheel_wait(void);\n#endif\n",
     "elapse_wheel_wait: in the manual, but not to be called"),
)


class Headers(unittest.TestCase):
    def test_they_say_all_there_is_to_say(self):
        self.assertEqual(rules.faults(COMPILER, INCLUDE), [])

    def test_each_planted_fault_is_noticed(self):
        for number, (name, old, new, expected) in enumerate(PLANTED):
            with self.subTest(number=number, expected=expected), \
                    tempfile.TemporaryDirectory() as folder:
                shutil.copytree(INCLUDE, pathlib.Path(folder) / "include")
                header = pathlib.Path(folder) / "include/elapse" / name
                text = header.read_text()
                self.assertIn(old, text, "it cannot be planted")
                header.write_text(text.replace(old, new, 1))
                found = rules.faults(COMPILER, pathlib.Path(folder) / "include")
                self.assertTrue(any(expected in fault for fault in found), found)

    def test_a_header_without_a_page_is_noticed(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(INCLUDE, pathlib.Path(folder) / "include")
            (pathlib.Path(folder) / "include/elapse/more.h").write_text("/*\n * Elapse: more.\n */\n")
            self.assertEqual(rules.faults(COMPILER, pathlib.Path(folder) / "include"),
                             ["more.h: no page of the manual is about it"])


if __name__ == "__main__":
    rules.run_tests()
