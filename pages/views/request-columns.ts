import { html } from "hono/html";
import { UNKNOWN } from "../../core/values/text/format-count.ts";
import { formatDuration } from "../../core/values/text/format-duration.ts";
import { totalInputTokens, totalOutputTokens } from "../../core/values/token-totals.ts";
import type { RequestSort } from "../../core/wire/queries.ts";
import { renderShortCount } from "../figures.ts";
import type { Html } from "../html.ts";
import { renderName } from "../names.ts";
import type { PagePlace } from "../page-place.ts";
import { sessionHref } from "./links.ts";
import { cacheShare, renderModel, renderOutcome, renderRequestCost } from "./request-parts.ts";
import type { RequestSender, ShownRequest } from "./shown-request.ts";

/** A column of a table of requests, besides the time. */
export interface RequestColumn {
  readonly name: string;
  readonly heading: string;
  /** Where it is shown unless it was chosen: on all screens, from 641 pixels or from 901 pixels. */
  readonly from: "" | "desk" | "wide";
  readonly kind: "name" | "num" | "";
  /** The order that the heading selects. */
  readonly sort?: RequestSort;
  readonly render: (request: ShownRequest, place: PagePlace, sender?: RequestSender) => Html | string;
}

const renderDuration = (ms: number | null) => (ms === null ? UNKNOWN : formatDuration(ms));

/** All columns, in their order. */
const COLUMNS: readonly RequestColumn[] = [
  {
    ...{ name: "project", heading: "Project", from: "desk", kind: "name" },
    render: ({ project, gitBranch }) =>
      html`${renderName(project)}${gitBranch == null ? "" : html` <bdi class="quiet">${gitBranch}</bdi>`}`,
  },
  {
    ...{ name: "branch", heading: "Branch", from: "desk", kind: "name" },
    render: ({ gitBranch }) => renderName(gitBranch),
  },
  {
    ...{ name: "client", heading: "Program", from: "wide", kind: "name" },
    render: ({ client }) => renderName(client),
  },
  {
    ...{ name: "person", heading: "Person", from: "wide", kind: "name" },
    render: (_request, _place, sender) =>
      html`${renderName(sender?.person)}<span class="sub">${renderName(sender?.machine)}</span>`,
  },
  {
    ...{ name: "machine", heading: "Machine", from: "wide", kind: "name" },
    render: (_request, _place, sender) => renderName(sender?.machine),
  },
  {
    ...{ name: "session", heading: "Session", from: "wide", kind: "" },
    render: ({ sessionId }, place) =>
      sessionId == null
        ? UNKNOWN
        : html`<a href="${sessionHref(place, sessionId)}"><bdi>${sessionId.slice(0, 8)}</bdi></a>`,
  },
  { ...{ name: "model", heading: "Model", from: "", kind: "name" }, render: renderModel },
  {
    ...{ name: "provider", heading: "Provider", from: "wide", kind: "name" },
    render: ({ provider }) => renderName(provider),
  },
  {
    ...{ name: "kind", heading: "Kind", from: "wide", kind: "" },
    render: ({ requestKind }) => requestKind,
  },
  {
    ...{ name: "in", heading: "In", from: "desk", kind: "num" },
    render: ({ tokens }) => renderShortCount(totalInputTokens(tokens)),
  },
  {
    ...{ name: "cached", heading: "Cached", from: "wide", kind: "num" },
    render: (request) => cacheShare(request) ?? UNKNOWN,
  },
  {
    ...{ name: "out", heading: "Out", from: "desk", kind: "num" },
    render: ({ tokens }) => renderShortCount(totalOutputTokens(tokens)),
  },
  {
    ...{ name: "tokens", heading: "Tokens", from: "desk", kind: "num", sort: "tokens" },
    render: ({ tokens }) => {
      const [input, output] = [totalInputTokens(tokens), totalOutputTokens(tokens)];
      return renderShortCount(input === null && output === null ? null : (input ?? 0) + (output ?? 0));
    },
  },
  {
    ...{ name: "cost", heading: "Cost", from: "", kind: "num", sort: "cost" },
    render: renderRequestCost,
  },
  {
    ...{ name: "ms", heading: "Duration", from: "wide", kind: "num", sort: "ms" },
    render: ({ recordSource, latencyMs }) => renderDuration(recordSource === "logs" ? null : latencyMs),
  },
  {
    ...{ name: "ttfb", heading: "First byte", from: "wide", kind: "num" },
    render: ({ ttfbMs }) => renderDuration(ttfbMs),
  },
  { ...{ name: "status", heading: "Status", from: "desk", kind: "" }, render: renderOutcome },
];

/** The columns of a table unless others were chosen. A host has either `client` or `person`. */
const DEFAULT_COLUMNS = [
  "project",
  "client",
  "person",
  "model",
  "in",
  "cached",
  "out",
  "cost",
  "ms",
  "status",
];

/** Returns the columns of a host: a cloud knows who sent a request, and not the name of the program. */
export const columnsOf = (isCloud: boolean): readonly RequestColumn[] =>
  COLUMNS.filter(({ name }) => (isCloud ? name !== "client" : name !== "person" && name !== "machine"));

/** Returns the columns of a table on a host. */
export const defaultColumnsOf = (isCloud: boolean): readonly RequestColumn[] =>
  columnsOf(isCloud).filter(({ name }) => DEFAULT_COLUMNS.includes(name));

/** Reads a list of columns from an address: names with commas in between. Returns the known ones in their order, and the others. */
export function parseColumns(
  texts: readonly string[],
  isCloud: boolean,
): { readonly names: readonly string[]; readonly unknown: readonly string[] } {
  const given = texts.flatMap((text) => text.split(",")).filter((name) => name !== "");
  const known = columnsOf(isCloud).map(({ name }) => name);
  return {
    names: known.filter((name) => given.includes(name)),
    unknown: given.filter((name) => !known.includes(name)),
  };
}
