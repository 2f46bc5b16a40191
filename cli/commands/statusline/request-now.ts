import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import type { NowResponse } from "../../../daemon/api/now-routes.ts";

/** How long the daemon may take, in milliseconds. A prompt waits for it. */
const TIMEOUT_MS = 400;

/** The longest response that is read, in bytes: more than any has. */
const MAX_RESPONSE_BYTES = 1024 * 1024;

/** The address of the loopback API and its secret. */
interface DaemonAddress {
  readonly host: string;
  readonly port: number;
  readonly token: string;
}

/**
 * Requests the daemon's current state; null if no daemon answers in time. It writes the request to a socket: loading Node's HTTP client
 * would take longer than the request.
 */
export async function requestNow(home: string, query: string): Promise<NowResponse | null> {
  const address = readAddress(home);
  if (address === null) return null;
  try {
    return parseResponse(await exchange(address, `/v1/now${query}`));
  } catch {
    return null;
  }
}

/** Reads the files that the daemon wrote. They are checked only as far as this needs, because a schema takes time to load. */
function readAddress(home: string): DaemonAddress | null {
  try {
    const state = JSON.parse(readFileSync(join(home, "daemon.json"), "utf8")) as Record<string, unknown>;
    const { api_port: port, api_host: host = "127.0.0.1" } = state;
    if (typeof port !== "number" || typeof host !== "string") return null;
    return { host, port, token: readFileSync(join(home, "loopback-token"), "utf8").trim() };
  } catch {
    return null;
  }
}

function exchange({ host, port, token }: DaemonAddress, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port });
    let text = "";
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error("no answer")));
    socket.setEncoding("utf8");
    socket.on("data", (part: string) => {
      text += part;
      if (text.length > MAX_RESPONSE_BYTES) socket.destroy(new Error("too long"));
    });
    socket.on("end", () => resolve(text));
    socket.on("error", reject);
    socket.on("close", () => reject(new Error("closed")));
    const name = host.includes(":") ? `[${host}]` : host;
    socket.write(
      `GET ${path} HTTP/1.0\r\nHost: ${name}:${port}\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n\r\n`,
    );
  });
}

function parseResponse(text: string): NowResponse | null {
  const bodyAt = text.indexOf("\r\n\r\n");
  if (bodyAt === -1 || !/^HTTP\/1\.[01] 200 /.test(text)) return null;
  return JSON.parse(text.slice(bodyAt + 4)) as NowResponse;
}
