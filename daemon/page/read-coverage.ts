import type { Banner } from "../../core/delivery/banner/status-banner.ts";
import { coverageGapKinds } from "../../core/metering/coverage/coverage-advice.ts";
import type { CoverageTotal } from "../../core/metering/coverage/coverage-kinds.ts";
import { summariseCoverage } from "../../core/metering/coverage/coverage-summary.ts";
import { measureStoppedMs, type RunningTime } from "../../core/metering/coverage/running-times.ts";
import {
  addProviderCommand,
  describeAddedHost,
  describeUnlistedHost,
  splitAddedHosts,
} from "../../core/metering/coverage/unlisted-hosts.ts";
import { describeDistrust } from "../../core/operations/doctor/trust-advice.ts";
import { cutCoverageTime } from "../../core/pricing/view/time-buckets.ts";
import { findZone } from "../../core/values/zone.ts";
import type { CoverageAnswer, CoverageBucket, CoverageTask } from "../../pages/views/coverage.ts";
import type { ApiPorts } from "../api/api-ports.ts";
import { readStopped } from "../api/read-usage.ts";
import { localZone } from "./page-period.ts";

/** The certificate's file if the daemon does not know another one. */
const DEFAULT_AUTHORITY_FILE = "<meter_home>/ca/ca.pem";

/** Reads what was metered in a period and what was missed. `words` are the period's. */
export async function readCoverageAnswer(
  ports: ApiPorts,
  { from, to, words = "" }: RunningTime & { readonly words?: string },
): Promise<CoverageAnswer> {
  const { store } = ports;
  const stopped = readStopped(ports, { from, to });
  const summary = summariseCoverage(store.coverage.read({ from, to }));
  const { unlisted, added } = splitAddedHosts(summary.unlisted, ports.isKnownHost ?? (() => false));
  const tasks: CoverageTask[] = [
    ...(ports.status().proxy.distrusting_programs ?? []).map((program) => ({
      name: program.name,
      ...describeDistrust(program, ports.authorityFile ?? DEFAULT_AUTHORITY_FILE),
    })),
    ...unlisted.map((host) => ({
      name: host.host,
      text: describeUnlistedHost(host),
      command: addProviderCommand(host),
    })),
    ...added.map((host) => ({ name: host.host, text: describeAddedHost(host), command: null })),
  ];
  return {
    summary,
    buckets: readBuckets(ports, { from, to }, stopped),
    gaps: store.coverage.readGaps(coverageGapKinds, { from, to }),
    stopped: {
      times: stopped?.length ?? 0,
      totalMs: stopped?.reduce((sum, each) => sum + (each.to - each.from), 0) ?? 0,
      latest: stopped?.toReversed() ?? [],
    },
    tasks,
    periodWords: words,
    cloud: await readCloud(ports),
    restCommand: "meter coverage",
  };
}

/** Adds the calls of a period up by time. */
function readBuckets(
  { store }: ApiPorts,
  period: RunningTime,
  stopped: readonly RunningTime[] | null,
): readonly CoverageBucket[] {
  const zone = findZone(localZone()) ?? findZone("UTC");
  const times = zone === null ? [] : cutCoverageTime(period, zone);
  const stoppedMs = stopped === null ? [] : measureStoppedMs(stopped, times);
  const counts = times.map((): CoverageTotal[] => []);
  let bucket = 0;
  for (const { at, kind, count } of store.coverage.readTimes(period)) {
    while (at >= (times[bucket]?.to ?? at + 1)) bucket += 1;
    counts[bucket]?.push({ host: null, kind, count });
  }
  return times.map((time, at) => {
    const { metered, seen } = summariseCoverage(counts[at] ?? []);
    return { ...time, metered, seen, stoppedMs: stoppedMs[at] ?? null };
  });
}

const CLOUD_STATES: Readonly<Record<Banner, string>> = {
  ACTIVE: "Cloud sync is active",
  DEGRADED: "Cloud sync is degraded",
  PAUSED: "Cloud sync is paused",
  "NOT-CONFIGURED": "Not connected to a cloud",
};

async function readCloud({ cloud }: ApiPorts): Promise<CoverageAnswer["cloud"]> {
  const { banner, sentence } = (await cloud?.banner()) ?? {
    banner: "NOT-CONFIGURED" as const,
    sentence: "Nothing is sent to a cloud. To connect: meter cloud connect",
  };
  return { state: CLOUD_STATES[banner], isBad: banner === "PAUSED" || banner === "DEGRADED", sentence };
}
