import { html } from "hono/html";
import { PLAN_TABLE } from "../../core/privacy/plans/plan-table.ts";
import { formatQuantity } from "../../core/values/text/format-quantity.ts";
import { PROMPT_VIEW_REASON_MAX } from "../../core/wire/audit.ts";
import { parseWire } from "../../core/wire/parse.ts";
import { type TraceBody, traceBodySchema } from "../../core/wire/traces.ts";
import type { Html } from "../../pages/html.ts";
import { renderTime } from "../../pages/times.ts";
import { hasBody } from "../store/reads/has-body.ts";
import type { TraceRow } from "../store/reads/traces.ts";
import { renderActionForm, renderRowButton } from "./action-form.ts";
import { describeProblem } from "./describe-problem.ts";
import { notice } from "./layout.ts";
import type { PageCall } from "./page-call.ts";

/** Why a visitor may read a stored prompt: they sent it, or they administer the workspace and give a reason. */
type BodyReader = "author" | "administrator";

/** What a visitor asked for: a version of a side, and the reason. */
interface BodyQuery {
  readonly reason: string;
  readonly version: { readonly direction: "request" | "response"; readonly number: string } | null;
}

/** The panel of a request's stored prompt and answer, and the status that an attempt to read it gives the page. */
export interface BodyPanel {
  readonly panel: Html | "";
  readonly status: 200 | 422;
}

const NO_PANEL: BodyPanel = { panel: "", status: 200 };

/** Returns how a visitor may read a request's prompt; null if they may not. As in the API, only the author may on Solo. */
function readerOf({ person, workspace }: PageCall, row: TraceRow): BodyReader | null {
  if (row.user_id === person.userId) return "author";
  const mayRead = workspace.role === "admin" && PLAN_TABLE[workspace.plan].readTeammatesBodies;
  return mayRead ? "administrator" : null;
}

/** Renders how to read a request's stored prompt and answer; nothing for a visitor who may not. */
export async function showBodyPanel(call: PageCall, row: TraceRow): Promise<BodyPanel> {
  const reader = readerOf(call, row);
  if (reader === null) return NO_PANEL;
  const isStored = await hasBody(call.env.parts.db, call.workspace.workspaceId, row.request_id);
  return {
    panel: renderPanel(isStored ? renderAsk(call, row, reader, null) : renderNotStored(call)),
    status: 200,
  };
}

/**
 * Reads a request's stored prompt and answer as the form asks. The API records an administrator's view in the ledger, in the
 * transaction that reads the body.
 */
export async function readBodyPanel(
  call: PageCall,
  row: TraceRow,
  form: URLSearchParams,
): Promise<BodyPanel | Response> {
  const reader = readerOf(call, row);
  if (reader === null) return NO_PANEL;
  const query = readQuery(form);
  const { env, context, workspace } = call;
  const parameters = new URLSearchParams({ workspace_id: workspace.workspaceId });
  if (reader === "administrator") parameters.set("reason", query.reason);
  if (query.version !== null) parameters.set(`${query.version.direction}_version`, query.version.number);
  const answer = await env.callApi(context, "GET", `/v1/traces/${row.request_id}/body?${parameters}`);
  if (answer.ok) {
    const body = parseWire(traceBodySchema, await answer.json());
    if (!body.ok) throw new TypeError("the answer of a stored body does not match its schema");
    return { panel: renderPanel(renderBody(call, row, reader, query, body.value)), status: 200 };
  }
  if (answer.status === 404) return { panel: renderPanel(renderNotStored(call)), status: 200 };
  if (answer.status !== 422) return answer;
  const message = await describeProblem(answer, {
    reason_missing: `Give a reason of 1 to ${PROMPT_VIEW_REASON_MAX.toLocaleString("en")} characters.`,
  });
  return { panel: renderPanel(renderAsk(call, row, reader, message)), status: 422 };
}

function readQuery(form: URLSearchParams): BodyQuery {
  const direction = form.get("direction");
  const isSide = direction === "request" || direction === "response";
  return {
    reason: form.get("reason") ?? "",
    version: isSide ? { direction, number: form.get("version") ?? "" } : null,
  };
}

