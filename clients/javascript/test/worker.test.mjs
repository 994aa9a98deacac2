// The worker: outcomes, leases, stopping.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import {
  Bury,
  CancelledError,
  Client,
  InvalidError,
  LeaseLostError,
  RetryIn,
  StoppedError,
  TimeLimitError,
  Worker,
  put,
} from "elapse-client";
import { startServer } from "elapse-client/testing";
import { fake, lastingPort, serve, until } from "./support.mjs";

/** A worker that records outcomes, errors of handlers and other errors, and is stopped behind the test. */
function work(t, server, tubes, handler, options = {}) {
  const seen = { outcomes: [], failures: [], errors: [] };
  const worker = new Worker(tubes, handler, {
    addresses: server.address,
    signals: [],
    ...options,
    hooks: {
      after: (job, outcome) => seen.outcomes.push([job.text(), outcome]),
      failure: (job, error) => seen.failures.push(error),
      error: (error) => seen.errors.push(error),
      ...options.hooks,
    },
  });
  seen.ended = worker.run();
  seen.stop = () => worker.stop();
  t.after(() => worker.stop());
  return seen;
}

test("a handler that fails says so on standard error, unless a hook takes it", async (t) => {
  const { server, client } = await serve(t);
  const said = t.mock.method(console, "error", () => undefined).mock;
  const lines = () => said.calls.map((call) => call.arguments[0]);
  const { id } = await client.put("loud", "x", { attempts: 1 });
  await client.put("loud", "again", { attempts: 1 });
  let ended = 0;
  const handler = (job) => {
    if (job.text() === "again") throw new RetryIn("1h");
    throw new RangeError("too big");
  };
  const loud = new Worker("loud", handler, { addresses: server.address, signals: [], hooks: { after: () => ended++ } });
  void loud.run();
  await until(() => ended === 2);
  await loud.stop();
  assert.deepEqual(lines(), [`elapse worker: job ${id} of loud failed: RangeError: too big`]);
  await client.put("quiet", "x", { attempts: 1 });
  const seen = work(t, server, "quiet", handler);
  await until(() => seen.outcomes.length === 1);
  assert.equal(seen.failures.length, 1);
  assert.equal(lines().length, 1);
});

test("a worker that reaches no server says so once, and again when it has one", async (t) => {
  const said = t.mock.method(console, "error", () => undefined).mock;
  const lines = () => said.calls.map((call) => call.arguments[0]);
  const first = await startServer({ port: await lastingPort() });
  await first.stop();
  const done = [];
  const worker = new Worker("t", (job) => void done.push(job.text()), { addresses: first.address, signals: [] });
  t.after(() => worker.stop());
  void worker.run();
  await until(() => lines().length === 1);
  assert.match(lines()[0], /^elapse worker: UnavailableError: no server could be reached/);
  const second = await startServer({ port: first.port });
  t.after(() => second.stop());
  const client = new Client(second.address);
  t.after(() => client.close());
  await client.put("t", "x");
  await until(() => done.length === 1);
  assert.deepEqual(lines().slice(1), ["elapse worker: a server is reached again"]);
});

test("a job is done by its handler, with all that is known of it", async (t) => {
  const { server, client } = await serve(t);
  await client.put(
    "mails",
    { to: "ann" },
    { key: "k", tag: "red", group: "ann", headers: { who: "me" }, attempts: 3, ttr: "7s" },
  );
  const jobs = [];
  const seen = work(t, server, "mails", (job) => void jobs.push(job));
  await until(() => seen.outcomes.length === 1);
  const [job] = jobs;
  assert.deepEqual(job.data(), { to: "ann" });
  assert.deepEqual(
    [
      job.tube,
      job.key,
      job.tag,
      job.group,
      job.headers,
      job.attempt,
      job.attemptsLeft,
      job.ttrMs,
      job.recurring,
      job.missed,
    ],
    ["mails", "k", "red", "ann", { who: "me" }, 1, 2, 7000, false, 0],
  );
  assert.ok(job.due instanceof Date && Math.abs(job.due - Date.now()) < 60_000);
  assert.equal(seen.outcomes[0][1], "done");
  assert.equal(await client.lookupId(job.id), undefined);
  assert.deepEqual(seen.errors, []);
});

