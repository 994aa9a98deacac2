// What the tests share: a server and a client for one test.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "elapse-client";
import { startServer } from "elapse-client/testing";

/** A server in memory, and a client of it; both end with the test. */
export async function serve(t, options = {}) {
  const server = await startServer(options.server);
  const client = new Client({ addresses: server.address, ...options.client });
  t.after(async () => {
    await client.close();
    await server.stop();
  });
  return { server, client };
}

/** A directory that goes with the test. */
export function directory(t) {
  const path = mkdtempSync(join(tmpdir(), "elapse-client-"));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

export async function collect(iterator) {
  const items = [];
  for await (const item of iterator) items.push(item);
  return items;
}

/** Waits until `condition` holds; a test that waits for ever is ended from outside. */
export async function until(condition) {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5));
}
