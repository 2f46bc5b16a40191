import { randomUUID } from "node:crypto";
import { existsSync, openAsBlob } from "node:fs";
import { join } from "node:path";
import { sql } from "kysely";
import * as v from "valibot";
import { systemClock } from "../../adapters/clock/system-clock.ts";
import { createRandomBytes, sha256 } from "../../adapters/crypto/node-crypto.ts";
import { readSmallFile } from "../../adapters/files/read-small-file.ts";
import { DumpProgramError, runPgRestore } from "../../adapters/postgres/dump-programs.ts";
import { applyWithdrawals } from "../../cloud/backup/apply-withdrawals.ts";
import { verifyWorkspaceLedgers } from "../../cloud/ledger/verify-ledgers.ts";
import {
  addRestore,
  endSessions,
  isEmpty,
  missingRoles,
  readTotalsOf,
} from "../../cloud/store/backup-facts.ts";
import { showAllRows } from "../../cloud/store/distribute.ts";
import { makeRole } from "../../cloud/store/migrations/make-role.ts";
import type { CloudDatabase } from "../../cloud/store/open-database.ts";
import { checkBodyKeys } from "../../cloud/store/unavailable-keys.ts";
import type { Withdrawal } from "../../cloud/store/withdrawals.ts";
import { CHAIN_NAMES } from "../../core/privacy/ledger/chain.ts";
import { CommandFailure } from "../program/exit-codes.ts";
import { describeUnreadable } from "../render/unreadable.ts";
import type { AdministrationParts } from "./administration.ts";
import { dumpOf, type Manifest } from "./backup.ts";
import { type OpenedDatabase, openConfiguredDatabase } from "./open-cloud-database.ts";
import { prepareDatabase } from "./prepare-database.ts";
import type { CloudProgramConfig } from "./read-cloud-config.ts";

/** The roles of the application, which a restore creates if the server lacks them. */
const ROLES = ["meter_app", "meter_lookup", "meter_accounts", "meter_purge"];

/** What a restore verified and did. */
export interface RestoreReport {
  readonly tables: number;
  readonly rows: number;
  readonly workspaces: number;
  readonly ledgerRows: number;
  readonly withdrawals: number;
  /** Withdrawals that could not be applied. */
  readonly notApplied: readonly Withdrawal[];
  readonly bodyKeys: number;
  readonly missingBodyKeys: readonly string[];
}

/** How a restored database differs from its backup. */
export class RestoreDiffers extends Error {
  override readonly name = "RestoreDiffers";
}

/** Restores a backup into the configured database, which must be empty, and returns it open. Changes nothing if it is not empty. */
export async function loadBackup(
  config: CloudProgramConfig,
  folder: string,
  manifest: Manifest,
): Promise<OpenedDatabase> {
  const engine = config.databaseUrl === null ? "pglite" : "postgres";
  if (engine !== manifest.engine) {
    throw new CommandFailure(
      manifest.engine === "pglite"
        ? "The backup is of the embedded database. Unset DATABASE_URL to restore it."
        : "The backup is of a PostgreSQL server. Set DATABASE_URL to an empty database to restore it.",
    );
  }
  const path = dumpOf(folder, manifest);
  if (config.databaseUrl === null) {
    if (existsSync(join(config.databaseFolder, "data"))) throw notEmpty(config.databaseFolder);
    return await openConfiguredDatabase(config, await openAsBlob(path));
  }
  const opened = await openConfiguredDatabase(config);
  try {
    if (!(await isEmpty(opened.db))) throw notEmpty("DATABASE_URL");
    for (const role of ROLES) await sql.raw(makeRole(role)).execute(opened.db);
    const missing = await missingRoles(opened.db, manifest.owners);
    if (missing.length > 0) {
      throw new CommandFailure(
        `The server lacks roles that own tables in the backup.\nCreate them: ${missing.map((role) => `create role "${role}" login createrole;`).join(" ")}`,
      );
    }
    await runPgRestore(config.databaseUrl, path);
    return opened;
  } catch (cause) {
    await opened.db.destroy();
    throw cause instanceof DumpProgramError ? new CommandFailure(cause.message) : cause;
  }
}

const notEmpty = (where: string) =>
  new CommandFailure(
    `The database in ${where} is not empty. A backup is restored only into an empty one. Nothing was changed.`,
  );

/**
 * Verifies a restored database against its manifest: first the rows and sums of each table, then every ledger from its first row to the
 * head of the manifest. Then applies the withdrawals, ends all sessions, and gives the database a new id. Throws `RestoreDiffers` at the
 * first difference, before any of these changes.
 */
export async function finishRestore(
  { db, bodyKeys, accounts }: Pick<AdministrationParts, "db" | "bodyKeys" | "accounts">,
  manifest: Manifest,
  withdrawals: readonly Withdrawal[],
): Promise<RestoreReport> {
  const rows = await verifyTotals(db, manifest);
  // Adds what a newer version needs to read the ledgers.
  await prepareDatabase(db, () => {});
  const ledgerRows = await verifyLedgers(db, manifest);
  const parts = { db, bodyKeys, clock: systemClock, randomBytes: createRandomBytes(), sha256 };
  const notApplied = await applyWithdrawals({ ...parts, accounts: await accounts() }, withdrawals);
  await endSessions(db);
  const { unavailable } = await checkBodyKeys(db, bodyKeys);
  // Last: servers accept machines from here on, which send again what the backup lacks.
  await addRestore(db, {
    generation: randomUUID(),
    backupAt: Date.parse(manifest.backup_at),
    restoredAt: Date.now(),
  });
  return {
    ...{ tables: Object.keys(manifest.totals).length, rows },
    ...{ workspaces: Object.keys(manifest.heads).length, ledgerRows },
    ...{ withdrawals: withdrawals.length - notApplied.length, notApplied },
    ...{ bodyKeys: manifest.body_keys.length, missingBodyKeys: unavailable.map(({ keyId }) => keyId) },
  };
}

