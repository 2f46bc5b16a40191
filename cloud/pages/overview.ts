import type { Context } from "hono";
import { html } from "hono/html";
import { type CostPart, shownParts } from "../../core/pricing/cost-split.ts";
import { findPublication } from "../../core/pricing/price-fix.ts";
import { formatCount } from "../../core/values/text/format-count.ts";
import { formatQuantity } from "../../core/values/text/format-quantity.ts";
import { parseWire } from "../../core/wire/parse.ts";
import { type Overview, overviewSchema } from "../../core/wire/reports.ts";
import { renderCostChart } from "../../pages/cost-chart.ts";
import type { Html } from "../../pages/html.ts";
import type { CloudEnv } from "../ports.ts";
import { listDays } from "./chart-days.ts";
import { countTokens, formatCost, formatDate, PLAN_NAMES, toSplit } from "./format.ts";
import { renderLayout } from "./layout.ts";
import { type PageEnv, redirectTo } from "./page-parts.ts";
import {
  currentPath,
  requireVisitor,
  requireWorkspaceVisitor,
  type WorkspaceVisitor,
} from "./workspace-page.ts";

const DAY_MS = 86_400_000;

/** The periods offered, in days. */
const PERIODS_DAYS = [7, 30, 90] as const;

/** The period shown first, in whole days. Decision: 30 days, close to the API's default. */
const DEFAULT_PERIOD_DAYS = 30;

/** Returns the first date of the period of that many days that ends today. */
const periodStart = (days: number, now: number) => formatDate(now - (days - 1) * DAY_MS);

/** `GET /`: redirects to the visitor's only workspace, or lists the workspaces. */
export async function getHome(env: PageEnv, context: Context<CloudEnv>): Promise<Response> {
  const visitor = await requireVisitor(env, context, "/");
  if (!visitor.ok) return visitor.refusal;
  const { person, workspaces } = visitor.value;
  const [only] = workspaces;
  if (only !== undefined && workspaces.length === 1) return redirectTo(`/w/${only.workspaceId}`);
  const list = html`<ul class="places">${workspaces.map(
    ({ workspaceId, name, plan }) =>
      html`<li><a href="/w/${workspaceId}">${name}</a> <span class="quiet">${PLAN_NAMES[plan]}</span></li>`,
  )}</ul>`;
  const none = html`<p>You are not a member of any workspace yet. An administrator of one can invite you.</p>`;
  const body = html`<section><h1>Workspaces</h1>${only === undefined ? none : list}</section>`;
  return context.html(renderLayout({ title: "Workspaces", body, person, shape: "card" }));
}

/** `GET /w/{ws}?from&to`: shows the overview endpoint's answer to the same query. */
export async function getOverviewPage(env: PageEnv, context: Context<CloudEnv>): Promise<Response> {
  const visitor = await requireWorkspaceVisitor(env, context, currentPath(context));
  if (!visitor.ok) return visitor.refusal;
  const { workspace } = visitor.value;
  const now = env.parts.clock.now();
  const url = new URL(context.req.url);
  if (url.search === "") url.searchParams.set("from", periodStart(DEFAULT_PERIOD_DAYS, now));
  const answer = await env.callApi(
    context,
    "GET",
    `/v1/workspaces/${workspace.workspaceId}/overview${url.search}`,
  );
  if (!answer.ok) return answer;
  const overview = parseWire(overviewSchema, await answer.json());
  if (!overview.ok) throw new TypeError("the overview API's answer does not match its schema");
  return context.html(
    overviewPage({
      ...visitor.value,
      overview: overview.value,
      now,
      fromParameter: url.searchParams.get("from"),
      baseUrl: env.parts.config.baseUrl,
    }),
  );
}

function overviewPage(
  facts: WorkspaceVisitor & {
    readonly overview: Overview;
    readonly now: number;
    /** The query's `from`, which marks the current period link. */
    readonly fromParameter: string | null;
    readonly baseUrl: string;
  },
): Html {
  const { person, workspaces, workspace, overview } = facts;
  const { totals } = overview;
  const body = html`<div class="head"><h1>${workspace.name}</h1>${periodLinks(workspace.workspaceId, facts.now, facts.fromParameter)}</div>
<p class="quiet">${formatDate(overview.from)} to ${formatDate(Date.parse(overview.to) - 1)}, UTC${
    overview.clamped_from === null ? "" : html`; earlier days are outside this workspace’s retention period`
  }</p>
${totals.requests === 0 ? emptyState(facts.baseUrl) : figures(overview, facts.now)}
<p class="quiet">Plan: ${PLAN_NAMES[workspace.plan]}${
    workspace.role === "admin"
      ? html` · <a href="/w/${workspace.workspaceId}/subscribe">Change the plan</a>`
      : ""
  } · <a href="/connect">Connect a machine</a></p>`;
  return renderLayout({
    title: workspace.name,
    body,
    person,
    workspaces,
    workspaceId: workspace.workspaceId,
  });
}

