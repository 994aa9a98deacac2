"""Notes what clients of a cluster know of their jobs, and so what no reply may say.

A command whose answer came has happened. A command without an answer, or with -UNKNOWN or -TRYAGAIN, may
have happened. It is sent again until it is answered, which is safe because puts have tokens. All times
are by the monotonic clock. The ledger finds:

    lost       a put was answered, nobody removed the job, and the job is not there
    undone     a removal was answered, and the job is there
    stale      a reply shows a register as it was before a write that had been answered, or seen, when
               the question was sent; or a look-up misses a job that is there at the end
    doubled    a job is there twice, or has two ids
    early      a job was handed out before its time
    late       a job was due, is there, and was handed out to nobody
    unsafe     a write was answered while no answer could be safe
    wrong      any other answer that the protocol does not have
"""

import collections
import time

KINDS = ("lost", "undone", "stale", "doubled", "early", "late", "unsafe", "wrong")
FAULTS_KEPT = 20
# Where wall clocks are right: nodes count whole milliseconds. The time of a put is cut by less than one,
# and so is the offset of the cluster's time at each of two owners. What clients measure adds nothing: the
# put was sent before the node read its clock, and the hand-out came after.
EARLY_S = 0.002
# docs/guide/cluster.md, "The clocks": 20 ms and half a journey to the database, for each of two owners.
JOURNEY_S = 0.01  # on this machine, the shortest of many
EARLY_CLOCKS_SET_S = 2 * (0.02 + JOURNEY_S / 2)
UNSURE = ("-UNKNOWN", "-TRYAGAIN", "-DRAINING")


def is_unsure(reply):
    return reply is None or (isinstance(reply, str) and reply.startswith(UNSURE))


class Job:
    __slots__ = ("body", "tube", "key", "token", "part", "delay_s", "sent", "id", "answered",
                 "removal_sent", "removed", "removal_tried", "handed_out", "done", "missed")

    def __init__(self, tube, body, key, part, delay_s):
        self.tube, self.body, self.key, self.part = tube, body, key, part
        self.token = f"token-{body}"
        self.delay_s = delay_s
        self.sent = None
        self.id = self.answered = None
        self.removal_sent = self.removed = None
        self.removal_tried = False  # a removal got no answer
        self.handed_out = 0
        self.done = {}              # of work, the ids that were done, and when: one, unless doubled
        self.missed = False         # a look-up did not find it

    def __str__(self):
        return f"{self.tube}/{self.body} ({self.id})"


class Register:
    """A key that one client writes, with rising versions. `known`: of a write that was answered, or of
    a reply that was read."""

    def __init__(self, tube, key, part):
        self.tube, self.key, self.part = tube, key, part
        self.written = 0   # the last version that was sent
        self.known = 0