test("handlers by tube; never more in hand than the concurrency", async (t) => {
  const { server, client } = await serve(t);
  for (let i = 0; i < 40; i++) await client.put(i % 2 ? "odd" : "even", String(i));
  let running = 0;
  let most = 0;
  let reserved = 0;
  const did = { odd: 0, even: 0 };
  const handler = (tube) => async (job) => {
    assert.equal(job.tube, tube);
    most = Math.max(most, ++running);
    await sleep(5);
    running--;
    did[tube]++;
  };
  const seen = work(t, server, ["odd", "even"], { odd: handler("odd"), even: handler("even") }, { concurrency: 3 });
  await until(async () => {
    const [odd, even] = [await client.stats("odd"), await client.stats("even")];
    reserved = Math.max(reserved, (odd?.reserved ?? 0) + (even?.reserved ?? 0));
    return seen.outcomes.length === 40;
  });
  assert.deepEqual([did.odd, did.even], [20, 20]);
  assert.equal(most, 3);
  assert.throws(() => new Worker(["odd", "other"], { odd: () => {} }), TypeError);
  assert.throws(() => new Worker([], () => {}), TypeError);
});

test("a handler that throws fails its job, with its error, and ends nothing else", async (t) => {
  const { server, client } = await serve(t);
  const { id } = await client.put("t", "bad", { attempts: 2, backoff: [1, 1] });
  await client.put("t", "good");
  const errors = [];
  const seen = work(
    t,
    server,
    "t",
    (job) => {
      errors.push(job.lastError);
      if (job.text() === "bad") throw new RangeError("too big");
    },
    { concurrency: 1 },
  );
  await until(() => seen.outcomes.length === 3);
  const info = await client.lookupId(id);
  assert.equal(info.state, "buried");
  assert.equal(info.error, "RangeError: too big");
  assert.ok(info.errorAt instanceof Date);
  assert.ok(errors.includes("RangeError: too big"), "the second try knows why the first one failed");
  assert.equal(seen.failures.length, 2);
  assert.deepEqual(seen.outcomes.map(([, outcome]) => outcome).sort(), ["done", "failed", "failed"]);
});

test("RetryIn and Bury", async (t) => {
  const { server, client } = await serve(t);
  const later = await client.put("t", "later");
  const free = await client.put("t", "free");
  const broken = await client.put("t", "broken");
  const seen = work(t, server, "t", (job) => {
    if (job.text() === "later") throw new RetryIn("1h", "the bank is closed");
    if (job.text() === "free") throw new RetryIn(3_600_000, "not yet", { counts: false });
    throw new Bury("it is broken");
  });
  await until(() => seen.outcomes.length === 3);
  const info = await client.lookupId(later.id);
  assert.deepEqual([info.state, info.attempts, info.error], ["delayed", 1, "the bank is closed"]);
  assert.ok(info.leftMs > 3_000_000);
  assert.equal((await client.lookupId(free.id)).attempts, 0);
  assert.deepEqual(
    [(await client.lookupId(broken.id)).state, (await client.lookupId(broken.id)).error],
    ["buried", "it is broken"],
  );
  assert.throws(() => new RetryIn("1x"), RangeError);
});

