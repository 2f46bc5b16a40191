import { html } from "hono/html";
import { BILLING_MODES } from "../../core/values/record-fields.ts";
import { type NameOfValue, PERIOD_VALUES, renderChips, renderMenus, renderViewNotices } from "../filters.ts";
import type { Html } from "../html.ts";
import type { PagePlace } from "../page-place.ts";
import { renderEmpty } from "../states.ts";
import { filterValue, type View, type ViewSpec, viewHref } from "../view.ts";
import { renderRequestTable } from "./request-table.ts";
import type { RequestSender, ShownRequest } from "./shown-request.ts";

const requestsView = (filters: readonly string[]): ViewSpec => ({
  path: "/requests",
  keys: {
    period: PERIOD_VALUES,
    from: [],
    to: [],
    status: ["", "ok", "failed", "unpriced", "incomplete"],
    billing: ["", ...BILLING_MODES],
    /** An HTTP status. */
    http: [],
    cursor: [],
  },
  filters,
});

/** The list of a machine's requests. */
export const REQUESTS_VIEW = requestsView(["project", "model", "provider", "client"]);

/** The list of a workspace's requests. */
export const WORKSPACE_REQUESTS_VIEW = requestsView([
  "project",
  "model",
  "provider",
  "person",
  "machine",
  "session",
]);

/** The filters of usage that the status of a request stands for. */
const STATUS_FILTERS: readonly (readonly [name: string, value: string])[] = [
  ["cost", "unpriced"],
  ["tokens", "incomplete"],
];

/** Returns the parameters with the page's own names for filters of usage, so that links from other pages list the same requests. */
export function toRequestParameters(parameters: URLSearchParams): URLSearchParams {
  const own = new URLSearchParams();
  for (const [name, value] of parameters) {
    const isStatus = STATUS_FILTERS.some(([filter, of]) => filter === name && of === value);
    if (isStatus) own.set("status", value);
    else if (name === "http_status") own.set("http", value);
    else own.append(name, value);
  }
  return own;
}

/** One page of requests. */
export interface RequestsAnswer {
  readonly requests: readonly ShownRequest[];
  /** Null on the last page. */
  readonly nextCursor: string | null;
  readonly periodWords: string;
  /** Values of filters that were seen in the period, by name. */
  readonly choices: Readonly<Record<string, readonly string[]>>;
  /** How many requests match, with the view's filters; null if that was not counted. */
  readonly total: number | null;
  /** Who sent the requests, by ID. Absent: this machine did. */
  readonly senders?: ReadonlyMap<string, RequestSender>;
  /** The names of people and machines, whose values are IDs. */
  readonly nameOf?: NameOfValue;
  /** What the period can't have, as a sentence. */
  readonly caveat?: string;
}

const STATUS_NAMES: Readonly<Record<string, string>> = {
  "": "all",
  ok: "succeeded",
  failed: "failed",
  unpriced: "unpriced",
  incomplete: "incomplete usage",
};

/** Renders the list of requests, the latest first. */
export function renderRequests(answer: RequestsAnswer, view: View, place: PagePlace): Html {
  const { requests, nextCursor, senders, nameOf, caveat } = answer;
  return html`${renderViewNotices(view)}
    ${renderFilterMenus(answer, view)}
    ${renderChips(view, nameOf)}
    ${caveat === undefined ? "" : html`<div class="notice" role="note">${caveat}</div>`}
    <p class="quiet" data-summary>${describeCount(answer)}</p>
    <div id="list" data-live>${
      requests.length === 0
        ? renderEmpty(view, "requests", nameOf)
        : html`<section class="panel">${renderRequestTable("Requests", requests, place, senders)}
        <nav class="pages" aria-label="Pages of requests">${view.values.cursor === "" ? html`<span></span>` : html`<a href="${viewHref(view, { values: { cursor: "" } })}">Latest</a>`}${nextCursor === null ? html`<span class="quiet">The end.</span>` : html`<a href="${viewHref(view, { values: { cursor: nextCursor } })}" rel="next" data-key="ArrowRight">Earlier</a>`}</nav></section>`
    }</div>`;
}

const describeCount = ({ requests, total, periodWords }: RequestsAnswer): string =>
  total === null
    ? `${requests.length} requests, ${periodWords}`
    : `${requests.length.toLocaleString("en")} of ${total.toLocaleString("en")} requests, ${periodWords}`;

/** Renders the menus of the filters: what the period has, and what is selected. */
export function renderFilterMenus(
  { choices, nameOf = () => null }: Pick<RequestsAnswer, "choices" | "nameOf">,
  view: View,
): Html {
  const menus = view.spec.filters.flatMap((name) => {
    const selected = filterValue(view, name) ?? "";
    const values = [...new Set([...(choices[name] ?? []), ...(selected === "" ? [] : [selected])])];
    return values.length === 0
      ? []
      : [
          {
            name,
            label: FILTER_NAMES[name] ?? name,
            selected,
            choices: [
              { value: "", name: "all" },
              ...values.map((value) => ({ value, name: nameOf(name, value) ?? value })),
            ],
          },
        ];
  });
  const keys = (["status", "billing"] as const).flatMap((name) =>
    view.spec.keys[name] === undefined
      ? []
      : [
          {
            name,
            label: name === "status" ? "Status" : "Billing",
            selected: view.values[name] ?? "",
            choices: view.spec.keys[name].map((value) => ({
              value,
              name: (name === "status" ? STATUS_NAMES[value] : value === "" ? "all" : value) ?? value,
            })),
          },
        ],
  );
  return renderMenus(view, [...menus, ...keys]);
}

/** The names of filters in menus and headings. */
export const FILTER_NAMES: Readonly<Record<string, string>> = {
  project: "Project",
  branch: "Branch",
  model: "Model",
  provider: "Provider",
  client: "Program",
  session: "Session",
  agent: "Agent",
  machine: "Machine",
  person: "Person",
};
