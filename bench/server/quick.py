"""The quick look: which workloads and contenders of the race it takes, and its figures as text.

It is the race with less of everything: what it finds has the right size, and not the last digit.
"""

from report import MARK, is_promised, number_text, processor, row_of, system

WORKLOADS = ("put-1", "put-1000", "put-20000", "story", "late-1k", "backlog")
# The floors show what a disk can do, and elapse-50ms what a promise costs: they are for the race.
CONTENDERS = ("elapse", "elapse-lines", "beanstalkd", "beanstalkd-f0", "redis", "redis-1s",
              "redis-lease", "postgres-100", "postgres-1000", "rabbitmq")
BASE = "elapse"
MINUTES = 10
BUSY_LOAD = 0.5

# Tables of a title and columns; a column has a head and the row of the report that it shows.
TABLES = (
    ("Puts a second; so many have not been answered yet when the next one is sent",
     (("1", row_of("put-1", "rate")), ("1,000", row_of("put-1000", "rate")),
      ("20,000", row_of("put-20000", "rate")))),
    ("Jobs a second; and how late they come when 1,000 a second are due",
     (("cancel by key", row_of("story", "cancel_rate")),
      ("hand out, ack", row_of("backlog", "rate")), ("late: p50", row_of("late-1k", "p50_us")),
      ("late: p99", row_of("late-1k", "p99_us")))),
)


def ratio_text(ratio):
    return f"{ratio:.2f}" if ratio < 9.995 else f"{ratio:.0f}"


def cell(results, row, name, promises):
    value = results.median(row.workload, name, row.metric)
    if value is None:
        return "failed" if (row.workload, name) in results.errors else "-"
    text = number_text(value, row.unit)
    text += " " if is_promised(promises.get(name, {}), row.needs) else MARK
    base = results.median(row.workload, BASE, row.metric)
    return f"{text} {ratio_text(value / base):>4}" if base and name != BASE else f"{text}     "


def table_lines(results, promises, title, columns):
    names = [name for name in results.contenders()
             if any(cell(results, row, name, promises) != "-" for _, row in columns)]
    if not names:
        return
    rows = [["", *(head for head, _ in columns)]]
    rows += [[name, *(cell(results, row, name, promises) for _, row in columns)] for name in names]
    widths = [max(len(row[place]) for row in rows) for place in range(len(columns) + 1)]
    yield title + ":"
    yield ""
    for name, *cells in rows:
        yield "  ".join((name.ljust(widths[0]), *(text.rjust(width) for text, width
                                                 in zip(cells, widths[1:])))).rstrip()
    yield ""


def lines(results, promises, left_out, load):
    """left_out: (contender, Debian package that brings it). load: of the machine before."""
    yield f"{processor()}; {system()}"
    yield ""
    for title, columns in TABLES:
        yield from table_lines(results, promises, title, columns)
    yield f"The small numbers are ratios to {BASE}. {MARK}: it does not promise the same:"
    for name in results.contenders():
        version, note = results.facts["version", name], promises.get(name, {}).get("note", "")
        yield f"  {name}: {', '.join(text for text in (version, note) if text)}"
    if left_out:
        yield "Not here:"
        for name, package in left_out:
            yield f"  {name} (Debian: {package})"
    if results.errors:
        yield "Failed:"
        for (workload, name), text in sorted(results.errors.items()):
            yield f"  {workload}, {name}: {text}"
    if load >= BUSY_LOAD:
        yield ""
        yield f"Other programs were at work when it began (load {load:.1f}): the figures are theirs, too."
    yield ""
    yield "This was quick: one round of some seconds and 100,000 jobs, whatever else the machine did."
    yield "A difference of a third says nothing here. Figures to quote need the whole race, in which"
    yield "jobs are millions and rounds are three, on a machine that does nothing else:"
    yield "./dev bench --servers, two hours."
