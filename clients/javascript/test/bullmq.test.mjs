// The calls of BullMQ.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { CancelledError } from "elapse-client";
import { Queue, UnrecoverableError, Worker } from "elapse-client/bullmq";
import { collect, serve, until } from "./support.mjs";

async function queueOf(t, options = {}) {
  const { server, client } = await serve(t);
  const connection = { host: "127.0.0.1", port: server.port };
  const queue = new Queue("q", { connection, ...options });
  t.after(() => queue.close());
  const work = (processor, more = {}) => {
    const worker = new Worker("q", processor, { connection, ...more });
    const seen = { completed: [], failed: [], errors: [] };
    worker.on("completed", (job, result) => seen.completed.push([job.name, result]));
    worker.on("failed", (job, error) => seen.failed.push([job.name, job.attemptsMade, error.message]));
    worker.on("error", (error) => seen.errors.push(error));
    t.after(() => worker.close());
    return { worker, seen };
  };
  return { server, client, queue, work };
}

test("add with delay and jobId, changeDelay, remove", async (t) => {
  const { client, queue } = await queueOf(t);
  const job = await queue.add("mail", { to: "ann" }, { delay: 3_600_000, jobId: "ann-1" });
  assert.deepEqual([job.id, job.name, job.data, await job.getState()], ["ann-1", "mail", { to: "ann" }, "delayed"]);
  const again = await queue.add("mail", { to: "bob" }, { jobId: "ann-1" });
  assert.equal(again.id, "ann-1");
  assert.deepEqual((await queue.getJob("ann-1")).data, { to: "ann" }, "a jobId that is taken adds nothing");
  await job.changeDelay(7_200_000);
  assert.ok((await client.lookup("q", "ann-1")).leftMs > 7_000_000);
  await job.remove();
  assert.equal(await job.getState(), "unknown");
  await assert.rejects(job.changeDelay(1), /gone/);
  assert.equal(await queue.getJob("ann-1"), undefined);
  const numbered = await queue.add("mail", 1, { delay: 1000 });
  await numbered.changeDelay(5000);
  assert.equal(await queue.remove(numbered.id), 1);
  assert.equal(await queue.remove(numbered.id), 0);
  await assert.rejects(queue.add("mail", 1, { jobId: "17" }), TypeError);
});

test("a worker, its events, and what it tells about failures", async (t) => {
  const { queue, work } = await queueOf(t, { defaultJobOptions: { attempts: 2, backoff: 1 } });
  await queue.addBulk([
    { name: "good", data: 1 },
    { name: "bad", data: 2 },
    { name: "broken", data: 3 },
  ]);
  const { seen } = work(
    (job) => {
      if (job.name === "bad") throw new Error("no");
      if (job.name === "broken") throw new UnrecoverableError("never");
      return job.data + 1;
    },
    { concurrency: 2 },
  );
  await until(() => seen.completed.length === 1 && seen.failed.length === 3);
  assert.deepEqual(seen.completed, [["good", 2]]);
  assert.deepEqual(seen.failed.sort(), [
    ["bad", 1, "no"],
    ["bad", 2, "no"],
    ["broken", 1, "never"],
  ]);
  assert.deepEqual(await queue.getJobCounts(), { waiting: 0, active: 0, delayed: 0, failed: 2 });
  assert.deepEqual(seen.errors, []);
});

test("attempts, backoff, priority and repeat as BullMQ has them", async (t) => {
  const { client, queue } = await queueOf(t);
  const of = async (options) => client.lookupId(Number((await queue.add("x", 1, options)).id));
  const plain = await of({});
  assert.deepEqual([plain.attemptsMax, plain.backoffMinMs, plain.backoffMaxMs, plain.priority], [1, 0, 0, 0]);
  const fixed = await of({ attempts: 3, backoff: { type: "fixed", delay: 500 }, priority: 7 });
  assert.deepEqual([fixed.attemptsMax, fixed.backoffMinMs, fixed.backoffMaxMs, fixed.priority], [3, 500, 500, 7]);
  const doubling = await of({ attempts: 3, backoff: { type: "exponential", delay: 500 } });
  assert.deepEqual([doubling.backoffMinMs, doubling.backoffMaxMs], [500, 4000]);
});

test("a job with repeat is there once, however often the program starts", async (t) => {
  const { client, queue, work } = await queueOf(t);
  const daily = { pattern: "0 9 * * *", tz: "Europe/Berlin" };
  const repeats = [
    ["report", { repeat: { every: 60_000 } }],
    ["report", { repeat: { every: 30_000 } }],
    ["report", { repeat: daily }],
    ["report", { repeat: { ...daily, tz: "Asia/Tokyo" } }],
    ["x".repeat(300), { repeat: daily }],
    ["report", { repeat: daily, jobId: "mine" }],
  ];
  const start = () => Promise.all(repeats.map(([name, options]) => queue.add(name, 1, options)));
  const jobs = await start();
  assert.equal(new Set(jobs.map((job) => job.id)).size, repeats.length);
  assert.deepEqual(
    (await start()).map((job) => job.id),
    jobs.map((job) => job.id),
  );
  const infos = await collect(client.list("q", { keys: true }));
  assert.deepEqual(infos.map((info) => info.key).sort(), jobs.map((job) => job.id).sort());
  assert.ok(infos.every((info) => info.recurring));
  assert.equal((await queue.getJob(jobs[0].id)).name, "report");
  await jobs[0].promote();
  const { worker, seen } = work((job) => job.id);
  await until(() => seen.completed.length === 1);
  assert.deepEqual(seen.completed, [["report", jobs[0].id]]);
  await worker.close();
  assert.equal(await queue.remove(jobs[0].id), 1);
  assert.equal((await collect(client.list("q"))).length, repeats.length - 1);
});

test("retry and promote; pause and resume; a removed job aborts its signal", async (t) => {
  const { client, queue, work } = await queueOf(t);
  await assert.rejects(queue.pause(), /nothing was paused/);
  const job = await queue.add("x", 1, { delay: 3_600_000 });
  await queue.pause();
  await job.promote();
  assert.equal(await job.getState(), "waiting");
  let tries = 0;
  let reason;
  const { seen } = work(async (job, _, signal) => {
    if (job.name === "long") {
      await sleep(60_000, undefined, { signal }).catch((error) => {
        reason = signal.reason;
        throw error;
      });
    }
    if (++tries === 1) throw new Error("first");
  });
  await sleep(50);
  assert.equal(tries, 0, "a paused queue hands out nothing");
  await queue.resume();
  await until(() => seen.failed.length === 1);
  assert.equal(await job.getState(), "failed");
  assert.equal((await queue.getJob(job.id)).failedReason, "Error: first");
  await job.retry();
  await until(() => seen.completed.length === 1);

  await client.put("q", JSON.stringify({ name: "long", data: 1 }), { key: "long", ttr: "6s" });
  await until(async () => (await (await queue.getJob("long")).getState()) === "active");
  await queue.remove("long");
  await until(() => reason !== undefined);
  assert.ok(reason instanceof CancelledError, String(reason));
});
