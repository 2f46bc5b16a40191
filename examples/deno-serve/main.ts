// The cloud in another program: the app that `meter-cloud serve` serves, for anything that calls a `fetch` handler. On
// Deno: `deno serve -A --host 127.0.0.1 examples/deno-serve/main.ts`, then open http://127.0.0.1:8000/sign-up.
import { Buffer } from "node:buffer";
import process from "node:process";
import { createBetterAuthAccounts } from "../../adapters/accounts/mod.ts";
import { systemClock } from "../../adapters/clock/mod.ts";
import { createRandomBytes, sha256 } from "../../adapters/crypto/mod.ts";
import { openPgliteInMemory, openPostgres } from "../../adapters/postgres/mod.ts";
import {
  createCloud,
  createSignUpPolicy,
  migrateCloud,
  openCloudDatabase,
  seedRates,
} from "../../cloud/mod.ts";
import { loadBundledRates } from "../../core/pricing/mod.ts";
import { uuidV7 } from "../../core/values/mod.ts";

const { DATABASE_URL, METER_CLOUD_AUTH_SECRET, BASE_URL: baseUrl = "http://127.0.0.1:8000" } = process.env;
const clock = systemClock;
const randomBytes = createRandomBytes();

// Without a database URL, all data is lost when the process exits.
const db = openCloudDatabase(
  DATABASE_URL === undefined ? openPgliteInMemory() : openPostgres(DATABASE_URL, clock),
);
await migrateCloud(db, clock.now());
await seedRates(db, loadBundledRates(), clock.now());

const mail = async ({ to, subject }: { to: string; subject: string }) => console.log(`to ${to}: ${subject}`);
const accounts = createBetterAuthAccounts(db, {
  baseUrl,
  // Signs sessions. A new secret at each start ends them.
  secret: METER_CLOUD_AUTH_SECRET ?? Buffer.from(randomBytes(32)).toString("base64url"),
  newId: () => uuidV7(clock.now(), randomBytes(10)),
  mail,
  policy: createSignUpPolicy({ db, clock, randomBytes, sha256 }, { openSignUp: false }),
});

/** Returns the client's address from the information of `deno serve`. */
const peerAddress = (info: unknown) =>
  (info as { remoteAddr?: { hostname?: string } } | undefined)?.remoteAddr?.hostname ?? null;

// biome-ignore lint/style/noDefaultExport: `deno serve` requires it.
export default createCloud(
  { db, clock, randomBytes, sha256, log: () => {}, accounts, mail, peerAddress },
  { baseUrl },
);
