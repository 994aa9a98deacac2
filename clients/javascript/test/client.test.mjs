// The client: each call, its outcomes and its errors.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { BusyKeyError, Client, InvalidError, LeaseLostError, UnavailableError, UncertainError } from "elapse-client";
import * as elapse from "elapse-client";
import { startServer } from "elapse-client/testing";
import { collect, fake, serve } from "./support.mjs";

test("put, look, reschedule and cancel by key", async (t) => {
  const { client } = await serve(t);
  const job = await client.put(
    "orders",
    { number: 4711 },
    { key: "4711", in: "30m", tag: "web", headers: { who: "me" } },
  );
  assert.equal(job.outcome, "scheduled");
  const info = await client.lookup("orders", "4711");
  assert.equal(info.id, job.id);
  assert.equal(info.state, "delayed");
  assert.equal(info.tag, "web");
  assert.deepEqual(info.headers, { who: "me" });
  assert.deepEqual(JSON.parse(info.body.toString()), { number: 4711 });
  assert.ok(info.due instanceof Date && info.leftMs > 29 * 60_000);
  assert.equal(await client.reschedule("orders", "4711", { at: new Date(Date.now() + 3_600_000) }), "rescheduled");
  assert.ok((await client.lookupId(job.id)).leftMs > 50 * 60_000);
  assert.equal(await client.rescheduleId(job.id, { in: 1000 }), "rescheduled");
  assert.equal(await client.cancel("orders", "4711"), "removed");
  assert.equal(await client.cancel("orders", "4711"), "gone");
  assert.equal(await client.lookup("orders", "4711"), undefined);
  assert.equal(await client.reschedule("orders", "4711", { in: "1s" }), "gone");
});

test("a key that is taken: replaced, kept, failed, debounced", async (t) => {
  const { client } = await serve(t);
  const first = await client.put("t", "a", { key: "k", in: "1h" });
  const second = await client.put("t", "b", { key: "k", in: "1h" });
  assert.equal(second.outcome, "replaced");
  assert.notEqual(second.id, first.id);
  assert.deepEqual(await client.put("t", "c", { key: "k", ifKey: "keep" }), { id: second.id, outcome: "kept" });
  await assert.rejects(
    client.put("t", "c", { key: "k", ifKey: "fail" }),
    (error) => error instanceof BusyKeyError && error.code === "BUSYKEY" && error.id === second.id,
  );
  assert.equal((await client.put("t", "d", { key: "k", in: "1s", ifKey: { debounce: "1m" } })).outcome, "replaced");
});

test("every option of a put arrives", async (t) => {
  const { client } = await serve(t);
  const { id } = await client.put("t", new Uint8Array([0, 255]), {
    priority: 7,
    ttr: "5s",
    expire: 60_000,
    attempts: 3,
    backoff: ["2s", 4000],
    group: "ann",
    at: new Date(Date.now() + 60_000),
  });
  const info = await client.lookupId(id);
  assert.deepEqual(
    [info.priority, info.ttrMs, info.expireMs, info.attemptsMax, info.backoffMinMs, info.backoffMaxMs, info.group],
    [7, 5000, 60_000, 3, 2000, 4000, "ann"],
  );
  assert.deepEqual([...info.body], [0, 255]);
  assert.ok((await client.lookupId((await client.put("t", "x", { every: "1h" })).id)).recurring);
  assert.ok(
    (await client.lookupId((await client.put("t", "x", { cron: "0 9 * * mon", zone: "Europe/Berlin" })).id)).recurring,
  );
});