function periodLinks(workspaceId: string, now: number, fromParameter: string | null): Html {
  const links = PERIODS_DAYS.map((days) => {
    const from = periodStart(days, now);
    return html`<a href="/w/${workspaceId}?from=${from}" ${from === fromParameter ? html`aria-current="true"` : ""}>${days} days</a>`;
  });
  return html`<nav aria-label="Period">${links}</nav>`;
}

function emptyState(baseUrl: string): Html {
  return html`<div class="panel"><h2>No requests in this period</h2>
<p>Requests appear here once a connected machine has sent them. To connect one, run <code>meter cloud connect --base-url ${baseUrl}</code> on it.</p>
<p class="actions"><a class="button" href="/connect">Connect a machine</a></p></div>`;
}

/** Most characters of a figure that fit into a tile at its usual size. */
const MAX_TILE_CHARACTERS = 11;

function figures(overview: Overview, now: number): Html {
  const { totals } = overview;
  const split = toSplit(totals);
  const parts = shownParts((part) => split[part] > 0n);
  const tiles: readonly [string, string][] = [
    ...parts.map(({ part, label }): [string, string] => [label, formatCost(totals, part)]),
    ["Requests", formatCount(totals.requests)],
    ["Tokens", formatCount(countTokens(totals))],
    ["Failed", formatCount(totals.failed_requests)],
  ];
  return html`<dl class="tiles">${tiles.map(([name, value]) => html`<div><dt>${name}</dt><dd class="${value.length > MAX_TILE_CHARACTERS ? "long" : ""}">${value}</dd></div>`)}</dl>
${caveats(totals)}${missingPrices(overview.unpriced_models ?? [], now)}
<section class="panel" aria-labelledby="chart-title"><h2 id="chart-title">Cost per day</h2>${renderCostChart(listDays(overview), "Day (UTC)")}</section>
<div class="pair">${groupTable("Projects", overview.projects, parts)}${groupTable("Models", overview.models, parts)}</div>`;
}

/** Renders what the sums leave out, so that an incomplete cost is not read as the whole. */
function caveats({
  unpriced_requests: unpriced,
  incomplete_requests: incomplete,
}: Overview["totals"]): Html | "" {
  const sentences = [
    unpriced === 1 ? "1 request has no known price; its cost is not included." : null,
    unpriced > 1
      ? `${formatCount(unpriced)} requests have no known price; their cost is not included.`
      : null,
    incomplete === 1 ? "1 request has incomplete token counts." : null,
    incomplete > 1 ? `${formatCount(incomplete)} requests have incomplete token counts.` : null,
  ].filter((each) => each !== null);
  return sentences.length === 0 ? "" : html`<p class="notice">${sentences.join(" ")}</p>`;
}

/** Renders the models without a price, and how an administrator gives them one. */
function missingPrices(models: NonNullable<Overview["unpriced_models"]>, now: number): Html | "" {
  if (models.length === 0) return "";
  const { text, json, command } = findPublication(models, now);
  return html`<section class="panel" aria-labelledby="prices-title"><h2 id="prices-title">Models without a price</h2>
<ul>${models.map(
    ({ provider, model, requests }) =>
      html`<li><bdi>${provider}</bdi> <bdi>${model}</bdi>: ${formatQuantity(requests, "request")}</li>`,
  )}</ul>
<details><summary>Give them a price</summary>
<p>${text}</p>
<pre class="scroll" role="region" aria-label="rates.json" tabindex="0">${json.join("\n")}</pre>
<p>Then: <code>${command}</code></p></details></section>`;
}

function groupTable(title: string, groups: Overview["projects"], parts: readonly CostPart[]): Html {
  const rows = groups.map(
    (group) =>
      html`<tr><td class="name">${group.label}</td><td class="number">${formatCount(group.requests)}</td>${parts.map(({ part }) => html`<td class="number">${formatCost(group, part)}</td>`)}</tr>`,
  );
  return html`<section class="panel"><h2>${title}</h2><div class="scroll"><table>
<thead><tr><th scope="col">Name</th><th scope="col" class="number">Requests</th>${parts.map(({ label }) => html`<th scope="col" class="number">${label}</th>`)}</tr></thead>
<tbody>${rows}</tbody></table></div></section>`;
}
