/**
 * Sends records from your own store: `npx node examples/sync-worker/main.ts`. The state machine, the retry rules and the
 * quarantine come from `core/delivery/sync`. A local server acts as the cloud and rejects one of the records.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../adapters/clock/mod.ts";
import type { SyncReport } from "../../core/delivery/mod.ts";
import { batchRequestSchema, parseMetadataRecord, parseWire } from "../../core/wire/mod.ts";
import { openJsonFileStore } from "./json-file-store.ts";
import { createWorker } from "./sync-worker.ts";

/** A cloud that accepts every valid record of the provider that it knows. */
function startCloud(): Promise<Server> {
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    const batch = parseWire(batchRequestSchema, JSON.parse(body));
    if (!batch.ok) return response.writeHead(422).end();
    const rejected = batch.value.records
      .filter((record) => record.provider !== "openai")
      .map(({ request_id }) => ({ request_id, code: "unknown_provider", message: "not known here" }));
    const accepted = batch.value.records.length - rejected.length;
    return response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify({ accepted, duplicates: 0, rejected }));
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

const directory = mkdtempSync(join(tmpdir(), "sync-worker-"));
const cloud = await startCloud();
const store = openJsonFileStore(join(directory, "records.json"));
for (const [number, provider] of ["openai", "openai", "elsewhere"].entries()) {
  const record = parseMetadataRecord({
    request_id: `01994b8e-7c00-7000-8000-00000000000${number}`,
    requested_at: "2026-11-21T10:00:00.000Z",
    provider,
    model: "gpt-4o-mini",
  });
  if (record.ok) store.add(record.value);
}

const reported = Promise.withResolvers<SyncReport>();
const worker = createWorker({
  store,
  clock: systemClock,
  fetch,
  baseUrl: `http://127.0.0.1:${(cloud.address() as AddressInfo).port}`,
  token: "example-token",
  onReport: reported.resolve,
});
worker.dispatch({ kind: "sync_requested" });
const ended = worker.run({ kind: "started", random: Math.random() });
const { accepted, quarantined, ok } = await reported.promise;
worker.stop();
await ended;

console.log(`${ok ? "done" : "failed"}: ${accepted} accepted, ${quarantined} quarantined`);
console.log(`${(await store.selectPending(500)).length} still waiting`);
cloud.closeAllConnections();
cloud.close();
rmSync(directory, { recursive: true });
