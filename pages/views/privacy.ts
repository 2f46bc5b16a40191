import { html } from "hono/html";
import { formatCount } from "../../core/values/text/format-count.ts";
import { formatQuantity } from "../../core/values/text/format-quantity.ts";
import type { Millis } from "../../core/values/time.ts";
import type { Html } from "../html.ts";
import { renderName } from "../names.ts";
import { renderUnread } from "../page-parts.ts";
import { type PageClock, renderTime } from "../times.ts";
import { renderCommand } from "../tools.ts";

/** When something was sent, how often, and of which projects. */
export interface SentTimes {
  readonly firstAt: Millis;
  readonly lastAt: Millis;
  /** The number of batches and bodies that contained it. */
  readonly times: number;
  readonly projects: ReadonlySet<string>;
}

/** What left a machine, as far as its log goes back. */
export interface PrivacyAnswer {
  readonly batches: number;
  readonly bodies: number;
  /** Where it was sent. */
  readonly origins: readonly string[];
  /** The entries of the log, and the first one that was changed; null if the log is empty. */
  readonly log: {
    readonly firstSeq: number;
    readonly lastSeq: number;
    readonly brokenSeq: number | null;
  } | null;
  readonly fields: readonly (readonly [name: string, times: SentTimes])[];
  readonly projects: readonly (readonly [name: string, times: SentTimes])[];
  /** The projects of which nothing is sent; null if they could not be read. */
  readonly localProjects: readonly string[] | null;
}

/** Renders what left this machine, and the commands that change what is sent. */
export function renderPrivacy(answer: PrivacyAnswer, clock: PageClock): Html {
  const { fields, projects } = answer;
  return html`${renderSummary(answer)}
${fields.length === 0 ? "" : renderTimes("Fields", "Field", fields, clock, true)}
${projects.length === 0 ? "" : renderTimes("Projects", "Project", projects, clock, false)}
${renderLocal(answer)}`;
}

function renderSummary({ batches, bodies, origins, log }: PrivacyAnswer): Html {
  const sent =
    log === null
      ? html`<p>According to the log, nothing has left this machine.</p>`
      : html`<p>${formatQuantity(batches, "batch", "batches")} and ${formatQuantity(bodies, "body", "bodies")} were sent to ${origins.map((origin, at) => html`${at === 0 ? "" : ", "}<bdi>${origin}</bdi>`)}.</p>`;
  const state =
    log === null
      ? ""
      : log.brokenSeq === null
        ? html`<p class="good">The log is intact: entries ${formatCount(log.firstSeq)} to ${formatCount(log.lastSeq)}.</p>`
        : html`<p class="bad">The log was changed at entry ${formatCount(log.brokenSeq)}. To see the file and the line: <code>meter cloud privacy audit</code></p>`;
  return html`<section class="panel" aria-labelledby="sent-title"><h2 id="sent-title">What left this machine</h2>${sent}${state}
<p class="quiet">The log is limited in size; its oldest entries are deleted first.</p></section>`;
}

function renderTimes(
  title: string,
  heading: string,
  rows: PrivacyAnswer["fields"],
  clock: PageClock,
  hasProjects: boolean,
): Html {
  return html`<section class="panel"><h2>${title}</h2><div class="scroll"><table aria-label="${title}"><thead><tr><th scope="col">${heading}</th><th scope="col" class="desk">First</th><th scope="col">Last</th><th scope="col" class="num">Times</th>${hasProjects ? html`<th scope="col" class="desk">Projects</th>` : ""}</tr></thead><tbody>${rows.map(
    ([name, { firstAt, lastAt, times, projects }]) =>
      html`<tr><th scope="row" class="name">${renderName(name)}</th><td class="when desk">${renderTime(firstAt, clock, true)}</td><td class="when">${renderTime(lastAt, clock, true)}</td><td class="num">${formatCount(times)}</td>${hasProjects ? html`<td class="name desk"><bdi>${[...projects].sort().join(", ")}</bdi></td>` : ""}</tr>`,
  )}</tbody></table></div></section>`;
}

const renderLocal = ({ localProjects }: PrivacyAnswer): Html =>
  html`<section class="panel" aria-labelledby="local-title"><h2 id="local-title">What stays on this machine</h2>
${localProjects === null ? renderUnread("projects that stay on this machine") : localProjects.length === 0 ? html`<p class="quiet">No project is kept on this machine only.</p>` : html`<ul class="plain">${localProjects.map((name) => html`<li>${renderName(name)}</li>`)}</ul>`}
<p>What would be sent, and where:</p>${renderCommand("meter cloud privacy show")}
<p>The exact entries of the log:</p>${renderCommand("meter cloud privacy audit --json")}</section>`;
