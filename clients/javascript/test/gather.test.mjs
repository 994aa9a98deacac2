// Scatter and gather: a job that waits for others, and each of these arrives once.
import assert from "node:assert/strict";
import { connect, createServer } from "node:net";
import { test } from "node:test";
import {
  BatchError,
  Bury,
  BusyKeyError,
  Client,
  InvalidError,
  LeaseLostError,
  UncertainError,
  Worker,
  arrive,
  gather,
  put,
} from "elapse-client";
import { collect, fake, serve, until } from "./support.mjs";

/** Takes jobs by hand: their ids, leases and bodies. */
async function reserve(client, tube, count = 1) {
  const jobs = await client.command("RESERVE", tube, "COUNT", count);
  return jobs.map(([id, lease, , , body]) => ({ id, lease: lease.toString(), text: body.toString() }));
}

test("a job waits for its arrivals, and a token counts once", async (t) => {
  const { client } = await serve(t);
  assert.equal((await client.put("a", "x", { key: "k", await: 5 })).outcome, "scheduled");
  assert.equal((await client.put("a", "x", { key: "k", await: 5 })).outcome, "kept");
  const info = await client.lookup("a", "k");
  assert.deepEqual([info.missing, info.due, info.state], [5, undefined, "delayed"]);
  assert.equal(await client.arrive("a", "k", 2), 3);
  for (let i = 0; i < 2; i++) assert.equal(await client.arrive("a", "k", 1, { token: "one" }), 2);
  assert.equal((await client.transaction().arrive("a", "k").put("b", "y").exec())[0], 1);
  assert.deepEqual(await reserve(client, "a"), []);
  assert.equal(await client.arrive("a", "k", 7), 0);
  assert.equal(await client.arrive("a", "k"), "gone");
  assert.equal(await client.arrive("a", "k", 1, { token: "one" }), 0);
  assert.equal((await reserve(client, "a")).length, 1);
  await assert.rejects(client.put("a", "x", { await: 1 }), InvalidError); // it needs a key
});

test("ten pieces of which one is lost: the timeout lets the job run", async (t) => {
  const { server, client } = await serve(t);
  const seen = [];
  const stop = new AbortController();
  const handlers = {
    whole: (job) => void seen.push([job.text(), job.missing]),
    part: async (job) => {
      if (job.text() === "3") throw new Bury("it is lost");
      if (job.text() === "4" && job.attempt === 1) throw new Error("it is done the second time");
      // These two arrive, too.
      if (job.text() === "5") assert.equal((await job.done(put("after", "5")))[0].outcome, "scheduled");
      if (job.text() === "6") assert.deepEqual(await job.done(arrive("nobody", "k")), ["gone"]);
    },
  };
  const pieces = Array.from({ length: 10 }, (_, i) => put("part", String(i), { backoff: [0, 0], headers: { a: "b" } }));
  const results = await client.gather("whole", "all", pieces, { timeout: "1h", key: "all" });
  assert.deepEqual(
    results.map((one) => one.outcome),
    Array(11).fill("scheduled"),
  );
  await assert.rejects(client.gather("whole", "all", [put("part", "no")], { timeout: "1h", key: "all" }), BusyKeyError);
  assert.equal((await client.stats("part")).ready, 10);
  const worker = new Worker(["whole", "part"], handlers, { client, addresses: server.address, signal: stop.signal });
  const ended = worker.run();
  await until(async () => (await client.lookup("whole", "all")).missing === 1);
  await until(async () => (await client.stats("part")).buried === 1);
  assert.deepEqual(seen, []);
  await server.advance("1h");
  await until(() => seen.length > 0);
  stop.abort();
  await ended;
  assert.deepEqual(seen, [["all", 1]]);
  assert.equal((await reserve(client, "after"))[0].text, "5");
  const [{ id }] = await collect(client.list("part", { state: "buried" }));
  const where = { "elapse-gather-tube": "whole", "elapse-gather-key": "all" };
  assert.deepEqual((await client.lookupId(id)).headers, { a: "b", ...where });
});

test("what a gather refuses", () => {
  const piece = put("t", "x");
  assert.throws(() => gather("t", "x", [], { timeout: "1h" }), TypeError);
  assert.throws(() => gather("t", "x", [piece], { timeout: "1h", in: "5s" }), TypeError);
  assert.throws(() => gather("t", "x", [piece], { timeout: "1h", await: 2 }), TypeError);
});

