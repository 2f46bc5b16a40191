import type { Kysely } from "kysely";
import type { Accounts } from "../../core/ports/accounts.ts";
import { importOptional } from "../optional-packages.ts";
import type { AccountsSettings } from "./auth-options.ts";

// A static import would fail without the command that installs the package.
const accounts = await importOptional(
  "better-auth",
  "adapters/accounts",
  () => import("./create-accounts.ts"),
);

/**
 * Creates accounts on better-auth, in the schema `accounts` of the cloud's migrated database. Sessions are rows, so that ending
 * one takes effect everywhere at once.
 */
export function createBetterAuthAccounts<Schema>(
  cloud: Kysely<Schema>,
  settings: AccountsSettings,
): Accounts<Request, Response> {
  return accounts.createBetterAuthAccounts(cloud, settings);
}
