import process from "node:process";

// Not imported: an import of this module reads every name that it has, which on Node loads undici for its WebSocket and
// doubles the start-up of a command that asks the daemon.
const { Agent, request } = process.getBuiltinModule("node:http");

/** What the daemon answered. */
export interface LoopbackAnswer {
  status: number;
  body: string;
}

/** How long the daemon may take to answer, in milliseconds: it is on this machine. */
const ANSWER_WITHIN_MS = 3000;

/** What is asked, where it is more than a look. */
export interface LoopbackAsk {
  method?: "GET" | "POST";
  /** JSON. */
  body?: string;
  timeoutMs?: number;
  /** A connection that is kept between questions; each has its own where left out. */
  connection?: LoopbackConnection;
}

/** A connection that several questions go over; close it after the last. */
export interface LoopbackConnection {
  readonly agent: InstanceType<typeof Agent>;
  close(): void;
}

/** Keeps one connection. The daemon looks up whose each is, which takes longer than its answers do. */
export function keepConnection(): LoopbackConnection {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return { agent, close: () => agent.destroy() };
}

/** Where a daemon's loopback API answers, as `daemon.json` says it. */
export interface ApiAddress {
  /** 127.0.0.1 where nothing is said. */
  readonly api_host?: string | undefined;
  readonly api_port: number;
}

/**
 * Asks the daemon's loopback API; a number is a port of 127.0.0.1. The agent is our own, so that a proxy named in the
 * environment is never asked. Rejects when nothing answers.
 */
export function askDaemon(
  at: ApiAddress | number,
  path: string,
  token: string | null = null,
  { method = "GET", body: sent, timeoutMs = ANSWER_WITHIN_MS, connection }: LoopbackAsk = {},
): Promise<LoopbackAnswer> {
  const { api_host: host = "127.0.0.1", api_port: port } = typeof at === "number" ? { api_port: at } : at;
  return new Promise((resolve, reject) => {
    const asking = request(
      {
        host,
        port,
        path,
        method,
        agent: connection?.agent ?? new Agent(),
        timeout: timeoutMs,
        headers: {
          ...(token !== null && { authorization: `Bearer ${token}` }),
          ...(method === "POST" && {
            "content-type": "application/json",
            "content-length": byteLength(sent),
          }),
        },
      },
      (response) => {
        let body = "";
        response.setEncoding("utf8");
        response.on("data", (text: string) => {
          body += text;
        });
        response.on("end", () => resolve({ status: response.statusCode ?? 0, body }));
        response.on("error", reject);
      },
    );
    asking.on("timeout", () => asking.destroy(new Error(`no answer within ${timeoutMs} ms`)));
    asking.on("error", reject);
    asking.end(sent);
  });
}

const byteLength = (text = "") => new TextEncoder().encode(text).length;
