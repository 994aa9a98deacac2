// Runs each block of README.md in JavaScript, and compares what it prints with the block behind it; and the
// blocks of docs/guide/clients.md.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { serve, until } from "./support.mjs";

const page = readFileSync(new URL("../README.md", import.meta.url), "utf8");
const blocks = [...page.matchAll(/^```js\n(.*?)^```\n\n```text\n(.*?)^```/gms)].map(([, code, output]) => ({
  code,
  output,
}));

test("the page has blocks, and each block in JavaScript has its output", () => {
  assert.ok(blocks.length >= 5);
  assert.equal(blocks.length, page.match(/^```js$/gm).length);
});

blocks.forEach(({ code, output }, i) =>
  test(`block ${i + 1} prints what the page says`, async (t) => {
    const { server } = await serve(t);
    const file = join(import.meta.dirname ?? new URL(".", import.meta.url).pathname, `block-${i}.mjs`);
    writeFileSync(
      file,
      code.replaceAll("127.0.0.1:11300", server.address).replaceAll("port: 11300", `port: ${server.port}`),
    );
    const child = spawn(process.execPath, ["--preserve-symlinks", file], { stdio: ["ignore", "pipe", "inherit"] });
    let printed = "";
    child.stdout.on("data", (bytes) => (printed += bytes));
    const ended = new Promise((resolve) => child.once("close", resolve));
    // A worker runs until it is told to stop, which it may say in its last line.
    const before = output.replace(/stopped\n$/, "");
    await until(() => printed.length >= before.length || child.exitCode !== null);
    child.kill("SIGTERM");
    const isWorker = code.includes("worker.run");
    const status = await ended;
    assert.equal(printed, output);
    if (isWorker) assert.equal(status, 0);
  }),
);

test("the story of docs/guide/clients.md, and its test, run as they are printed", async () => {
  const guide = readFileSync(new URL("../clients.md", import.meta.url), "utf8");
  const files = [...guide.matchAll(/^```js\n(\/\/ (\S+)\n.*?)^```/gms)].map(([, code, name]) => ({ code, name }));
  assert.equal(guide.match(/^```js$/gm).length, 2);
  assert.deepEqual(
    files.map(({ name }) => name),
    ["shop.mjs", "shop.test.mjs"],
  );
  const folder = new URL("story/", import.meta.url).pathname;
  mkdirSync(folder, { recursive: true });
  for (const { name, code } of files) writeFileSync(join(folder, name), code);
  const env = { ...process.env };
  delete env.NODE_TEST_CONTEXT; // with it the child would report to the runner of this test
  const child = spawn(process.execPath, ["--test", "--test-reporter=tap", "--preserve-symlinks", "shop.test.mjs"], {
    cwd: folder,
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let printed = "";
  child.stdout.on("data", (bytes) => (printed += bytes));
  const [status] = await once(child, "close");
  assert.equal(status, 0, printed);
  assert.match(printed, /^# pass 1$/m);
});
