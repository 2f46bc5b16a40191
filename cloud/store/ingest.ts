import { CompiledQuery, sql, type Transaction } from "kysely";
import { DatabaseError } from "../../core/ports/postgres.ts";
import type { PriceBook } from "../../core/pricing/price-book.ts";
import type { Sha256 } from "../../core/values/hash.ts";
import { formatInstant } from "../../core/wire/instant.ts";
import { expectRows } from "./affected-rows.ts";
import { changeAndSeal, sealFilled, sortedById } from "./cost-seals.ts";
import { askForModelSums, isAskingSeal } from "./model-sums.ts";
import type { CloudDatabase } from "./open-database.ts";
import { FILLABLE_COLUMNS, REQUEST_COLUMNS, type RequestColumn } from "./request-columns.ts";
import { rollupAdditions, rollupChanges } from "./rollup-changes.ts";
import { arrayColumns, columnArrays } from "./row-arrays.ts";
import type { CloudSchema } from "./schema.ts";
import { fillNulls, type StoredRequest } from "./stored-request.ts";
import { inScope } from "./transaction.ts";

/** The outcome of each row, by its place in the batch. */
export type IngestOutcome = "accepted" | "duplicate" | "not_storable" | "not_the_sender";

const ALL = Object.keys(REQUEST_COLUMNS) as RequestColumn[];
const COLUMNS = ALL.join(", ");

const typesOf = (columns: readonly RequestColumn[]) =>
  Object.fromEntries(columns.map((column) => [column, REQUEST_COLUMNS[column]]));

/** The columns that a record sent again can change: those that were null, and the cost if it was null. */
const UPDATED: readonly RequestColumn[] = [
  ...FILLABLE_COLUMNS,
  "cost_pico_usd",
  "cost_source",
  "rates_source",
];

/**
 * Stores a batch, each row once, and adds the new rows to the rollups, in one transaction. A row is called a duplicate only after
 * the stored one was read. If a duplicate states a value that is still null, a second transaction fills it in and
 * changes the rollups by the difference. Both transactions lock rows before rollups, each in sorted order, so that parallel
 * batches wait for each other and do not deadlock.
 *
 * A row with an id that another machine or person of the workspace has sent is refused: it is not a duplicate, and adds
 * nothing to the stored row.
 *
 * When this resolves, every outcome is committed. A row that the database cannot store does not affect the others.
 */
export async function ingest(
  db: CloudDatabase,
  workspaceId: string,
  rows: readonly StoredRequest[],
  book: PriceBook,
  sha256: Sha256,
): Promise<readonly IngestOutcome[]> {
  const first = new Map<string, StoredRequest>();
  for (const row of rows) if (!first.has(row.request_id)) first.set(row.request_id, row);
  const { inserted, refused, asksForSums } = await insertAll(db, workspaceId, [...first.values()], sha256);
  // A later batch asks again if this fails, as it does while the coordinator of a cluster is down.
  if (asksForSums)
    await askForModelSums(db, workspaceId, Date.parse(rows[0]?.received_at ?? "")).catch(() => {});
  if (inserted.size === rows.length) return rows.map(() => "accepted");
  const outcomes = rows.map((row): IngestOutcome => {
    if (refused.has(row.request_id)) return "not_storable";
    return first.get(row.request_id) === row && inserted.has(row.request_id) ? "accepted" : "duplicate";
  });
  const duplicates = rows.filter((_, at) => outcomes[at] === "duplicate");
  if (duplicates.length === 0) return outcomes;
  const foreign = await fillIn(db, workspaceId, duplicates, book, sha256);
  return outcomes.map((outcome, at) =>
    outcome === "duplicate" && foreign.has(rows[at]?.request_id ?? "") ? "not_the_sender" : outcome,
  );
}

interface Inserted {
  readonly inserted: ReadonlySet<string>;
  readonly refused: ReadonlySet<string>;
  /** Whether to ask for the sums by model, which are not complete. */
  readonly asksForSums: boolean;
}

