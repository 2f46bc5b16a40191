import { sql, type Transaction } from "kysely";
import type { LedgerHead } from "../../../core/privacy/ledger/chain.ts";
import {
  type CostSealRow,
  checkCostSeal,
  checkLeaf,
  digestRequest,
  LEAF_BYTES,
  SEALED_COLUMNS,
  type SealedRequest,
  type StoredCost,
  unpackLeaves,
} from "../../../core/privacy/ledger/cost-seals.ts";
import type { LedgerVerdict } from "../../../core/privacy/ledger/verify-ledger.ts";
import type { Sha256 } from "../../../core/values/hash.ts";
import { encodeHex } from "../../../core/values/hash-text.ts";
import { readChainHead } from "../chain-heads.ts";
import { readSeals } from "../cost-seals.ts";
import { fromDatabase } from "../ingest.ts";
import type { CloudDatabase } from "../open-database.ts";
import type { CloudSchema } from "../schema.ts";
import { inSnapshot } from "../transaction.ts";
import { verifyChain } from "./verify-chain.ts";
import { findWrongTotal } from "./verify-totals.ts";

/** Seals read at once. Each holds one batch of up to a thousand requests. */
const PAGE_SEALS = 8;

type Broken = Extract<LedgerVerdict, { ok: false }>;

/** The verdict on a workspace's requests and totals. */
export interface CostVerdict {
  readonly verdict: LedgerVerdict;
  /** Requests that were stored without a seal. */
  readonly outsideChain: number;
}

/**
 * Verifies the chain of seals up to its head, compares every sealed request with its last seal, and the totals with the
 * sums of the requests. For a deleted workspace, whose requests may already be erased, it verifies only the chain.
 *
 * Each page is a separate transaction, so that other work on the embedded database runs in between. The pages need no
 * common snapshot: seals never change, a request changes together with the seal that it names, and a request changes
 * together with its totals. Rows that are stored meanwhile are verified the next time.
 */
export async function verifyCosts(
  db: CloudDatabase,
  workspaceId: string,
  savedHead: LedgerHead | null,
  sha256: Sha256,
): Promise<CostVerdict> {
  const inPage = <T>(read: (trx: Transaction<CloudSchema>) => Promise<T>) =>
    inSnapshot(db, workspaceId, read);
  const { head, isDeleted, requests, hasMoreSeals } = await inPage((trx) => readStart(trx, workspaceId));
  let stored = 0;
  const verdict = await verifyChain({
    savedHead,
    storedHead: head,
    pageRows: PAGE_SEALS,
    readAfter: (seq, limit) =>
      inPage((trx) => readSeals(trx, workspaceId, { after: seq ?? 0, through: head.seq }, limit)),
    // The purge erases leaves in deleted workspaces only.
    check: (row) => (row.is_erased && !isDeleted ? "changed" : checkCostSeal(row, sha256)),
    compare: async (seals) => {
      for (const { kind, leaves } of seals) {
        if (kind === "stored") stored += (leaves?.length ?? 0) / LEAF_BYTES;
      }
      return isDeleted ? null : await inPage((trx) => compareSeals(trx, head, seals, sha256));
    },
  });
  // A request is stored once, and never deleted from a workspace that exists.
  const outsideChain = isDeleted ? 0 : Math.max(0, requests - stored);
  const endsAtHead: LedgerVerdict =
    verdict.ok && hasMoreSeals ? { ok: false, fault: "out_of_sequence", seq: head.seq + 1 } : verdict;
  if (!endsAtHead.ok || isDeleted) return { verdict: endsAtHead, outsideChain };
  const wrong = await findWrongTotal(inPage, workspaceId);
  return {
    verdict: wrong === null ? verdict : { ok: false, fault: "totals_differ", seq: 0, detail: wrong },
    outsideChain,
  };
}

/** The state that the verification starts from, read in one snapshot. */
async function readStart(trx: Transaction<CloudSchema>, workspaceId: string) {
  const head = await readChainHead(trx, "cost_seal_heads", workspaceId);
  const { rows } = await sql<{ requests: string; isDeleted: boolean; hasMoreSeals: boolean }>`select
    (select count(*) from requests where workspace_id = ${workspaceId}::uuid) as requests,
    exists (select from cost_seals where workspace_id = ${workspaceId}::uuid and seq > ${head.seq}::bigint)
      as "hasMoreSeals",
    exists (select from workspaces where workspace_id = ${workspaceId}::uuid and deleted_at is not null)
      as "isDeleted"`.execute(trx);
  const { requests = "0", isDeleted = false, hasMoreSeals = false } = rows[0] ?? {};
  return { head, requests: Number(requests), isDeleted, hasMoreSeals };
}

