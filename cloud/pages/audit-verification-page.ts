import { html } from "hono/html";
import { formatCount } from "../../core/values/text/format-count.ts";
import { formatQuantity } from "../../core/values/text/format-quantity.ts";
import {
  type ChainVerification,
  type LedgerVerification,
  ledgerVerificationSchema,
} from "../../core/wire/audit.ts";
import type { Html } from "../../pages/html.ts";
import { renderTime } from "../../pages/times.ts";
import { renderAuditTabs } from "./audit-parts.ts";
import { readRoute } from "./page-api.ts";
import type { PageAnswer, PageCall } from "./page-call.ts";
import { toolsOf } from "./page-tools.ts";

const PATH = "/audit/verification";

const CHAINS = [
  ["prompt_views", "Prompt views", "who read whose stored prompts, and why"],
  ["audit_events", "Changes", "changes to settings, people, machines, keys and the plan"],
  ["costs", "Costs", "a seal for each stored batch; requests and totals agree with the seals"],
] as const satisfies readonly (readonly [
  Exclude<keyof LedgerVerification, "ok" | "verified_at">,
  string,
  string,
])[];

const FAULTS: Readonly<Record<Extract<ChainVerification, { ok: false }>["fault"], string>> = {
  out_of_sequence: "a row was deleted, inserted or moved",
  link_broken: "a row does not link to the one before it",
  row_changed: "a row was changed",
  foreign_row: "a row belongs to another workspace",
  tail_cut: "rows were cut off the end",
  history_rewritten: "the chain was computed again",
  outside_chain: "rows were added outside the chain",
  cost_changed: "a request differs from its seal",
  request_missing: "a sealed request was deleted",
  totals_differ: "a total differs from the sum of its requests",
};

/** `GET /w/{ws}/audit/verification`: verifies the hash chains if the address asks for it, since it reads every row. */
export async function showVerification(call: PageCall): Promise<PageAnswer> {
  const { parameters, place } = call;
  const page = {
    heading: "Audit",
    path: "/audit",
    tools: toolsOf(call, PATH, {}),
  };
  const button = html`<form class="form" method="get" action="${place.base}${PATH}"><input type="hidden" name="run" value="now"><div class="actions"><button>Verify now</button></div></form>`;
  const explanation = html`<section class="panel" aria-labelledby="explanation-title"><h2 id="explanation-title">Hash chains</h2>
<p>Each row contains the hash of the row before it. A row that was changed, deleted or inserted later breaks the chain.</p>
<p class="quiet">Rows cut off the end and a chain that was computed again show only in comparison with a head that was kept elsewhere. Each connected machine keeps the heads and compares them every hour; <code>meter doctor</code> reports a difference.</p>${button}</section>`;
  const tabs = renderAuditTabs(call, PATH);
  if (parameters.get("run") !== "now") return { ...page, main: html`${tabs}${explanation}` };
  const read = await readRoute(call, PATH, ledgerVerificationSchema);
  if (!read.ok) return read.refusal;
  return { ...page, main: html`${tabs}${renderVerdict(call, read.value)}${explanation}` };
}

function renderVerdict({ place }: PageCall, verification: LedgerVerification): Html {
  const { ok, verified_at: verifiedAt } = verification;
  return html`<section class="panel" role="status" aria-labelledby="verdict-title"><h2 id="verdict-title">${ok ? html`<span class="good">All chains are ok</span>` : html`<span class="bad">A chain was changed</span>`}</h2>
<p class="quiet">Verified at ${renderTime(Date.parse(verifiedAt), place, true)}</p>
<div class="scroll"><table aria-label="Chains"><thead><tr><th scope="col">Chain</th><th scope="col">Verdict</th></tr></thead><tbody>${CHAINS.map(
    ([name, title, words]) =>
      html`<tr><th scope="row" class="name">${title}<span class="sub">${words}</span></th><td class="name">${renderChain(verification[name])}</td></tr>`,
  )}</tbody></table></div></section>`;
}

function renderChain(verdict: ChainVerification): Html {
  if (!verdict.ok) {
    const { fault, seq, detail } = verdict;
    return html`<span class="bad">${FAULTS[fault]}${seq === 0 ? "" : `, row ${formatCount(seq)}`}</span>${detail === null ? "" : html`<span class="sub"><bdi>${detail}</bdi></span>`}`;
  }
  const { rows, head, erased_rows: erased, outside_chain: outside } = verdict;
  const notes = [
    ...(erased > 0 ? [`The texts of ${formatQuantity(erased, "row")} were erased.`] : []),
    ...(outside > 0
      ? [`${formatQuantity(outside, "row is", "rows are")} older than the chain and not part of it.`]
      : []),
  ];
  return html`chain ok, ${formatQuantity(rows, "row")}${rows === 0 ? "" : html`<span class="sub">head <code>${head}</code></span>`}${notes.map((note) => html`<span class="sub">${note}</span>`)}`;
}
