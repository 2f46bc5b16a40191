import * as v from "valibot";
import { count, identifier, instant, maybe, uuid } from "./fields.ts";

/** A place in a chain, as text in a query. */
const place = v.optional(
  v.pipe(v.string(), v.regex(/^\d{1,15}$/, "must be a whole number"), v.transform(Number)),
);

/**
 * The query of `GET /v1/daemon/ledger-heads`: for each chain, the place of a row whose hash is returned too; the latest restore that
 * the machine knows.
 */
export const ledgerHeadsQuerySchema = v.object({
  prompt_views: place,
  audit_events: place,
  costs: place,
  generation: v.optional(uuid),
});

const hash = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/, "must be a SHA-256 in lower-case hex"));

/** The head of one chain. `seq` is 0 if it has no rows. `asked_hash` is null if no row has the place that was asked for. */
const head = v.object({ seq: count, hash, asked_hash: maybe(hash) });

/** The response of `GET /v1/daemon/ledger-heads`. Source: docs/specification.md#prompt-view-ledger. */
export const ledgerHeadsSchema = v.object({
  workspace_id: identifier,
  prompt_views: head,
  audit_events: head,
  costs: head,
  /** The restores of the database since the one that the machine named, as one; null if there was none. */
  restored: maybe(
    v.object({
      generation: uuid,
      /** When the oldest of the backups was begun. */
      backup_at: instant,
      restored_at: instant,
      server_time: instant,
    }),
  ),
});

/** The heads of a workspace's hash chains. */
export type LedgerHeads = v.InferOutput<typeof ledgerHeadsSchema>;
