import type { CoverageTotal } from "../../core/metering/coverage/coverage-kinds.ts";
import {
  describeBlocked,
  describeCoverageCount,
  summariseCoverage,
} from "../../core/metering/coverage/coverage-summary.ts";
import {
  addProviderCommand,
  describeAddedHost,
  describeUnlistedHost,
  type IsKnownHost,
  splitAddedHosts,
  type UnlistedHost,
} from "../../core/metering/coverage/unlisted-hosts.ts";
import { formatCount } from "../../core/values/text/format-count.ts";

/** Renders how many of the calls seen on providers' hosts were metered. */
export const coverageHeadline = (permille: number, metered: number, seen: number): string =>
  `Metering coverage: ${permille / 10} % (${formatCount(metered)} of ${formatCount(seen)} calls seen on providers' hosts).`;

/**
 * Renders the coverage: how many of the calls seen on providers' hosts were metered, and why the others were not. `isKnown` tells
 * which hosts are no longer unlisted.
 */
export function coverageLines(coverage: readonly CoverageTotal[], isKnown: IsKnownHost): string[] {
  const { metered, seen, permille, missing, blocked, interrupted, withoutUsage, notStored, ...rest } =
    summariseCoverage(coverage);
  const { unlisted, added } = splitAddedHosts(rest.unlisted, isKnown);
  const interruptions =
    interrupted === 0
      ? []
      : [`  ${formatCount(interrupted)} ${describeCoverageCount("interrupted", interrupted)}`];
  const hostLines = [...added.slice(0, MAX_UNLISTED).map(describeAddedHost), ...unlistedLines(unlisted)];
  const refusals = blocked === 0 ? [] : [`  ${describeBlocked(blocked)}`];
  if (permille === null) return [...refusals, ...interruptions, ...hostLines];
  const lines = [
    coverageHeadline(permille, metered, seen),
    ...missing.map(
      ({ kind, count: n }) => `  not metered: ${formatCount(n)} ${describeCoverageCount(kind, n)}`,
    ),
    ...refusals,
    ...interruptions,
    ...(missing.length > 0 ? ["  See which: meter coverage"] : []),
  ];
  const parts = [{ kind: "without_usage" as const, count: withoutUsage }, ...notStored];
  for (const { kind, count: n } of parts)
    if (n > 0) lines.push(`  of those metered: ${formatCount(n)} ${describeCoverageCount(kind, n)}`);
  return [...lines, ...hostLines];
}

/** How many unlisted hosts the summary names. `meter coverage` names all. */
const MAX_UNLISTED = 3;

function unlistedLines(unlisted: readonly UnlistedHost[]): string[] {
  const more = unlisted.length - MAX_UNLISTED;
  return [
    ...unlisted
      .slice(0, MAX_UNLISTED)
      .flatMap((host) => [`${describeUnlistedHost(host)} Meter it:`, `  ${addProviderCommand(host)}`]),
    ...(more > 0 ? [`${formatCount(more)} more such hosts: meter coverage`] : []),
  ];
}
