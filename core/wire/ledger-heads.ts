import * as v from "valibot";
import { count, identifier, maybe } from "./fields.ts";

/** A place in a chain, as text in a query. */
const place = v.optional(
  v.pipe(v.string(), v.regex(/^\d{1,15}$/, "must be a whole number"), v.transform(Number)),
);

/** The query of `GET /v1/daemon/ledger-heads`: for each chain, the place of a row whose hash is returned too. */
export const ledgerHeadsQuerySchema = v.object({ prompt_views: place, audit_events: place, costs: place });

const hash = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/, "must be a SHA-256 in lower-case hex"));

/** The head of one chain. `seq` is 0 if it has no rows. `asked_hash` is null if no row has the place that was asked for. */
const head = v.object({ seq: count, hash, asked_hash: maybe(hash) });

/** The response of `GET /v1/daemon/ledger-heads`. Source: docs/specification.md#prompt-view-ledger. */
export const ledgerHeadsSchema = v.object({
  workspace_id: identifier,
  prompt_views: head,
  audit_events: head,
  costs: head,
});

/** The heads of a workspace's hash chains. */
export type LedgerHeads = v.InferOutput<typeof ledgerHeadsSchema>;