/** A request whose last seal comes after the current one. */
interface FilledLater {
  readonly requestId: string;
  readonly filledBy: number;
  readonly digest: Uint8Array;
  /** The current seal. */
  readonly seq: number;
}

async function compareSeals(
  trx: Transaction<CloudSchema>,
  head: LedgerHead,
  seals: readonly CostSealRow[],
  sha256: Sha256,
): Promise<Broken | null> {
  const unpacked = seals.map(({ seq, kind, leaves }) => ({
    seal: { seq, kind },
    leaves: unpackLeaves(leaves ?? new Uint8Array()),
  }));
  const ids = unpacked.flatMap(({ leaves }) => leaves.map(({ request_id }) => request_id));
  const stored = await readCosts(trx, head.workspace_id, ids, sha256);
  const filledLater: FilledLater[] = [];
  for (const { seal, leaves } of unpacked) {
    for (const leaf of leaves) {
      const requestId = leaf.request_id;
      const request = stored.get(requestId);
      const outcome = checkLeaf(seal, leaf, request);
      if (outcome === "missing") return brokenAt("request_missing", seal.seq, requestId);
      if (outcome === "changed") return brokenAt("cost_changed", seal.seq, requestId);
      if (outcome === "filled_later") {
        const { filledBy, digest } = request as StoredCost;
        filledLater.push({ requestId, filledBy: filledBy as number, digest, seq: seal.seq });
      }
    }
  }
  return await compareFilledLater(trx, head, filledLater);
}

function brokenAt(fault: "cost_changed" | "request_missing", seq: number, requestId: string): Broken {
  return { ok: false, fault, seq, detail: `request ${requestId}` };
}

async function readCosts(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  ids: readonly string[],
  sha256: Sha256,
): Promise<ReadonlyMap<string, StoredCost>> {
  const { rows } = await sql<Record<string, unknown>>`
    select ${sql.raw(SEALED_COLUMNS.join(", "))}, cost_seal from requests
    where workspace_id = ${workspaceId}::uuid
      and request_id in (select value::uuid from json_array_elements_text(${JSON.stringify(ids)}::text::json))`.execute(
    trx,
  );
  return new Map(
    rows.map(({ cost_seal: filledBy, ...row }) => [
      String(row.request_id),
      {
        digest: digestRequest(fromDatabase(row) as SealedRequest, sha256),
        filledBy: filledBy === null ? null : Number(filledBy),
      },
    ]),
  );
}

/**
 * Looks each request up in the seal that it names. The chain's own check covers that seal: a missing seal up to the head is
 * a fault of the chain, and a seal after the head is verified the next time.
 */
async function compareFilledLater(
  trx: Transaction<CloudSchema>,
  { workspace_id: workspaceId, seq: headSeq }: LedgerHead,
  requests: readonly FilledLater[],
): Promise<Broken | null> {
  if (requests.length === 0) return null;
  const claims = requests.map(({ requestId, filledBy, digest }) => [
    filledBy,
    requestId.replaceAll("-", "") + encodeHex(digest),
  ]);
  // The bytes may also match across two leaves, which is not a leaf: each starts at a multiple of LEAF_BYTES.
  const { rows } = await sql<{ ordinal: string }>`
    with claims as (
      select ordinality as ordinal, (value ->> 0)::bigint as seq, decode(value ->> 1, 'hex') as leaf
      from json_array_elements(${JSON.stringify(claims)}::text::json) with ordinality
    )
    select ordinal from claims c
    left join cost_seals s on s.workspace_id = ${workspaceId}::uuid and s.seq = c.seq
    where (s.seq is not null or c.seq > ${headSeq}::bigint)
      and (s.kind = 'filled' and position(c.leaf in s.leaves) % ${sql.lit(LEAF_BYTES)} = 1) is not true
    order by ordinal limit 1`.execute(trx);
  const first = requests[Number(rows[0]?.ordinal ?? 0) - 1];
  return first === undefined ? null : brokenAt("cost_changed", first.seq, first.requestId);
}
