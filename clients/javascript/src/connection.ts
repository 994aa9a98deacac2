/**
 * Connections. A {@link Connection} is one connection to one server, by node-redis; when it is lost it
 * is never opened again. A {@link Link} keeps one connection to whichever of several addresses answers.
 */
import { createClient } from "redis";
import * as redis from "redis";
import type { ConnectionOptions as TlsOptions } from "node:tls";
import { UnavailableError, errorOfReply } from "./errors.js";
import type { Argument, Reply } from "./values.js";

/** Where a server is, and who asks. */
export interface ConnectOptions {
  /**
   * `host:port`, `unix:/path`, `redis://[user:password@]host:port`, or `rediss://...` with TLS; several
   * for the nodes of a cluster, of which the next one is tried when one does not answer. The default is
   * `127.0.0.1:11300`.
   */
  addresses?: string | readonly string[];
  username?: string;
  password?: string;
  /** Options of TLS, such as `ca`; with them every address uses TLS. */
  tls?: TlsOptions;
  /** What `LOOKUP` shows as the holder of jobs. */
  name?: string;
}

/** What this package uses of a client of node-redis, whose types differ between its versions. */
interface RedisClient {
  on(event: string, listener: (error: Error) => void): unknown;
  connect(): Promise<unknown>;
  sendCommand(args: Argument[], options: unknown): Promise<unknown>;
  destroy?(): void;
  disconnect?(): Promise<void>;
}

/** The connection was lost. If `wasSent`, what was not answered may have been done. */
export class LostError extends Error {
  constructor(
    readonly wasSent: boolean,
    cause: unknown,
  ) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

const names = redis as unknown as Record<string, unknown>;
const ErrorReply = names["ErrorReply"] as new (...args: never[]) => Error;

/**
 * Asks for bulk strings as Buffers: node-redis 4 has one way, and later versions another one. The limit of
 * time for each command, which version 6 has, is off: the silence of a server is watched here.
 */
function bufferOptions(): unknown {
  const types = names["RESP_TYPES"] as { BLOB_STRING: number } | undefined;
  if (types !== undefined) return { typeMapping: { [types.BLOB_STRING]: Buffer }, timeout: 0 };
  return (names["commandOptions"] as (options: object) => unknown)({ returnBuffers: true });
}
const BUFFERS = bufferOptions();

interface Address {
  text: string;
  socket: Record<string, unknown>;
  username?: string;
  password?: string;
}

function addressOf(text: string, options: ConnectOptions): Address {
  const secure = options.tls !== undefined ? { ...options.tls, tls: true } : {};
  if (text.startsWith("unix:")) return { text, socket: { path: text.slice("unix:".length) } };
  let url: URL;
  try {
    url = new URL(text.includes("://") ? text : `redis://${text}`);
  } catch {
    throw new TypeError(`this is no address of a server: '${text}'`);
  }
  if (!["redis:", "rediss:"].includes(url.protocol) || url.hostname === "") {
    throw new TypeError(`this is no address of a server: '${text}'`);
  }
  return {
    text: url.host,
    socket: {
      host: url.hostname.replace(/^\[|\]$/g, ""),
      port: Number(url.port || 11300),
      ...(url.protocol === "rediss:" ? { tls: true } : {}),
      ...secure,
    },
    ...(url.username !== "" ? { username: decodeURIComponent(url.username) } : {}),
    ...(url.password !== "" ? { password: decodeURIComponent(url.password) } : {}),
  };
}

const CONNECT_MS = 5000; // how long one address has to answer

/** One connection. Commands are sent in the order of the calls, without waiting for replies. */
export class Connection {
  #client: RedisClient;
  #silenceMs: number;
  #unanswered = 0;
  #heardAt = 0;
  #watch: NodeJS.Timeout | undefined;
  #isLeft = false;
  isLost = false;

  private constructor(client: RedisClient, silenceMs: number) {
    this.#client = client;
    this.#silenceMs = silenceMs;
  }

