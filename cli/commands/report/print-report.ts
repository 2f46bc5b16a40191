import { hostname } from "node:os";
import { UsageError } from "clipanion";
import { listUnlistedHosts } from "../../../core/metering/coverage/unlisted-hosts.ts";
import { splitJson } from "../../../core/pricing/cost-split.ts";
import type { ReportQuery, ReportRow, SourceShare } from "../../../daemon/store/port/reports.ts";
import type { Store } from "../../../daemon/store/port/store.ts";
import { sumRows } from "../../../daemon/store/report-rows.ts";
import { readKnownHosts } from "../../home/known-hosts.ts";
import { withStore } from "../../home/open-store.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { METER_A_PROGRAM } from "../../program/failures.ts";
import { readGitFilters } from "../../program/git-filters.ts";
import { type PeriodOptions, readPeriod } from "../../program/period.ts";
import { renderCsv, renderReport } from "../../render/report.ts";
import { readGroupings } from "./groupings.ts";

/** The number of models whose fix a report shows. */
const MAX_FIXED_MODELS = 5;

/** The options of `meter report`. */
export interface PrintReportOptions extends PeriodOptions {
  readonly by: string;
  readonly project: string | undefined;
  readonly model: string | undefined;
  readonly provider: string | undefined;
  readonly session: string | undefined;
  readonly branch: string | undefined;
  readonly commit: string | undefined;
  readonly pr: string | undefined;
  readonly utc: boolean;
  readonly json: boolean;
  readonly csv: boolean;
}

/** Shows what was used and what it cost. */
export async function printReport(context: CommandContext, options: PrintReportOptions): Promise<void> {
  const grouped = readGroupings(options.by);
  if (options.json && options.csv) throw new UsageError("--json and --csv can't be combined.");
  const period = readPeriod(options, Date.now(), options.utc);
  const filters = {
    ...(options.project !== undefined && { project: options.project }),
    ...(options.model !== undefined && { model: options.model }),
    ...(options.provider !== undefined && { provider: options.provider }),
    ...(options.session !== undefined && { session: options.session }),
    ...readGitFilters(options),
  };
  await withStore(context.home, { readOnly: true }, async (store) => {
    const days = options.utc ? "utc" : "local";
    const read = await store.reports.read({ ...period, ...filters, ...grouped, days });
    const rows = read.map((row) => nameMachine(row, grouped));
    const coverage = Object.keys(filters).length === 0 ? store.coverage.read(period) : null;
    const total = sumRows(rows);
    // Without rollups, each of the further reads visits every request of the period.
    const streams =
      options.csv || total.incomplete === 0
        ? []
        : await store.reports.readStreamsWithoutUsage({ ...period, ...filters });
    const fromLogs = await store.reports.readFromLogs({ ...period, ...filters });
    if (options.json)
      return context.printJson({
        by: options.by,
        ...inIsoTime(period),
        rows: rows.map((row) => toJson(row, grouped.and !== undefined)),
        streams_without_usage: streams,
        from_logs: sharesJson({ fromLogs }).fromLogs,
        coverage,
      });
    const dimensions = [grouped.by, ...(grouped.and === undefined ? [] : [grouped.and])];
    if (options.csv) return context.stdout.write(renderCsv(dimensions, rows));
    const fixes = total.unpriced === 0 ? [] : await fixLines(context, store, { ...period, ...filters });
    const isKnown = await readKnownHosts(context, listUnlistedHosts(coverage ?? []));
    context.print(
      renderReport(dimensions, rows, total, coverage, isKnown, context.width, streams, fixes, fromLogs),
    );
    if (store.records.latestId() === null) context.print(METER_A_PROGRAM);
  });
}

/** Names this machine in a report by machine: all of its records are of this one. */
function nameMachine(row: ReportRow, { by, and }: Pick<ReportQuery, "by" | "and">): ReportRow {
  if (by === "machine") return { ...row, key: hostname() };
  return and === "machine" ? { ...row, second: hostname() } : row;
}

/** Describes which models have no price, and how to give each one. Loads rates, which other reports do not need. */
async function fixLines(
  { home, env }: CommandContext,
  store: Store,
  query: Omit<ReportQuery, "by" | "days">,
): Promise<string[]> {
  const [{ findPriceFixes }, { openPriceBook }, { readConfig }, { unpricedModelLines }] = await Promise.all([
    import("../../../daemon/api/unpriced-models.ts"),
    import("../../records/price-book.ts"),
    import("../../home/read-config.ts"),
    import("../../render/price-fixes.ts"),
  ]);
  const prices = async (providers: readonly string[]) =>
    openPriceBook((await readConfig(home, env)).config, store.rates, providers);
  return unpricedModelLines(await findPriceFixes({ store, prices }, query, Date.now(), MAX_FIXED_MODELS));
}

function inIsoTime({ from, to }: { from: number | null; to: number | null }) {
  const iso = (at: number | null) => (at === null ? null : new Date(at).toISOString());
  return { from: iso(from), to: iso(to) };
}

/** Snake case and decimal strings, as on the wire. */
function toJson(row: ReportRow, hasSecond: boolean) {
  const { tokens, bySource, byBilling } = row;
  return {
    key: row.key,
    ...(hasSecond && { second_key: row.second ?? null }),
    requests: row.requests,
    errors: row.errors,
    blocked: row.blocked,
    unpriced: row.unpriced,
    incomplete: row.incomplete,
    prompt_tokens: tokens.prompt,
    cache_read_tokens: tokens.cacheRead,
    cache_write_tokens: tokens.cacheWrite,
    cache_write_1h_tokens: tokens.cacheWrite1h,
    completion_tokens: tokens.completion,
    thinking_tokens: tokens.thinking,
    cost_pico_usd: row.costPicoUsd,
    ...splitJson(row.split),
    by_cost_source: sharesJson(bySource),
    by_billing_mode: sharesJson(byBilling),
  };
}

function sharesJson(shares: Readonly<Record<string, SourceShare>>) {
  return Object.fromEntries(
    Object.entries(shares).map(([name, { requests, costPicoUsd }]) => [
      name,
      { requests, cost_pico_usd: costPicoUsd },
    ]),
  );
}
