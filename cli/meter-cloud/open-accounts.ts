import { randomBytes } from "node:crypto";
import { existsSync, linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { createBetterAuthAccounts } from "../../adapters/accounts/mod.ts";
import { systemClock } from "../../adapters/clock/mod.ts";
import { createRandomBytes, sha256 } from "../../adapters/crypto/mod.ts";
import { makeFolder } from "../../adapters/files/mod.ts";
import { type CloudDatabase, createSignUpPolicy } from "../../cloud/mod.ts";
import type { Accounts } from "../../core/ports/accounts.ts";
import type { SendMail } from "../../core/ports/mail.ts";
import { uuidV7 } from "../../core/uuid.ts";
import { CommandFailure } from "../exit-codes.ts";
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
    secret: config.authSecret ?? ownSecret(config.home),
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

/** Letters are written where the operator reads, since no server for mail is known. */
export function createConsoleMail(stdout: NodeJS.WritableStream): SendMail {
  return async ({ to, subject, text }) => {
    stdout.write(`\n--- mail to ${to}: ${subject}\n${text.trimEnd()}\n---\n`);
  };
}

/** The secret that signs sessions, made once. Instances of one server must share it: `METER_CLOUD_AUTH_SECRET`. */
function ownSecret(home: string): string {
  const path = join(home, "auth-secret");
  try {
    makeFolder(home);
    // Another process may be making it at the same moment: the first one's counts.
    if (!existsSync(path)) linkNew(path, `${randomBytes(32).toString("base64url")}\n`);
    return readFileSync(path, "utf8").trim();
  } catch (cause) {
    throw new CommandFailure(`the secret in ${path} can't be used: ${(cause as Error).message}`);
  }
}

/** Makes a file with its whole text at once, unless there is one. */
function linkNew(path: string, text: string): void {
  const whole = `${path}.${process.pid}`;
  writeFileSync(whole, text, { mode: 0o600 });
  try {
    linkSync(whole, path);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "EEXIST") throw cause;
  } finally {
    rmSync(whole);
  }
}