class Ledger:
    def __init__(self, partitions):
        self.counts = collections.Counter()
        self.faults = []
        self.jobs = []              # of the store: they are not due for long
        self.work = {}              # by body: jobs that workers take
        self.registers = []
        self.answers = {part: [] for part in range(partitions)}  # when writes were
        self.sent = dict.fromkeys(range(partitions), 0.0)  # when the last one that was answered was sent
        self.early_s = EARLY_S      # the bound
        self.earliest_s = None      # how early a job was handed out, at most; negative: none was
        self.unsafe = None          # (from, to): commands sent and answered in between

    def fault(self, kind, text):
        self.counts[kind] += 1
        if len(self.faults) < FAULTS_KEPT:
            self.faults.append(f"{kind}: {text}")

    # ---- puts and removals ----

    def put_answered(self, job, sent, reply):
        """Returns whether it is answered."""
        now = time.monotonic()
        if is_unsure(reply):
            self.counts["unsure"] += 1
            return False
        if not isinstance(reply, list) or len(reply) != 2 \
                or reply[1] not in ("scheduled", "known", "replaced"):
            self.fault("wrong", f"PUT {job}: {reply}")
            return True
        number, word = reply
        if word == "replaced":
            self.fault("doubled", f"PUT {job} replaced what was there: it has a key of its own")
        if job.id not in (None, number):
            self.fault("doubled", f"{job} has the id {number}, too")
        if number % len(self.answers) != job.part:
            self.fault("wrong", f"{job}: its id is of partition {number % len(self.answers)}")
        job.id = number
        job.answered = now
        self.acknowledge(job.part, sent, now, word != "known")
        self.counts["put"] += 1
        self.counts["known"] += word == "known"
        return True

    def acknowledge(self, part, sent, now, is_new):
        """A write to this partition was answered. A command that says what had been done before, as
        `known` does, may be answered while no write may."""
        self.answers[part].append(now)
        self.sent[part] = max(self.sent[part], sent)
        if is_new and self.unsafe is not None and self.unsafe[0] <= sent and now <= self.unsafe[1]:
            self.fault("unsafe", f"a write of partition {part} was answered")

    def removal_answered(self, job, sent, word):
        """Returns whether it is answered."""
        now = time.monotonic()
        if is_unsure(word):
            job.removal_tried = True
            return False
        if word == "removed" or (word == "gone" and job.removal_tried):
            job.removed = now
            self.acknowledge(job.part, sent, now, word == "removed")
            self.counts["removed"] += 1
        elif word == "gone":
            self.fault("lost", f"{job} was to be removed, and is gone")
            job.removed = now
        else:
            self.fault("wrong", f"CANCEL {job}: {word}")
            job.removed = now
        return True

    def looked_up(self, job, sent, found, is_last=False):
        """A look-up of a job was answered. `is_last`: after all, when nothing is under way."""
        self.counts["looked up"] += 1
        if found and job.removed is not None and job.removed < sent:
            self.fault("undone", f"{job} was removed, and is there")
        if not found and job.answered is not None and job.answered < sent \
                and job.removal_sent is None:
            if is_last:
                self.fault("lost", f"{job} was stored, and is not there")
            else:
                job.missed = True
        if found and is_last and job.missed:
            self.fault("stale", f"{job} was not found, and is there now")

    # ---- work ----

    def handed_out(self, number, body, sent):
        now = time.monotonic()
        self.counts["handed out"] += 1
        job = self.work.get(body)
        if job is None:
            self.fault("wrong", f"nobody has put {body!r}")
            return None
        if job.id not in (None, number):
            self.fault("doubled", f"{job} is handed out as {number}")
        job.id = number
        if number in job.done and job.done[number] < sent:
            self.fault("undone", f"{job} was done, and is handed out again")
        elif number not in job.done and job.done:
            self.fault("doubled", f"{job} was done by another id")
        early = job.sent + job.delay_s - now
        if self.earliest_s is None or early > self.earliest_s:
            self.earliest_s = early
        if early > self.early_s:
            self.fault("early", f"{job} is {early * 1e3:.1f} ms early")
        job.handed_out += 1
        self.counts["handed out again"] += job.handed_out > 1
        return job

    # ---- registers ----

    def write_answered(self, register, version, sent, reply):
        """Returns whether it is answered."""
        now = time.monotonic()
        if is_unsure(reply):
            self.counts["unsure"] += 1
            return False
        if not isinstance(reply, list) or reply[1] not in ("scheduled", "replaced", "known"):
            self.fault("wrong", f"register {register.key}: {reply}")
            return True
        if version < register.known:
            self.fault("stale", f"register {register.key}: {version} was answered after "
                       f"{register.known} had been seen")
        register.known = max(register.known, version)
        self.acknowledge(register.part, sent, now, reply[1] != "known")
        self.counts["written"] += 1
        return True

    def read_answered(self, register, floor, version, is_last=False):
        """`floor`: what was known when the question was sent. `version`: 0 for no job."""
        self.counts["read"] += 1
        if version < floor:
            self.fault("lost" if is_last else "stale",
                       f"register {register.key}: {version}, and {floor} was known")
        if version > register.written:
            self.fault("wrong", f"register {register.key}: {version} was never written")
        register.known = max(register.known, version)

    # ---- service ----

    def gap_s(self, begin, end):
        """The longest time in which a partition answered no write, and which partition it was."""
        gaps = []
        for part, moments in self.answers.items():
            moments = [begin, *(m for m in moments if begin <= m <= end), end]
            gaps += [(after - before, part) for before, after in zip(moments, moments[1:])]
        return max(gaps)

    def answered_since(self, part, moment):
        """Whether a write was answered that was sent later. A busy client reads an answer late, so it says nothing
        when an answer came."""
        return self.sent[part] > moment

    def faulty(self):
        return {kind: self.counts[kind] for kind in KINDS if self.counts[kind]}