const renderPanel = (body: Html): Html =>
  html`<section class="panel" id="body" aria-labelledby="body-title"><h2 id="body-title">Prompt and answer</h2>${body}</section>`;

const renderNotStored = ({ workspace }: PageCall): Html =>
  html`<p class="quiet">None is stored. ${workspace.storePromptContent ? "The machine did not send it, or it was erased." : "This workspace does not store prompts and answers."}</p>`;

const pathOf = (row: TraceRow): string => `/requests/${row.request_id}`;

function renderAsk(call: PageCall, row: TraceRow, reader: BodyReader, message: string | null): Html {
  if (reader === "author")
    return html`${notice(message)}<p>You sent this request. Nobody is told that you read it.</p>${renderActionForm(call, pathOf(row), { action: "read" }, html`<div class="actions"><button class="second">Show the prompt and the answer</button></div>`)}`;
  return html`${notice(message)}<p>Somebody else sent this request. Your name and your reason are recorded in the ledger of prompt views before you see it.</p>
${renderActionForm(call, pathOf(row), { action: "read" }, html`<label for="reason">Reason</label><textarea id="reason" name="reason" rows="2" maxlength="${PROMPT_VIEW_REASON_MAX}" required></textarea><div class="actions"><button>Record the reason and show the prompt</button></div>`)}`;
}

const SIDES = [
  ["request", "Request"],
  ["response", "Response"],
] as const;

function renderBody(
  call: PageCall,
  row: TraceRow,
  reader: BodyReader,
  { reason }: BodyQuery,
  body: TraceBody,
): Html {
  const redacted =
    body.redaction_summary.length === 0
      ? ""
      : html` Removed: <bdi>${body.redaction_summary.join(", ")}</bdi>.`;
  return html`<p role="status">${reader === "administrator" ? html`Your view is recorded with the reason “<bdi>${reason.trim()}</bdi>”.` : ""} ${body.redaction_applied ? "Secrets were removed before it was sent." : "Nothing was removed before it was sent."}${redacted}</p>
${SIDES.map(([side, title]) => renderSide(call, title, body[side]))}
${body.earlier_versions.length === 0 ? "" : renderEarlier(call, row, reason, body)}`;
}

function renderSide({ place }: PageCall, title: string, side: TraceBody["request"]): Html {
  if (side === null) return html`<h3>${title}</h3><p class="quiet">Not stored.</p>`;
  const { text, content_type: type, original_size_bytes: size, truncated, sha256, stored_at: at } = side;
  return html`<h3>${title}</h3><p class="quiet"><bdi>${type}</bdi>, ${formatQuantity(size, "byte")}${truncated === true ? ", cut" : ""}${at === null ? "" : html`, stored ${renderTime(Date.parse(at), place, true)}`}${sha256 === null ? "" : html`, SHA-256 <code>${sha256.slice(0, 16)}…</code>`}</p>
<pre class="body" tabindex="0" aria-label="${title}">${text}</pre>`;
}

function renderEarlier(
  call: PageCall,
  row: TraceRow,
  reason: string,
  { earlier_versions: versions }: TraceBody,
): Html {
  return html`<h3>Earlier versions</h3><div class="scroll"><table aria-label="Earlier versions"><thead><tr><th scope="col">Version</th><th scope="col">Stored</th><th scope="col" class="num">Size</th><th scope="col">Read</th></tr></thead><tbody>${versions.map(
    ({ direction, version, size_bytes: size, stored_at: at }) => {
      const name = `${direction} ${version}`;
      const hidden = { action: "read", reason, direction, version: String(version) };
      return html`<tr><th scope="row">${name}</th><td class="when">${at === null ? "" : renderTime(Date.parse(at), call.place, true)}</td><td class="num">${formatQuantity(size, "byte")}</td><td>${renderActionForm(call, pathOf(row), hidden, renderRowButton("Show", name))}</td></tr>`;
    },
  )}</tbody></table></div>`;
}