  /** Opens a connection. Throws a ReplyError if the server refuses it, and a LostError otherwise. */
  static async open(address: Address, options: ConnectOptions, silenceMs: number): Promise<Connection> {
    const username = address.username ?? options.username;
    const password = address.password ?? options.password;
    const client = createClient({
      socket: { ...address.socket, reconnectStrategy: false, connectTimeout: CONNECT_MS },
      ...(username !== undefined ? { username } : {}),
      ...(password !== undefined ? { password } : {}),
      ...(options.name !== undefined ? { name: options.name } : {}),
      RESP: 2,
      disableOfflineQueue: true,
      disableClientInfo: true,
      maintNotifications: "disabled",
    } as never) as unknown as RedisClient;
    const connection = new Connection(client, silenceMs);
    let refused: Error | undefined;
    client.on("error", (error) => {
      if (error instanceof ErrorReply) refused = error;
      connection.isLost = true;
    });
    client.on("end", () => {
      connection.isLost = true;
    });
    // The time-out of node-redis is that of the socket; a server that accepts and says nothing is silent, too.
    let timer: NodeJS.Timeout | undefined;
    const silent = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        reject(new Error("the server does not answer"));
      }, CONNECT_MS);
    });
    try {
      await Promise.race([client.connect(), silent]);
      return connection;
    } catch (error) {
      connection.destroy();
      const reply = error instanceof ErrorReply ? error : refused;
      if (reply !== undefined) throw errorOfReply(reply.message);
      throw new LostError(false, error);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Sends a command. Rejects with a ReplyError, or with a LostError. */
  send(args: Argument[]): Promise<Reply> {
    for (const word of args) {
      // node-redis would reject it, and that would look like a connection that is lost.
      if (typeof word !== "string" && !Buffer.isBuffer(word)) {
        return Promise.reject(
          new TypeError(`an argument of ${String(args[0])} is neither a text nor bytes: ${String(word)}`),
        );
      }
    }
    if (this.isLost) return Promise.reject(new LostError(false, new Error("the connection is closed")));
    if (this.#unanswered++ === 0) this.#heardAt = performance.now();
    this.#arm();
    return this.#client.sendCommand(args, BUFFERS).then(
      (reply) => {
        this.#heard();
        return convertErrors(reply as Reply);
      },
      (error: unknown) => {
        this.#heard();
        if (error instanceof ErrorReply) throw errorOfReply(error.message);
        this.destroy();
        throw new LostError(true, error);
      },
    );
  }

  #heard(): void {
    this.#heardAt = performance.now();
    this.#unanswered--;
    if (this.#isLeft && this.#unanswered === 0) this.destroy();
  }

  /** A server that is silent for too long while it owes a reply is taken for lost. */
  #arm(): void {
    this.#watch ??= setTimeout(() => {
      this.#watch = undefined;
      if (this.#unanswered === 0 || this.isLost) return;
      if (performance.now() - this.#heardAt >= this.#silenceMs) this.destroy();
      else this.#arm();
    }, this.#silenceMs).unref();
  }

  /** Closes the connection when all replies that it owes have come. */
  leave(): void {
    this.#isLeft = true;
    if (this.#unanswered === 0) this.destroy();
  }

  /** Closes the connection now. What was not answered rejects with a LostError. */
  destroy(): void {
    this.isLost = true;
    clearTimeout(this.#watch);
    try {
      if (this.#client.destroy !== undefined) this.#client.destroy();
      else this.#client.disconnect?.().catch(() => undefined);
    } catch {
      // It was closed already.
    }
  }
}

function convertErrors(reply: Reply): Reply {
  if (Array.isArray(reply)) {
    for (let i = 0; i < reply.length; i++) reply[i] = convertErrors(reply[i] as Reply);
    return reply;
  }
  return reply instanceof ErrorReply ? errorOfReply(reply.message) : reply;
}

export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) {
      resolve();
      return;
    }
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end, { once: true });
  });
}