// Side by side, because they take several EXTENDs.
describe("leases", { concurrency: true }, () => {
  test("a job that takes longer than its TTR keeps its lease", async (t) => {
    const { server, client } = await serve(t);
    await client.put("t", "slow", { ttr: "4800ms" });
    const seen = work(t, server, "t", (job) => sleep(8000, undefined, { signal: job.signal }));
    await until(() => seen.outcomes.length === 1);
    assert.deepEqual(seen.outcomes, [["slow", "done"]]);
    // The tube ends with its last job, unless the worker waits for the next one already.
    assert.equal((await client.stats()).totalTimeouts, 0);
  });

  test("a job with a short TTR keeps its lease beside one with a long TTR", async (t) => {
    const { server, client } = await serve(t);
    await client.put("t", "long", { ttr: "1h" });
    const seen = work(t, server, "t", (job) =>
      sleep(job.text() === "long" ? 8200 : 8000, undefined, { signal: job.signal }),
    );
    await until(async () => (await client.stats("t")).reserved === 1);
    await client.put("t", "short", { ttr: "4800ms" });
    await until(() => seen.outcomes.length === 2);
    assert.deepEqual(seen.outcomes.sort(), [
      ["long", "done"],
      ["short", "done"],
    ]);
  });

  test("behind a done that failed a handler goes on: its lease is kept, and it hears of a cancel", async (t) => {
    const { server, client } = await serve(t);
    for (const text of ["returns", "again", "cancelled", "done"]) {
      await client.put("t", text, { key: text, ttr: "4800ms", attempts: 1 });
    }
    const waiting = [];
    const seen = work(t, server, "t", async (job) => {
      if (job.text() === "done") await job.done(put("next", "x"));
      else await assert.rejects(job.done(put("next", 1n)), TypeError);
      waiting.push(job);
      await sleep(job.text() === "cancelled" ? 60_000 : 8000, undefined, { signal: job.signal });
      if (job.text() === "again") await job.done(put("next", "y"));
    });
    await until(() => waiting.length === 4);
    assert.equal(await client.cancel("t", "cancelled"), "running");
    await until(() => seen.outcomes.length === 4);
    assert.deepEqual(seen.outcomes.sort(), [
      ["again", "done"],
      ["cancelled", "cancelled"],
      ["done", "done"],
      ["returns", "done"],
    ]);
    assert.ok(waiting.find((job) => job.text() === "cancelled").signal.reason instanceof CancelledError);
    assert.deepEqual([seen.failures, seen.errors], [[], []]);
    assert.equal((await client.stats("next")).ready, 2);
  });

  test("a job keeps its lease while the partition of another one has no owner", async (t) => {
    const extended = []; // the ids of each EXTEND
    let go;
    const gate = new Promise((resolve) => (go = resolve));
    let isTaken = false;
    const answer = async (words) => {
      if (words[0] === "ACK") return `*${(words.length - 1) / 2}\r\n${"+ok\r\n".repeat((words.length - 1) / 2).trim()}`;
      if (words[0] === "EXTEND") {
        const ids = words.slice(1).filter((_, i) => i % 2 === 0);
        extended.push(ids);
        if (extended.filter((one) => one.includes("1")).length === 3) go();
        const parts = ids.map((id) => (id === "1" ? "+ok" : "-TRYAGAIN no owner"));
        return ids.length === 1 ? parts[0] : `*${ids.length}\r\n${parts.join("\r\n")}`;
      }
      if (isTaken) return sleep(100, "*0");
      isTaken = true;
      const job = (id, ttr) =>
        `*9\r\n:${id}\r\n+${id}-1\r\n+t\r\n$-1\r\n$1\r\nx\r\n:0\r\n:1\r\n:0\r\n*2\r\n+ttr\r\n:${ttr}`;
      return `*2\r\n${job(1, 4800)}\r\n${job(2, 3_600_000)}`;
    };
    const server = await fake(answer);
    t.after(() => server.close());
    const seen = work(
      t,
      server,
      "t",
      (job) => Promise.race([gate, new Promise((_, reject) => job.signal.addEventListener("abort", reject))]),
      { grace: 100 },
    );
    await until(() => seen.outcomes.length === 2 || seen.outcomes[0]?.[1] === "lost");
    assert.deepEqual(
      seen.outcomes.map(([, outcome]) => outcome),
      ["done", "done"],
    );
    assert.ok(
      extended.every((ids) => ids.includes("1")),
      "no EXTEND is of the other job alone",
    );
  });
});