test("what is wrong is refused, by the client or with the words of the server", async (t) => {
  const { client } = await serve(t);
  await assert.rejects(
    client.put("t", "x", { in: "30" }),
    (error) => error instanceof InvalidError && /unit/.test(error.message),
  );
  await assert.rejects(client.put("t", "x", { in: 1, at: 2 }), TypeError);
  await assert.rejects(client.put("t", "x", { in: -1 }), RangeError);
  await assert.rejects(client.put("t", undefined), TypeError);
  await assert.rejects(client.put("t", "x", { key: 17 }), TypeError);
  await assert.rejects(client.command("GET", "key"), InvalidError);
  assert.throws(() => new Client("http://host"), TypeError);
  assert.throws(() => new Client({ deadline: "10m" }), RangeError);
  assert.throws(() => new Client({ addresses: [] }), TypeError);
});

test("a number is no name, the error says of what, and nothing is sent", async (t) => {
  const client = new Client({ addresses: "127.0.0.1:1", deadline: 100 }); // what is sent there is an UnavailableError
  t.after(() => client.close());
  const due = { in: "1h" };
  const calls = {
    key: [
      () => client.put("t", "x", { key: 17 }),
      () => client.cancel("t", 17),
      () => client.cancel("t", ["k", 17]),
      () => client.reschedule("t", 17, due),
      () => client.arrive("t", 17),
      () => client.lookup("t", 17),
      () => client.gather("t", "x", [elapse.put("t", "x")], { timeout: "1h", key: 17 }),
      async () => client.transaction().cancel("t", 17),
      async () => client.transaction().reschedule("t", 17, due),
      async () => client.transaction().arrive("t", 17),
      () => client.transaction().put("t", "x", { key: 17 }).exec(),
    ],
    tube: [
      () => client.put(17, "x"),
      () => client.cancel(17, "k"),
      () => client.cancelAll(17),
      () => client.reschedule(17, "k", due),
      () => client.arrive(17, "k"),
      () => client.kick(17, 1),
      () => client.pause(17, "1h"),
      () => client.limit(17, null),
      () => client.limits(17),
      () => client.lookup(17, "k"),
      () => collect(client.list(17)),
      () => collect(client.groups(17)),
      () => client.stats(17),
      async () => new elapse.Worker(17, () => undefined),
      async () => new elapse.Worker([17], () => undefined),
    ],
    tag: [
      () => client.put("t", "x", { tag: 17 }),
      () => client.cancelAll("t", { tag: 17 }),
      () => collect(client.list("t", { tag: 17 })),
    ],
    group: [() => client.put("t", "x", { group: 17 })],
    token: [() => client.put("t", "x", { token: 17 }), () => client.arrive("t", "k", 1, { token: 17 })],
  };
  for (const [what, list] of Object.entries(calls)) {
    for (const call of list) {
      await assert.rejects(
        call,
        (error) => error instanceof TypeError && error.message === `a ${what} is a text or bytes, and not 17`,
        String(call),
      );
    }
  }
});

test("an option that a call does not have is refused by its name", async (t) => {
  const client = new Client({ addresses: "127.0.0.1:1", deadline: 100 });
  t.after(() => client.close());
  const nothing = () => undefined;
  for (const [call, message] of [
    [() => client.put("t", "x", { delay: "3s" }), "put has no option 'delay'"],
    [() => client.put("t", "x", { in_: "3s" }), "put has no option 'in_'"],
    [() => client.put("t", "x", "3s"), "the options of put are an object, and not 3s"],
    [async () => elapse.put("t", "x", { delay: "3s" }), "put has no option 'delay'"],
    [async () => client.transaction().put("t", "x", { delay: "3s" }), "put has no option 'delay'"],
    [
      () => client.gather("t", "x", [elapse.put("t", "x")], { timeout: "1h", delay: "3s" }),
      "put has no option 'delay'",
    ],
    [() => client.reschedule("t", "k", { in_: "3s" }), "reschedule has no option 'in_'"],
    [() => client.arrive("t", "k", 1, { tokn: "a" }), "arrive has no option 'tokn'"],
    [() => client.cancelAll("t", { tags: "a" }), "cancelAll has no option 'tags'"],
    [() => collect(client.list("t", { tags: "a" })), "list has no option 'tags'"],
    [() => collect(client.groups("t", { hold: true })), "groups has no option 'hold'"],
    [() => client.nack([], { delay: "3s" }), "nack has no option 'delay'"],
    [async () => new elapse.RetryIn("3s", "later", { count: false }), "RetryIn has no option 'count'"],
    [async () => new Client({ adresses: "127.0.0.1:1" }), "a client has no option 'adresses'"],
    [async () => new elapse.Worker("t", nothing, { parallel: 3 }), "a worker has no option 'parallel'"],
    [async () => new elapse.Worker("t", nothing, { hooks: { failed: nothing } }), "hooks has no option 'failed'"],
    [() => startServer({ prot: 1 }), "startServer has no option 'prot'"],
  ])
    await assert.rejects(call, { name: "TypeError", message });
});

