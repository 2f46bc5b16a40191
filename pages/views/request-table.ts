import { html } from "hono/html";
import { totalInputTokens, totalOutputTokens } from "../../core/values/token-totals.ts";
import { formatShortCount } from "../formats.ts";
import type { Html } from "../html.ts";
import type { PagePlace } from "../page-place.ts";
import { renderTime } from "../times.ts";
import { type View, viewHref } from "../view.ts";
import { requestHref } from "./links.ts";
import { columnsOf, defaultColumnsOf, type RequestColumn } from "./request-columns.ts";
import { renderOutcome } from "./request-parts.ts";
import type { RequestSender, ShownRequest } from "./shown-request.ts";

/** A table of requests. */
export interface RequestTable {
  readonly label: string;
  readonly requests: readonly ShownRequest[];
  /** Who sent the requests to a cloud, by request. Absent: this machine did. */
  readonly senders?: ReadonlyMap<string, RequestSender> | undefined;
  /** The view whose `sort` and `columns` the table has. Absent: the latest requests, with the usual columns. */
  readonly view?: View;
}

/** Renders requests as rows. Failures and their reasons are also visible on a phone. */
export function renderRequestTable(table: RequestTable, place: PagePlace): Html {
  const { label, requests, senders, view } = table;
  const columns = shownColumns(table);
  return html`<div class="scroll"><table aria-label="${label}">
    <thead><tr>${view === undefined ? html`<th scope="col">When</th>` : renderHeading(view, "time", "When", "")}${columns.map((column) => renderColumnHeading(column, view))}</tr></thead>
    <tbody>${requests.map((request) => renderRow(request, place, columns, senders?.get(request.requestId)))}</tbody>
  </table></div>`;
}

/** Returns the columns of a table. Chosen columns, and the one that it is sorted by, are shown on all screens. */
function shownColumns({ senders, view }: RequestTable): readonly RequestColumn[] {
  const isCloud = senders !== undefined;
  const chosen = (view?.values.columns ?? "").split(",").filter((name) => name !== "");
  const usual = defaultColumnsOf(isCloud).map(({ name }) => name);
  const sort = view?.values.sort ?? "time";
  return columnsOf(isCloud).flatMap((column) => {
    const isSorted = column.sort === sort;
    if (!isSorted && !(chosen.length > 0 ? chosen : usual).includes(column.name)) return [];
    return [isSorted || chosen.length > 0 ? { ...column, from: "" as const } : column];
  });
}

const classOf = ({ kind, from }: Pick<RequestColumn, "kind" | "from">): string =>
  [kind, from].filter((name) => name !== "").join(" ");

function renderColumnHeading(column: RequestColumn, view: View | undefined): Html {
  const { heading, sort, kind, from } = column;
  const own = classOf({ kind: kind === "name" ? "" : kind, from });
  return sort === undefined || view === undefined
    ? html`<th scope="col" class="${own}">${heading}</th>`
    : renderHeading(view, sort, heading, own);
}

const renderHeading = (view: View, sort: string, heading: string, own: string): Html =>
  html`<th scope="col" class="${own}"${view.values.sort === sort ? html` aria-sort="descending"` : ""}><a id="sort-${sort}" href="${viewHref(view, { values: { sort } })}">${heading}</a></th>`;

function renderRow(
  request: ShownRequest,
  place: PagePlace,
  columns: readonly RequestColumn[],
  sender: RequestSender | undefined,
): Html {
  const { requestId, project, tokens } = request;
  const [input, output] = [totalInputTokens(tokens), totalOutputTokens(tokens)];
  // On a phone, the model's cell also shows what the hidden columns contain.
  const more = html`<span class="sub phone"><bdi>${project}</bdi>${request.errorClass === null ? html`, ${formatShortCount(input)} &rarr; ${formatShortCount(output)}` : html`, ${renderOutcome(request)}`}</span>`;
  const hidesColumns = columns.some(({ from }) => from !== "");
  return html`<tr id="r-${requestId}">
    <th scope="row" class="when"><a href="${requestHref(place, requestId)}">${renderTime(request.requestedAt, place)}</a></th>
    ${columns.map((column) => html`<td class="${classOf(column)}">${column.render(request, place, sender)}${column.name === "model" && hidesColumns ? more : ""}</td>`)}
  </tr>`;
}
