import type { Millis } from "../../core/time.ts";
import type { bannerOf, CloudSnapshot } from "../../daemon/cloud/mod.ts";
import { count, counted } from "./count.ts";
import { labelled } from "./labelled.ts";
import { printable } from "./printable.ts";

/** What to do about a pause. */
const pauseWords: Readonly<Record<string, string>> = {
  paused_manual: "by meter cloud pause; meter cloud resume goes on",
  paused_unauthorised: "the key is not valid any more: meter cloud connect --force, or meter cloud resume",
  paused_database_replaced:
    "the database was damaged and begun anew, and with it went what was paused: meter cloud resume goes on",
  paused_forbidden: "ask the owner of the workspace to re-invite this machine, then meter cloud resume",
};

/** How long ago, in the unit that fits. */
function ago(at: Millis | null, now: Millis): string {
  if (at === null) return "never";
  const seconds = Math.max(0, Math.floor((now - at) / 1000));
  if (seconds < 120) return `${seconds} s ago`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)} h ago`;
  return `${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

const LABEL_WIDTH = 16;

/** Every item that the contract lists for `cloud status`, for people: the banner first, then what is wrong with the configuration. */
export function renderCloudStatus(
  snapshot: CloudSnapshot,
  { banner, sentence }: ReturnType<typeof bannerOf>,
  warnings: readonly string[],
  now: Millis,
  width: number,
): string {
  const { sync, bodies } = snapshot;
  const lines: string[] = [];
  const say = (label: string, text: string) =>
    lines.push(labelled(label, printable(text), LABEL_WIDTH, width));
  lines.push(labelled("", printable(`${banner}: ${sentence}`), 0, width));
  for (const warning of warnings) say("warning", warning);
  say("cloud", snapshot.baseUrl ?? "no address is set");
  if (snapshot.otherOrigin !== null) {
    say("", `the stored key is of ${snapshot.otherOrigin} and is not used here`);
  }
  if (snapshot.paired) say("workspace", snapshot.workspaceName ?? "unknown");
  say("machine", snapshot.hostname);
  say("last connected", ago(snapshot.lastConnectedAt, now));
  if (sync.pausedReason !== null) {
    say("paused", `${sync.pausedReason}: ${pauseWords[sync.pausedReason] ?? "meter cloud resume goes on"}`);
  }
  const oldest = sync.oldestPendingAt === null ? "" : `, the oldest of ${ago(sync.oldestPendingAt, now)}`;
  say("waiting", `${counted(sync.pending, "request")}${oldest}`);
  say("last tick", ago(sync.lastTickAt, now));
  say("failures", `${count(sync.consecutiveFailures)} in a row`);
  say("last error", sync.lastError === null ? "none" : `${sync.lastError} (${ago(sync.lastErrorAt, now)})`);
  if (!bodies.enabled) say("bodies", "upload is off");
  else {
    say("bodies", `upload is on, ${count(bodies.pending)} waiting`);
    if (bodies.pausedReason !== null) {
      say("", `${bodies.pausedReason}: ${pauseWords[bodies.pausedReason] ?? "meter cloud resume goes on"}`);
    }
    if (bodies.recordsPolicyRejected > 0) {
      const times =
        bodies.recordsPolicyRejected === 1 ? "once" : `${count(bodies.recordsPolicyRejected)} times`;
      say("", `the workspace's policy has said no ${times}; they stay waiting`);
    }
    if (bodies.lastError !== null)
      say("", `last error ${bodies.lastError} (${ago(bodies.lastErrorAt, now)})`);
  }
  say("last body tick", ago(bodies.lastTickAt, now));
  say("last upload", ago(bodies.lastUploadAt, now));
  say(
    "quarantined",
    snapshot.quarantined === 0 ? "0" : `${count(snapshot.quarantined)}: meter cloud quarantine list`,
  );
  return lines.join("\n");
}
