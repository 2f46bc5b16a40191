import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A cloud that issues pairing codes which are never approved, and whose dashboard runs a script of the test. */
export interface ScriptedCloud {
  /** Both the `base_url` and the dashboard's origin. */
  readonly origin: string;
  /** The number of requests to begin a pairing. */
  readonly pairings: number;
  close(): void;
}

export async function startScriptedCloud(): Promise<ScriptedCloud> {
  let pairings = 0;
  const server = createServer((request, answer) => {
    const json = (status: number, body: object) => {
      answer.writeHead(status, { "content-type": "application/json" });
      answer.end(JSON.stringify(body));
    };
    request.resume();
    if (request.url === "/v1/pairing/start") {
      pairings++;
      json(201, {
        code: "ABCD-EFGH",
        poll_token: "p".repeat(43),
        verification_url: `${origin}/connect?code=ABCD-EFGH`,
        expires_in: 600,
        interval: 2,
      });
    } else if (request.url === "/v1/pairing/poll") json(200, { status: "pending" });
    else {
      answer.writeHead(200, { "content-type": "text/html" });
      answer.end("<!doctype html><title>dashboard</title>");
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    get pairings() {
      return pairings;
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