test("a duration with a space is refused, and the error says why", async (t) => {
  const client = new Client({ addresses: "127.0.0.1:1", deadline: 100 });
  t.after(() => client.close());
  await assert.rejects(client.put("t", "x", { in: "3 s" }), {
    name: "RangeError",
    message: /^in: a duration has no space.*'3 s'$/,
  });
  assert.throws(() => new Client({ deadline: "3 s" }), {
    name: "RangeError",
    message: /^deadline: a duration has no space/,
  });
});

test("a server that cannot be started says where the program is looked for", async () => {
  await assert.rejects(
    startServer({ program: "/nowhere/elapse" }),
    /'\/nowhere\/elapse' cannot be started: .*ELAPSE_PROGRAM.*PATH/,
  );
});

test("each code of the server has a class below ElapseError", async () => {
  for (const code of [
    "ERR",
    "BUSYKEY",
    "DISKFULL",
    "DISKERROR",
    "DAMAGED",
    "LIMIT",
    "OOM",
    "EXECABORT",
    "NOAUTH",
    "WRONGPASS",
    "NOPERM",
    "NOPROTO",
    "CROSSSLOT",
  ]) {
    const server = await fake(`-${code} 7 so it is`);
    const client = new Client(server.address);
    const error = await client.command("STATS").then(
      () => assert.fail(code),
      (reason) => reason,
    );
    assert.ok(error instanceof elapse.ReplyError, code);
    assert.equal(error.code, code);
    assert.equal(error.message, "7 so it is");
    assert.notEqual(error.constructor, elapse.ReplyError, code);
    await client.close();
    server.close();
  }
});

test("thousands of puts at once", async (t) => {
  const { client } = await serve(t);
  const most = process.env.ELAPSE_PROOF === "long" ? 20_000 : 2000;
  const puts = await Promise.all(Array.from({ length: most }, (_, i) => client.put("t", String(i))));
  assert.equal(new Set(puts.map((one) => one.id)).size, most);
  assert.ok(
    puts.every((one) => one.outcome === "scheduled"),
    "none was sent twice",
  );
});

test("many cancels, many ids", async (t) => {
  const { client } = await serve(t);
  const keys = Array.from({ length: 1200 }, (_, i) => `k${i}`);
  const puts = await Promise.all(keys.map((key) => client.put("t", key, { key, in: "1h" })));
  assert.equal(new Set(puts.map((one) => one.id)).size, 1200);
  const outcomes = await client.cancel("t", [...keys.slice(0, 1100), "nobody"]);
  assert.deepEqual([outcomes.filter((word) => word === "removed").length, outcomes[1100]], [1100, "gone"]);
  assert.deepEqual(await client.cancelId([puts[1150].id, 99_999]), ["removed", "gone"]);
  assert.deepEqual(await client.cancelAll("t"), { removed: 99, running: 0 });
});

