import { type RawBuilder, sql, type Transaction } from "kysely";
import { DatabaseError } from "../../core/ports/postgres.ts";
import type { PriceBook } from "../../core/pricing/mod.ts";
import { formatInstant } from "../../core/wire/mod.ts";
import type { CloudDatabase } from "./open-database.ts";
import { FILLABLE_COLUMNS, REQUEST_COLUMNS } from "./request-columns.ts";
import { addToRollups, contributions } from "./rollups.ts";
import type { CloudSchema } from "./schema.ts";
import { fillNulls, type StoredRequest } from "./stored-request.ts";
import { inScope } from "./transaction.ts";

/** What became of each row, by its place in the batch. */
export type IngestOutcome = "accepted" | "duplicate" | "not_storable";

type RequestColumn = keyof typeof REQUEST_COLUMNS;

const ALL = Object.keys(REQUEST_COLUMNS) as RequestColumn[];
const COLUMNS = ALL.join(", ");

/** What a second sending can change: what was null, and the cost if that was. */
const UPDATED: readonly RequestColumn[] = [
  ...FILLABLE_COLUMNS,
  "cost_pico_usd",
  "cost_source",
  "rates_source",
];

/**
 * Stores a batch, each row once, and adds what is new to the rollups, in one statement and one transaction. Rows that
 * are there already are duplicates; where they left something open that is said now, a second transaction fills it in
 * and moves the rollups by the difference. Both take rows before rollups, each in sorted order, so that parallel batches
 * wait for each other instead of standing in each other's way.
 *
 * Each outcome is committed when this resolves. A row that the database can't hold takes none of the others with it.
 */
export async function ingest(
  db: CloudDatabase,
  workspaceId: string,
  rows: readonly StoredRequest[],
  book: PriceBook,
): Promise<readonly IngestOutcome[]> {
  const first = new Map<string, StoredRequest>();
  for (const row of rows) if (!first.has(row.request_id)) first.set(row.request_id, row);
  const { inserted, refused } = await insertAll(db, workspaceId, [...first.values()]);
  const outcomes = rows.map((row): IngestOutcome => {
    if (refused.has(row.request_id)) return "not_storable";
    return first.get(row.request_id) === row && inserted.has(row.request_id) ? "accepted" : "duplicate";
  });
  const duplicates = rows.filter((_, at) => outcomes[at] === "duplicate");
  if (duplicates.length > 0) await fillIn(db, workspaceId, duplicates, book);
  return outcomes;
}

interface Inserted {
  readonly inserted: ReadonlySet<string>;
  readonly refused: ReadonlySet<string>;
}

/** Inserts all rows, or finds by halving the ones that the database refuses to hold and inserts the others. */
async function insertAll(
  db: CloudDatabase,
  workspaceId: string,
  rows: readonly StoredRequest[],
): Promise<Inserted> {
  if (rows.length === 0) return { inserted: new Set(), refused: new Set() };
  try {
    const inserted = await inScope(db, { workspaceId }, (trx) => insertRows(trx, workspaceId, rows));
    return { inserted: new Set(inserted), refused: new Set() };
  } catch (error) {
    const isData =
      error instanceof DatabaseError && (error.reason === "invalid_value" || error.reason === "constraint");
    if (!isData) throw error;
    if (rows.length === 1)
      return { inserted: new Set(), refused: new Set(rows.map(({ request_id }) => request_id)) };
    const half = rows.length >> 1;
    const low = await insertAll(db, workspaceId, rows.slice(0, half));
    const high = await insertAll(db, workspaceId, rows.slice(half));
    return {
      inserted: new Set([...low.inserted, ...high.inserted]),
      refused: new Set([...low.refused, ...high.refused]),
    };
  }
}

/**
 * Rows as a common table expression `input`: each column is one JSON array, and PostgreSQL takes their elements side by
 * side. Half the bytes of `json_to_recordset`, which wants every name in every row, and a quarter less of its time. The
 * text cast makes the parameter the same for every driver.
 */