/** Inserts all rows. If the database refuses some, finds them by halving and inserts the others. */
async function insertAll(
  db: CloudDatabase,
  workspaceId: string,
  rows: readonly StoredRequest[],
  sha256: Sha256,
): Promise<Inserted> {
  if (rows.length === 0) return { inserted: new Set(), refused: new Set(), asksForSums: false };
  try {
    const { ids, asksForSums } = await inScope(db, { workspaceId }, (trx) =>
      insertRows(trx, workspaceId, rows, sha256),
    );
    return { inserted: new Set(ids), refused: new Set(), asksForSums };
  } catch (error) {
    const isData =
      error instanceof DatabaseError && (error.reason === "invalid_value" || error.reason === "constraint");
    if (!isData) throw error;
    if (rows.length === 1)
      return {
        inserted: new Set(),
        refused: new Set(rows.map(({ request_id }) => request_id)),
        asksForSums: false,
      };
    const half = rows.length >> 1;
    const low = await insertAll(db, workspaceId, rows.slice(0, half), sha256);
    const high = await insertAll(db, workspaceId, rows.slice(half), sha256);
    return {
      inserted: new Set([...low.inserted, ...high.inserted]),
      refused: new Set([...low.refused, ...high.refused]),
      asksForSums: low.asksForSums || high.asksForSums,
    };
  }
}

/** The columns of `Sender`. A batch has one sender, so each of them is one value. */
const SENDER_COLUMNS: readonly RequestColumn[] = ["received_at", "machine_id", "user_id"];

/** The columns that each row has a value of its own for. */
const ROW_COLUMNS = ALL.filter((column) => !SENDER_COLUMNS.includes(column));

/**
 * Inserts rows: `$1` is the workspace, `$2` to `$4` the sender, and an array of each other column follows. The query reads the workspace's row,
 * since a cluster otherwise runs it on the coordinator, at twice the work (docs/cluster.md).
 */
const INSERT = `insert into requests (workspace_id, ${COLUMNS})
  select w.workspace_id, ${COLUMNS} from workspaces w cross join (
    select ${SENDER_COLUMNS.map((column, at) => `$${at + 2}::text::${REQUEST_COLUMNS[column]} as ${column}`).join(", ")},
      ${arrayColumns(typesOf(ROW_COLUMNS), 2 + SENDER_COLUMNS.length)}) as input
  where w.workspace_id = $1::uuid
  order by request_id
  on conflict (workspace_id, request_id) do nothing
  returning request_id`;

/**
 * Inserts rows of one sender, and adds those that were not there yet to the rollups and to a seal. Returns their ids, and whether to ask
 * for the sums by model. Each statement names its workspace and depends on no other one's changes, so that a cluster runs it on one shard.
 */
async function insertRows(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  rows: readonly StoredRequest[],
  sha256: Sha256,
): Promise<{ readonly ids: readonly string[]; readonly asksForSums: boolean }> {
  const sorted = sortedById(rows);
  const sender = SENDER_COLUMNS.map((column) => sorted[0]?.[column] ?? null);
  const input = [workspaceId, ...sender, ...columnArrays(sorted, ROW_COLUMNS)];
  const { rows: results } = await trx.executeQuery<{ request_id: string }>(CompiledQuery.raw(INSERT, input));
  const ids = results.map(({ request_id }) => request_id);
  if (ids.length === 0) return { ids, asksForSums: false };
  const stored = new Set(ids);
  const requests =
    stored.size === sorted.length ? sorted : sorted.filter((row) => stored.has(row.request_id));
  const additions = rollupAdditions(workspaceId, rollupChanges([{ sign: 1, requests }]));
  const sealed = { kind: "stored", requests, sealedAt: (requests[0] as StoredRequest).received_at } as const;
  const { seq, isSummed } = await changeAndSeal(trx, workspaceId, additions, sealed, sha256);
  return { ids, asksForSums: !isSummed && isAskingSeal(seq) };
}

/**
 * Fills in the nulls of stored rows from the same records sent again. Only the machine and person that sent a row can add
 * to it; returns the ids of rows that others sent.
 */
