import { formatCount } from "../../../../core/values/text/format-count.ts";
import { formatQuantity } from "../../../../core/values/text/format-quantity.ts";
import type { Millis } from "../../../../core/values/time.ts";
import type { describeBanner } from "../../../../daemon/cloud/cloud-banner.ts";
import { describeLedgerFault, describeRestore } from "../../../../daemon/cloud/describe-ledger-fault.ts";
import { describePause } from "../../../../daemon/cloud/describe-pause.ts";
import type { CloudSnapshot } from "../../../../daemon/cloud/results.ts";
import { labelled } from "../../../render/labelled.ts";
import { printable } from "../../../render/printable.ts";

/** Formats how long ago something happened. */
function ago(at: Millis | null, now: Millis): string {
  if (at === null) return "never";
  const seconds = Math.max(0, Math.floor((now - at) / 1000));
  if (seconds < 120) return `${seconds} s ago`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)} h ago`;
  return `${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

const LABEL_WIDTH = 16;

/** Renders `cloud status`: the banner first, then warnings about the configuration. Source: docs/specification.md#command-line. */
export function renderCloudStatus(
  snapshot: CloudSnapshot,
  { banner, sentence }: ReturnType<typeof describeBanner>,
  warnings: readonly string[],
  now: Millis,
  width: number,
): string {
  const { sync, bodies } = snapshot;
  const lines: string[] = [];
  const add = (label: string, text: string) =>
    lines.push(labelled(label, printable(text), LABEL_WIDTH, width));
  lines.push(labelled("", printable(`${banner}: ${sentence}`), 0, width));
  for (const warning of warnings) add("warning", warning);
  add("cloud", snapshot.baseUrl ?? "no address set");
  if (snapshot.otherOrigin !== null) {
    add("", `the stored key belongs to ${snapshot.otherOrigin} and is not used`);
  }
  if (snapshot.paired) add("workspace", snapshot.workspaceName ?? "unknown");
  add("machine", snapshot.hostname);
  add("last connected", ago(snapshot.lastConnectedAt, now));
  if (sync.pausedReason !== null) {
    add("paused", `${sync.pausedReason}: ${describePause(sync.pausedReason, sync.pausedCode)}`);
  }
  const oldest = sync.oldestPendingAt === null ? "" : `, the oldest from ${ago(sync.oldestPendingAt, now)}`;
  add("waiting", `${formatQuantity(sync.pending, "request")}${oldest}`);
  add("last tick", ago(sync.lastTickAt, now));
  add("failures", `${formatCount(sync.consecutiveFailures)} in a row`);
  add("last error", sync.lastError === null ? "none" : `${sync.lastError} (${ago(sync.lastErrorAt, now)})`);
  if (!bodies.enabled) add("bodies", "upload is off");
  else {
    add("bodies", `upload is on, ${formatCount(bodies.pending)} waiting`);
    if (bodies.heldBack > 0) {
      const stay = formatQuantity(bodies.heldBack, "body stays", "bodies stay");
      add("", `${stay} on this machine because of its settings. Show them: meter cloud privacy show`);
    }
    if (bodies.pausedReason !== null) {
      add("", `${bodies.pausedReason}: ${describePause(bodies.pausedReason, bodies.pausedCode)}`);
    }
    if (bodies.recordsPolicyRejected > 0) {
      const wait = formatQuantity(bodies.recordsPolicyRejected, "body waits", "bodies wait");
      add("", `${wait} on this machine: the workspace does not store prompt content`);
    }
    if (bodies.lastError !== null)
      add("", `last error ${bodies.lastError} (${ago(bodies.lastErrorAt, now)})`);
  }
  if (snapshot.ledger !== null) {
    const { fault, checkedAt, backupAt } = snapshot.ledger;
    if (fault === null) add("ledgers", `unchanged (compared ${ago(checkedAt, now)})`);
    else add("ledgers", `${describeLedgerFault(fault)} Details: meter cloud ledger`);
    if (backupAt != null) add("", describeRestore(backupAt));
  }
  add("last body tick", ago(bodies.lastTickAt, now));
  add("last upload", ago(bodies.lastUploadAt, now));
  add(
    "quarantined",
    snapshot.quarantined === 0
      ? "0"
      : `${formatCount(snapshot.quarantined)}. List them: meter cloud quarantine list`,
  );
  return lines.join("\n");
}
