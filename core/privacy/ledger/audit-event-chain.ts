import type { Sha256 } from "../../values/hash.ts";
import { hashText } from "../../values/hash-text.ts";
import type { ChainRow } from "./chain.ts";
import type { RowIntegrity } from "./verify-ledger.ts";

/** An audit event with its place in the workspace's chain. */
export interface AuditEventRow extends ChainRow {
  readonly event_id: string;
  /** ISO 8601, UTC, milliseconds. The text itself is hashed. */
  readonly at: string;
  readonly kind: string;
  readonly actor_user_id: string | null;
  readonly retain_until: string;
  /** `{}` after erasure. */
  readonly details: Readonly<Record<string, unknown>>;
  /** The salt of `content_hash`; null after erasure. */
  readonly content_salt: string | null;
  /** The hash of the details. It is kept when they are erased. */
  readonly content_hash: string;
  readonly is_erased: boolean;
}

const FORMAT = "meter-audit-event-1";
const CONTENT_FORMAT = "meter-audit-event-content-1";

/** Serialises details for hashing: JSON pairs sorted by name, since a database does not keep the order of names. */
export function canonicalDetails(details: Readonly<Record<string, unknown>>): string {
  const names = Object.keys(details).sort();
  return JSON.stringify(names.map((name) => [name, details[name]]));
}

/** Hashes an event: the JSON array of format, place, link, fields and the hash of its details. */
export function hashAuditEvent(row: Omit<AuditEventRow, "hash">, sha256: Sha256): string {
  const fields = [row.event_id, row.at, row.kind, row.actor_user_id, row.retain_until, row.content_hash];
  return hashText(JSON.stringify([FORMAT, row.workspace_id, row.seq, row.prev_hash, ...fields]), sha256);
}

/** Hashes an event's details. The salt prevents guessing short details from the hash. */
export function hashDetails(
  details: Readonly<Record<string, unknown>>,
  salt: string,
  sha256: Sha256,
): string {
  return hashText(
    `[${JSON.stringify(CONTENT_FORMAT)},${JSON.stringify(salt)},${canonicalDetails(details)}]`,
    sha256,
  );
}

/** Checks an event's fields against its hashes. */
export function checkAuditEvent(row: AuditEventRow, sha256: Sha256): RowIntegrity {
  if (row.hash !== hashAuditEvent(row, sha256)) return "changed";
  if (row.is_erased) {
    const isBlank = row.content_salt === null && Object.keys(row.details).length === 0;
    return isBlank ? "erased" : "changed";
  }
  if (row.content_salt === null) return "changed";
  return hashDetails(row.details, row.content_salt, sha256) === row.content_hash ? "intact" : "changed";
}