async function verifyTotals(db: CloudDatabase, { totals }: Manifest): Promise<number> {
  const found = await db.transaction().execute(async (trx) => {
    await showAllRows(trx);
    return await readTotalsOf(trx, Object.keys(totals));
  });
  for (const [table, expected] of Object.entries(totals)) {
    if (JSON.stringify(found[table]) === JSON.stringify(expected)) continue;
    throw new RestoreDiffers(
      `the table ${table} has ${JSON.stringify(found[table])} instead of ${JSON.stringify(expected)}`,
    );
  }
  return Object.values(totals).reduce((sum, each) => sum + Number(each.rows), 0);
}

async function verifyLedgers(db: CloudDatabase, { heads }: Manifest): Promise<number> {
  let rows = 0;
  for (const [workspaceId, saved] of Object.entries(heads)) {
    const headOf = (name: (typeof CHAIN_NAMES)[number]) => ({ ...saved[name], outside_chain: null });
    const verdict = await verifyWorkspaceLedgers(
      db,
      workspaceId,
      {
        workspace_id: workspaceId,
        prompt_views: saved.prompt_views.seq === 0 ? null : headOf("prompt_views"),
        audit_events: saved.audit_events.seq === 0 ? null : headOf("audit_events"),
        costs: saved.costs.seq === 0 ? null : headOf("costs"),
      },
      sha256,
    );
    for (const name of CHAIN_NAMES) {
      const chain = verdict[name];
      if (!chain.ok) {
        throw new RestoreDiffers(
          `the ledger ${name} of the workspace ${workspaceId} has a fault at row ${chain.seq}: ${chain.fault.replaceAll("_", " ")}`,
        );
      }
      rows += chain.head.seq;
    }
  }
  return rows;
}

/** A file of withdrawals is one line for each. */
const MAX_WITHDRAWALS_BYTES = 1024 * 1024 * 1024;

const id = v.pipe(v.string(), v.uuid());
const at = v.number();
const withdrawalSchema = v.variant("kind", [
  v.object({ kind: v.literal("prompts_not_stored"), workspaceId: id }),
  v.object({ kind: v.literal("key_revoked"), workspaceId: id, keyId: v.string(), at }),
  v.object({ kind: v.literal("machine_blocked"), workspaceId: id, machineId: v.string(), at }),
  v.object({ kind: v.literal("member_removed"), workspaceId: id, userId: v.string(), at }),
  v.object({ kind: v.literal("organisation_left"), organisationId: id, userId: v.string(), at }),
  v.object({
    kind: v.literal("prompts_erased"),
    workspaceId: id,
    erasureId: id,
    userId: v.nullable(v.string()),
    project: v.nullable(v.string()),
    actorUserId: v.nullable(v.string()),
    at,
  }),
  v.object({ kind: v.literal("workspace_deleted"), workspaceId: id, at }),
  v.object({ kind: v.literal("account_deleted"), userId: v.string(), at }),
]);

/** The last line of a file of withdrawals, by which a file that was cut off is found. */
const endSchema = v.object({ kind: v.literal("end"), as_of: v.pipe(v.string(), v.isoTimestamp()) });

/** Returns the text of a file of withdrawals: one JSON object per line, the last one with the time of the list. */
export function formatWithdrawals(withdrawals: readonly Withdrawal[], asOf: Date): string {
  const lines = [...withdrawals, { kind: "end", as_of: asOf.toISOString() }];
  return `${lines.map((each) => JSON.stringify(each)).join("\n")}\n`;
}

/** Reads a file of withdrawals, and when it was written. */
export async function readWithdrawals(
  path: string,
): Promise<{ readonly withdrawals: readonly Withdrawal[]; readonly asOf: string }> {
  const file = await readSmallFile(path, { maxBytes: MAX_WITHDRAWALS_BYTES });
  if (!file.ok) throw new CommandFailure(describeUnreadable(path, file.reason));
  const lines = file.text.trim().split("\n");
  const parseLine = <S extends v.GenericSchema>(schema: S, line: string) =>
    v.safeParse(v.pipe(v.string(), v.parseJson(), schema), line);
  const end = parseLine(endSchema, lines.at(-1) ?? "");
  if (!end.success) throw new CommandFailure(`${path} was cut off: its last line is not {"kind":"end",…}.`);
  const withdrawals = lines.slice(0, -1).map((line, index) => {
    const parsed = parseLine(withdrawalSchema, line);
    if (!parsed.success) throw new CommandFailure(`Line ${index + 1} of ${path} is not a withdrawal.`);
    return parsed.output;
  });
  return { withdrawals, asOf: end.output.as_of };
}
