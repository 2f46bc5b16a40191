import { html } from "hono/html";
import { printUsageQuery, type UsageQuery, withFilter } from "../../core/pricing/view/usage-query.ts";
import { formatCount } from "../../core/values/text/format-count.ts";
import type { Members } from "../../core/wire/people.ts";
import type { UsageAnswer } from "../../core/wire/usage.ts";
import { renderCoverageLine } from "../../pages/coverage-figure.ts";
import { renderChange, renderUsd } from "../../pages/figures.ts";
import type { Html } from "../../pages/html.ts";
import { renderName } from "../../pages/names.ts";
import { fileFormatOf } from "../../pages/page-file.ts";
import { renderUnreadOf } from "../../pages/page-parts.ts";
import { renderState } from "../../pages/states.ts";
import { renderTime } from "../../pages/times.ts";
import { linksOf, toUsageFile, usageFiles } from "../../pages/usage-pages.ts";
import {
  readUsageView,
  renderCaveats,
  renderUsageChips,
  renderUsageNotices,
  renderUsagePeriods,
  type UsageView,
  type UsageViewSpec,
  usagePageHref,
} from "../../pages/usage-view.ts";
import { EXPLORE_VIEW } from "../../pages/views/explore-view.ts";
import { readMachinesPart, readMembersPart } from "./page-api.ts";
import type { PageAnswer, PageCall } from "./page-call.ts";
import { sendFile } from "./page-tools.ts";
import { createUsageHost } from "./usage-pages.ts";

const PATH = "/people";

/** The most people that are shown by name; the others are summed up. */
const MAX_PEOPLE = 200;

const VIEW: UsageViewSpec = { path: PATH, defaults: { by: "person", top: MAX_PEOPLE } };

/** A person of the workspace: a member, or somebody who sent requests before they left. */
interface Person {
  readonly id: string | null;
  readonly name: string;
  readonly email: string | null;
  readonly isMember: boolean;
  readonly machines: readonly string[];
  /** When one of their machines was last seen; null if none was. */
  readonly seenAt: number | null;
  /** Null: they sent nothing in the period. */
  readonly row: UsageAnswer["rows"][number] | null;
}

/** `GET /w/{ws}/people`: what each person used in a period, their machines, and when these were last seen. */
export async function showPeople(call: PageCall): Promise<PageAnswer> {
  const host = createUsageHost(call);
  const view = readUsageView(VIEW, call.parameters, call.place.base);
  const query: UsageQuery = { ...view.query, by: "person", thenBy: null, bucket: "none" };
  const [usage, members, machines] = await Promise.all([
    host.readUsage(query),
    readMembersPart(call, null),
    readMachinesPart(call, { items: [] }),
  ]);
  const controls = renderUsagePeriods(view, call.place);
  const page = { heading: "People", path: PATH, controls };
  if (!usage.ok) {
    const start = html`<p><a href="${call.place.base}${PATH}">Start again</a></p>`;
    return { ...page, main: renderState("This query is not valid", usage.detail, start), status: 400 };
  }
  const format = fileFormatOf(call.parameters);
  if (format !== null) return sendFile(call, toUsageFile(usage.value, format));
  const links = linksOf(host, view.query);
  const people = listPeople(usage.value, members, machines.items);
  return {
    ...page,
    main: html`${renderUsageNotices(view)}${renderUsageChips(view)}
<p class="quiet" data-summary>${usage.value.period.label} (${usage.value.tz}).${renderCoverageLine(usage.value.coverage, links.coverage)}</p>${renderCaveats(usage.value, links)}
${renderUnreadOf(call.reader.failed, "members", "machines")}
${renderPeople(call, view, usage.value, people)}`,
    tools: host.renderTools(`/usage?${printUsageQuery(query)}`, usageFiles(view)),
  };
}

