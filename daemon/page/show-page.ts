import type { Context } from "hono";
import { html } from "hono/html";
import { formatQuantity } from "../../core/values/text/format-quantity.ts";
import { quoteForShell } from "../../core/values/text/shell-words.ts";
import { FRAME_POLICY, type FramedPage, type NavigationItem, renderFrame } from "../../pages/frame.ts";
import type { Html } from "../../pages/html.ts";
import type { PageFile } from "../../pages/page-file.ts";
import { createPartReader, type PartReader } from "../../pages/page-parts.ts";
import type { PagePlace } from "../../pages/page-place.ts";
import { renderFailure, renderState } from "../../pages/states.ts";
import { renderTime } from "../../pages/times.ts";
import { renderTools, type ViewTools } from "../../pages/tools.ts";
import { readView, type View, type ViewSpec } from "../../pages/view.ts";
import type { ApiPorts } from "../api/api-ports.ts";
import { type DaemonState, findDaemonFault } from "../api/daemon-status.ts";
import { localZone } from "../store/days.ts";
import { findNearestPage, isPagePath, NAVIGATION, pageNameOf } from "./page-paths.ts";

/** The time zone, the current time and the base of a page. */
export const placeOf = ({ clock }: ApiPorts): PagePlace => ({
  zone: localZone(),
  now: clock.now(),
  base: "",
});

/** Creates the reader of a page's parts. A browser that left is not a failure. A file has all of its parts or is not sent. */
export const partsOf = (ports: Pick<ApiPorts, "onError">, context: Context): PartReader =>
  createPartReader((error) => {
    if (error === context.req.raw.signal.reason || context.req.query("format") !== undefined) throw error;
    ports.onError(error);
    return "internal";
  });

/** Reads the view of a page from its address. */
export const viewOf = (context: Context, spec: ViewSpec): View => readView(spec, parametersOf(context));

/** The parameters of the address. */
export const parametersOf = (context: Context): URLSearchParams => new URL(context.req.url).searchParams;

/** Answers with a page in the dashboard's frame. */
export function showPage(
  ports: ApiPorts,
  context: Context,
  page: FramedPage,
  status: 200 | 400 | 404 | 500 = 200,
) {
  const place = placeOf(ports);
  const daemon = ports.state();
  context.header("content-security-policy", FRAME_POLICY);
  return context.html(
    renderFrame(
      {
        ...place,
        navigation: NAVIGATION,
        state: renderDaemonState(daemon),
        notices: renderNotices(daemon),
        footer: html`meter ${daemon.version} on this machine, proxy on port ${daemon.proxy.port}, running since ${renderTime(Date.parse(daemon.started_at), place, true)}. Times are in ${place.zone}.`,
        eventsPath: "/v1/events",
      },
      page,
    ),
    status,
  );
}

/** Answers 404 with a page. */
export const showNotFound = (ports: ApiPorts, context: Context, back: NavigationItem, main: Html) =>
  showPage(ports, context, { heading: "Not found", path: back.path, back, main }, 404);

/** Answers a request for a page that does not exist: redirects to the page without the slash at the end if there is one, otherwise 404. */
export function showUnknownPage(ports: ApiPorts, context: Context): Response | Promise<Response> {
  const { pathname, search } = new URL(context.req.url);
  const withoutSlash = pathname.replace(/\/$/, "");
  if (withoutSlash !== pathname && isPagePath(withoutSlash))
    return context.redirect(`${withoutSlash}${search}`, 308);
  const near = findNearestPage(withoutSlash);
  const main = renderState(
    "There is no page at this address",
    "The navigation has all pages.",
    near === null ? "" : html`<p>Did you mean <a href="${near.path}">${near.name}</a>?</p>`,
  );
  return showPage(ports, context, { heading: "Page not found", path: "", main }, 404);
}

/** Answers 500 with a page: what failed, and what still works. */
export function showFailure(ports: ApiPorts, context: Context) {
  const { pathname, search } = new URL(context.req.url);
  const path = `/${pathname.split("/")[1]}`;
  const main = renderFailure({
    code: "internal",
    sentence: "The daemon's log has the error. To find the cause and its fix:",
    command: "meter doctor",
    address: `${pathname}${search}`,
    works: "Calls are still metered, as far as the state above says. Other pages may work.",
  });
  return showPage(ports, context, { heading: pageNameOf(path), title: "Error", path, main }, 500);
}

const FAULTS = {
  proxy: "The proxy does not answer",
  unmetered: "Calls pass through but are not metered",
  store: "Calls pass through but are not stored",
} as const;

function renderDaemonState(daemon: DaemonState): Html {
  const fault = findDaemonFault(daemon);
  if (fault === null) return html`<span class="dot good">Metering</span>`;
  return html`<span class="dot bad">${FAULTS[fault]}</span>`;
}

/** Renders the problems of the daemon, which every page shows. */
function renderNotices({ store, warnings }: DaemonState): Html {
  const { lastError, dropped, capturing, set_aside } = store;
  const lost = Object.values(dropped).reduce((sum, count) => sum + (count ?? 0), 0);
  const bad = [
    ...(capturing === "failing" && lastError !== null
      ? [`Records can't be stored: ${lastError.message}`]
      : []),
    ...(lost > 0
      ? [`${formatQuantity(lost, "record has", "records have")} been lost since the daemon started.`]
      : []),
  ];
  const others = [
    ...(set_aside === null ? [] : [`A damaged database was moved to ${set_aside}.`]),
    ...warnings,
  ];
  const list = (kind: string, role: string, lines: readonly string[]) =>
    lines.length === 0
      ? ""
      : html`<div class="notice ${kind}" role="${role}">${lines.length === 1 ? lines[0] : html`<ul>${lines.map((line) => html`<li>${line}</li>`)}</ul>`}</div>`;
  return html`${list("bad", "alert", bad)}${list("", "note", others)}`;
}

/** Answers with a file. */
export function sendFile(context: Context, { name, type, text }: PageFile) {
  context.header("content-disposition", `attachment; filename="${name}"`);
  return context.body(text, 200, { "content-type": type });
}

/** Renders the exports of a page whose data is at an address of the API. */
export function toolsOf(context: Context, path: string, tools: ViewTools): Html {
  const { origin } = new URL(context.req.url);
  return renderTools({
    curl: `curl -H "Authorization: Bearer $(cat ~/.meter/loopback-token)" ${quoteForShell(origin + path)}`,
    ...tools,
  });
}
