// What a user may do wrong: each gets an error that says so, at once, and nothing hangs, is lost or half done.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Client, InvalidError, UnavailableError, Worker, put } from "elapse-client";
import { hasSignalPending, serve, until } from "./support.mjs";

test("calls that are wrong throw an error that says why, and nothing is stored", async (t) => {
  const { client } = await serve(t);
  const one = put("t", "b");
  const wrong = [
    [() => client.gather("t", "b", "4711", { timeout: "1h" }), /array of puts/],
    [() => client.gather("t", "b", one, { timeout: "1h" }), /array of puts/],
    [() => client.gather("t", "b", [], { timeout: "1h" }), /needs a piece/],
    [() => client.ack({ id: 1, lease: "x" }), /write \[job\]/],
    [() => client.extend({ id: 1, lease: "x" }), /write \[job\]/],
    [() => client.nack({ id: 1, lease: "x" }), /write \[job\]/],
    [() => client.bury({ id: 1, lease: "x" }), /write \[job\]/],
    [() => client.put("t", Promise.resolve("b")), /the body is a promise/],
    [() => client.put("t", undefined), /JSON does not have/],
    [() => client.put("t", "b", { delay: "3s" }), /no option 'delay'/],
    [() => client.put("t", "b", "3s"), /options of put are an object/],
    [() => client.put("t", "b", { in: -1 }), /0 or more/],
    [() => client.put("t", "b", { in: NaN }), /0 or more/],
    [() => client.put("t", "b", { at: new Date("soon") }), /no time/],
    [() => client.put("t", "b", { key: "half \ud83d" }), /half of a character/],
    [() => client.reschedule("t", "k", {}), /one of in and at/],
    [() => client.reschedule("t", "k", { in: "1s", at: 5 }), /one of in and at/],
    [() => client.reschedule("t", "k", "1s"), /are an object/],
    [() => client.pause("t"), /a duration is/],
    [() => client.limit("t", {}), /there is none/],
  ];
  for (const [call, said] of wrong) await assert.rejects(async () => call(), said, String(call));
  const refused = [
    [() => client.put("t", Buffer.alloc(70_000)), /body/],
    [() => client.put("t", Buffer.alloc(64 << 20)), /body|long/],
    [() => client.put("", "b"), /tube/],
    [() => client.put("t", "b", { key: "" }), /key/],
    [() => client.put("t", "b", { in: "-5s" }), /negative/],
    [() => client.put("t", "b", { in: "5" }), /a unit is missing/],
    [() => client.put("t", "b", { priority: 1.5 }), /not a number/],
    [() => client.put("t", "b", { ttr: 0 }), /ttr/],
    [() => client.put("t", "b", { headers: { a: "x".repeat(5000) } }), /headers/],
    [() => client.cancelId(undefined), /undefined/],
    [() => client.limit("t", { concurency: 3 }), /CONCURENCY/],
  ];
  for (const [call, said] of refused) {
    await assert.rejects(call, (error) => error instanceof InvalidError && said.test(error.message), String(call));
  }
  assert.equal(await client.stats("t"), undefined);
  assert.deepEqual(await client.cancel("t", []), []);
  assert.deepEqual(await client.ack([]), []);
  assert.deepEqual(await client.transaction().exec(), []);
  assert.equal(await client.kick("t"), 0);
});

test("a key of bytes is one, also if it is no UTF-8", async (t) => {
  const { client } = await serve(t);
  const key = Buffer.from([0xff, 0x00]);
  await client.put("bytes", "x", { key, in: "1h" });
  assert.equal(await client.cancel("bytes", "\ufffd\0"), "gone");
  assert.equal(await client.cancel("bytes", key), "removed");
});

test("options that are wrong are refused where they are given", () => {
  for (const options of [
    { addresses: [] },
    { addresses: "" },
    { addresses: "::1" },
    { addresses: "http://127.0.0.1:1" },
    { deadline: 0 },
    { deadline: "10m" },
    { silence: 0 },
    { timeout: "3s" },
  ]) {
    assert.throws(() => new Client(options), undefined, JSON.stringify(options));
  }
  const nothing = () => undefined;
  for (const [handler, options] of [
    [undefined],
    [null],
    ["print"],
    [{}],
    [{ t: "print" }],
    [nothing, { concurrency: 0 }],
    [nothing, { concurrency: "8" }],
    [nothing, { timeLimit: 0 }],
    [nothing, { timeLimit: "30d" }],
    [nothing, { grace: "30d" }],
    [nothing, { grace: -1 }],
    [nothing, { client: "127.0.0.1:11300" }],
    [nothing, { tries: 3 }],
    [nothing, { hooks: { failed: nothing } }],
  ]) {
    assert.throws(() => new Worker("t", handler, options), /./, JSON.stringify(options));
    assert.throws(
      () => new Worker("t", handler, options),
      (error) => !/Cannot read properties|is not a function/.test(error.message),
    );
  }
  assert.throws(() => new Worker([], nothing), /needs a tube/);
});

test("a worker with a client works for the server of the client", async (t) => {
  const { client } = await serve(t);
  await client.put("same", "x");
  const worker = new Worker("same", () => void worker.stop(), { client, signals: [], addresses: undefined });
  await worker.run();
  await until(async () => (await client.stats("same")) === undefined);
});

test("a client that is closed does nothing any more, and its worker ends", async (t) => {
  const { server, client } = await serve(t);
  await client.put("closed", "x");
  const other = new Client(server.address);
  await other.close();
  await other.close();
  await assert.rejects(other.put("closed", "x"), UnavailableError);
  let calls = 0;
  const worker = new Worker("closed", () => calls++, { client: other, signals: [] });
  await assert.rejects(worker.run(), /the client of the worker is closed/);
  assert.equal(calls, 0);
  assert.equal((await client.stats("closed")).ready, 1);
});

test("two workers share a tube, and each job is done once", async (t) => {
  const { client } = await serve(t);
  const seen = [];
  const workers = [1, 2].map(
    () => new Worker("shared", (job) => void seen.push(job.data()), { client, signals: [], concurrency: 2 }),
  );
  await Promise.all(Array.from({ length: 200 }, (_, i) => client.put("shared", i)));
  const ended = workers.map((worker) => worker.run());
  await until(() => seen.length >= 200);
  await Promise.all(workers.map((worker) => worker.stop()));
  await Promise.all(ended);
  assert.deepEqual(
    seen.sort((a, b) => a - b),
    Array.from({ length: 200 }, (_, i) => i),
  );
});

test("a second signal ends the wait for handlers", async (t) => {
  const { server, client } = await serve(t);
  await client.put("slow", "x", { key: "k" });
  const program = join(new URL(".", import.meta.url).pathname, "slow.mjs");
  writeFileSync(
    program,
    `import { Worker } from "elapse-client";
    const keep = setInterval(() => {}, 1000);
    await new Worker("slow", () => new Promise(() => console.log("begun")), { addresses: "${server.address}", grace: "9m" }).run();
    clearInterval(keep);`,
  );
  const worker = spawn(process.execPath, ["--preserve-symlinks", program], { stdio: ["ignore", "pipe", "inherit"] });
  const closed = once(worker, "close");
  await once(worker.stdout, "data");
  worker.kill("SIGINT");
  assert.equal(await Promise.race([closed.then(() => "closed"), sleep(1500, "goes on")]), "goes on");
  await until(() => !hasSignalPending(worker.pid));
  worker.kill("SIGINT");
  assert.deepEqual(await closed, [0, null]);
  assert.equal((await client.lookup("slow", "k")).state, "ready");
});
