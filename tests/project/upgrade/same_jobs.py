#!/usr/bin/env python3
"""same_jobs.py OLD NEW: each job of OLD, as 0.2.0 exported it, is in NEW with all that it had. Only what an upgrade
with a worker changes may differ: the job that was acknowledged is gone."""

import json
import sys

DONE = "a worker has it"
TUBE = "held"


def jobs_of(path):
    with open(path, encoding="utf-8") as file:
        return [job for job in map(json.loads, file) if "body" in job]


def main():
    old, new = (jobs_of(path) for path in sys.argv[1:])
    old = [job for job in old if (job["tube"], job["body"]) != (TUBE, DONE)]
    found = {(job["tube"], job["body"]): job for job in new}
    faults = []
    for job in old:
        other = found.pop((job["tube"], job["body"]), None)
        if other is None:
            faults.append(f"lost: {job}")
            continue
        faults += [f"{name} of {job['tube']} «{job['body']}»: {job[name]!r} became {other.get(name)!r}"
                   for name in job if other.get(name) != job[name]]
    faults += [f"not there before: {job}" for job in found.values()]
    if faults or len(old) < 1000:
        sys.exit("\n".join(["FAILED: the upgrade changes jobs"] + faults[:20]))
    print(f"all {len(old)} jobs of 0.2.0 are there as they were")


if __name__ == "__main__":
    main()