test("list, tubes, groups and stats", async (t) => {
  const { client } = await serve(t);
  await Promise.all(
    Array.from({ length: 250 }, (_, i) => client.put("many", "x", { key: `k${i}`, in: "1h", group: `g${i % 3}` })),
  );
  await client.put("other", "x", { tag: "red" });
  const jobs = await collect(client.list("many", { keys: true }));
  assert.equal(new Set(jobs.map((job) => job.key)).size, 250);
  assert.equal((await collect(client.list("other", { state: "ready", tag: "red" }))).length, 1);
  assert.equal((await collect(client.list("other", { state: "buried" }))).length, 0);
  assert.deepEqual((await collect(client.tubes())).sort(), ["many", "other"]);
  assert.deepEqual((await collect(client.groups("many"))).map((group) => group.group).sort(), ["g0", "g1", "g2"]);
  assert.equal((await client.stats("many")).delayed, 250);
  assert.equal((await client.stats()).totalPut, 251);
  assert.equal(await client.stats("nowhere"), undefined);
  // What a limit holds back: the second job of each group.
  await client.limit("held", { groupConcurrency: 1 });
  for (const group of ["ann", "ann", "bob"]) await client.put("held", "x", { group });
  await client.command("RESERVE", "held", "COUNT", "5");
  const groups = new Map((await collect(client.groups("held"))).map((group) => [group.group, group]));
  const { overdueMs, ...ann } = groups.get("ann");
  assert.equal(typeof overdueMs, "number");
  assert.deepEqual(ann, {
    group: "ann",
    delayed: 0,
    ready: 1,
    running: 1,
    buried: 0,
    held: 1,
    heldBy: "group_concurrency",
    heldLeftMs: 0,
  });
  assert.deepEqual([groups.get("bob").held, "heldBy" in groups.get("bob")], [0, false]);
  assert.deepEqual(
    (await collect(client.groups("held", { held: true }))).map((group) => group.group),
    ["ann"],
  );
  const stats = await client.stats("held");
  assert.deepEqual([stats.held, stats.heldBy], [1, "group_concurrency"]);
  assert.equal("heldBy" in (await client.stats("many")), false);
});

test("pause, limit and kick", async (t) => {
  const { client } = await serve(t);
  assert.equal(await client.pause("nowhere", "1m"), "gone");
  const { id } = await client.put("t", "x", { in: "1h" });
  assert.equal(await client.pause("t", "1m"), "ok");
  assert.equal((await client.stats("t")).pause, 60_000);
  assert.equal(await client.pause("t", 0), "ok");
  assert.equal(await client.limits("u"), undefined);
  await client.limit("u", { concurrency: 2 });
  assert.deepEqual(await client.limits("u"), { concurrency: 2 });
  await client.limit("u", { rate: [10, "1s"], burst: 2 });
  assert.deepEqual(await client.limits("u"), { rate: [10, 1000], burst: 2 });
  const all = {
    concurrency: 3,
    rate: [10, 1000],
    burst: 2,
    groupConcurrency: 2,
    groupRate: [5, 60_000],
    groupBurst: 3,
    groupOrder: true,
    buried: 100,
    buriedAge: 3_600_000,
  };
  await client.limit("u", all);
  assert.deepEqual(await client.limits("u"), all);
  await assert.rejects(client.limit("u", { rate: [10, "1s"], groupBurst: 2 }), TypeError);
  await assert.rejects(
    client.limit("u", { hoRses: 2 }),
    (error) => error instanceof InvalidError && /HORSES/.test(error.message),
  );
  await assert.rejects(client.limit("u", { burst: 2 }), TypeError);
  await client.limit("u", null);
  await assert.rejects(client.limit("u", {}), TypeError);
  assert.equal(await client.kickId(id), "ok");
  assert.equal(await client.kickId(99), "gone");
  assert.equal(await client.kick("t", 10), 0);
});

