import {
  type LoopbackRequest,
  type LoopbackResponse,
  requestLoopback,
} from "../../adapters/http/request-loopback.ts";

/** Default timeout of a request in milliseconds; the daemon is on this machine. */
const DEFAULT_TIMEOUT_MS = 3000;

/** Options of a request to the loopback API. */
export type LoopbackOptions = Partial<Pick<LoopbackRequest, "method" | "body" | "connection">> & {
  readonly timeoutMs?: number;
};

/** The address of a daemon's loopback API, as stored in `daemon.json`. */
export interface ApiAddress {
  /** 127.0.0.1 if absent. */
  readonly api_host?: string | undefined;
  readonly api_port: number;
}

/** Sends a request to the daemon's loopback API; a number is a port on 127.0.0.1. Rejects if nothing answers. */
export function requestDaemon(
  at: ApiAddress | number,
  path: string,
  token: string | null = null,
  { method = "GET", timeoutMs = DEFAULT_TIMEOUT_MS, body, connection }: LoopbackOptions = {},
): Promise<LoopbackResponse> {
  const { api_host: host = "127.0.0.1", api_port: port } = typeof at === "number" ? { api_port: at } : at;
  return requestLoopback({ host, port, path, method, token, body, timeoutMs, connection });
}