function inputOf(rows: readonly StoredRequest[], columns: readonly RequestColumn[]): RawBuilder<unknown> {
  const elements = columns.map((column) => {
    // Sets that end early are filled up with nulls: of a column that nobody states, nothing is sent.
    const stated = rows.slice(0, rows.findLastIndex((row) => row[column] !== null) + 1);
    const values = JSON.stringify(stated.map((row) => row[column]));
    return sql`json_array_elements_text(${values}::text::json)::${sql.raw(`${REQUEST_COLUMNS[column]} as ${column}`)}`;
  });
  return sql`input as (select ${sql.join(elements)})`;
}

async function insertRows(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  rows: readonly StoredRequest[],
): Promise<string[]> {
  const { rows: inserted } = await sql<{ request_id: string }>`
    with ${inputOf(rows, ALL)},
    inserted as (
      insert into requests (workspace_id, ${sql.raw(COLUMNS)})
      select ${workspaceId}::uuid, ${sql.raw(COLUMNS)} from input
      order by request_id
      on conflict (workspace_id, request_id) do nothing
      returning *
    ),
    contributed as (${sql.raw(contributions("inserted", 1))}),
    ${addToRollups(workspaceId)}
    select request_id from inserted`.execute(trx);
  return inserted.map(({ request_id }) => request_id);
}

/**
 * Fills in what stored rows lack and these have. Only the machine and person that sent a row may add to it: a colleague's
 * key in the same workspace changes nothing.
 */
async function fillIn(
  db: CloudDatabase,
  workspaceId: string,
  sent: readonly StoredRequest[],
  book: PriceBook,
): Promise<void> {
  await inScope(db, { workspaceId }, async (trx) => {
    const known = await readRows(trx, workspaceId, sent, false);
    const lacking = merged(known, sent, book);
    if (lacking.size === 0) return;
    const some = sent.filter(({ request_id }) => lacking.has(request_id));
    // Read again, locked: between the two, another sending may have filled in the same rows.
    const filled = merged(await readRows(trx, workspaceId, some, true), some, book);
    if (filled.size > 0) await updateRows(trx, workspaceId, [...filled.values()]);
  });
}

function merged(
  known: ReadonlyMap<string, StoredRequest>,
  sent: readonly StoredRequest[],
  book: PriceBook,
): Map<string, StoredRequest> {
  const filled = new Map<string, StoredRequest>();
  for (const row of sent) {
    const stored = filled.get(row.request_id) ?? known.get(row.request_id);
    if (stored === undefined || stored.machine_id !== row.machine_id || stored.user_id !== row.user_id)
      continue;
    const full = fillNulls(stored, row, book);
    if (full !== null) filled.set(row.request_id, full);
  }
  return filled;
}

async function readRows(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  rows: readonly StoredRequest[],
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

/** A row as the adapters read it, in the form in which rows are sent. */
function fromDatabase(row: Readonly<Record<string, unknown>>): StoredRequest {
  const fields = Object.entries(REQUEST_COLUMNS).map(([column, type]) => {
    const value = row[column];
    // A count was a safe integer when it was stored.
    if (type === "bigint" && value !== null) return [column, Number(value)] as const;
    return [column, type === "timestamptz" ? formatInstant(value as number) : value] as const;
  });
  return Object.fromEntries(fields) as unknown as StoredRequest;
}

async function updateRows(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  rows: readonly StoredRequest[],
): Promise<void> {
  await sql`
    with ${inputOf(rows, ["request_id", ...UPDATED])},
    old as (
      select r.* from requests r
      where r.workspace_id = ${workspaceId}::uuid and r.request_id in (select request_id from input)
    ),
    updated as (
      update requests r set ${sql.raw(UPDATED.map((column) => `${column} = i.${column}`).join(", "))}
      from input i
      where r.workspace_id = ${workspaceId}::uuid and r.request_id = i.request_id
      returning r.*
    ),
    contributed as (${sql.raw(contributions("old", -1))} union all ${sql.raw(contributions("updated", 1))}),
    ${addToRollups(workspaceId)}
    select 1`.execute(trx);
}