test("a transaction is done whole, or not at all", async (t) => {
  const { client } = await serve(t);
  const results = await client
    .transaction()
    .put("orders", "order 1", { key: "1", in: "1h" })
    .put("orders", "again", { key: "1", ifKey: "fail" })
    .cancel("orders", "1", "2")
    .put("mails", { to: "ann" })
    .exec();
  assert.equal(results[0].outcome, "scheduled");
  assert.ok(results[1] instanceof BusyKeyError);
  assert.deepEqual(results.slice(2, 4), ["removed", "gone"]);
  assert.equal(results[4].outcome, "scheduled");
  await assert.rejects(
    client.transaction().put("mails", "x", { key: "x" }).put("mails", "x", { in: "7" }).exec(),
    (error) => error instanceof InvalidError && /unit/.test(error.message),
  );
  assert.equal(await client.lookup("mails", "x"), undefined);
});

test("a transaction whose lease has ended does nothing", async (t) => {
  const { client } = await serve(t);
  await client.put("steps", "one", { ttr: "1m" });
  const [[id, lease]] = await client.command("RESERVE", "steps");
  const job = { id, lease: lease.toString() };
  const first = await client.transaction().leased(job).ack(job).put("next", "two").exec();
  assert.deepEqual([first[0], first[1].outcome], ["ok", "scheduled"]);
  await assert.rejects(client.transaction().leased(job).ack(job).put("next", "two").exec(), LeaseLostError);
  assert.equal((await client.stats("next")).ready, 1);
});

test("the clock of a test server is moved forward", async (t) => {
  const { server, client } = await serve(t);
  const { id } = await client.put("t", "x", { in: "30m" });
  await server.advance(29 * 60_000);
  assert.equal((await client.lookupId(id)).state, "delayed");
  await server.advance("1m");
  assert.equal((await client.lookupId(id)).state, "ready");
});

test("the commands of one client keep the order of their calls", async (t) => {
  const { client } = await serve(t);
  await client.put("t", "x");
  const [, word, , info] = await Promise.all([
    client.put("t", "x", { key: "k", in: "1h" }),
    client.cancel("t", "k"),
    client.put("t", "y", { key: "k", in: "1h" }),
    client.lookup("t", "k"),
  ]);
  assert.equal(word, "removed");
  assert.equal(info.body.toString(), "y");
});

test("a user and a password", async (t) => {
  const { mkdtempSync, writeFileSync, rmSync } = await import("node:fs");
  const folder = mkdtempSync("/tmp/elapse-client-");
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(`${folder}/passwords`, "secret-of-the-test\n", { mode: 0o600 });
  const { server } = await serve(t, {
    server: { arguments: ["--auth", `${folder}/passwords`] },
    client: { password: "secret-of-the-test" },
  });
  const right = new Client(`redis://default:secret-of-the-test@${server.address}`);
  assert.equal((await right.put("t", "x")).outcome, "scheduled");
  await right.close();
  const wrong = new Client({ addresses: server.address, password: "wrong" });
  await assert.rejects(
    wrong.put("t", "x"),
    (error) => error instanceof elapse.AuthenticationError && error.code === "WRONGPASS",
  );
  await wrong.close();
});

test("without a server a call ends at its deadline, and says that nothing was done", async () => {
  const client = new Client({ addresses: ["127.0.0.1:1", "127.0.0.1:2"], deadline: 300 });
  await assert.rejects(client.put("t", "x"), UnavailableError);
  await client.close();
  await assert.rejects(client.put("t", "x"), UnavailableError);
});

test("the next address is tried", async (t) => {
  const { server } = await serve(t);
  const client = new Client({ addresses: ["127.0.0.1:1", server.address] });
  assert.equal((await client.put("t", "x")).outcome, "scheduled");
  await client.close();
});

test("a server that is silent is left for the next one, and the same token is sent there", async (t) => {
  const silent = await fake(undefined);
  const { server, client: direct } = await serve(t);
  // A server with much other work beside it must not look silent, too.
  const client = new Client({ addresses: [silent.address, server.address], silence: 3000 });
  t.after(() => client.close());
  t.after(() => silent.close());
  assert.equal((await client.put("t", "x", { token: "one" })).outcome, "scheduled");
  assert.match(silent.heard(), /TOKEN\r\n\$3\r\none/);
  assert.equal((await direct.put("t", "x", { token: "one" })).outcome, "known");
});