async function fillIn(
  db: CloudDatabase,
  workspaceId: string,
  sent: readonly StoredRequest[],
  book: PriceBook,
  sha256: Sha256,
): Promise<ReadonlySet<string>> {
  return await inScope(db, { workspaceId, readsThenWrites: true }, async (trx) => {
    const known = await readRows(trx, workspaceId, sent, false);
    const foreign = new Set<string>();
    for (const row of sent) {
      const stored = known.get(row.request_id);
      // Deleted in the meantime. After the 503, the daemon sends it again, and it is stored as a new row.
      if (stored === undefined) throw new DatabaseError("conflict");
      if (!isSameSender(stored, row)) foreign.add(row.request_id);
    }
    const lacking = merged(known, sent, book);
    if (lacking.size === 0) return foreign;
    const some = sent.filter(({ request_id }) => lacking.has(request_id));
    // Reads again with a lock, since another request may have filled in the same rows in the meantime.
    const locked = await readRows(trx, workspaceId, some, true);
    const filled = [...merged(locked, some, book).values()];
    const [first] = sent;
    if (filled.length === 0 || first === undefined) return foreign;
    await updateRows(trx, workspaceId, filled);
    const former = filled.map(({ request_id }) => locked.get(request_id) as StoredRequest);
    const changes = rollupChanges([
      { sign: -1, requests: former },
      { sign: 1, requests: filled },
    ]);
    await sealFilled(
      trx,
      workspaceId,
      rollupAdditions(workspaceId, changes),
      filled,
      first.received_at,
      sha256,
    );
    return foreign;
  });
}

function isSameSender(stored: StoredRequest, sent: StoredRequest): boolean {
  return stored.machine_id === sent.machine_id && stored.user_id === sent.user_id;
}

function merged(
  known: ReadonlyMap<string, StoredRequest>,
  sent: readonly StoredRequest[],
  book: PriceBook,
): Map<string, StoredRequest> {
  const filled = new Map<string, StoredRequest>();
  for (const row of sent) {
    const stored = filled.get(row.request_id) ?? known.get(row.request_id);
    if (stored === undefined || !isSameSender(stored, row)) continue;
    const full = fillNulls(stored, row, book);
    if (full !== null) filled.set(row.request_id, full);
  }
  return filled;
}

/** Reads rows by their ids, in the order of the ids; `locked` until the end of the transaction. */
export async function readRows(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  rows: readonly Pick<StoredRequest, "request_id">[],
  locked: boolean,
): Promise<Map<string, StoredRequest>> {
  const ids = JSON.stringify(rows.map(({ request_id }) => request_id));
  const { rows: found } = await sql<Record<string, unknown>>`
    select ${sql.raw(COLUMNS)} from requests
    where workspace_id = ${workspaceId}::uuid
      and request_id in (select value::uuid from json_array_elements_text(${ids}::text::json))
    order by request_id
    ${sql.raw(locked ? "for update" : "")}`.execute(trx);
  return new Map(found.map((row) => [String(row.request_id), fromDatabase(row)]));
}

/** Converts a row, or some of its columns, from the form in which the adapters read it to the form in which it is sent. */
export function fromDatabase(row: Readonly<Record<string, unknown>>): StoredRequest {
  const fields = Object.entries(row).map(([column, value]) => {
    const type = REQUEST_COLUMNS[column as RequestColumn];
    // A count was a safe integer when it was stored.
    if (type === "bigint" && value !== null) return [column, Number(value)] as const;
    return [column, type === "timestamptz" ? formatInstant(value as number) : value] as const;
  });
  return Object.fromEntries(fields) as unknown as StoredRequest;
}

const UPDATE_COLUMNS: readonly RequestColumn[] = ["request_id", ...UPDATED];

/** Updates rows: `$1` is the workspace, and an array of each column follows. */
const UPDATE = `update requests r set ${UPDATED.map((column) => `${column} = i.${column}`).join(", ")}
  from (select ${arrayColumns(typesOf(UPDATE_COLUMNS), 2)}) as i
  where r.workspace_id = $1::uuid and r.request_id = i.request_id`;

async function updateRows(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  rows: readonly StoredRequest[],
): Promise<void> {
  const input = [workspaceId, ...columnArrays(rows, UPDATE_COLUMNS)];
  const { numAffectedRows } = await trx.executeQuery(CompiledQuery.raw(UPDATE, input));
  expectRows(numAffectedRows, rows.length);
}
