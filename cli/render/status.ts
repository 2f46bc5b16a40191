import type { Millis } from "../../core/time.ts";
import { type StatusAnswer, troubleOf } from "../../daemon/daemon-status.ts";
import type { RunningDaemon } from "../daemon-process.ts";
import { httpAddress } from "../own-address.ts";
import { count, counted } from "./count.ts";
import { coverageLines } from "./coverage.ts";
import { printable } from "./printable.ts";

export interface StatusFacts {
  home: string;
  /** The version of the program that asks. */
  version: string;
  running: RunningDaemon | null;
  status: StatusAnswer | null;
  /** The service manager that keeps the daemon running; null where nothing is installed. */
  service?: { readonly manager: string | null } | null;
  databaseBytes: number;
  /** A daemon that does not answer although it holds the home's lock; null where there is none. */
  holder?: { readonly pid: number | null } | null;
  now: Millis;
}

const VERDICTS = {
  store: "DEGRADED: calls pass, but what is metered can't be stored.",
  proxy: "DEGRADED: the proxy does not answer.",
} as const;

/** So many clients are named; more say nothing new. */
const MOST_CLIENTS = 5;

function ago(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return "just now";
  return minutes < 60 ? `${minutes} min ago` : `${Math.floor(minutes / 60)} h ago`;
}

/** The state of things for a person: the verdict first, what is wrong last. */
export function renderStatus({
  home,
  version,
  running,
  status,
  databaseBytes,
  now,
  service,
  holder = null,
}: StatusFacts): string {
  const lines: string[] = [];
  if (running === null || status === null) {
    lines.push(
      holder === null
        ? `Not metering: the daemon is not running. Start it with: meter start`
        : `A daemon${holder.pid === null ? "" : ` (process ${holder.pid})`} holds this home, but can't be asked: it hangs, or could not write daemon.json (is the disk full?).`,
      `home      ${home}`,
    );
  } else {
    const failing = status.store.capturing === "failing";
    const trouble = troubleOf(status);
    lines.push(
      trouble === null ? "Metering." : VERDICTS[trouble],
      `proxy     ${httpAddress(running.proxy_host, status.proxy.port)}  (${counted(status.proxy.connections, "connection")} to providers open)`,
      `api       ${httpAddress(running.api_host, status.api.port)}`,
      `process   ${running.pid}, version ${status.version}, since ${status.started_at}`,
      `home      ${home}`,
      `stored    ${counted(status.store.stored, "request")} since the start` +
        (status.store.pending > 0 ? `, ${count(status.store.pending)} waiting` : ""),
    );
    if (status.version !== version) {
      lines.push(`The installed version is ${version}: meter stop and meter start bring it in.`);
    }
    const { lastError, dropped } = status.store;
    if (failing && lastError !== null) lines.push(`last error  ${lastError.reason}: ${lastError.message}`);
    for (const [reason, lost] of Object.entries(dropped))
      lines.push(`lost      ${count(lost ?? 0)} records: ${reason}`);
    const { restarts } = status.proxy;
    if (restarts > 0)
      lines.push(`The proxy was restarted ${restarts === 1 ? "once" : `${count(restarts)} times`}.`);
    if (status.proxy.watchdog !== "healthy")
      lines.push(
        status.proxy.watchdog === "exhausted"
          ? "The proxy does not answer, and restarts did not help: meter stop and meter start; then meter doctor."
          : "The proxy does not answer at the moment; it is being watched.",
      );
    const { endedUnused, refused } = status.proxy.counters;
    if (refused.too_many_connections > 0) {
      lines.push(
        `Connections that were turned away, since too many were open: ${count(refused.too_many_connections)}.`,
      );
    }
    if (refused.upstream_unreachable > 0) {
      lines.push(
        `Times that a host could not be reached: ${count(refused.upstream_unreachable)}; is this machine online?`,
      );
    }
    if (refused.upstream_tls > 0) {
      lines.push(`Times that a host showed no certificate to trust: ${count(refused.upstream_tls)}.`);
    }
    if (endedUnused > 0) {
      lines.push(
        `Connections to providers that ended before a request: ${count(endedUnused)}, as those of clients do that don't` +
          " trust the certificate: run them with meter run.",
      );
    }
    for (const warning of status.warnings) lines.push(`warning   ${warning}`);
    if (status.store.bodies_held !== null) {
      lines.push(
        `${count(status.store.bodies_held)} captured bodies are past their retention all at once, as after a wrong clock: meter bodies sweep deletes them.`,
      );
    }
    if (status.store.set_aside !== null)
      lines.push(`A damaged database was moved to ${status.store.set_aside}.`);
  }
  if (service !== undefined) {
    const inWords =
      service === null
        ? "none; meter init installs one"
        : service.manager === null
          ? "none runs here: after a restart of the machine, meter start"
          : `${service.manager} keeps the daemon running`;
    lines.push(`service   ${inWords}`);
  }
  if (databaseBytes > 0)
    lines.push(`database  ${home}/meter.db, ${(databaseBytes / 1024 / 1024).toFixed(1)} MiB`);
  if (status === null) return lines.join("\n");
  // A daemon of an older version that still runs does not say.
  if (status.cloud) lines.push(`cloud     ${status.cloud.banner}: ${status.cloud.sentence}`);
  const { coverage, last_captures: captures } = status.last_24_hours;
  lines.push(...coverageLines(coverage).map((line, index) => (index === 0 ? `24 hours  ${line}` : line)));
  if (captures.length > 0) {
    const clients = captures
      .slice(0, MOST_CLIENTS)
      .map(({ client, at }) => `${printable(client ?? "unknown client")} ${ago(now - Date.parse(at))}`);
    lines.push(`captured  ${clients.join(", ")}`);
  }
  return lines.join("\n");
}
