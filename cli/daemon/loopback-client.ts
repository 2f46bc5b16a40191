import process from "node:process";

// Not imported: importing node:http evaluates all its exports, which on Node loads undici for WebSocket and doubles the
// start-up time of a command that calls the daemon.
const { Agent, request } = process.getBuiltinModule("node:http");

/** The response of the daemon. */
export interface LoopbackResponse {
  status: number;
  body: string;
}

/** Default timeout of a request in milliseconds; the daemon is on this machine. */
const DEFAULT_TIMEOUT_MS = 3000;

/** Options of a request to the loopback API. */
export interface LoopbackOptions {
  method?: "GET" | "POST";
  /** JSON. */
  body?: string;
  timeoutMs?: number;
  /** A connection to reuse; without one, each request opens its own. */
  connection?: LoopbackConnection;
}

/** A connection that several requests share; close it after the last one. */
export interface LoopbackConnection {
  readonly agent: InstanceType<typeof Agent>;
  close(): void;
}

/** Creates a reusable connection. For each connection the daemon looks up its owner, which takes longer than a response. */
export function keepConnection(): LoopbackConnection {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return { agent, close: () => agent.destroy() };
}

/** The address of a daemon's loopback API, as stored in `daemon.json`. */
export interface ApiAddress {
  /** 127.0.0.1 if absent. */
  readonly api_host?: string | undefined;
  readonly api_port: number;
}

/**
 * Sends a request to the daemon's loopback API; a number is a port on 127.0.0.1. Uses its own agent so that the request
 * never goes through a proxy set in the environment. Rejects if nothing answers.
 */
export function requestDaemon(
  at: ApiAddress | number,
  path: string,
  token: string | null = null,
  { method = "GET", body: sent, timeoutMs = DEFAULT_TIMEOUT_MS, connection }: LoopbackOptions = {},
): Promise<LoopbackResponse> {
  const { api_host: host = "127.0.0.1", api_port: port } = typeof at === "number" ? { api_port: at } : at;
  return new Promise((resolve, reject) => {
    const outgoing = request(
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
    outgoing.on("timeout", () => outgoing.destroy(new Error(`no answer within ${timeoutMs} ms`)));
    outgoing.on("error", reject);
    outgoing.end(sent);
  });
}

const byteLength = (text = "") => new TextEncoder().encode(text).length;
