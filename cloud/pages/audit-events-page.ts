import { html } from "hono/html";
import { formatCsvLine } from "../../core/values/text/format-csv-field.ts";
import { isUuid } from "../../core/values/uuid.ts";
import { formatInstant } from "../../core/wire/instant.ts";
import { renderViewNotices } from "../../pages/filters.ts";
import type { Html } from "../../pages/html.ts";
import { renderListPages } from "../../pages/list-pages.ts";
import { renderName } from "../../pages/names.ts";
import { fileFormatOf } from "../../pages/page-file.ts";
import { renderState } from "../../pages/states.ts";
import { renderTime } from "../../pages/times.ts";
import { readView, type View } from "../../pages/view.ts";
import { createPaging } from "../routes/reads/paging.ts";
import { readNames } from "../routes/reads/read-names.ts";
import { toAuditEvent } from "../routes/reads/to-audit-event.ts";
import { type AuditEventRow, listAuditEvents } from "../store/reads/audit.ts";
import {
  type AuditPeriod,
  auditFileHref,
  auditView,
  readAuditPeriod,
  renderAuditForm,
  renderAuditTabs,
  sendAuditFile,
} from "./audit-parts.ts";
import type { PageAnswer, PageCall } from "./page-call.ts";
import { readNamesPart, toolsOf } from "./page-tools.ts";

const PATH = "/audit/events";
const VIEW = auditView(PATH);

/** The rows of one page, and those that a file reads at a time. */
const PAGE_ROWS = 50;
const FILE_ROWS = 500;

/** `GET /w/{ws}/audit/events`: the changes to settings, people, machines, keys and the plan, newest first; or a file of them. */
export async function showAuditEvents(call: PageCall): Promise<PageAnswer> {
  const { env, workspace, place, parameters } = call;
  const { parts } = env;
  const view = readView(VIEW, parameters, place.base);
  const period = readAuditPeriod(call, view, "audit_events");
  const { from, to } = period;
  const { workspaceId } = workspace;
  const format = fileFormatOf(parameters);
  if (format !== null) return sendFile(call, period, format);
  const dates = { from: view.values.from ?? "", to: view.values.to ?? "" };
  const binding = { workspaceId, query: { endpoint: "audit_events_page", ...dates } };
  const paging = createPaging(binding, isUuid, parts.sha256);
  const after = paging.read(view.values.cursor || null);
  if (!after.ok) return after.refusal;
  const page = await listAuditEvents(parts.db, workspaceId, {
    from,
    to,
    after: after.value,
    limit: PAGE_ROWS,
  });
  const names = await readNamesPart(call, page.rows.flatMap(peopleOf));
  const query = new URLSearchParams({ from: formatInstant(from), to: formatInstant(to) });
  return {
    heading: "Audit",
    path: "/audit",
    main: html`${renderAuditTabs(call, PATH)}${renderViewNotices(view)}${renderAuditForm(call, view)}${renderCaveat(period)}
${page.rows.length === 0 ? renderState("No changes in this period", "Choose earlier dates.") : renderList(call, view, page.rows, names, paging.next(page))}`,
    tools: toolsOf(call, `/audit/events?${query}`, {
      csv: auditFileHref(view, "csv"),
      json: auditFileHref(view, "json"),
    }),
  };
}

/** Renders what the retention cuts. */
export const renderCaveat = ({ caveat, dates: [first, last] }: AuditPeriod): Html =>
  html`${caveat === null ? "" : html`<div class="notice" role="note">${caveat}</div>`}<p class="quiet" data-summary>${first} to ${last}, newest first</p>`;

type Names = ReadonlyMap<string, string>;

function renderList(
  call: PageCall,
  view: View,
  rows: readonly AuditEventRow[],
  names: Names,
  next: string | null,
): Html {
  return html`<section class="panel"><div class="scroll"><table aria-label="Changes"><thead><tr><th scope="col">When</th><th scope="col" class="desk who">Person</th><th scope="col">Change</th></tr></thead>
<tbody>${rows.map((row) => {
    const person =
      row.actor_user_id === null
        ? html`the operator`
        : renderName(names.get(row.actor_user_id) ?? row.actor_user_id);
    return html`<tr><th scope="row" class="when">${renderTime(row.at, call.place, true)}</th><td class="name desk">${person}</td><td class="name">${row.kind.replaceAll("_", " ")}<span class="sub">${listDetails(row, names).map((text, at) => html`${at === 0 ? "" : " · "}<bdi>${text}</bdi>`)}</span><span class="sub phone">${person}</span></td></tr>`;
  })}</tbody></table></div>${renderListPages(view, next, "changes")}</section>`;
}

/** The fields of details whose values are people. */
const PEOPLE = ["user_id", "user_id_before"];

function peopleOf({ actor_user_id: actor, details }: AuditEventRow): string[] {
  const named = PEOPLE.flatMap((name) => (typeof details[name] === "string" ? [details[name]] : []));
  return actor === null ? named : [actor, ...named];
}

/** Describes the details of a change, each field by itself: `plan: team → business`. */
function listDetails({ details }: AuditEventRow, names: Names): string[] {
  const show = (name: string) => {
    const value = details[name];
    const text = value === null ? "none" : String(value);
    return PEOPLE.includes(name) ? (names.get(text) ?? text) : text;
  };
  return Object.keys(details)
    .filter((name) => !(name.endsWith("_before") && name.slice(0, -7) in details))
    .map((name) => {
      const words = name.replace(/_id$/, "").replaceAll("_", " ");
      return `${words}: ${`${name}_before` in details ? `${show(`${name}_before`)} → ` : ""}${show(name)}`;
    });
}

function sendFile(call: PageCall, { from, to }: AuditPeriod, format: "csv" | "json"): Response {
  const { db, accounts } = call.env.parts;
  return sendAuditFile<AuditEventRow>(call, {
    name: "audit-events",
    format,
    read: (after) => listAuditEvents(db, call.workspace.workspaceId, { from, to, after, limit: FILE_ROWS }),
    csvHeader: formatCsvLine(["event_id", "at", "kind", "actor_user_id", "actor", "details", "retain_until"]),
    async toCsv(rows) {
      const names = await readNames(
        accounts,
        rows.flatMap(({ actor_user_id }) => actor_user_id ?? []),
      );
      const lines = rows.map((row) => [
        row.event_id,
        formatInstant(row.at),
        row.kind,
        row.actor_user_id,
        names.get(row.actor_user_id ?? "") ?? null,
        JSON.stringify(row.details),
        formatInstant(row.retain_until),
      ]);
      return lines.map(formatCsvLine).join("");
    },
    toItem: toAuditEvent,
  });
}