test("what may have been done, and cannot be sent again, is uncertain", async () => {
  const silent = await fake(undefined);
  const client = new Client({ addresses: silent.address, silence: 100, deadline: 2000 });
  await assert.rejects(client.kick("t", 1), UncertainError);
  await assert.rejects(client.put("t", "x", { token: false }), UncertainError);
  await assert.rejects(client.put("t", "x"), UncertainError);
  await assert.rejects(client.transaction().cancel("t", "k").exec(), UncertainError);
  await client.close();
  silent.close();
});

test("TRYAGAIN, UNKNOWN and DRAINING are sent again, with the same token", async () => {
  const server = await fake("-TRYAGAIN no owner", "-UNKNOWN lost", "-DRAINING soon", "*2\r\n:5\r\n+known");
  const client = new Client({ addresses: server.address });
  assert.deepEqual(await client.put("t", "x"), { id: 5, outcome: "known" });
  const sent = [...server.heard().matchAll(/TOKEN\r\n\$\d+\r\n(\S+)/g)].map((found) => found[1]);
  assert.deepEqual([sent.length, new Set(sent).size], [4, 1]);
  await client.close();
  server.close();
});

test("items of a cancel that a partition did not answer are sent again", async () => {
  const server = await fake("*3\r\n+removed\r\n-TRYAGAIN no owner\r\n-UNKNOWN lost", "*2\r\n+running\r\n+gone");
  const client = new Client({ addresses: server.address });
  const words = await client.cancel("t", ["a", "b", "c"]);
  assert.deepEqual(words.slice(0, 2), ["removed", "running"]);
  assert.ok(words[2] instanceof UncertainError, "c may have been removed by the first try");
  await client.close();
  server.close();
});

test("what many parts were answered stands, if an error comes behind it", async (t) => {
  const ids = Array.from({ length: 501 }, (_, i) => i + 1);
  const server = await fake(`*500\r\n${"+removed\r\n".repeat(500).trim()}`, "-NOPERM not this one");
  t.after(() => server.close());
  const client = new Client(server.address);
  t.after(() => client.close());
  const words = await client.cancelId(ids);
  assert.equal(words.filter((word) => word === "removed").length, 500);
  assert.ok(words[500] instanceof elapse.PermissionError);
  const refused = await fake("-NOPERM none of these");
  t.after(() => refused.close());
  const other = new Client(refused.address);
  t.after(() => other.close());
  await assert.rejects(other.cancelId(ids), elapse.PermissionError);
});

test("what many parts were not sent before the deadline is not sent, and the error says so", async (t) => {
  const jobs = Array.from({ length: 1001 }, (_, i) => ({ id: i + 1, lease: "1-1" }));
  const commands = [];
  const server = await fake((words) => {
    commands.push(words[0]);
    return commands.length === 1 ? `*500\r\n${"+ok\r\n".repeat(500).trim()}` : undefined;
  });
  t.after(() => server.close());
  const client = new Client(server.address);
  t.after(() => client.close());
  const words = await client.ack(jobs, performance.now() + 4000);
  assert.equal(words.filter((word) => word === "ok").length, 500);
  assert.ok(words[500] instanceof UncertainError);
  assert.ok(words[1000] instanceof UnavailableError);
  assert.equal(commands.length, 2);
});

test("a put with a token of less than a minute is not sent again after UNKNOWN", async (t) => {
  const server = await fake(
    "-UNKNOWN lost",
    "-UNKNOWN lost",
    "*2\r\n:5\r\n+known",
    ...["+OK", "+QUEUED", "-UNKNOWN lost"],
    (words) => assert.fail(`${words[0]} was sent again`),
  );
  t.after(() => server.close());
  const client = new Client(server.address);
  t.after(() => client.close());
  const options = (tokenFor) => ({ token: "one", tokenFor });
  await assert.rejects(client.put("t", "x", options("59s")), UncertainError);
  assert.deepEqual(await client.put("t", "x", options("60s")), { id: 5, outcome: "known" });
  await assert.rejects(client.transaction().put("t", "x", options("59s")).exec(), UncertainError);
  assert.equal(server.heard().split("EXEC").length, 2);
});

