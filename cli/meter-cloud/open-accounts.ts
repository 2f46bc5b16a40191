import { randomBytes } from "node:crypto";
import { existsSync, linkSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { createBetterAuthAccounts } from "../../adapters/accounts/create-accounts.ts";
import { systemClock } from "../../adapters/clock/system-clock.ts";
import { createRandomBytes, sha256 } from "../../adapters/crypto/node-crypto.ts";
import { makeFolder } from "../../adapters/files/make-folder.ts";
import { syncFolder, writeFileAtomic } from "../../adapters/files/write-file-atomic.ts";
import { createSignUpPolicy } from "../../cloud/accounts/sign-up-policy.ts";
import type { CloudDatabase } from "../../cloud/store/open-database.ts";
import type { Accounts } from "../../core/ports/accounts.ts";
import type { SendMail } from "../../core/ports/mail.ts";
import { uuidV7 } from "../../core/values/uuid.ts";
import { CommandFailure } from "../program/exit-codes.ts";
import type { CloudProgramConfig } from "./read-cloud-config.ts";

/** Opens the accounts in the cloud's database, as configured. Loads better-auth, which takes a while. */
export function openAccounts(
  config: CloudProgramConfig,
  db: CloudDatabase,
  baseUrl: string,
  mail: SendMail,
  mailFailed: (cause: unknown) => void = () => {},
): Accounts<Request, Response> {
  const { settings } = config;
  const random = createRandomBytes();
  const parts = { db, clock: systemClock, randomBytes: random, sha256 };
  return createBetterAuthAccounts(db, {
    baseUrl,
    secret: config.authSecret ?? readOrCreateAuthSecret(config.home),
    newId: () => uuidV7(systemClock.now(), random(10)),
    mail,
    mailFailed,
    policy: createSignUpPolicy(parts, { openSignUp: settings.people.open_sign_up }),
    oidc: settings.oidc.map(({ id, name, issuer, client_id }) => ({
      id,
      ...(name === undefined ? {} : { name }),
      discoveryUrl: `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`,
      clientId: client_id,
      clientSecret: config.oidcSecrets.get(id) ?? "",
    })),
  });
}

/**
 * Reads the secret that signs sessions, and creates it at the first start. Several instances of one server must share a
 * secret: `METER_CLOUD_AUTH_SECRET`.
 */
function readOrCreateAuthSecret(home: string): string {
  const path = join(home, "auth-secret");
  try {
    makeFolder(home);
    // If two processes create it at the same moment, the first one's secret is used by both.
    if (!existsSync(path)) createWhole(path, `${randomBytes(32).toString("base64url")}\n`);
    return readFileSync(path, "utf8").trim();
  } catch (cause) {
    throw new CommandFailure(`The secret in ${path} can't be used: ${(cause as Error).message}.`);
  }
}

/** Creates a file together with its content, unless it exists, and syncs it to disk: with an empty one, the cloud does not start. */
function createWhole(path: string, text: string): void {
  const whole = `${path}.${process.pid}`;
  writeFileAtomic(whole, text, { mode: 0o600 });
  try {
    linkSync(whole, path);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "EEXIST") throw cause;
  } finally {
    rmSync(whole);
    syncFolder(dirname(path));
  }
}
