import { systemClock } from "../../adapters/clock/system-clock.ts";
import { createRandomBytes, sha256 } from "../../adapters/crypto/node-crypto.ts";
import { createUser, listWorkspacesOf, setPlan } from "../../cloud/accounts/admin.ts";
import { writeDeletionCertificate } from "../../cloud/erasure/certificate.ts";
import { erasePrompts } from "../../cloud/erasure/run-erasure.ts";
import { verifyWorkspaceLedgers, type WorkspaceHeads } from "../../cloud/ledger/verify-ledgers.ts";
import { listDeletedSubject, listDue, runPurge } from "../../cloud/purge/run-purge.ts";
import { compactDatabase } from "../../cloud/store/compact.ts";
import { distributeCloud, readAllTotals } from "../../cloud/store/distribute.ts";
import { type ErasureScope, isInService } from "../../cloud/store/erasures.ts";
import type { CloudDatabase } from "../../cloud/store/open-database.ts";
import { findErased, type PurgeSubject } from "../../cloud/store/purge.ts";
import { publishRates, seedRates } from "../../cloud/store/rates.ts";
import { checkBodyKeys } from "../../cloud/store/unavailable-keys.ts";
import { listWithdrawals } from "../../cloud/store/withdrawals.ts";
import type { Accounts, NewAccount } from "../../core/ports/accounts.ts";
import type { BodyKeyStore } from "../../core/ports/body-key-store.ts";
import { loadBundledRates } from "../../core/pricing/bundled-rates.ts";
import type { Plan } from "../../core/values/plan.ts";
import type { RatePull } from "../../core/wire/pricing-rates.ts";
import type { Manifest } from "./backup.ts";
import { prepareDatabase } from "./prepare-database.ts";

/** What an administration task needs. */
export interface AdministrationParts {
  readonly db: CloudDatabase;
  readonly bodyKeys: BodyKeyStore;
  /** Writes a backup of the database into a folder. */
  backUp(folder: string): Promise<Manifest>;
  /** Opens the accounts. A function, because loading them takes a while. */
  accounts(): Promise<Accounts<Request, Response>>;
}

const clock = systemClock;

/**
 * The administration tasks by name. Inputs and results are JSON, so that a running server that has the embedded database open
 * can run a task for a command in another process.
 */
export const ADMINISTRATION = {
  migrate: ({ db }: AdministrationParts, _: object) => prepareDatabase(db, () => {}),
  distribute: ({ db }: AdministrationParts, _: object) => distributeCloud(db),
  table_totals: ({ db }: AdministrationParts, _: object) => readAllTotals(db),
  back_up: ({ backUp }: AdministrationParts, { folder }: { folder: string }) => backUp(folder),
  list_withdrawals: ({ db }: AdministrationParts, { since }: { since: number }) => listWithdrawals(db, since),
  create_user: async ({ db, accounts }: AdministrationParts, account: NewAccount) =>
    await createUser({ db, clock, randomBytes: createRandomBytes(), accounts: await accounts() }, account),
  set_plan: ({ db }: AdministrationParts, input: { workspaceId: string; plan: Plan }) =>
    setPlan({ db, clock }, input.workspaceId, input.plan),
  list_workspaces: async ({ db, accounts }: AdministrationParts, { email }: { email: string }) =>
    await listWorkspacesOf({ db, accounts: await accounts() }, email),
  seed_rates: ({ db }: AdministrationParts, _: object) => seedRates(db, loadBundledRates(), clock.now()),
  publish_rates: ({ db }: AdministrationParts, { pull, dryRun }: { pull: RatePull; dryRun: boolean }) =>
    publishRates(db, pull, { now: clock.now(), dryRun }),
  verify_ledger: (
    { db }: AdministrationParts,
    { workspaceId, heads }: { workspaceId: string; heads: WorkspaceHeads | null },
  ) => verifyWorkspaceLedgers(db, workspaceId, heads, sha256),
  list_deleted: ({ db }: AdministrationParts, { subject }: { subject: string | null }) =>
    subject === null ? listDue({ db, clock }) : listDeletedSubject({ db, clock }, subject),
  purge: async (
    { db, accounts, bodyKeys }: AdministrationParts,
    input: { subjects: readonly PurgeSubject[] | null; compact: boolean },
  ) => {
    const parts = { db, clock, bodyKeys, accounts: await accounts() };
    const report = await runPurge(parts, input.subjects === null ? {} : { subjects: input.subjects });
    return { ...report, compaction: input.compact ? await compactDatabase(db) : null };
  },
  /** Null if nothing with this id was erased. */
  certify_purge: async ({ db }: AdministrationParts, { subject }: { subject: string }) => {
    const erased = await findErased(db, subject);
    return erased === null ? null : writeDeletionCertificate(erased);
  },
  check_body_keys: ({ db, bodyKeys }: AdministrationParts, _: object) => checkBodyKeys(db, bodyKeys),
  /** Null if there is no such workspace in service. */
  erase_prompts: async ({ db, bodyKeys }: AdministrationParts, scope: ErasureScope) =>
    (await isInService(db, scope.workspaceId))
      ? await erasePrompts({ db, clock, randomBytes: createRandomBytes(), sha256, bodyKeys }, scope, null)
      : null,
};

/** The name of an administration task. */
export type AdministrationName = keyof typeof ADMINISTRATION;

/** The input of a task. */
export type AdministrationInput<Name extends AdministrationName> = Parameters<
  (typeof ADMINISTRATION)[Name]
>[1];

/** The result of a task. */
export type AdministrationResult<Name extends AdministrationName> = Awaited<
  ReturnType<(typeof ADMINISTRATION)[Name]>
>;

/** Runs a task on a database that this process has open. */
export async function administer<Name extends AdministrationName>(
  parts: AdministrationParts,
  name: Name,
  input: AdministrationInput<Name>,
): Promise<AdministrationResult<Name>> {
  const work = ADMINISTRATION[name] as (
    parts: AdministrationParts,
    input: AdministrationInput<Name>,
  ) => Promise<AdministrationResult<Name>>;
  return await work(parts, input);
}
