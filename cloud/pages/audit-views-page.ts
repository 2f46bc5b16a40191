import { html } from "hono/html";
import type { LedgerRow } from "../../core/privacy/ledger/prompt-view-chain.ts";
import { formatCsvLine } from "../../core/values/text/format-csv-field.ts";
import { formatInstant } from "../../core/wire/instant.ts";
import type { Members } from "../../core/wire/people.ts";
import { renderChips, renderViewNotices } from "../../pages/filters.ts";
import type { Html } from "../../pages/html.ts";
import { renderListPages } from "../../pages/list-pages.ts";
import { renderName } from "../../pages/names.ts";
import { fileFormatOf } from "../../pages/page-file.ts";
import { renderState } from "../../pages/states.ts";
import { renderTime } from "../../pages/times.ts";
import { filterValue, readView, type View } from "../../pages/view.ts";
import { requestHref } from "../../pages/views/links.ts";
import { createPaging } from "../routes/reads/paging.ts";
import { listPromptViews } from "../store/reads/audit.ts";
import { renderCaveat } from "./audit-events-page.ts";
import {
  auditFileHref,
  auditView,
  readAuditPeriod,
  renderAuditForm,
  renderAuditTabs,
  sendAuditFile,
} from "./audit-parts.ts";
import { readMembersPart } from "./page-api.ts";
import type { PageAnswer, PageCall } from "./page-call.ts";
import { readNamesPart, toolsOf } from "./page-tools.ts";

const PATH = "/audit/prompt-views";
const VIEW = auditView(PATH, ["viewer", "subject"]);

/** The rows of one page, and those that a file reads at a time. */
const PAGE_ROWS = 50;
const FILE_ROWS = 500;

/** The columns of a file: all that the chain's hashes cover, so that a copy can be verified. */
const COLUMNS = [
  "workspace_id",
  "seq",
  "view_id",
  "request_id",
  "viewer_user_id",
  "subject_user_id",
  "consent_grant_id",
  "reason",
  "viewed_at",
  "client_ip",
  "user_agent",
  "request_sha256",
  "response_sha256",
  "prev_hash",
  "hash",
  "content_salt",
  "content_hash",
  "is_erased",
] as const satisfies readonly (keyof LedgerRow)[];

/** `GET /w/{ws}/audit/prompt-views`: who read whose stored prompts, and why, newest first; or a file of them. */
export async function showPromptViews(call: PageCall): Promise<PageAnswer> {
  const { env, workspace, place, parameters } = call;
  const { parts } = env;
  const view = readView(VIEW, parameters, place.base);
  const period = readAuditPeriod(call, view, "prompt_views");
  const [viewer, subject] = [filterValue(view, "viewer") ?? null, filterValue(view, "subject") ?? null];
  const bounds = { from: period.from, to: period.to, viewer, subject };
  const format = fileFormatOf(parameters);
  if (format !== null) return sendFile(call, bounds, format);
  const { workspaceId } = workspace;
  const dates = { from: view.values.from ?? "", to: view.values.to ?? "" };
  const query = { endpoint: "prompt_views_page", ...dates, viewer, subject };
  const paging = createPaging({ workspaceId, query }, (id) => /^\d{1,15}$/.test(id), parts.sha256);
  const after = paging.read(view.values.cursor || null);
  if (!after.ok) return after.refusal;
  const members = await readMembersPart(call, { items: [] });
  const page = await listPromptViews(parts.db, workspaceId, {
    ...bounds,
    after: after.value,
    limit: PAGE_ROWS,
  });
  const names = await readNamesPart(
    call,
    [viewer, subject, ...page.rows.flatMap((row) => [row.viewer_user_id, row.subject_user_id])].filter(
      (id) => id !== null,
    ),
  );
  const api = new URLSearchParams({ from: formatInstant(bounds.from), to: formatInstant(bounds.to) });
  for (const [name, value] of [
    ["viewer", viewer],
    ["subject", subject],
  ] as const)
    if (value !== null) api.set(name, value);
  const fields = (["viewer", "subject"] as const).map((name) => renderPeople(name, members, view, names));
  return {
    heading: "Audit",
    path: "/audit",
    main: html`${renderAuditTabs(call, PATH)}${renderViewNotices(view)}${renderAuditForm(call, view, fields)}${renderChips(view, (_, id) => names.get(id) ?? null)}${renderCaveat(period)}
${page.rows.length === 0 ? renderState("No prompt was read", "In this period, and with these filters, nobody but the authors read a stored prompt or answer.") : renderList(call, view, page.rows, names, paging.next(page))}`,
    tools: toolsOf(call, `${PATH}?${api}`, {
      csv: auditFileHref(view, "csv"),
      json: auditFileHref(view, "json"),
    }),
  };
}

type Names = ReadonlyMap<string, string>;

function renderPeople(name: "viewer" | "subject", { items }: Members, view: View, names: Names): Html {
  const selected = filterValue(view, name) ?? "";
  const people = new Map(
    items.map((member) => [member.user_id, member.name || (member.email ?? member.user_id)]),
  );
  if (selected !== "" && !people.has(selected)) people.set(selected, names.get(selected) ?? selected);
  return html`<label>${name === "viewer" ? "Read by" : "Author"} <select id="filter-${name}" name="${name}"><option value="">all</option>${[
    ...people,
  ].map(
    ([id, text]) => html`<option value="${id}"${id === selected ? html` selected` : ""}>${text}</option>`,
  )}</select></label>`;
}

function renderList(
  call: PageCall,
  view: View,
  rows: readonly LedgerRow[],
  names: Names,
  next: string | null,
): Html {
  const person = (id: string) => renderName(names.get(id) ?? id);
  return html`<section class="panel"><div class="scroll"><table aria-label="Prompt views"><thead><tr><th scope="col">When</th><th scope="col">Read by</th><th scope="col" class="desk">Author</th><th scope="col">Reason</th><th scope="col" class="wide">Row</th></tr></thead>
<tbody>${rows.map(
    (row) =>
      html`<tr><th scope="row" class="when">${renderTime(Date.parse(row.viewed_at), call.place, true)}</th><td class="name">${person(row.viewer_user_id)}<span class="sub phone">author ${person(row.subject_user_id)}</span></td><td class="name desk">${person(row.subject_user_id)}</td><td class="name">${row.is_erased === true ? html`<span class="quiet">erased</span>` : html`<bdi>${row.reason}</bdi>`}<span class="sub"><a href="${requestHref(call.place, row.request_id)}">the request</a></span></td><td class="wide"><code title="${row.hash}">#${row.seq} ${row.hash.slice(0, 8)}…</code></td></tr>`,
  )}</tbody></table></div>${renderListPages(view, next, "prompt views")}</section>`;
}

function sendFile(
  call: PageCall,
  bounds: Pick<Parameters<typeof listPromptViews>[2], "from" | "to" | "viewer" | "subject">,
  format: "csv" | "json",
): Response {
  const { db } = call.env.parts;
  const { workspaceId } = call.workspace;
  return sendAuditFile<LedgerRow>(call, {
    name: "prompt-views",
    format,
    read: (after) => listPromptViews(db, workspaceId, { ...bounds, after, limit: FILE_ROWS }),
    csvHeader: formatCsvLine(COLUMNS),
    toCsv: (rows) => rows.map((row) => formatCsvLine(COLUMNS.map((column) => row[column] ?? null))).join(""),
    toItem: (row) => row,
  });
}
