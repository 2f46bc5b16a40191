import { type RawBuilder, sql, type Transaction } from "kysely";
import { GENESIS_HASH } from "../../core/privacy/ledger/chain.ts";
import {
  COST_SEAL_FORMAT,
  type CostSealKind,
  type CostSealRow,
  LEAF_BYTES,
  packLeaves,
} from "../../core/privacy/ledger/cost-seals.ts";
import type { Sha256 } from "../../core/values/hash.ts";
import type { Millis } from "../../core/values/time.ts";
import { formatInstant } from "../../core/wire/instant.ts";
import type { CloudSchema } from "./schema.ts";
import type { StoredRequest } from "./stored-request.ts";

/** What a transaction wrote. */
interface SealedRows {
  /** The requests that it may have written, in order of their ids, as `packLeaves()` returns them. */
  readonly leaves: Uint8Array;
  /** Selects the ids of those that it wrote. If there are none, there is no seal. */
  readonly written: RawBuilder<unknown>;
}

/**
 * Common table expressions that append a seal to the workspace's chain.
 *
 * The chain's head stays locked until the transaction ends, and the workspace's other batches wait for it. `after` is a
 * condition that is known only once the statement holds all other locks, so that the head is locked last.
 */
export function appendSeal(
  workspaceId: string,
  kind: CostSealKind,
  { leaves, written }: SealedRows,
  after: RawBuilder<unknown>,
): RawBuilder<unknown> {
  // The JSON array that core/privacy/ledger hashes. The values joined here (hashes, times, a number) need no escaping.
  const beforeSeq = `["${COST_SEAL_FORMAT}",${JSON.stringify(workspaceId.toLowerCase())},`;
  const hash = (seq: RawBuilder<unknown>, previous: RawBuilder<unknown>) =>
    sql`encode(sha256(convert_to(${beforeSeq}::text || ${seq} || ',"' || ${previous} || ${`","${kind}","`}::text
      || to_char((now()::timestamptz(3)) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
      || '","' || (select content_hash from packed) || '"]', 'UTF8')), 'hex')`;
  const [rows, size] = [leaves.length / LEAF_BYTES, sql.lit(LEAF_BYTES)];
  // Nearly always everything was written, and the leaves are stored as they are.
  return sql`possible as (select ${leaves}::bytea as leaves),
    written as (${written}),
    packed as (
      select leaves, encode(sha256(leaves), 'hex') as content_hash from (
        select case (select count(*) from written) when ${sql.lit(rows)} then leaves else (
          select string_agg(substr(leaves, at * ${size} + 1, ${size}), ''::bytea order by at)
          from generate_series(0, ${sql.lit(rows - 1)}) as at
          where substr(leaves, at * ${size} + 1, 16) in (select uuid_send(request_id) from written)
        ) end as leaves from possible
      ) as l where leaves is not null
    ),
    head as (
      insert into cost_seal_heads as h (workspace_id, seq, prev_hash, hash)
      select ${workspaceId}::uuid, 1, ${GENESIS_HASH}::text, ${hash(sql`1`, sql`${GENESIS_HASH}::text`)} from packed
      where ${after}
      on conflict (workspace_id) do update set
        seq = h.seq + 1, prev_hash = h.hash, hash = ${hash(sql`(h.seq + 1)`, sql`h.hash`)}
      returning seq, prev_hash, hash
    ),
    seal as (
      insert into cost_seals (workspace_id, seq, kind, sealed_at, leaves, content_hash, prev_hash, hash)
      select ${workspaceId}::uuid, seq, ${kind}::text, now(), leaves, content_hash, prev_hash, hash
      from packed, head
    )`;
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
  sha256: Sha256,
): Promise<void> {
  const sorted = sortedById(requests);
  const ids = JSON.stringify(sorted.map(({ request_id }) => request_id));
  const written = sql`select value::uuid as request_id from json_array_elements_text(${ids}::text::json)`;
  const rows = { leaves: packLeaves(sorted, sha256), written };
  await sql`with ${appendSeal(workspaceId, "filled", rows, sql`true`)}
    update requests r set cost_seal = head.seq from head, written as f
    where r.workspace_id = ${workspaceId}::uuid and r.request_id = f.request_id`.execute(trx);
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
