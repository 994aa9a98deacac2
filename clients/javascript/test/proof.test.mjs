// A server that is killed again and again: no put is lost, and none doubles. Workers that are killed beside it:
// each chain of three steps ends exactly once. ELAPSE_PROOF=long has the full numbers.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Client, Worker } from "elapse-client";
import { startServer } from "elapse-client/testing";
import { directory, lastingPort, until } from "./support.mjs";

const isLong = process.env.ELAPSE_PROOF === "long";
const folder = new URL(".", import.meta.url).pathname;

/**
 * A server with a directory and a port of its own that is killed and started again each `periodMs`, or more slowly if a
 * start takes longer: on a slow machine it would do nothing else.
 */
class KilledServer {
  kills = 0;
  #isOver = false;

  static async start(data, periodMs) {
    const one = new KilledServer();
    one.data = data;
    one.port = await lastingPort();
    one.server = await startServer({ data, port: one.port });
    one.periodMs = periodMs;
    one.begin();
    return one;
  }

  begin() {
    this.#isOver = false;
    this.loop = this.#run();
  }

  async #run() {
    for (let startMs = 0; ;) {
      await sleep(Math.max(this.periodMs, startMs));
      if (this.#isOver) return;
      await this.server.kill();
      this.kills++;
      const began = performance.now();
      this.server = await startServer({ data: this.data, port: this.port });
      startMs = performance.now() - began;
    }
  }

  /** No kills any more: the server that is there stays. */
  async calm() {
    this.#isOver = true;
    await this.loop;
  }
}

/** The bodies of all jobs; there have to be `count`. Their leases outlast the test, so none comes again. */
async function allOf(client, tube, count) {
  const bodies = [];
  for (;;) {
    const wait = bodies.length < count ? "10s" : "1ms";
    const jobs = await client.command("RESERVE", tube, "COUNT", "500", "WAIT", wait);
    if (jobs.length === 0) return bodies;
    bodies.push(...jobs.map((job) => job[4].toString()));
  }
}

test("puts and handlers while the server is killed: none lost, none doubled", async (t) => {
  const leastPuts = isLong ? 10_000 : 400;
  const leastKills = isLong ? 10 : 3;
  const server = await KilledServer.start(directory(t), isLong ? 1000 : 300);
  const client = new Client({ addresses: `127.0.0.1:${server.port}`, deadline: "5m" });

  // A hundred puts in flight, with short rests, until there were enough puts and kills.
  let next = 0;
  const repeated = { known: 0 };
  await Promise.all(
    Array.from({ length: 20 }, async () => {
      while (next < leastPuts || server.kills < leastKills) {
        await Promise.all(
          Array.from({ length: 5 }, async () => {
            const { outcome } = await client.put("counted", String(next++), { ttr: "1h" });
            if (outcome === "known") repeated.known++;
            else assert.equal(outcome, "scheduled");
          }),
        );
        await sleep(50 * Math.random());
      }
    }),
  );
  const most = next;
  await server.calm();
  t.diagnostic(`${most} puts, ${server.kills} kills; ${repeated.known} puts were done by a try whose answer was lost`);
  assert.equal((await client.stats("counted")).ready, most);
  const bodies = await allOf(client, "counted", most);
  assert.equal(bodies.length, most, "none lost, none doubled");
  assert.equal(new Set(bodies).size, most);

  // Handlers: each job at least once, and none is left.
  await client.cancelAll("counted");
  await Promise.all(
    Array.from({ length: most }, (_, i) =>
      client.put("handled", String(i), { ttr: "1s", attempts: 0, backoff: [0, 0] }),
    ),
  );
  const seen = new Map();
  server.begin();
  const killsBefore = server.kills;
  const worker = new Worker(
    "handled",
    async (job) => {
      await sleep(server.kills < killsBefore + 2 ? 20 : 0);
      seen.set(job.text(), (seen.get(job.text()) ?? 0) + 1);
    },
    { addresses: `127.0.0.1:${server.port}`, signals: [], concurrency: 20, hooks: { error: () => {} } },
  );
  const ended = worker.run();
  await until(async () => seen.size === most);
  await server.calm();
  await until(async () => {
    const stats = await client.stats("handled");
    return stats === undefined || stats.ready + stats.reserved + stats.delayed === 0;
  });
  await worker.stop();
  await ended;
  const repeats = [...seen.values()].reduce((sum, times) => sum + times - 1, 0);
  t.diagnostic(`${most} jobs handled, ${server.kills - killsBefore} kills; ${repeats} were handed out again`);
  await client.close();
  await server.server.stop();
});

