import type { HeadFault } from "../../core/privacy/ledger/compare-heads.ts";
import { formatCount } from "../../core/values/text/format-count.ts";
import type { Millis } from "../../core/values/time.ts";
import { formatInstant } from "../../core/wire/instant.ts";

const CHAINS = { prompt_views: "prompt views", audit_events: "audit events", costs: "costs" } as const;

/** Describes a ledger of the cloud that no longer contains what it contained. */
export function describeLedgerFault({ chain, seq, fault }: HeadFault): string {
  const row = `row ${formatCount(seq)}`;
  if (fault === "not_comparable")
    return (
      `The cloud's ledger of ${CHAINS[chain]} lacks ${row}, which this machine saw, or has another. The cloud states a restore from a ` +
      "backup. This machine saved no hashes that are old enough to compare, so it can't tell whether the ledger was rewritten."
    );
  const what = fault === "tail_cut" ? "ends before" : "has another";
  return `The cloud changed its ledger of ${CHAINS[chain]}: it ${what} ${row}, which this machine saw.`;
}

/** Describes a cloud that was restored from a backup. */
export function describeRestore(backupAt: Millis): string {
  return `The cloud was restored from a backup of ${formatInstant(backupAt)}. What this machine sent after that is sent again.`;
}
