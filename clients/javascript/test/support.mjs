// What the tests share: a server and a client for one test.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
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

/**
 * A port of loopback that is free, and that nobody gets by chance while its server is away: it is none of those that the
 * system gives to clients, and to servers that ask for any port.
 */
export async function lastingPort() {
  const range = readFileSync("/proc/sys/net/ipv4/ip_local_port_range", "utf8").trim();
  const [least, most] = range.split(/\s+/).map(Number);
  const ports = Array.from({ length: 55_536 }, (_, i) => 10_000 + i).filter((port) => port < least || port > most);
  for (let tries = 0; tries < 1000 && ports.length > 0; tries++) {
    const port = ports[Math.floor(Math.random() * ports.length)];
    const probe = createServer();
    const isFree = await new Promise((resolve) => {
      probe.once("error", () => resolve(false));
      probe.listen(port, "127.0.0.1", () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => probe.close(resolve));
    return port;
  }
  throw new Error(`no port is left beside those of ip_local_port_range: ${range}`);
}

export async function collect(iterator) {
  const items = [];
  for await (const item of iterator) items.push(item);
  return items;
}

/** Whether a process has not begun to handle a signal that it was sent: two signals that are pending are one. */
export function hasSignalPending(pid) {
  const pending = /^ShdPnd:\s*([0-9a-f]+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1];
  return BigInt(`0x${pending}`) !== 0n;
}

/** Waits until `condition` holds; a test that waits for ever is ended from outside. */
export async function until(condition) {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5));
}