/**
 * How long a timer has to wait until a time of `performance.now()`: at most the 24 days that a timer of Node can have. With
 * a longer time it would end at once.
 */
export function timerUntil(time: number): number {
  return Math.min(Math.max(0, time - performance.now()), LONGEST_TIMER_MS);
}

/** The longest time that a timer of Node can have. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Waits for a promise, or until the signal is aborted: it is undefined then. Nothing of a wait that has ended is left at
 * the signal; a `Promise.race` with a promise that lasts would leave something there each time.
 */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      resolve(undefined);
    };
    if (signal.aborted) end();
    signal.addEventListener("abort", end, { once: true });
    promise.then(resolve, reject).finally(() => {
      signal.removeEventListener("abort", end);
    });
  });
}

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1000;

/** Keeps one connection to one of several addresses. */
export class Link {
  #addresses: Address[];
  #options: ConnectOptions;
  #silenceMs: number;
  #place = 0;
  #current: Connection | undefined;
  #opening: Promise<Connection> | undefined;
  #wantedUntil = 0;
  #closing = new AbortController();

  constructor(options: ConnectOptions, silenceMs: number) {
    const texts =
      typeof options.addresses === "string" ? [options.addresses] : (options.addresses ?? ["127.0.0.1:11300"]);
    if (texts.length === 0) throw new TypeError("there is no address of a server");
    this.#addresses = texts.map((text) => addressOf(text, options));
    this.#options = options;
    this.#silenceMs = silenceMs;
  }

  /** The open connection, if there is one: so that commands keep the order of their calls. */
  get current(): Connection | undefined {
    return this.#current?.isLost === false ? this.#current : undefined;
  }

  /**
   * Waits for a connection, until `until` by `performance.now()`. Throws UnavailableError then, and a
   * ReplyError if a server refuses the user.
   */
  async connected(until: number): Promise<Connection> {
    if (this.#closing.signal.aborted) throw new UnavailableError("the client is closed");
    const current = this.current;
    if (current !== undefined) return current;
    if (this.#current !== undefined) {
      this.#current = undefined;
      this.#place++; // a server that was lost is tried last
    }
    this.#wantedUntil = Math.max(this.#wantedUntil, until);
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    let timer: NodeJS.Timeout | undefined;
    const over = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        reject(new UnavailableError(`no server could be reached at ${this.#addresses.map((a) => a.text).join(", ")}`));
      }, timerUntil(until));
    });
    try {
      return await Promise.race([this.#opening, over]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #open(): Promise<Connection> {
    let pauseMs = FIRST_PAUSE_MS;
    for (let tries = 1; ; tries++) {
      const address = this.#addresses[this.#place % this.#addresses.length] as Address;
      try {
        const connection = await Connection.open(address, this.#options, this.#silenceMs);
        if (this.#closing.signal.aborted) {
          connection.destroy();
          throw new UnavailableError("the client is closed");
        }
        this.#current = connection;
        return connection;
      } catch (error) {
        if (!(error instanceof LostError)) throw error;
        this.#place++;
        if (tries % this.#addresses.length === 0) {
          await sleep(pauseMs, this.#closing.signal);
          pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
        }
        if (this.#closing.signal.aborted) throw new UnavailableError("the client is closed");
        if (performance.now() > this.#wantedUntil) {
          throw new UnavailableError(`no server could be reached: ${address.text}: ${error.message}`, { cause: error });
        }
      }
    }
  }

  get isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** The server of this connection takes no more work: the next command goes to the next address. */
  leave(connection: Connection): void {
    if (this.#current !== connection || this.#addresses.length === 1) return;
    this.#current = undefined;
    this.#place++;
    connection.leave();
  }

  /** Closes the connection when what was sent is answered; nothing can be sent any more. */
  close(): void {
    this.#closing.abort();
    this.#current?.leave();
  }

  /** Closes the connection now. */
  destroy(): void {
    this.#closing.abort();
    this.#current?.destroy();
  }
}
