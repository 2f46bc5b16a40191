import type { Context } from "hono";
import { html } from "hono/html";
import { type Overview, overviewSchema, parseWire } from "../../core/wire/mod.ts";
import type { CloudEnv } from "../ports.ts";
import { costChart } from "./cost-chart.ts";
import { dateOf, formatCost, formatCount, PLAN_NAMES, tokensOf } from "./format.ts";
import { layout, type Markup } from "./layout.ts";
import { goTo, type PageEnv } from "./page-parts.ts";
import { hereOf, visitorOf, type WorkspaceVisitor, workspaceVisitorOf } from "./workspace-page.ts";

const DAY_MS = 86_400_000;

/** Periods to choose from, days. */
const PERIODS_DAYS = [7, 30, 90] as const;

/** Decision: the last month first, near the API's own default, but whole days, as its link says. */
const FIRST_PERIOD_DAYS = 30;

/** The first of so many days, today the last. */
const firstOf = (days: number, now: number) => dateOf(now - (days - 1) * DAY_MS);

/** `GET /`: to the workspace of somebody who has one; a choice for those who have several. */
export async function getHome(env: PageEnv, context: Context<CloudEnv>): Promise<Response> {
  const visitor = await visitorOf(env, context, "/");
  if (!visitor.ok) return visitor.refusal;
  const { person, workspaces } = visitor.value;
  const [only] = workspaces;
  if (only !== undefined && workspaces.length === 1) return goTo(`/w/${only.workspaceId}`);
  const list = html`<ul class="places">${workspaces.map(
    ({ workspaceId, name, plan }) =>
      html`<li><a href="/w/${workspaceId}">${name}</a> <span class="quiet">${PLAN_NAMES[plan]}</span></li>`,
  )}</ul>`;
  const none = html`<p>You are in no workspace yet. An admin of one can invite you.</p>`;
  const body = html`<section><h1>Workspaces</h1>${only === undefined ? none : list}</section>`;
  return context.html(layout({ title: "Workspaces", body, person, shape: "card" }));
}

/** `GET /w/{ws}?from&to`: what the overview endpoint answers to the same query. */
export async function getOverviewPage(env: PageEnv, context: Context<CloudEnv>): Promise<Response> {
  const visitor = await workspaceVisitorOf(env, context, hereOf(context));
  if (!visitor.ok) return visitor.refusal;
  const { workspace } = visitor.value;
  const now = env.parts.clock.now();
  const url = new URL(context.req.url);
  if (url.search === "") url.searchParams.set("from", firstOf(FIRST_PERIOD_DAYS, now));
  const answer = await env.askApi(
    context,
    "GET",
    `/v1/workspaces/${workspace.workspaceId}/overview${url.search}`,
  );
  if (!answer.ok) return answer;
  const overview = parseWire(overviewSchema, await answer.json());
  if (!overview.ok) throw new TypeError("the overview is not what its schema says");
  return context.html(
    overviewPage({
      ...visitor.value,
      overview: overview.value,
      now,
      asked: url.searchParams.get("from"),
      baseUrl: env.parts.config.baseUrl,
    }),
  );
}

function overviewPage(
  facts: WorkspaceVisitor & {
    readonly overview: Overview;
    readonly now: number;
    /** The `from` of the query. */
    readonly asked: string | null;
    readonly baseUrl: string;
  },
): Markup {
  const { person, workspaces, workspace, overview } = facts;
  const { totals } = overview;
  const body = html`<div class="head"><h1>${workspace.name}</h1>${periodLinks(workspace.workspaceId, facts.now, facts.asked)}</div>
<p class="quiet">${dateOf(overview.from)} to ${dateOf(Date.parse(overview.to) - 1)}, UTC${
    overview.clamped_from === null ? "" : html`; earlier days are beyond what this workspace keeps in view`
  }</p>
${totals.requests === 0 ? nothingYet(facts.baseUrl) : figures(overview)}
<p class="quiet">Plan: ${PLAN_NAMES[workspace.plan]}${
    workspace.role === "admin"
      ? html` · <a href="/w/${workspace.workspaceId}/subscribe">Change the plan</a>`
      : ""
  } · <a href="/connect">Connect a machine</a></p>`;
  return layout({ title: workspace.name, body, person, workspaces, workspaceId: workspace.workspaceId });
}

function periodLinks(workspaceId: string, now: number, asked: string | null): Markup {
  const links = PERIODS_DAYS.map((days) => {
    const from = firstOf(days, now);
    return html`<a href="/w/${workspaceId}?from=${from}" ${from === asked ? html`aria-current="true"` : ""}>${days} days</a>`;
  });
  return html`<nav aria-label="Period">${links}</nav>`;
}

function nothingYet(baseUrl: string): Markup {
  return html`<div class="panel"><h2>Nothing in this period</h2>
<p>Requests show here once a connected machine has sent them: <code>meter cloud connect --base-url ${baseUrl}</code> pairs one.</p>
<p class="actions"><a class="button" href="/connect">Connect a machine</a></p></div>`;
}

/** Characters of a figure that fit into a tile in its usual size. */
const MOST_IN_TILE = 11;

function figures(overview: Overview): Markup {
  const { totals } = overview;
  const tiles: readonly [string, string][] = [
    ["Cost", formatCost(totals)],
    ["Requests", formatCount(totals.requests)],
    ["Tokens", formatCount(tokensOf(totals))],
    ["Failed", formatCount(totals.failed_requests)],
  ];
  return html`<dl class="tiles">${tiles.map(([name, value]) => html`<div><dt>${name}</dt><dd class="${value.length > MOST_IN_TILE ? "long" : ""}">${value}</dd></div>`)}</dl>
${caveats(totals)}
<section class="panel"><h2>Cost per day</h2>${costChart(overview)}</section>
<div class="pair">${groupTable("Projects", overview.projects)}${groupTable("Models", overview.models)}</div>`;
}

/** What the sums leave out: a cost that is too low must say so. */
function caveats({
  unpriced_requests: unpriced,
  incomplete_requests: incomplete,
}: Overview["totals"]): Markup | "" {
  const words = [
    unpriced > 0 ? `${formatCount(unpriced)} without a known price, which the cost leaves out` : null,
    incomplete > 0 ? `${formatCount(incomplete)} whose tokens the provider did not state in full` : null,
  ].filter((each) => each !== null);
  return words.length === 0 ? "" : html`<p class="notice">Among these requests: ${words.join("; ")}.</p>`;
}

function groupTable(title: string, groups: Overview["projects"]): Markup {
  const rows = groups.map(
    (group) =>
      html`<tr><td class="name">${group.label}</td><td class="number">${formatCount(group.requests)}</td><td class="number">${formatCost(group)}</td></tr>`,
  );
  return html`<section class="panel"><h2>${title}</h2><div class="scroll"><table>
<thead><tr><th scope="col">Name</th><th scope="col" class="number">Requests</th><th scope="col" class="number">Cost</th></tr></thead>
<tbody>${rows}</tbody></table></div></section>`;
}
