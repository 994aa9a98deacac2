"""A simple model of `elapse replay`. It computes the report by searching lists from end to end.

The model was written from what a trace means. At time t every timer whose deadline is at or before t has
expired. The structure sees times in ticks: deadlines are rounded up to ticks, and the times of
operations are rounded down.
"""

import random


def random_trace(seed, count, step_us, delay_us, keys):
    """Returns the lines of a valid trace: about `step_us` between two, delays up to `delay_us`."""
    choose = random.Random(seed)
    deadlines = {}  # of each key's latest arming
    time = choose.choice((0, 1, 1000003))
    lines = []
    for _ in range(count):
        time += choose.choice((0, 0, 1, choose.randrange(step_us + 1)))
        key = f"key-{choose.randrange(keys)}"
        delay = choose.choice((0, 1, choose.randrange(delay_us), choose.randrange(delay_us)))
        if deadlines.get(key, 0) <= time:
            operation = "start"
        else:
            operation = choose.choice(("restart", "restart", "cancel"))
        deadlines[key] = 0 if operation == "cancel" else time + delay
        lines.append(f"{time},{operation},{key},{delay},")
    return lines


def replay(lines, tick_us):
    """Returns the figures that are the same for every structure, and `fired_ticks`, the number
    of moments at which something fired."""

    def tick_of(entry):
        return -(-entry[1] // tick_us)

    armed = []  # [key, deadline_us], in the order of their starts
    latest = {}  # key -> its entry in armed, while the trace takes it for pending
    counted = {"start": 0, "restart": 0, "cancel": 0}
    fired = 0
    fired_ticks = 0
    peak = 0
    for line in lines:
        time, operation, key, delay, _ = line.split(",")
        time = int(time)
        due = [tick_of(entry) for entry in armed if tick_of(entry) <= time // tick_us]
        fired += len(due)
        fired_ticks += len(set(due))
        armed = [entry for entry in armed if tick_of(entry) > time // tick_us]

        counted[operation] += 1
        if operation == "start":
            assert key not in latest or latest[key][1] <= time
            latest[key] = [key, time + int(delay)]
            armed.append(latest[key])
        else:
            assert latest[key][1] > time
            if operation == "restart":
                latest[key][1] = time + int(delay)
            else:
                # Compares by identity: a key may have an older arming that has not fired only
                # because its tick has not ended.
                armed = [entry for entry in armed if entry is not latest[key]]
                del latest[key]
        peak = max(peak, len(armed))
    return {
        "operations": len(lines),
        "started": counted["start"],
        "restarted": counted["restart"],
        "stopped": counted["cancel"],
        "fired": fired,
        "pending": len(armed),
        "peak_pending": peak,
        "fired_ticks": fired_ticks,
    }