test("a handler that blocks beyond its TTR loses the lease, and its job is not acknowledged", async (t) => {
  const { server, client } = await serve(t);
  await client.put("t", "blocked", { ttr: "100ms", attempts: 0, backoff: [1, 1] });
  let first = true;
  const seen = work(t, server, "t", async (job) => {
    if (!first) return;
    first = false;
    const end = performance.now() + 400;
    while (performance.now() < end); // nothing else runs in this process
    await sleep(60_000, undefined, { signal: job.signal });
  });
  await until(() => seen.outcomes.some(([, outcome]) => outcome === "done"));
  assert.equal(seen.outcomes[0][1], "lost");
  assert.ok((await client.stats()).totalTimeouts >= 1);
});

test("a cancelled job aborts the signal of its handler", async (t) => {
  const { server, client } = await serve(t);
  await client.put("t", "x", { key: "k", ttr: "6s" });
  let reason;
  let started = false;
  const seen = work(t, server, "t", async (job) => {
    started = true;
    await sleep(60_000, undefined, { signal: job.signal }).catch((error) => {
      reason = job.signal.reason;
      throw error;
    });
  });
  await until(() => started);
  assert.equal(await client.cancel("t", "k"), "running");
  await until(() => seen.outcomes.length === 1);
  assert.ok(reason instanceof CancelledError);
  assert.deepEqual(seen.outcomes, [["x", "cancelled"]]);
  assert.deepEqual(seen.failures, []);
});

test("a handler that hangs is ended by the time limit", async (t) => {
  const { server, client } = await serve(t);
  const { id } = await client.put("t", "hangs", { attempts: 1 });
  let reason;
  const seen = work(
    t,
    server,
    "t",
    (job) =>
      new Promise(() => {
        job.signal.addEventListener("abort", () => {
          reason = job.signal.reason;
        });
      }),
    { timeLimit: 50, concurrency: 1 },
  );
  await until(() => seen.outcomes.length === 1);
  assert.ok(reason instanceof TimeLimitError);
  assert.match((await client.lookupId(id)).error, /^TimeLimitError: the handler took longer than 50 ms/);
  await client.put("t", "next");
  await until(() => seen.outcomes.length === 2);
});

test("a worker that stops finishes what runs, and takes nothing more", async (t) => {
  const { server, client } = await serve(t);
  for (let i = 0; i < 10; i++) await client.put("t", String(i));
  let running = 0;
  let go;
  const gate = new Promise((resolve) => {
    go = resolve;
  });
  const seen = work(
    t,
    server,
    "t",
    async () => {
      running++;
      await gate;
    },
    { concurrency: 2 },
  );
  await until(() => running === 2);
  const stopped = seen.stop();
  go();
  await stopped;
  assert.deepEqual(
    seen.outcomes.map(([, outcome]) => outcome),
    ["done", "done"],
  );
  const stats = await client.stats("t");
  assert.deepEqual([stats.ready, stats.reserved, running], [8, 0, 2]);
});

test("jobs that come while the worker stops are given back, and count no attempt", async (t) => {
  const { server, client } = await serve(t);
  const signal = new AbortController();
  const seen = work(t, server, "t", () => assert.fail("it must not begin"), { signal: signal.signal });
  await until(async () => (await client.stats()).waiting === 1);
  signal.abort();
  await client.put("t", "late");
  await seen.ended;
  const info = (await client.list("t", {}).next()).value;
  assert.deepEqual([info.state, info.attempts], ["ready", 0]);
});

test("when the grace is over, handlers are aborted and their jobs given back", async (t) => {
  const { server, client } = await serve(t);
  const { id } = await client.put("t", "endless");
  let reason;
  let started = false;
  const seen = work(
    t,
    server,
    "t",
    (job) =>
      new Promise(() => {
        started = true;
        job.signal.addEventListener("abort", () => {
          reason = job.signal.reason;
        });
      }),
    { grace: 50 },
  );
  await until(() => started);
  await seen.stop();
  assert.ok(reason instanceof StoppedError);
  const info = await client.lookupId(id);
  assert.deepEqual([info.state, info.attempts, seen.outcomes[0][1]], ["ready", 0, "returned"]);
});

