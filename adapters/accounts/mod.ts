/**
 * Accounts on better-auth: e-mail and password, and OpenID Connect where it is configured. Importing this loads
 * better-auth, so a program that starts often imports it when it first needs it.
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
 *   policy: { admits: async () => false, opened: async () => {} },
 * });
 * console.log((await accounts.handle(new Request("http://127.0.0.1:8787/api/auth/no-such"))).status); // 404
 * await db.destroy();
 * ```
 *
 * @module
 */
export { type AccountsSettings, type OidcProvider, PASSWORD_MAX, PASSWORD_MIN } from "./auth-options.ts";
export { createBetterAuthAccounts } from "./create-accounts.ts";
