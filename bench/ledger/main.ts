// `npm run bench:ledger -- --rows 10000,1000000`: the heap that the verification of a workspace's ledgers needs, by the number of audit
// events, on PostgreSQL 15. The heap is measured after a garbage collection, once for every 50 results of queries.
import process from "node:process";
import { sql } from "kysely";
import { systemClock } from "../../adapters/clock/system-clock.ts";
import { sha256 } from "../../adapters/crypto/node-crypto.ts";
import { openPostgres } from "../../adapters/postgres/postgres-server.ts";
import { verifyWorkspaceLedgers } from "../../cloud/ledger/verify-ledgers.ts";
import { migrateCloud } from "../../cloud/store/migrate.ts";
import { openCloudDatabase } from "../../cloud/store/open-database.ts";
import { fillAuditEvents, onResults } from "../../tests/cloud/kit/long-ledger.ts";
import { missingPostgres, startPostgres } from "../../tests/cloud/kit/postgres-server.ts";
import { addSenders } from "../../tests/cloud/kit/senders.ts";

/** How much more heap the longest ledger may need than the shortest, in MiB. */
const MAX_MORE_MIB = 4;

const MEASURED_EVERY = 50;

const at = process.argv.indexOf("--rows");
const sizes = (at < 0 ? "10000,1000000" : (process.argv[at + 1] ?? "")).split(",").map(Number);
const missing = missingPostgres();
if (missing !== null) throw new Error(missing);
const { gc } = globalThis;
if (gc === undefined) throw new Error("needs --expose-gc");
const heapMib = () => {
  gc();
  return process.memoryUsage().heapUsed / 2 ** 20;
};

const server = await startPostgres();
const db = openCloudDatabase(openPostgres(server.url("postgres"), systemClock));
const peaks: number[] = [];
try {
  await migrateCloud(db, 0);
  for (const rows of sizes) {
    const { workspaceId } = await addSenders(db, 0, Date.now());
    await fillAuditEvents(db, workspaceId, rows, Date.now());
    await sql`analyze audit_events`.execute(db);
    const before = heapMib();
    let [peak, results, largest] = [before, 0, 0];
    const measured = onResults(db, (found) => {
      largest = Math.max(largest, found);
      results += 1;
      if (results % MEASURED_EVERY === 10) peak = Math.max(peak, heapMib());
    });
    const started = performance.now();
    const { ok, audit_events } = await verifyWorkspaceLedgers(measured, workspaceId, null, sha256);
    if (!ok || !audit_events.ok || audit_events.head.seq !== rows)
      throw new Error("the ledger does not verify");
    const seconds = (performance.now() - started) / 1_000;
    peaks.push(peak);
    console.log(
      `${rows} events: at most ${largest} rows at once, a heap of at most ${peak.toFixed(1)} MiB (${before.toFixed(1)} before), ${seconds.toFixed(0)} s`,
    );
  }
} finally {
  await db.destroy();
  await server.stop();
}
const more = (peaks.at(-1) ?? 0) - (peaks[0] ?? 0);
console.log(`${more.toFixed(1)} MiB more for the longest ledger, at most ${MAX_MORE_MIB}`);
process.exit(more > MAX_MORE_MIB ? 1 : 0);
