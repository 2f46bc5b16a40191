/**
 * The cloud API and its pages, on PostgreSQL 15 or later, as a server or embedded. It accesses the outside only through the
 * ports passed to it.
 *
 * ```ts
 * import { systemClock } from "../adapters/clock/mod.ts";
 * import { createRandomBytes, sha256 } from "../adapters/crypto/mod.ts";
 * import { createMemoryAccounts } from "../adapters/memory/mod.ts";
 * import { openPgliteInMemory } from "../adapters/postgres/mod.ts";
 * import { loadBundledRates } from "../core/pricing/mod.ts";
 * import { createCloud, migrateCloud, openCloudDatabase, seedRates } from "./mod.ts";
 *
 * const db = openCloudDatabase(openPgliteInMemory());
 * await migrateCloud(db, Date.now());
 * await seedRates(db, loadBundledRates(), Date.now());
 * const randomBytes = createRandomBytes();
 * const app = createCloud({
 *   db,
 *   clock: systemClock,
 *   randomBytes,
 *   sha256,
 *   log: console.log,
 *   accounts: createMemoryAccounts(randomBytes),
 *   mail: async ({ text }) => console.log(text),
 *   peerAddress: () => null,
 * });
 * console.log((await app.request("/v1/daemon/whoami")).status); // 401
 * await db.destroy();
 * ```
 *
 * @module
 */
export { createUser, setPlan, type UserCreation } from "./accounts/admin.ts";
export { createSignUpPolicy } from "./accounts/sign-up-policy.ts";
export { CLOUD_CONFIG_DEFAULTS, type CloudConfig, type CloudSettings } from "./config.ts";
export { createCloud } from "./create-cloud.ts";
export { verifyWorkspaceLedgers, type WorkspaceVerdict } from "./ledger/verify-ledgers.ts";
export type { CloudPorts } from "./ports.ts";
export { type PurgeJob, startPurgeJob } from "./purge/purge-job.ts";
export { type PurgeParts, type PurgeReport, runPurge } from "./purge/run-purge.ts";
export { isMigrated, migrateCloud } from "./store/migrate.ts";
export { type CloudDatabase, openCloudDatabase } from "./store/open-database.ts";
export { type Publication, publishRates, seedRates } from "./store/rates.ts";
export { type SummaryJob, startSummaryJob } from "./summaries/summary-job.ts";
