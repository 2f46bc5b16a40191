import { CompiledQuery, sql, type Transaction } from "kysely";
import { GENESIS_HASH } from "../../core/privacy/ledger/chain.ts";
import {
  COST_SEAL_FORMAT,
  type CostSealKind,
  type CostSealRow,
  packLeaves,
} from "../../core/privacy/ledger/cost-seals.ts";
import type { Sha256 } from "../../core/values/hash.ts";
import { hashBytes } from "../../core/values/hash-text.ts";
import type { Millis } from "../../core/values/time.ts";
import { formatInstant } from "../../core/wire/instant.ts";
import { type CheckedQuery, changeTogether, expectRows } from "./affected-rows.ts";
import { checkFirstSums } from "./model-sums.ts";
import type { CloudSchema } from "./schema.ts";
import type { StoredRequest } from "./stored-request.ts";

/** Requests that a transaction wrote, in order of their ids, and when they arrived. */
interface SealedRows {
  readonly kind: CostSealKind;
  readonly requests: readonly StoredRequest[];
  /** ISO 8601, UTC, milliseconds. */
  readonly sealedAt: string;
}

/**
 * SQL for a seal's hash: the JSON array that core/privacy/ledger hashes. The values joined here are ASCII and need no escaping. A cluster
 * runs only immutable functions in `do update`, and `convert_to()` and `||` with a number are not.
 */
const hashOf = (seq: string, previous: string) =>
  `encode(sha256(($2::text || ${seq}::text || ',"' || ${previous} || $3::text)::bytea), 'hex')`;

/**
 * Moves the head: `$1` is the workspace, `$2` and `$3` the texts before and after the number and the previous hash. The caller has changed
 * the sums by model too, so these stay complete if they were.
 */
const MOVE_HEAD = `insert into cost_seal_heads as h (workspace_id, seq, prev_hash, hash, summed_seq, summed_seals)
  values ($1::uuid, 1, '${GENESIS_HASH}', ${hashOf("1", `'${GENESIS_HASH}'`)}, 1, 1)
  on conflict (workspace_id) do update set
    seq = h.seq + 1, prev_hash = h.hash, hash = ${hashOf("(h.seq + 1)", "h.hash")},
    summed_seq = case when h.summed_seq = h.seq then h.seq + 1 else h.summed_seq end, summed_seals = h.summed_seals + 1
  returning seq, summed_seq is not distinct from seq as is_summed`;

/** Inserts the seal whose number and hash the head has: `$1` is the workspace, and what only the seal has follows. */
const INSERT_SEAL = `insert into cost_seals
    (workspace_id, seq, kind, sealed_at, leaves, content_hash, prev_hash, hash)
  select workspace_id, seq, $2::text, $3::timestamptz, $4::bytea, $5::text, prev_hash, hash
  from cost_seal_heads where workspace_id = $1::uuid`;

/**
 * Makes changes, then appends a seal of their rows to the workspace's chain, in the caller's transaction. Returns the seal's number and whether the
 * sums by model are complete.
 *
 * The chain's head stays locked until the transaction ends, and the workspace's other batches wait for it. Call this after
 * everything else that the transaction locks.
 */
export async function changeAndSeal(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  changes: readonly CheckedQuery[],
  { kind, requests, sealedAt }: SealedRows,
  sha256: Sha256,
): Promise<{ readonly seq: string; readonly isSummed: boolean }> {
  const leaves = packLeaves(requests, sha256);
  const contentHash = hashBytes(leaves, sha256);
  const before = `["${COST_SEAL_FORMAT}",${JSON.stringify(workspaceId.toLowerCase())},`;
  const after = `","${kind}","${sealedAt}","${contentHash}"]`;
  const results = await changeTogether(trx, [
    ...changes,
    { query: CompiledQuery.raw(MOVE_HEAD, [workspaceId, before, after]), rows: 1 },
    {
      query: CompiledQuery.raw(INSERT_SEAL, [workspaceId, kind, sealedAt, leaves, contentHash]),
      rows: 1,
    },
  ]);
  const head = results.at(-2)?.rows[0] as { readonly seq: string; readonly is_summed: boolean };
  const isSummed = head.seq === "1" ? await checkFirstSums(trx, workspaceId) : head.is_summed;
  return { seq: head.seq, isSummed };
}

/** Returns requests in order of their ids, which is PostgreSQL's order of UUIDs too. */
export function sortedById(requests: readonly StoredRequest[]): readonly StoredRequest[] {
  return requests.toSorted((one, other) => (one.request_id < other.request_id ? -1 : 1));
}

/**
 * Makes changes, seals requests that this transaction filled in, and stores the seal's number in each. The caller has locked their rows, and the
 * changes are those of the rollups.
 */
export async function sealFilled(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  changes: readonly CheckedQuery[],
  requests: readonly StoredRequest[],
  sealedAt: string,
  sha256: Sha256,
): Promise<void> {
  const sorted = sortedById(requests);
  const sealed = { kind: "filled", requests: sorted, sealedAt } as const;
  const { seq } = await changeAndSeal(trx, workspaceId, changes, sealed, sha256);
  const ids = JSON.stringify(sorted.map(({ request_id }) => request_id));
  const { numAffectedRows } = await sql`update requests set cost_seal = ${seq}::bigint
    where workspace_id = ${workspaceId}::uuid
      and request_id in (select value::uuid from json_array_elements_text(${ids}::text::json))`.execute(trx);
  expectRows(numAffectedRows, sorted.length);
}

/** Reads seals in order of the chain: those after `after`, up to and including `through`. */
export async function readSeals(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  { after, through }: { readonly after: number; readonly through: number },
  limit: number,
): Promise<readonly CostSealRow[]> {
  const rows = await trx
    .selectFrom("cost_seals")
    .selectAll()
    .where("workspace_id", "=", workspaceId)
    .where("seq", ">", String(after))
    .where("seq", "<=", String(through))
    .orderBy("seq")
    .limit(limit)
    .execute();
  return rows.map(({ erased_at: erasedAt, ...row }) => ({
    ...row,
    seq: Number(row.seq),
    sealed_at: formatInstant(row.sealed_at as Millis),
    is_erased: erasedAt !== null,
  }));
}
