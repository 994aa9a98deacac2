// Whole processes: the example, a program with require, types, SIGTERM.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import * as elapse from "elapse-client";
import { serve, until } from "./support.mjs";

const folder = new URL("..", import.meta.url).pathname;
const run = promisify(execFile);
const require = createRequire(import.meta.url);

test("import and require give the same classes", () => {
  const required = require("elapse-client");
  assert.equal(required.Client, elapse.Client);
  assert.equal(required.BusyKeyError, elapse.BusyKeyError);
  const hidden = ["default", "module.exports", "__esModule"];
  assert.deepEqual(
    Object.keys(required).sort(),
    Object.keys(elapse)
      .filter((name) => !hidden.includes(name))
      .sort(),
  );
});

test("examples/worker.js does jobs, and fails them", async (t) => {
  const { server, client } = await serve(t);
  const again = { attempts: 2, backoff: [1, 1] };
  for (const [body, options] of [
    ["one", again],
    ["two", { in: 50 }],
    ["broken", again],
  ])
    await client.put("mails", body, options);
  const { stdout, stderr } = await run(process.execPath, [
    "--preserve-symlinks",
    "--preserve-symlinks-main",
    join(folder, "worker.js"),
    String(server.port),
    "4",
  ]);
  assert.match(stderr, /^(elapse worker: job \d+ of mails failed: Error: it cannot be done\n){2}$/);
  assert.deepEqual(stdout.trim().split("\n").sort(), ["did one", "did two", "failed broken", "failed broken"]);
  assert.equal((await client.stats("mails")).buried, 1);
});

test("SIGTERM: what runs is finished, what waits stays, and the process ends with 0", async (t) => {
  const { server, client } = await serve(t);
  for (let i = 0; i < 20; i++) await client.put("t", String(i));
  const program = join(folder, "test", "terminated.mjs");
  writeFileSync(
    program,
    `import { Worker } from "elapse-client";
    import { setTimeout as sleep } from "node:timers/promises";
    const worker = new Worker("t", async () => { console.log("begun"); await sleep(300); console.log("done"); },
      { addresses: "${server.address}", concurrency: 3 });
    await worker.run();`,
  );
  const child = spawn(process.execPath, ["--preserve-symlinks", program], { stdio: ["ignore", "pipe", "inherit"] });
  let printed = "";
  child.stdout.on("data", (bytes) => (printed += bytes));
  const ended = new Promise((resolve) => child.once("close", (status) => resolve(status)));
  await until(() => printed.includes("begun"));
  child.kill("SIGTERM");
  assert.equal(await ended, 0);
  const begun = printed.match(/begun/g).length;
  assert.equal(printed.match(/done/g).length, begun);
  const stats = await client.stats("t");
  assert.deepEqual([stats.ready, stats.reserved, (await client.stats()).totalDone], [20 - begun, 0, begun]);
});

test("the types are complete under strict", async (t) => {
  const tsc = join(folder, "node_modules", "typescript", "bin", "tsc");
  if (!existsSync(tsc)) return t.skip("typescript stands beside the newest node-redis only");
  writeFileSync(
    join(folder, "typed.mts"),
    `import { Client, Worker, put, BusyKeyError, type JobInfo, type PutResult } from "elapse-client";
    import { startServer, type TestServer } from "elapse-client/testing";
    const client = new Client({ addresses: ["a:1"], deadline: "5s" });
    const result: PutResult = await client.put("t", { a: 1 }, { key: "k", in: "1m", ifKey: { debounce: 5 } });
    const word: "removed" | "running" | "gone" = await client.cancel("t", "k");
    for await (const info of client.list("t")) { const one: JobInfo = info; void one.errorAt?.getTime(); }
    const worker = new Worker(["t"], { t: async (job) => { const { a } = job.data<{ a: number }>(); await job.done(put("u", a)); } },
      { client, concurrency: 2, signal: AbortSignal.abort(), hooks: { after: (job, outcome) => { void [job.id, outcome]; } } });
    const server: TestServer = await startServer();
    void [result.id, word, worker, server.address, BusyKeyError];
    // @ts-expect-error an option that does not exist
    await client.put("t", "x", { delay: 1 });
    `,
  );
  writeFileSync(
    join(folder, "typed.cts"),
    `import { Client } from "elapse-client";
    const client: Client = new Client();
    void client.stats("t").then((stats) => stats?.ready);
    `,
  );
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({
      compilerOptions: {
        strict: true,
        exactOptionalPropertyTypes: true,
        module: "nodenext",
        target: "es2022",
        lib: ["es2022"],
        types: ["node"],
        noEmit: true,
        skipLibCheck: false,
        preserveSymlinks: true,
      },
      files: ["typed.mts", "typed.cts"],
    }),
  );
  const { stdout } = await run(process.execPath, [tsc], { cwd: folder }).catch((error) => error);
  assert.equal(stdout, "");
});
