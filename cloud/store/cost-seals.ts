import { CompiledQuery, sql, type Transaction } from "kysely";
import { DatabaseError } from "../../core/ports/postgres.ts";
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
import { expectRows } from "./affected-rows.ts";
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
  returning seq, prev_hash, hash, summed_seq is not distinct from seq as is_summed`;

const INSERT_SEAL = `insert into cost_seals
    (workspace_id, seq, kind, sealed_at, leaves, content_hash, prev_hash, hash)
  values ($1::uuid, $2::bigint, $3::text, $4::timestamptz, $5::bytea, $6::text, $7::text, $8::text)`;

/**
 * Appends a seal to the workspace's chain, in the caller's transaction, and returns its number and whether the sums by model are complete.
 *
 * The chain's head stays locked until the transaction ends, and the workspace's other batches wait for it. Call this after
 * everything else that the transaction locks.
 */
export async function appendSeal(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  { kind, requests, sealedAt }: SealedRows,
  sha256: Sha256,
): Promise<{ readonly seq: string; readonly isSummed: boolean }> {
  const leaves = packLeaves(requests, sha256);
  const contentHash = hashBytes(leaves, sha256);
  const before = `["${COST_SEAL_FORMAT}",${JSON.stringify(workspaceId.toLowerCase())},`;
  const after = `","${kind}","${sealedAt}","${contentHash}"]`;
  const { rows } = await trx.executeQuery<{
    seq: string;
    prev_hash: string;
    hash: string;
    is_summed: boolean;
  }>(CompiledQuery.raw(MOVE_HEAD, [workspaceId, before, after]));
  const [head] = rows;
  if (head === undefined) throw new DatabaseError("conflict");
  const { seq, prev_hash, hash } = head;
  const seal = [workspaceId, seq, kind, sealedAt, leaves, contentHash, prev_hash, hash];
  expectRows((await trx.executeQuery(CompiledQuery.raw(INSERT_SEAL, seal))).numAffectedRows, 1);
  const isSummed = seq === "1" ? await checkFirstSums(trx, workspaceId) : head.is_summed;
  return { seq, isSummed };
}

/** Returns requests in order of their ids, which is PostgreSQL's order of UUIDs too. */
export function sortedById(requests: readonly StoredRequest[]): readonly StoredRequest[] {
  return requests.toSorted((one, other) => (one.request_id < other.request_id ? -1 : 1));
}

/**
 * Seals requests that this transaction filled in, and stores the seal's number in each. The caller has locked their rows
 * and has already updated the rollups.
 */
export async function sealFilled(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  requests: readonly StoredRequest[],
  sealedAt: string,
  sha256: Sha256,
): Promise<void> {
  const sorted = sortedById(requests);
  const { seq } = await appendSeal(trx, workspaceId, { kind: "filled", requests: sorted, sealedAt }, sha256);
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
