import type { Banner } from "../../core/delivery/banner/status-banner.ts";
import { coverageGapKinds } from "../../core/metering/coverage/coverage-advice.ts";
import {
  passes,
  printValueFilter,
  readValueFilter,
  type ValueFilter,
} from "../../core/metering/coverage/coverage-filter.ts";
import type { CoverageTotal } from "../../core/metering/coverage/coverage-kinds.ts";
import { type CoverageSummary, summariseCoverage } from "../../core/metering/coverage/coverage-summary.ts";
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
import { type PartReader, WHOLE } from "../../pages/page-parts.ts";
import {
  type CoverageAnswer,
  type CoverageBucket,
  type CoverageTask,
  coverageSpec,
  isFilterKind,
} from "../../pages/views/coverage.ts";
import type { ApiPorts } from "../api/api-ports.ts";
import { readStopped } from "../api/read-usage.ts";
import { localZone } from "../store/days.ts";

/** The certificate's file if the daemon does not know another one. */
const DEFAULT_AUTHORITY_FILE = "<meter_home>/ca/ca.pem";

/** The page of a machine's coverage. */
export const LOCAL_COVERAGE = coverageSpec(["host", "kind"]);

/** Which counters are read. A host that is not known is the empty text. */
export interface CoverageFilters {
  readonly hosts: ValueFilter | null;
  readonly kinds: ValueFilter | null;
}

/** Reads the filters of an address. */
export const readCoverageFilters = (parameters: URLSearchParams): CoverageFilters => ({
  hosts: readValueFilter(parameters, "host"),
  kinds: readValueFilter(parameters, "kind"),
});

/** Prints filters as parameters of an address. */
export const printCoverageFilters = ({ hosts, kinds }: CoverageFilters): string =>
  `${new URLSearchParams([...printValueFilter("host", hosts), ...printValueFilter("kind", kinds)])}`;

/** Reads what was metered in a period and what was missed. `words` are the period's. */
export async function readCoverageAnswer(
  ports: ApiPorts,
  { from, to, words = "" }: RunningTime & { readonly words?: string },
  parts: PartReader = WHOLE,
  filters: CoverageFilters = { hosts: null, kinds: null },
): Promise<CoverageAnswer> {
  const { store } = ports;
  const stopped = await parts.read<readonly RunningTime[] | null>(
    "times without the meter",
    () => readStopped(ports, { from, to }),
    null,
  );
  const totals = store.coverage.read({ from, to });
  const isSelected = ({ host, kind }: Pick<CoverageTotal, "host" | "kind">) =>
    passes(filters.hosts, host ?? "") && passes(filters.kinds, kind);
  const summary = summariseKinds(totals.filter(isSelected), filters);
  const { unlisted, added } = splitAddedHosts(summary.unlisted, ports.isKnownHost ?? (() => false));
  const tasks: CoverageTask[] = [
    ...(ports.state().proxy.distrusting_programs ?? []).map((program) => ({
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
    buckets: await parts.read<CoverageAnswer["buckets"]>(
      "calls by time",
      () => readBuckets(ports, { from, to }, stopped, filters),
      [],
    ),
    gaps: await parts.read<CoverageAnswer["gaps"]>(
      "what was not metered",
      () => store.coverage.readGaps(coverageGapKinds, { from, to }).filter(isSelected),
      [],
    ),
    stopped: {
      times: stopped?.length ?? 0,
      totalMs: stopped?.reduce((sum, each) => sum + (each.to - each.from), 0) ?? 0,
      latest: stopped?.toReversed() ?? [],
    },
    tasks,
    choices: {
      host: distinct(totals.flatMap(({ host }) => (host === null ? [] : [host]))),
      kind: distinct(totals.map(({ kind }) => kind)).filter(isFilterKind),
    },
    isOfKinds: filters.kinds !== null,
    periodWords: words,
    cloud: await parts.read<CoverageAnswer["cloud"]>("state of the cloud", () => readCloud(ports), null),
    restCommand: "meter coverage",
    failed: parts.failed,
  };
}

const distinct = <Value extends string>(values: readonly Value[]): Value[] => [...new Set(values)].sort();

/** Sums counters up. A part of the kinds has no share that was metered. */
function summariseKinds(totals: readonly CoverageTotal[], { kinds }: CoverageFilters): CoverageSummary {
  const summary = summariseCoverage(totals);
  return kinds === null ? summary : { ...summary, permille: null };
}

/** Adds the calls of a period up by time. */
function readBuckets(
  { store }: ApiPorts,
  period: RunningTime,
  stopped: readonly RunningTime[] | null,
  { hosts, kinds }: CoverageFilters,
): readonly CoverageBucket[] {
  const zone = findZone(localZone()) ?? findZone("UTC");
  const times = zone === null ? [] : cutCoverageTime(period, zone);
  const stoppedMs = stopped === null ? [] : measureStoppedMs(stopped, times);
  const counts = times.map((): CoverageTotal[] => []);
  let bucket = 0;
  for (const { at, kind, count } of store.coverage.readTimes(period, hosts)) {
    if (!passes(kinds, kind)) continue;
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

/** Describes the state of delivery to a cloud. */
export async function readCloud({ cloud }: ApiPorts): Promise<NonNullable<CoverageAnswer["cloud"]>> {
  const { banner, sentence } = (await cloud?.banner()) ?? {
    banner: "NOT-CONFIGURED" as const,
    sentence: "Nothing is sent to a cloud. To connect: meter cloud connect",
  };
  return { state: CLOUD_STATES[banner], isBad: banner === "PAUSED" || banner === "DEGRADED", sentence };
}