test("a worker without the right to work ends with the error of the server", async (t) => {
  const { server } = await serve(t);
  const worker = new Worker("x".repeat(201), () => {}, { addresses: server.address, signals: [] });
  await assert.rejects(worker.run(), InvalidError);
});

test("done: the next steps are put exactly once, with the end of this one", async (t) => {
  const { server, client } = await serve(t);
  await client.put("one", "a", { ttr: "5s" });
  const ends = [];
  const seen = work(t, server, ["one", "two"], {
    one: (job) => job.done(put("two", `${job.text()}b`), put("two", `${job.text()}c`, { key: "c" })),
    two: (job) => void ends.push(job.text()),
  });
  await until(() => seen.outcomes.length === 3);
  assert.deepEqual(ends.sort(), ["ab", "ac"]);
  assert.deepEqual(seen.failures, []);
  assert.equal((await client.stats()).totalDone, 3);
});

test("done returns the error of a put in its place, and the job is done", async (t) => {
  const { server, client } = await serve(t);
  await client.put("next", "taken", { key: "k", in: "1h" });
  await client.put("t", "x");
  let results;
  const seen = work(t, server, "t", async (job) => {
    results = await job.done(put("next", "a"), put("next", "b", { key: "k", ifKey: "fail" }), put("next", "c"));
  });
  await until(() => seen.outcomes.length === 1);
  assert.deepEqual(
    results?.map((one) => one.outcome ?? one.code),
    ["scheduled", "BUSYKEY", "scheduled"],
  );
  assert.deepEqual([seen.outcomes, seen.failures], [[["x", "done"]], []]);
});

test("done after the lease has ended puts nothing", async (t) => {
  const { server, client } = await serve(t);
  await client.put("one", "a", { ttr: "1m", key: "k", attempts: 1 });
  let error;
  const seen = work(t, server, "one", async (job) => {
    await client.cancel("one", "k");
    await job.done(put("two", "b")).catch((reason) => {
      error = reason;
      throw reason;
    });
  });
  await until(() => seen.outcomes.length === 1);
  assert.ok(error instanceof LeaseLostError);
  assert.equal(await client.stats("two"), undefined);
});

test("a worker whose places are all taken, again and again, keeps nothing of its waits", async (t) => {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc");
  const { server, client } = await serve(t);
  let done = 0;
  const worker = new Worker("t", () => void done++, { addresses: server.address, signals: [], concurrency: 1 });
  t.after(() => worker.stop());
  void worker.run();
  // With one place the worker waits once for each job until it is free.
  const heapAfter = async (jobs) => {
    const all = done + jobs;
    await Promise.all(Array.from({ length: jobs }, () => client.put("t", "x")));
    await until(() => done === all);
    // The runner of the tests forgets a promise a turn after it was collected.
    for (let i = 0; i < 3; i++) {
      await sleep(10);
      gc();
    }
    return process.memoryUsage().heapUsed;
  };
  // What the runtime keeps once, such as code that it compiles, is not in each of the rounds; what each wait leaves is.
  const jobs = 500;
  const heaps = [];
  for (let round = 0; round < 5; round++) heaps.push(await heapAfter(jobs));
  const least = Math.min(...heaps.slice(1).map((bytes, i) => bytes - heaps[i]));
  assert.ok(least < 100 * jobs, `${least} bytes for ${jobs} jobs`);
});

test("hooks that throw, and a server that comes back, end no worker", async (t) => {
  const { server, client } = await serve(t);
  const seen = work(t, server, "t", () => {}, {
    hooks: {
      before: () => {
        throw new Error("the hook");
      },
    },
  });
  await client.put("t", "x");
  await until(() => seen.outcomes.length === 1);
  assert.match(seen.errors[0].message, /the hook/);
  assert.equal(seen.outcomes[0][1], "done");
  const other = new Client(server.address);
  await other.close();
});
