import { html } from "hono/html";
import type { AttributionTier } from "../../core/metering/attribution/choose-project.ts";
import {
  NEWEST_CALLS,
  type NewestCalls,
  type ProjectCalls,
  summariseProjects,
} from "../../core/metering/attribution/newest-calls.ts";
import { type UsageQuery, withFilter } from "../../core/pricing/view/usage-query.ts";
import { metricOf, parseSums } from "../../core/pricing/view/usage-sums.ts";
import { formatCount, UNKNOWN } from "../../core/values/text/format-count.ts";
import { formatQuantity } from "../../core/values/text/format-quantity.ts";
import { quoteArgument } from "../../core/values/text/shell-words.ts";
import type { UsageAnswer } from "../../core/wire/usage.ts";
import { renderSpark } from "../chart/spark.ts";
import { renderCoverageLine } from "../coverage-figure.ts";
import { formatShare, renderChange, renderShare, renderUsd } from "../figures.ts";
import type { Html } from "../html.ts";
import { type FailedPart, renderUnreadOf } from "../page-parts.ts";
import { renderCommand } from "../tools.ts";
import {
  type RowLinks,
  renderCaveats,
  renderNoUsage,
  renderSum,
  renderUsageChips,
  renderUsageNotices,
  type UsageView,
  type UsageViewSpec,
  usagePageHref,
} from "../usage-view.ts";
import { EXPLORE_VIEW } from "./explore-view.ts";
import { OVERVIEW_VIEW } from "./overview.ts";

export const PROJECTS_VIEW: UsageViewSpec = {
  path: "/projects",
  defaults: { by: "project", thenBy: "branch", top: 100 },
};

export interface ProjectsAnswer {
  /** By project, then by branch, with buckets. */
  readonly usage: UsageAnswer;
  /** The remotes or folders of projects that share a folder name, by project. */
  readonly origins: ReadonlyMap<string, string>;
  /** The newest calls; null if they are not known. */
  readonly newest: NewestCalls | null;
  /** Returns the address of the sessions of a query. */
  readonly sessions: (query: UsageQuery) => string;
  readonly links: RowLinks;
  /** The parts that could not be read. */
  readonly failed: readonly FailedPart[];
}

/** The branches of a project that are shown. */
const MAX_BRANCHES = 5;

type Row = UsageAnswer["rows"][number];

/** Renders what each project and each of its branches cost. */
export function renderProjects(answer: ProjectsAnswer, view: UsageView): Html {
  const { usage, newest, links } = answer;
  const calls = summariseProjects(newest?.groups ?? []);
  return html`${renderUsageNotices(view)}
    ${renderUsageChips(view)}
    <p class="quiet" data-summary>${usage.period.label} (${usage.tz}).${renderCoverageLine(usage.coverage, links.coverage)}</p>
    ${renderCaveats(usage, links)}
    ${renderUnreadOf(answer.failed, "origins of projects", "how projects were found")}
    <div id="projects" data-live>${
      usage.rows.length === 0
        ? renderNoUsage(view)
        : html`<section class="panel"><div class="scroll"><table aria-label="Projects">
      <thead><tr><th scope="col">Project</th><th scope="col" class="desk"><span class="hidden">Over time</span></th><th scope="col" class="num desk">Requests</th><th scope="col" class="num desk">Share</th><th scope="col" class="num">Spent</th><th scope="col" class="num desk">Plan usage</th><th scope="col" class="num desk">${usage.compared === null ? "" : "Change"}</th></tr></thead>
      <tbody>${usage.rows.map((row) => renderProject(row, calls.get(row.key), answer, view))}</tbody></table></div>${newest === null || newest.since === null ? "" : html`<p class="quiet">How projects were found and the number of sessions come from the newest ${formatCount(NEWEST_CALLS)} calls of the period.</p>`}</section>
      ${renderUnattributed(usage.rows, calls)}`
    }</div>`;
}

type Calls = ReturnType<typeof summariseProjects>;

/** Describes how a project was found: `git root 98%, header 2%`. Empty if it is not known of any call. */
export function describeTiers(calls: ProjectCalls | undefined): string {
  if (calls === undefined || calls.tiers.every(([tier]) => tier === null)) return "";
  return calls.tiers
    .map(([tier, count]) => `${nameTier(tier)} ${formatShare(count, calls.requests)}`)
    .join(", ");
}

const nameTier = (tier: string | null): string => tier?.replaceAll("_", " ") ?? "unknown";

/** The source of the name of calls that state none. */
const DEFAULT_TIER: AttributionTier = "default_project";

