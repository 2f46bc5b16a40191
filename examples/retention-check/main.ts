/**
 * Applies a workspace's retention to the queries of your own server: `npx node examples/retention-check/main.ts`. Traces
 * reject a period that starts before the floor; the overview moves its start to the floor and reports that.
 */
import type { AddressInfo } from "node:net";
import { createRetentionServer } from "./server.ts";

const now = Date.UTC(2026, 10, 21, 12);
const DAY_MS = 86_400_000;
const server = createRetentionServer(
  {
    plan: "solo",
    dataRetentionDays: 365,
    auditLogRetentionDays: 365,
    requests: [1, 5, 20, 400].map((days) => now - days * DAY_MS),
  },
  () => now,
);
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const { port } = server.address() as AddressInfo;

for (const path of [
  "/traces",
  "/traces?from=2026-11-01",
  "/overview?from=2020-01-01",
  "/overview?from=soon",
]) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`);
  console.log(`${path} -> ${response.status} ${await response.text()}`);
}
server.closeAllConnections();
server.close();
