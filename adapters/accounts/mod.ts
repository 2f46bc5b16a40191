/**
 * Accounts on better-auth: email and password, and OpenID Connect where it is configured. better-auth is an optional peer
 * (`npm install better-auth@~1.6`) and takes a while to load, so import this lazily in programs that must start fast. Without it,
 * the import fails with an error that has this command.
 *
 * ```ts
 * import { openCloudDatabase } from "../../cloud/mod.ts";
 * import { createRandomBytes } from "../crypto/mod.ts";
 * import { openPgliteInMemory } from "../postgres/mod.ts";
 * import { createBetterAuthAccounts } from "./mod.ts";
 *
 * const db = openCloudDatabase(openPgliteInMemory());
 * const accounts = createBetterAuthAccounts(db, {
 *   baseUrl: "http://127.0.0.1:8787",
 *   secret: "d2hhdGV2ZXIgbm9ib2R5IGVsc2UgY2FuIGd1ZXNz",
 *   newId: () => crypto.randomUUID(),
 *   mail: async ({ text }) => console.log(text),
 *   policy: { allows: async () => false, accountCreated: async () => {} },
 * });
 * console.log((await accounts.handle(new Request("http://127.0.0.1:8787/api/auth/no-such"))).status); // 404
 * await db.destroy();
 * ```
 *
 * @module
 */
export type { AccountsSettings, OidcProvider } from "./auth-options.ts";
export { createBetterAuthAccounts } from "./load-accounts.ts";
