import type { AddressInfo, Server } from "node:net";
import { createAdaptorServer } from "@hono/node-server";

/** A listening HTTP server. */
export interface Served {
  readonly port: number;
  /** Stops accepting, lets answers in flight finish until the deadline, then cuts them. */
  close(deadlineMs: number): Promise<void>;
}

/** Serves a fetch handler on one address. Port 0 takes a free one. Rejects when the address can't be had. */
export async function serve(
  fetch: (request: Request) => Response | Promise<Response>,
  address: { host: string; port: number },
): Promise<Served> {
  const server = createAdaptorServer({ fetch }) as Server & { closeAllConnections?(): void };
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(address.port, address.host, () => {
      server.off("error", reject);
      resolve();
    });
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: (deadlineMs) =>
      new Promise((resolve) => {
        const cut = setTimeout(() => server.closeAllConnections?.(), deadlineMs);
        server.close(() => {
          clearTimeout(cut);
          resolve();
        });
      }),
  };
}
