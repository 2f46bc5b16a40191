import process from "node:process";

// Not imported: importing node:http evaluates all its exports, which on Node loads undici for WebSocket and doubles the
// start-up time of a command that calls the daemon.
const { Agent, request } = process.getBuiltinModule("node:http");

/** A request to a program on this machine. */
export interface LoopbackRequest {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly method: "GET" | "POST";
  readonly token: string | null;
  /** JSON, for `POST`. */
  readonly body?: string | undefined;
  /** Null: waits for the response as long as it takes. */
  readonly timeoutMs: number | null;
  /** A connection to reuse; without one, each request opens its own. */
  readonly connection?: LoopbackConnection | undefined;
}

/** The response to a `LoopbackRequest`. */
export interface LoopbackResponse {
  status: number;
  body: string;
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

/**
 * Sends a request. Uses its own agent so that the request never goes through a proxy set in the environment. Rejects if nothing
 * answers.
 */
export function requestLoopback(sent: LoopbackRequest): Promise<LoopbackResponse> {
  const { host, port, path, method, token, body, timeoutMs, connection } = sent;
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        host,
        port,
        path,
        method,
        agent: connection?.agent ?? new Agent(),
        ...(timeoutMs !== null && { timeout: timeoutMs }),
        headers: {
          ...(token !== null && { authorization: `Bearer ${token}` }),
          ...(method === "POST" && {
            "content-type": "application/json",
            "content-length": byteLength(body),
          }),
        },
      },
      (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (piece: string) => {
          text += piece;
        });
        response.on("end", () => resolve({ status: response.statusCode ?? 0, body: text }));
        response.on("error", reject);
      },
    );
    outgoing.on("timeout", () => outgoing.destroy(new Error(`no answer within ${timeoutMs} ms`)));
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

const byteLength = (text = "") => new TextEncoder().encode(text).length;
