// The owner of a cluster is killed while a client puts and a worker works: no put is lost and none doubles, and the
// worker goes on at the next owner. clients/in_cluster.py starts the cluster.
import assert from "node:assert/strict";
import { createConnection } from "node:net";
import { test } from "node:test";
import { Client, Worker } from "elapse-client";
import { collect, until } from "./support.mjs";

const addresses = process.env.ELAPSE_CLUSTER?.split(",");

/** Kills the node that owns the queue, and returns when another one is the owner. */
async function killOwner() {
  const [host, port] = process.env.ELAPSE_CLUSTER_CONTROL.split(":");
  const control = createConnection({ host, port: Number(port) });
  control.write("kill\n");
  const answer = await new Promise((resolve, reject) => {
    control.once("data", resolve);
    control.once("error", reject);
    control.once("close", () => reject(new Error("no answer")));
  });
  control.destroy();
  assert.match(answer.toString(), /^killed /);
}

test(
  "owners of a cluster are killed: none lost, none doubled, and the worker goes on",
  {
    skip: addresses === undefined && "there is no cluster (clients/in_cluster.py starts one)",
  },
  async (t) => {
    const [kills, putters] = [3, 4];
    const client = new Client({ addresses, deadline: "2m" });
    const puts = [];
    const runs = new Map();
    let all = 0;
    const worker = new Worker(
      "work",
      (job) => {
        all++;
        runs.set(job.text(), (runs.get(job.text()) ?? 0) + 1);
      },
      { addresses, deadline: "2m", signals: [], concurrency: 4, hooks: { error: () => {} } },
    );
    const ended = worker.run();
    let isOver = false;
    const putting = Array.from({ length: putters }, async (_, putter) => {
      for (let number = 0; !isOver; number++) {
        const name = `${putter}-${number}`;
        await client.put("work", name, { ttr: "5s", attempts: 0, backoff: [0, 0] });
        await client.put("kept", name);
        puts.push(name);
      }
    });
    const killing = (async () => {
      for (let killed = 0; ; killed++) {
        const [putsBefore, runsBefore] = [puts.length, all];
        await until(() => puts.length >= putsBefore + 50 && all >= runsBefore + 50);
        if (killed === kills) break;
        await killOwner();
      }
      isOver = true;
    })();
    await Promise.all([killing, ...putting]);
    await until(() => runs.size === puts.length);
    await worker.stop();
    await ended;
    const jobs = await collect(client.list("kept"));
    const bodies = await Promise.all(jobs.map(async ({ id }) => (await client.lookupId(id)).body.toString()));
    t.diagnostic(
      `${puts.length} puts twice, ${kills} owners killed: ${puts.length - new Set(bodies).size} lost, ` +
        `${bodies.length - new Set(bodies).size} doubled, ${all - runs.size} runs of handlers repeated`,
    );
    assert.deepEqual(bodies.sort(), puts.sort());
    await client.close();
  },
);