/** Lists the people with usage in the order of the answer, then the members without. */
function listPeople(
  { rows }: UsageAnswer,
  members: Members | null,
  machines: readonly {
    readonly hostname: string;
    readonly name: string | null;
    readonly last_seen_at: string | null;
    readonly user: { readonly id: string } | null;
  }[],
): readonly Person[] {
  const toPerson = (id: string | null, label: string, row: Person["row"]): Person => {
    const member = members?.items.find((each) => each.user_id === id);
    const own = machines.filter(({ user }) => id !== null && user?.id === id);
    const seen = own.flatMap((machine) =>
      machine.last_seen_at === null ? [] : [Date.parse(machine.last_seen_at)],
    );
    return {
      id,
      name: member?.name || label,
      email: member?.email ?? null,
      isMember: members === null || member !== undefined || id === null,
      machines: own.map(({ name, hostname }) => name ?? hostname),
      seenAt: seen.length === 0 ? null : Math.max(...seen),
      row,
    };
  };
  const withUsage = rows.map((row) => toPerson(row.key, row.label, row));
  const known = new Set(rows.map(({ key }) => key));
  const without = (members?.items ?? [])
    .filter((member) => !known.has(member.user_id))
    .map((member) => toPerson(member.user_id, member.email ?? "unnamed member", null));
  return [...withUsage, ...without];
}

function renderPeople(call: PageCall, view: UsageView, usage: UsageAnswer, people: readonly Person[]): Html {
  const { totals } = usage;
  const hasChange = usage.compared !== null;
  return html`<section class="panel"><div class="scroll"><table aria-label="People"><thead><tr><th scope="col">Person</th><th scope="col" class="desk">Machines</th><th scope="col" class="desk">Last seen</th><th scope="col" class="num desk">Requests</th><th scope="col" class="num">Spent</th><th scope="col" class="num desk">Plan usage</th>${hasChange ? html`<th scope="col" class="num desk">Change</th>` : ""}</tr></thead>
<tbody>${people.map((person) => renderPerson(call, view, person, hasChange))}</tbody>
<tfoot><tr><th scope="row">Total</th><td class="desk"></td><td class="desk"></td><td class="num desk">${formatCount(totals.requests)}</td><td class="num">${renderUsd(BigInt(totals.spent_pico_usd))}</td><td class="num desk">${renderUsd(BigInt(totals.plan_usage_pico_usd))}</td>${hasChange ? html`<td class="desk"></td>` : ""}</tr></tfoot></table></div>
<p class="quiet">Plan usage is what a plan covers, at API prices. It is not part of what was spent. A machine's last report is exact to five minutes.</p></section>`;
}

function renderPerson({ place }: PageCall, view: UsageView, person: Person, hasChange: boolean): Html {
  const { id, name, email, isMember, machines, seenAt, row } = person;
  const shown =
    row === null || id === null
      ? renderName(name)
      : html`<a href="${usagePageHref(view, EXPLORE_VIEW, withFilter({ ...view.query, by: "model" }, "person", id))}">${renderName(name)}</a>`;
  const totals = row?.totals ?? null;
  const change =
    row === null || row.compared === null
      ? ""
      : renderChange(BigInt(row.totals.spent_pico_usd), BigInt(row.compared.spent_pico_usd));
  const seen = seenAt === null ? html`<span class="quiet">never</span>` : renderTime(seenAt, place);
  return html`<tr><th scope="row" class="name">${shown}${email === null || email === name ? "" : html`<span class="sub"><bdi>${email}</bdi></span>`}${isMember ? "" : html`<span class="sub">no longer a member</span>`}<span class="sub phone">last seen ${seen}</span></th><td class="name desk">${machines.length === 0 ? renderName(null) : machines.map((machine) => html`<div>${renderName(machine)}</div>`)}</td><td class="when desk">${seen}</td><td class="num desk">${formatCount(totals?.requests ?? 0)}</td><td class="num">${renderUsd(BigInt(totals?.spent_pico_usd ?? 0))}</td><td class="num desk">${renderUsd(BigInt(totals?.plan_usage_pico_usd ?? 0))}</td>${hasChange ? html`<td class="num desk">${change}</td>` : ""}</tr>`;
}
