"""The contenders of the race: their names, where their programs are, and how one is run."""

import os
import signal
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))

# A run of ten million timers by the slowest takes minutes; one that hangs must not take all day.
PROCESS_LIMIT_S = 900
BUILD_LIMIT_S = 900

STATUS_CANNOT = 3

# folder (None: built by CMake), name, what it is, does it belong to one thread
KNOWN = (
    (None, "elapse", "the scheduler of elapse/scheduler.h; S3 without workers", False),
    (None, "libuv", "uv_timer_t in one loop", True),
    (None, "libevent", "evtimer in one event base, as it comes, with the coarse clock", True),
    (None, "libevent-precise", "the same with EVENT_BASE_FLAG_PRECISE_TIMER", True),
    ("go", "go", "Go: time.AfterFunc, Stop, Reset", False),
    ("java", "executor", "Java: ScheduledThreadPoolExecutor as it comes", False),
    ("java", "executor-remove", "the same with setRemoveOnCancelPolicy(true)", False),
    ("java", "java-util-timer", "Java: java.util.Timer", False),
    ("java", "netty", "Java: HashedWheelTimer of Netty, 512 slots", False),
    ("java", "netty-65536", "the same with 65,536 slots", False),
    ("tokio", "tokio", "Rust: Sleep futures of tokio, all held by one task", False),
    ("tokio", "tokio-task", "Rust: a task of tokio for each timer", False),
)
NAMES = tuple(name for _, name, _, _ in KNOWN)
FOLDERS = ("go", "java", "tokio")
LOOPS = {name for _, name, _, loop in KNOWN if loop}
TITLES = {name: title for _, name, title, _ in KNOWN}

# What a figure does not include, where the program cannot tell it by a metric of its own.
QUEUES = "only queues: the timer's thread does the rest"
NOTES = {(workload, name): QUEUES
         for workload in ("S1", "S2") for name in ("netty", "netty-65536")}


class Failure(Exception):
    """A run that says nothing: one line about why."""


class Refusal(Exception):
    """A workload that a contender cannot do: one line about why."""


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no reason given"


def run_process(command, limit_s):
    """Status, standard output, standard error. The process and its children end with us."""
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, errors="replace",
                                   start_new_session=True)
    except OSError as error:
        raise Failure(f"{command[0]}: {error.strerror}") from error
    try:
        out, err = process.communicate(timeout=limit_s)
    except BaseException as error:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            raise Failure(f"took longer than {limit_s} s") from error
        raise
    return process.returncode, out, err


def executables(folder):
    if not os.path.isdir(folder):
        return {}
    paths = {name: os.path.join(folder, name) for name in sorted(os.listdir(folder))}
    return {name: path for name, path in paths.items()
            if os.path.isfile(path) and os.access(path, os.X_OK)}


def build(folder, output):
    """What the folder's build.sh makes, and what it said last. Raises Failure."""
    script = os.path.join(HERE, folder, "build.sh")
    if not os.path.exists(script):
        raise Failure("there is no build.sh")
    os.makedirs(output, exist_ok=True)
    status, _, err = run_process([script, output], BUILD_LIMIT_S)
    if status != 0:
        raise Failure(last_line(err))
    return executables(output), last_line(err)


def find(build_folder, wanted):
    """Programs by name, in the order of the table above, and why the others are left out."""
    made = executables(os.path.join(build_folder, "programs"))
    reasons = {name: "not built: is its library installed?"
               for folder, name, _, _ in KNOWN if folder is None}
    for folder in FOLDERS:
        names = [name for home, name, _, _ in KNOWN if home == folder and name in wanted]
        if not names:
            continue
        try:
            programs, said = build(folder, os.path.join(build_folder, folder))
            made.update(programs)
            reasons.update({name: f"{folder}/build.sh did not make it: {said}" for name in names})
        except Failure as failure:
            reasons.update({name: str(failure) for name in names})
    programs = {name: made[name] for name in NAMES if name in wanted and name in made}
    left_out = {name: reasons[name] for name in NAMES if name in wanted and name not in made}
    return programs, left_out


def parse_figures(out):
    figures = {}
    for line in out.splitlines():
        metric, tab, text = line.partition("\t")
        try:
            value = float(text)
        except ValueError:
            tab = ""
        if not tab:
            raise Failure(f"printed a line that is no figure: {line[:60]!r}")
        figures.setdefault(metric, []).append(value)
    return figures


def read_histogram(path):
    try:
        with open(path, encoding="ascii") as file:
            lines = file.read().split()
        pairs = [line.split(",") for line in lines if line != "lateness_us,count"]
        return [(int(lateness), int(count)) for lateness, count in pairs]
    except (OSError, ValueError) as error:
        raise Failure("its histogram of lateness cannot be read") from error


def run(program, arguments, metrics):
    """The figures of one process: a list for each metric. Raises Failure or Refusal."""
    status, out, err = run_process([program, *arguments], PROCESS_LIMIT_S)
    if status == STATUS_CANNOT:
        raise Refusal(last_line(err).split(": ", 1)[-1])
    if status != 0:
        raise Failure(f"status {status}: {last_line(err)}")
    figures = parse_figures(out)
    missing = [metric for metric in metrics if metric not in figures]
    if missing:
        raise Failure(f"did not print {missing[0]}")
    return figures
