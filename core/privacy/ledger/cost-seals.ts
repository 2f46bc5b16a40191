import type { Sha256 } from "../../values/hash.ts";
import { encodeHex, hashBytes, hashText } from "../../values/hash-text.ts";
import type { ChainRow } from "./chain.ts";
import type { RowIntegrity } from "./verify-ledger.ts";

/**
 * The columns that a request's digest covers: who used what, when, how much, and the costs. They must not include columns
 * that the purge erases with a person (`PERSONAL_REQUEST_COLUMNS`).
 */
export const SEALED_COLUMNS = [
  "request_id",
  "requested_at",
  "machine_id",
  "user_id",
  "project",
  "provider",
  "model",
  "prompt_tokens",
  "completion_tokens",
  "cache_read_tokens",
  "cache_write_tokens",
  "cache_write_1h_tokens",
  "thinking_tokens",
  "tokens_complete",
  "http_status",
  "error_class",
  "cost_pico_usd",
  "cost_source",
  "rates_source",
  "reported_cost_pico_usd",
  "reported_cost_source",
  "reported_rates_source",
] as const;

/** The sealed columns of a request. Counts are numbers, costs are text, times are ISO 8601. */
export type SealedRequest = { readonly request_id: string } & {
  readonly [Column in (typeof SEALED_COLUMNS)[number]]: string | number | boolean | null;
};

/** What an ingest transaction did to the sealed requests: stored them, or filled in columns that were null. */
export type CostSealKind = "stored" | "filled";

/** The digests of the requests written by one transaction, with the seal's place in the workspace's chain. */
export interface CostSealRow extends ChainRow {
  readonly kind: CostSealKind;
  /** ISO 8601, UTC, milliseconds. */
  readonly sealed_at: string;
  /** One leaf per request, ordered by id: 16 bytes of the id, then 16 of the digest. Null after erasure. */
  readonly leaves: Uint8Array | null;
  /** SHA-256 of the leaves, lower-case hex. It is kept when they are erased. */
  readonly content_hash: string;
  readonly is_erased: boolean;
}

/** One request in a seal. */
interface CostLeaf {
  readonly request_id: string;
  readonly digest: Uint8Array;
}

/** The format of a seal: the first element of the JSON array that is hashed. */
export const COST_SEAL_FORMAT = "meter-cost-seal-1";
const LEAF_FORMAT = "meter-cost-1";

/** Bytes of a UUID. */
const ID_BYTES = 16;

/** Bytes of a digest: the first half of a SHA-256. Finding a second request with the same 128 bits is infeasible. */
const DIGEST_BYTES = 16;

/** Bytes of a leaf. */
export const LEAF_BYTES = ID_BYTES + DIGEST_BYTES;

const encoder = new TextEncoder();

/** Digests a request: the JSON array of its sealed columns. `space` is overwritten; a longer array gets new bytes. */
export function digestRequest(
  request: SealedRequest,
  sha256: Sha256,
  space: Uint8Array = new Uint8Array(0),
): Uint8Array {
  const fields: unknown[] = [LEAF_FORMAT];
  for (const column of SEALED_COLUMNS) fields.push(request[column]);
  const json = JSON.stringify(fields);
  const isLong = json.length * MAX_BYTES_OF_UNIT > space.length;
  const bytes = isLong ? encoder.encode(json) : space.subarray(0, encoder.encodeInto(json, space).written);
  return sha256(bytes).subarray(0, DIGEST_BYTES);
}

/** The most bytes of UTF-8 for one UTF-16 code unit. */
const MAX_BYTES_OF_UNIT = 3;

/** Enough bytes for the sealed columns of most requests. */
const SPACE_BYTES = 4_096;

/** Returns the leaves of requests that are in order of their ids: `CostSealRow.leaves`. The ids are in lower case. */
export function packLeaves(requests: readonly SealedRequest[], sha256: Sha256): Uint8Array {
  const leaves = new Uint8Array(requests.length * LEAF_BYTES);
  const space = new Uint8Array(SPACE_BYTES);
  let at = 0;
  for (const request of requests) {
    writeId(leaves, at, request.request_id);
    leaves.set(digestRequest(request, sha256, space), at + ID_BYTES);
    at += LEAF_BYTES;
  }
  return leaves;
}

const DASH = 0x2d;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;
const LETTER_A = 0x61;

function writeId(bytes: Uint8Array, start: number, id: string): void {
  let at = start;
  for (let from = 0; from < id.length; from += 2) {
    if (id.charCodeAt(from) === DASH) from += 1;
    bytes[at++] = (hexDigit(id.charCodeAt(from)) << 4) | hexDigit(id.charCodeAt(from + 1));
  }
}

const hexDigit = (code: number) => (code <= DIGIT_9 ? code - DIGIT_0 : code - LETTER_A + 10);

/** Returns the requests of a seal. Bytes after the last complete leaf are ignored. */
export function unpackLeaves(bytes: Uint8Array): readonly CostLeaf[] {
  return Array.from({ length: Math.floor(bytes.length / LEAF_BYTES) }, (_, index) => {
    const leaf = bytes.subarray(index * LEAF_BYTES, (index + 1) * LEAF_BYTES);
    const id = encodeHex(leaf.subarray(0, ID_BYTES));
    const parts = [id.slice(0, 8), id.slice(8, 12), id.slice(12, 16), id.slice(16, 20), id.slice(20)];
    return { request_id: parts.join("-"), digest: leaf.subarray(ID_BYTES) };
  });
}

/** Hashes a seal: the JSON array of format, place, link, kind, time and the hash of its leaves. */
export function hashCostSeal(row: Omit<CostSealRow, "hash">, sha256: Sha256): string {
  const fields = [row.workspace_id, row.seq, row.prev_hash, row.kind, row.sealed_at, row.content_hash];
  return hashText(JSON.stringify([COST_SEAL_FORMAT, ...fields]), sha256);
}

/** Checks a seal's fields and leaves against its hashes. It does not read the requests. */
export function checkCostSeal(row: CostSealRow, sha256: Sha256): RowIntegrity {
  if (row.hash !== hashCostSeal(row, sha256)) return "changed";
  if (row.is_erased) return row.leaves === null ? "erased" : "changed";
  if (row.leaves === null) return "changed";
  return hashBytes(row.leaves, sha256) === row.content_hash ? "intact" : "changed";
}

/** The result of comparing a request with one of its leaves. */
type LeafOutcome =
  /** The request matches this seal, and no later seal covers it. */
  | "intact"
  /** A later seal filled the request in: compare it with that seal's leaf. */
  | "filled_later"
  | "changed"
  | "missing";

/** The current state of a request. */
export interface StoredCost {
  readonly digest: Uint8Array;
  /** The last seal that filled it in; null if none did. */
  readonly filledBy: number | null;
}

/** Compares the current state of a request with one of its leaves. The last seal of a request decides. */
export function checkLeaf(
  seal: Pick<CostSealRow, "seq" | "kind">,
  leaf: CostLeaf,
  stored: StoredCost | undefined,
): LeafOutcome {
  if (stored === undefined) return "missing";
  if (stored.filledBy !== null && stored.filledBy > seal.seq) return "filled_later";
  const isLast = seal.kind === "filled" ? stored.filledBy === seal.seq : stored.filledBy === null;
  const isSame = stored.digest.every((byte, at) => byte === leaf.digest[at]);
  return isLast && isSame ? "intact" : "changed";
}
