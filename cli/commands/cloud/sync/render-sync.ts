import { formatCount } from "../../../../core/values/text/format-count.ts";
import { formatQuantity } from "../../../../core/values/text/format-quantity.ts";
import { describePause } from "../../../../daemon/cloud/describe-pause.ts";
import type { CloudSnapshot, SyncNowResult } from "../../../../daemon/cloud/results.ts";

type Sent = Exclude<SyncNowResult["bodies"], null>;

/** Renders the progress of a running sync. */
export function renderSyncProgress({ sync, bodies }: CloudSnapshot): string {
  const waiting = [formatQuantity(sync.pending, "request")];
  if (bodies.enabled) waiting.push(formatQuantity(bodies.pending, "body", "bodies"));
  const error = sync.lastError ?? (bodies.enabled ? bodies.lastError : null);
  return `Still sending: ${waiting.join(" and ")} left${error === null ? "." : `; the last error was ${error}.`}`;
}

/** Renders what a sync sent, one line each for requests and bodies, and why some bodies were not sent. */
export function renderSynced({ report, bodies }: SyncNowResult): string {
  const parts = [`${formatCount(report.accepted)} sent`];
  if (report.duplicates > 0) parts.push(`${formatCount(report.duplicates)} already in the cloud`);
  if (report.quarantined > 0)
    parts.push(`${formatCount(report.quarantined)} refused (meter cloud quarantine list)`);
  const lines = [`Requests: ${parts.join(", ")}.`];
  if (bodies === null) return lines.join("\n");
  const more = [`${formatCount(bodies.uploaded)} sent`, `${formatCount(bodies.pending)} waiting`];
  if (bodies.quarantined > 0)
    more.push(`${formatCount(bodies.quarantined)} refused (meter cloud quarantine list)`);
  lines.push(`Bodies: ${more.join(", ")}.`);
  if (bodies.policyRejected > 0) {
    const waits = formatQuantity(bodies.policyRejected, "body waits", "bodies wait");
    lines.push(`${waits} on this machine: the workspace does not store prompt content.`);
  }
  if (bodies.heldBack > 0) {
    const stays = formatQuantity(bodies.heldBack, "body stays", "bodies stay");
    lines.push(`${stays} on this machine because of its settings. Show them: meter cloud privacy show`);
  }
  return lines.join("\n");
}

/** Explains why not everything was sent and what to do; `null` if the sync succeeded. */
export function renderSyncFailure(
  { kind, report, bodies }: SyncNowResult,
  { sync }: Pick<CloudSnapshot, "sync">,
): string | null {
  if (kind === "synced") return null;
  const problems = [
    ...(report.ok ? [] : [describeMetadataFailure(report, sync)]),
    // The same pause applies to both; report it once.
    ...(bodies === null || (report.reason === "paused" && bodies.pausedReason === sync.pausedReason)
      ? []
      : describeBodyFailure(bodies)),
  ];
  return problems.join("\n");
}

function describeMetadataFailure(
  { reason, message }: SyncNowResult["report"],
  { pending, pausedReason, pausedCode }: CloudSnapshot["sync"],
): string {
  const wait = formatQuantity(pending, "request waits", "requests wait");
  switch (reason) {
    case "paused":
      return `Nothing was sent; ${wait}. ${describePause(pausedReason ?? message, pausedCode)}`;
    case "refused":
      return (
        `The cloud refused every request, even when sent one by one (${message}). ` +
        `${wait} on this machine and will be tried again. If the cloud is older than this version of meter, update it; ` +
        "otherwise report the code to its operator. Show what is sent: meter cloud privacy show"
      );
    default:
      return `Not everything was sent: ${message}. ${wait} and will be tried again.`;
  }
}

function describeBodyFailure({ pausedReason, pausedCode, lastError, pending }: Sent): string[] {
  const wait = formatQuantity(pending, "body waits", "bodies wait");
  if (pausedReason !== null)
    return [`Bodies are not sent; ${wait}. ${describePause(pausedReason, pausedCode)}`];
  return lastError === null
    ? []
    : [`Not all bodies were sent: ${lastError}. ${wait} and will be tried again.`];
}
