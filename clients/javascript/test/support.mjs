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

/**
 * A server that answers each command but those of the connection with the next of these lines, the last one again.
 * `undefined` is no answer. A line may be a function of the words of the command, and of a function that ends its
 * connection; it returns the answer, or a promise of it.
 */
export async function fake(...lines) {
  let heard = "";
  const server = createServer((socket) => {
    let rest = "";
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      heard += bytes.toString();
      rest += bytes.toString();
      for (;;) {
        const [words, length] = commandOf(rest);
        if (words === undefined) return;
        rest = rest.slice(length);
        if (/^(CLIENT|HELLO)$/i.test(words[0])) socket.write("+OK\r\n");
        else void answer(socket, words);
      }
    });
  });
  const answer = async (socket, words) => {
    const line = lines.length > 1 ? lines.shift() : lines[0];
    const said = typeof line === "function" ? await line(words, () => socket.destroy()) : line;
    if (said !== undefined && !socket.destroyed) socket.write(`${said}\r\n`);
  };
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  server.unref(); // A test that fails before it closes its server must not keep the process.
  return { address: `127.0.0.1:${server.address().port}`, heard: () => heard, close: () => server.close() };
}

/** The words of the first command of a text, which has no other characters than those of ASCII, and its length. */
function commandOf(text) {
  const words = [];
  let at = text.indexOf("\r\n") + 2;
  if (at === 1) return [];
  for (let left = Number(text.slice(1, at)); left > 0; left--) {
    const end = text.indexOf("\r\n", at);
    const length = Number(text.slice(at + 1, end));
    if (end === -1 || text.length < end + 4 + length) return [];
    words.push(text.slice(end + 2, end + 2 + length));
    at = end + 4 + length;
  }
  return [words, at];
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
