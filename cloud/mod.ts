/**
 * The cloud: what `{base_url}` answers, on PostgreSQL 15 or later, a server or embedded. It reaches everything through
 * the ports that it is given.
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
export type { Actor } from "./actor.ts";
export { createUser, listWorkspacesOf, setPlan, type UserCreation } from "./admin.ts";
export { createCloud } from "./create-cloud.ts";
export { readLedgerHead, verifyPromptViewLedger } from "./ledger.ts";
export { type FetchApp, type Operations, type OperationsParts, withOperations } from "./operations.ts";
export {
  CLOUD_CONFIG_DEFAULTS,
  type CloudConfig,
  type CloudEnv,
  type CloudPorts,
  type CloudSettings,
} from "./ports.ts";
export { createSignUpPolicy } from "./sign-up-policy.ts";
export { CLOUD_MIGRATIONS, isMigrated, migrateCloud } from "./store/migrate.ts";
export type { Migration } from "./store/migration.ts";
export { type CloudDatabase, openCloudDatabase } from "./store/open-database.ts";
export { type Publication, publishRates, seedRates } from "./store/rates.ts";
export type { CloudSchema } from "./store/schema.ts";
export type { WorkspaceAccess } from "./store/workspaces.ts";