test("a deadline may be further away than a timer of Node can be", async (t) => {
  const server = await fake(() => sleep(100, "*1\r\n+ok"));
  t.after(() => server.close());
  const client = new Client(server.address);
  t.after(() => client.close());
  assert.deepEqual(await client.ack([{ id: 1, lease: "1-1" }], performance.now() + 30 * 86_400_000), ["ok"]);
});

test("a refusal behind a try that may have been done is uncertain", async (t) => {
  const server = await fake("-UNKNOWN lost", "-OOM no room", "-OOM no room");
  t.after(() => server.close());
  const client = new Client(server.address);
  t.after(() => client.close());
  await assert.rejects(
    client.put("t", "x"),
    (error) => error instanceof UncertainError && error.cause instanceof elapse.OutOfMemoryError,
  );
  await assert.rejects(client.put("t", "x"), elapse.OutOfMemoryError);
  const parts = await fake("*2\r\n-UNKNOWN lost\r\n-TRYAGAIN no owner", "*2\r\n-DISKERROR 1\r\n-DISKERROR 2");
  t.after(() => parts.close());
  const other = new Client(parts.address);
  t.after(() => other.close());
  const [first, second] = await other.cancel("t", ["a", "b"]);
  assert.ok(first instanceof UncertainError && first.cause instanceof elapse.DiskError);
  assert.ok(second instanceof elapse.DiskError);
});

test("a put is not sent again when its token has died", async (t) => {
  const server = await fake(
    (_, end) => sleep(200).then(end), // the token lives for 100 ms: the server forgets it before the connection ends
    (_, end) => end(),
    "*2\r\n:5\r\n+known",
    ...["+OK", "+QUEUED", "+QUEUED"],
    (_, end) => sleep(200).then(end),
    (words) => assert.fail(`${words[0]} was sent again`),
  );
  t.after(() => server.close());
  const client = new Client(server.address);
  t.after(() => client.close());
  const put = (tokenFor) => client.put("t", "x", { token: "one", tokenFor });
  await assert.rejects(put(100), UncertainError);
  assert.deepEqual(await put("10m"), { id: 5, outcome: "known" });
  await assert.rejects(
    client.transaction().put("t", "x", { token: "two", tokenFor: 100 }).put("t", "y").exec(),
    UncertainError,
  );
  assert.equal(server.heard().split("EXEC").length, 2);
});

test("a transaction whose lease goes on is sent again only with tokens", async (t) => {
  const server = await fake(
    ...["+OK", "+QUEUED", "+QUEUED", (_, end) => end()],
    ...["+OK", "+QUEUED", "+QUEUED", "*2\r\n+ok\r\n*2\r\n:7\r\n+known"],
    ...["+OK", "+QUEUED", "+QUEUED", "+QUEUED", (_, end) => end()],
  );
  t.after(() => server.close());
  const client = new Client(server.address);
  t.after(() => client.close());
  const job = { id: 1, lease: "1-1" };
  assert.deepEqual(await client.transaction().leased(job).put("t", "x").exec(), [{ id: 7, outcome: "known" }]);
  const sent = [...server.heard().matchAll(/TOKEN\r\n\$\d+\r\n(\S+)/g)].map((found) => found[1]);
  assert.deepEqual([sent.length, new Set(sent).size], [2, 1]);
  await assert.rejects(client.transaction().leased(job).cancel("t", "k").put("t", "x").exec(), UncertainError);
  assert.equal(server.heard().split("EXEC").length, 4);
});
