import { type ExpressionBuilder, type Kysely, sql } from "kysely";
import { UNPRICED_SQL } from "../../core/pricing/unpriced.ts";
import { EFFECTIVE_BILLING_SQL } from "../../core/values/billing.ts";
import type { RequestListQuery, RequestPage } from "./port/records.ts";
import type { Turn } from "./port/values.ts";
import { type RequestRow, toStoredRequest } from "./request-rows.ts";
import type { Tables } from "./tables.ts";

/** How many rows one slice of a list reads. */
const SLICE_ROWS = 10_000;

/** Lists requests by falling `seq`, in slices with `turn` in between. */
export async function listRequests(
  reader: Kysely<Tables>,
  query: RequestListQuery,
  turn: Turn,
  signal?: AbortSignal,
): Promise<RequestPage> {
  const { limit, beforeSeq } = query;
  // Two queries: SQLite finds either end in the index, but reads the whole table for both at once.
  const oldest = await seqAtEnd(reader, "asc");
  const newest = await seqAtEnd(reader, "desc");
  let before = Math.min(beforeSeq ?? Number.MAX_SAFE_INTEGER, newest + 1);
  const rows: RequestRow[] = [];
  // One row more than requested shows whether there is another page.
  while (rows.length <= limit && before > oldest) {
    const from = before - SLICE_ROWS;
    const found = await reader
      .selectFrom("requests")
      .selectAll()
      .where("seq", ">=", from)
      .where("seq", "<", before)
      .where(matches(query))
      .orderBy("seq", "desc")
      .limit(limit + 1 - rows.length)
      .execute();
    rows.push(...(found as RequestRow[]));
    before = from;
    await turn();
    signal?.throwIfAborted();
  }
  const requests = rows.slice(0, limit).map(toStoredRequest);
  return { requests, nextBeforeSeq: rows.length > limit ? (requests.at(-1)?.seq ?? null) : null };
}

/** Returns the smallest or largest `seq`, or 0 without requests. */
async function seqAtEnd(reader: Kysely<Tables>, order: "asc" | "desc"): Promise<number> {
  const row = await reader
    .selectFrom("requests")
    .select("seq")
    .orderBy("seq", order)
    .limit(1)
    .executeTakeFirst();
  return row?.seq ?? 0;
}

/** Returns the condition of the query's filters. */
function matches({ from, to, project, model, provider, client, billing, status }: RequestListQuery) {
  return (eb: ExpressionBuilder<Tables, "requests">) =>
    eb.and([
      ...(from === null ? [] : [eb("requested_at", ">=", from)]),
      ...(to === null ? [] : [eb("requested_at", "<", to)]),
      ...(project === undefined ? [] : [eb("project", "=", project)]),
      ...(model === undefined ? [] : [eb("model", "=", model)]),
      ...(provider === undefined ? [] : [eb("provider", "=", provider)]),
      ...(client === undefined ? [] : [eb("client", "=", client)]),
      ...(billing === undefined ? [] : [sql<boolean>`${sql.raw(EFFECTIVE_BILLING_SQL)} = ${billing}`]),
      ...(status === "ok" ? [eb("error_class", "is", null)] : []),
      ...(status === "failed" ? [eb("error_class", "is not", null)] : []),
      ...(status === "unpriced" ? [sql<boolean>`(${sql.raw(UNPRICED_SQL)})`] : []),
      ...(status === "incomplete" ? [eb("tokens_complete", "=", 0)] : []),
      ...(typeof status === "number" ? [eb("http_status", "=", status)] : []),
    ]);
}