/** Renders how calls without a project of their own are given one. */
function renderUnattributed(rows: readonly Row[], calls: Calls): Html | "" {
  const found = rows.flatMap((row) => {
    const own = row.other_values === null ? calls.get(row.key) : undefined;
    const count = own?.tiers.find(([tier]) => tier === DEFAULT_TIER)?.[1];
    return own === undefined || count === undefined || row.key === null ? [] : [{ row, own, count }];
  });
  if (found.length === 0) return "";
  return html`<section class="panel" aria-labelledby="unattributed-title"><div class="head"><h2 id="unattributed-title">Calls without a project</h2></div>
    ${found.map(
      ({
        row,
        own,
        count,
      }) => html`<p><bdi>${row.label}</bdi>, ${renderSum("spent", row.totals)} spent: ${renderShare(count, own.requests)} of its calls stated no project and have this one by default. To move calls to another project, on the machine that made them:</p>
    ${renderCommand(`meter project reassign ${quoteArgument(row.key ?? "")} OTHER-PROJECT`)}`,
    )}
    <p class="quiet">Calls that were already sent to a cloud keep their project there. A program's later calls have a project if it runs in a repository, or if its folder has a <code>.meter.toml</code>.</p></section>`;
}

function renderProject(
  row: Row,
  calls: ProjectCalls | undefined,
  { usage, origins, sessions, links }: ProjectsAnswer,
  view: UsageView,
): Html {
  const sums = parseSums(row.totals);
  const before = row.compared === null ? null : metricOf(parseSums(row.compared), usage.metric);
  const now = metricOf(sums, usage.metric) ?? 0n;
  const isOther = row.other_values !== null;
  const isUnpriced = sums.unpriced > 0 && sums.spentPicoUsd === 0n && sums.planUsagePicoUsd === 0n;
  const plain = { ...view.query, thenBy: null, top: 6 };
  const href = usagePageHref(view, OVERVIEW_VIEW, withFilter({ ...plain, by: "model" }, "project", row.key));
  const origin = origins.get(row.key ?? "");
  const foundBy = isOther ? "" : describeTiers(calls);
  return html`<tr><th scope="row" class="name">${isOther ? row.label : html`<a href="${href}"><bdi>${row.label}</bdi></a>`}${origin === undefined ? "" : html`<span class="sub"><bdi>${origin}</bdi></span>`}${renderBranches(row, { calls, sessions }, view)}${foundBy === "" ? "" : html`<span class="sub">found by: ${foundBy}</span>`}</th>
    <td class="desk spark-cell">${renderSpark(row.series.map((value) => BigInt(value ?? "0")))}</td>
    <td class="num desk">${isOther ? formatCount(sums.requests) : html`<a href="${links.list(withFilter(view.query, "project", row.key))}">${formatCount(sums.requests)}</a>`}</td><td class="num desk">${renderShare(sums.spentPicoUsd, BigInt(usage.totals.spent_pico_usd))}</td>
    <td class="num">${renderSum("spent", row.totals)}${sums.planUsagePicoUsd === 0n ? "" : html`<span class="sub phone">${renderUsd(sums.planUsagePicoUsd)} plan</span>`}</td><td class="num desk">${isUnpriced ? UNKNOWN : renderUsd(sums.planUsagePicoUsd)}</td>
    <td class="num desk quiet">${before === null ? "" : renderChange(now, before)}</td></tr>`;
}

/** Renders the branches of a project, if it has any besides "no branch". */
function renderBranches(
  { key, cells, other_values }: Row,
  { calls, sessions }: Pick<ProjectsAnswer, "sessions"> & { readonly calls: ProjectCalls | undefined },
  view: UsageView,
): Html | "" {
  if (other_values !== null || !cells.some((cell) => cell.key !== null)) return "";
  const shown = cells.slice(0, MAX_BRANCHES);
  const query = withFilter({ ...view.query, by: "session", thenBy: "model", top: 10 }, "project", key);
  const amount = ({ totals }: Pick<Row, "totals">) =>
    totals.spent_pico_usd === "0" && totals.plan_usage_pico_usd !== "0"
      ? html`${renderUsd(BigInt(totals.plan_usage_pico_usd))} plan`
      : renderSum("spent", totals);
  const renderSessions = (cell: Pick<Row, "key" | "other_values">) => {
    const count = calls?.sessions.get(cell.key) ?? 0;
    if (count === 0 || cell.other_values !== null) return "";
    const href = sessions(withFilter(withFilter(view.query, "project", key), "branch", cell.key));
    return html`, <a href="${href}">${formatQuantity(count, "session")}</a>`;
  };
  return html`<span class="sub">${shown.map(
    (cell, n) =>
      html`${n > 0 ? " · " : ""}${cell.other_values === null ? html`<a href="${usagePageHref(view, EXPLORE_VIEW, withFilter(query, "branch", cell.key))}"><bdi>${cell.label}</bdi></a>` : cell.label} ${amount(cell)}${renderSessions(cell)}`,
  )}${cells.length > shown.length ? ` · ${cells.length - shown.length} more` : ""}</span>`;
}