test("chains of three steps while workers and the server are killed: each ends exactly once", async (t) => {
  const leastChains = isLong ? 10_000 : 200;
  const leastKills = { workers: isLong ? 20 : 2, server: isLong ? 10 : 2 };
  const server = await KilledServer.start(directory(t), isLong ? 1000 : 300);
  const address = `127.0.0.1:${server.port}`;
  const client = new Client({ addresses: address, deadline: "5m" });
  const program = join(folder, "chains.mjs");
  // Each run of a handler writes a letter, so that the test can tell how many were repeated.
  writeFileSync(
    program,
    `import { writeSync } from "node:fs";
    import { setTimeout as sleep } from "node:timers/promises";
    import { Worker, put } from "elapse-client";
    const step = (next, ttr = "1s") => async (job) => {
      writeSync(1, "x");
      await sleep(20 * Math.random());
      await job.done(put(next, job.body, { ttr, attempts: 0, backoff: [0, 0] }));
    };
    await new Worker(["one", "two", "three"], { one: step("two"), two: step("three"), three: step("ends", "1h") },
      { addresses: "${address}", concurrency: ${isLong ? 100 : 10}, hooks: { error() {}, failure() {} } }).run();`,
  );
  const log = join(directory(t), "runs");
  const runs = openSync(log, "a");
  const start = () => spawn(process.execPath, ["--preserve-symlinks", program], { stdio: ["ignore", runs, "inherit"] });
  const end = async (worker, signal) => {
    const closed = once(worker, "close");
    worker.kill(signal);
    await closed;
  };
  const ended = async () => (await client.stats("ends"))?.ready ?? 0;

  // Chains begin until there were enough of them, and enough kills; few wait then.
  let begun = 0;
  let killed = 0;
  const beginAll = async () => {
    while (begun < leastChains || killed < leastKills.workers || server.kills < leastKills.server) {
      if (begun >= leastChains && begun - (await ended()) > 100) {
        await sleep(20);
        continue;
      }
      await Promise.all(
        Array.from({ length: 50 }, () =>
          client.put("one", String(begun++), { ttr: "1s", attempts: 0, backoff: [0, 0] }),
        ),
      );
    }
  };
  const beginning = beginAll();
  for (; killed < leastKills.workers; killed++) {
    const worker = start();
    const target = (await ended()) + leastChains / (leastKills.workers + 2);
    await until(async () => (await ended()) >= target);
    await end(worker, "SIGKILL");
  }
  const last = start();
  await beginning;
  await server.calm();
  await until(async () => {
    const stats = await Promise.all(["one", "two", "three"].map((tube) => client.stats(tube)));
    return stats.every((one) => one === undefined || one.ready + one.reserved + one.delayed === 0);
  });
  await end(last, "SIGTERM");
  const bodies = await allOf(client, "ends", begun);
  const repeats = statSync(log).size - 3 * begun;
  t.diagnostic(
    `${begun} chains, ${killed} workers and ${server.kills} times the server killed, ${repeats} runs of handlers repeated`,
  );
  assert.equal(bodies.length, begun, "each chain ends once");
  assert.equal(new Set(bodies).size, begun);
  assert.ok(repeats > 0, "workers were killed with jobs in hand");
  closeSync(runs);
  await client.close();
  await server.server.stop();
});