test("a gather in a transaction has no key, so its pieces arrive at no other job", async (t) => {
  const { client } = await serve(t);
  const pieces = [put("part", "1")];
  await client.gather("whole", "first", pieces, { timeout: "1h", key: "all" });
  assert.throws(() => gather("whole", "second", pieces, { timeout: "1h", key: "all" }), {
    name: "TypeError",
    message: /no option 'key'/,
  });
  const transaction = client.transaction();
  for (const one of gather("whole", "second", pieces, { timeout: "1h", key: undefined }))
    transaction.put(one.tube, one.body, one.options);
  assert.deepEqual(
    (await transaction.exec()).map((one) => one.outcome),
    ["scheduled", "scheduled"],
  );
  assert.equal((await client.lookup("whole", "all")).missing, 1);
});

test("a gather of which a piece is refused tells what was put", async (t) => {
  const scheduled = (id) => `*2\r\n:${id}\r\n+scheduled`;
  const server = await fake(scheduled(1), scheduled(2), "-LIMIT too many jobs", scheduled(4));
  t.after(() => server.close());
  const client = new Client(server.address);
  t.after(() => client.close());
  const pieces = [put("part", "1"), put("part", "2"), put("part", "3")];
  const error = await client.gather("whole", "all", pieces, { timeout: "1h" }).catch((reason) => reason);
  assert.ok(error instanceof BatchError, String(error));
  assert.deepEqual(
    error.results.map((one) => one.id ?? one.code),
    [1, 2, "LIMIT", 4],
  );
  assert.match(error.message, /^1 of 4 puts failed, the first one with: LimitError: too many jobs$/);
});

test("a gather with a piece that cannot be written puts nothing", async (t) => {
  const { client } = await serve(t);
  const pieces = [put("part", "1"), put("part", { page: 2n })];
  await assert.rejects(client.gather("whole", "all", pieces, { timeout: "1h", key: "all" }), TypeError);
  assert.equal((await client.stats()).totalPut, 0);
  const [first] = await client.gather("whole", { a: 1 }, [put("part", { page: 1 })], { timeout: "1h" });
  assert.equal(first.outcome, "scheduled");
  const reserved = await reserve(client, "part");
  assert.equal(reserved[0].text, '{"page":1}');
});

/** A way to a server that can lose one answer: the command is done, and the connection ends. */
async function lossy(t, port) {
  const way = { loses: false };
  const listener = createServer((near) => {
    const far = connect(port, "127.0.0.1");
    near
      .on("data", (bytes) => far.write(bytes))
      .on("close", () => far.destroy())
      .on("error", () => {});
    far
      .on("data", (bytes) => {
        if (!way.loses) return void near.write(bytes);
        way.loses = false;
        near.destroy();
      })
      .on("close", () => near.destroy())
      .on("error", () => {});
  });
  await new Promise((resolve) => listener.listen(0, "127.0.0.1", resolve));
  way.client = new Client(`127.0.0.1:${listener.address().port}`);
  await way.client.stats();
  t.after(async () => {
    await way.client.close();
    listener.close();
  });
  return way;
}

test("each piece counts once, although answers are lost", async (t) => {
  const { server, client } = await serve(t);
  const way = await lossy(t, server.port);
  way.loses = true;
  await way.client.gather(
    "whole",
    "all",
    Array.from({ length: 6 }, (_, i) => put("part", String(i))),
    { timeout: "1h", key: "all" },
  );
  assert.equal(way.loses, false);
  assert.deepEqual([(await client.lookup("whole", "all")).missing, (await client.stats("part")).ready], [6, 6]);
  way.loses = true;
  assert.equal(await way.client.arrive("whole", "all"), 5); // it was sent again
  assert.equal(way.loses, false);
  way.loses = true;
  await way.client.transaction().arrive("whole", "all").put("next", "x").exec();
  assert.equal(way.loses, false);
  assert.deepEqual([(await client.lookup("whole", "all")).missing, (await client.stats("next")).ready], [4, 1]);
  const [job] = await reserve(client, "part");
  const end = (by) => by.transaction().leased(job).ack(job).arrive("whole", "all").exec();
  way.loses = true;
  await assert.rejects(end(way.client), UncertainError);
  assert.equal((await client.lookup("whole", "all")).missing, 3);
  await assert.rejects(end(client), LeaseLostError);
  assert.equal((await client.lookup("whole", "all")).missing, 3);
});
