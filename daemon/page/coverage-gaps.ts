import { html } from "hono/html";
import { adviseOnCoverage } from "../../core/metering/coverage/coverage-advice.ts";
import type { CoverageGap, CoverageKind } from "../../core/metering/coverage/coverage-kinds.ts";
import { describeCoverageCount } from "../../core/metering/coverage/coverage-summary.ts";
import { describeDistrust } from "../../core/operations/doctor/trust-advice.ts";
import { formatCount } from "../../core/values/text/format-count.ts";
import type { Html } from "../../pages/html.ts";
import type { DaemonStatus } from "../api/daemon-status.ts";
import { renderTime } from "./render-time.ts";

/** How many rows of each kind are shown. `meter coverage` shows all. */
const MAX_ROWS = 10;

/** A program that seems not to trust the meter's certificate. */
type DistrustingProgram = NonNullable<DaemonStatus["proxy"]["distrusting_programs"]>[number];

/** The gaps in the metering. */
export interface CoverageGaps {
  /** By call, the latest first. */
  readonly gaps: readonly CoverageGap[];
  /** The programs, the latest first, since the daemon started. */
  readonly programs: readonly DistrustingProgram[];
  /** The file of the certificate that the programs should trust. */
  readonly authorityFile: string;
}

/** Renders what was not metered, or only in part, with what it means and the fix; nothing if there are no gaps. */
export function renderCoverageGaps({ gaps, programs, authorityFile }: CoverageGaps): Html | "" {
  if (gaps.length === 0 && programs.length === 0) return "";
  const kinds = [...Map.groupBy(gaps, ({ kind }) => kind)];
  return html`<section class="panel" aria-labelledby="gaps-title">
    <div class="head"><h2 id="gaps-title">Gaps in the metering</h2></div>
    ${programs.length === 0 ? "" : renderPrograms(programs, authorityFile)}
    ${kinds.map(([kind, rows]) => renderKind(kind, rows))}
  </section>`;
}

function renderPrograms(programs: readonly DistrustingProgram[], authorityFile: string): Html {
  return html`<h3 id="gaps-programs">Programs that may not trust the certificate</h3>
    <div class="scroll"><table aria-labelledby="gaps-programs">
      <thead><tr><th scope="col">Program</th><th scope="col">What to do</th><th scope="col" class="wide">Last seen</th></tr></thead>
      <tbody>${programs.slice(0, MAX_ROWS).map((program) => {
        const { text, command } = describeDistrust(program, authorityFile);
        return html`<tr><th scope="row" class="name"><bdi>${program.name}</bdi></th><td class="name">${text} <code>${command}</code></td><td class="when wide">${renderTime(Date.parse(program.last_seen))}</td></tr>`;
      })}</tbody>
    </table></div>
    ${renderRest(programs.length, "meter doctor")}`;
}

function renderKind(kind: CoverageKind, rows: readonly CoverageGap[]): Html {
  const count = rows.reduce((sum, row) => sum + row.count, 0);
  const advice = adviseOnCoverage(kind);
  const hasCalls = rows.some(({ call }) => call !== null);
  return html`<h3 id="gaps-${kind}">${formatCount(count)} ${describeCoverageCount(kind, count)}</h3>
    ${advice === null ? "" : html`<p class="quiet">${advice.meaning} ${advice.fix}${advice.command === null ? "" : html` <code>${advice.command}</code>`}</p>`}
    <div class="scroll"><table aria-labelledby="gaps-${kind}">
      <thead><tr><th scope="col" class="${hasCalls ? "wide" : ""}">Host</th>${hasCalls ? html`<th scope="col">Call</th>` : ""}<th scope="col" class="number">Count</th><th scope="col" class="wide">Last seen</th></tr></thead>
      <tbody>${rows.slice(0, MAX_ROWS).map((row) => renderRow(row, hasCalls))}</tbody>
    </table></div>
    ${renderRest(rows.length, "meter coverage")}`;
}

/** On a narrow screen, the host and the time are below the call, or the time below the host. */
function renderRow({ host, call, count, lastSeenAt }: CoverageGap, hasCalls: boolean): Html {
  const name = html`<bdi>${host ?? ""}</bdi>`;
  const seen = renderTime(lastSeenAt);
  const first = hasCalls
    ? html`<td class="name wide">${name}</td><th scope="row" class="name"><bdi>${call === null ? "" : `${call.method} ${call.path}`}</bdi><span class="narrow quiet">${name}, ${seen}</span></th>`
    : html`<th scope="row" class="name">${name}<span class="narrow quiet">${seen}</span></th>`;
  return html`<tr>${first}<td class="number">${formatCount(count)}</td><td class="when wide">${seen}</td></tr>`;
}

const renderRest = (rows: number, command: string): Html | "" =>
  rows <= MAX_ROWS
    ? ""
    : html`<p class="quiet">${formatCount(rows - MAX_ROWS)} more: <code>${command}</code></p>`;
