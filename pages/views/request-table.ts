import { html } from "hono/html";
import { isUnpriced } from "../../core/pricing/unpriced.ts";
import { effectiveBilling } from "../../core/values/billing.ts";
import type { RequestRecord } from "../../core/values/record.ts";
import { UNKNOWN } from "../../core/values/text/format-count.ts";
import { formatDuration } from "../../core/values/text/format-duration.ts";
import { totalInputTokens, totalOutputTokens } from "../../core/values/token-totals.ts";
import { formatShare, renderShortCount, renderUsd } from "../figures.ts";
import { formatShortCount } from "../formats.ts";
import type { Html } from "../html.ts";
import { renderName } from "../names.ts";
import type { PagePlace } from "../page-place.ts";
import { renderTime } from "../times.ts";
import { requestHref } from "./links.ts";
import type { RequestSender, ShownRequest } from "./shown-request.ts";

/** Describes how a request ended: the HTTP status, or the class of the error. */
export function renderOutcome({
  errorClass,
  httpStatus,
  recordSource,
}: Pick<RequestRecord, "errorClass" | "httpStatus" | "recordSource">): Html {
  if (recordSource === "logs") return html`<span class="quiet">from logs</span>`;
  if (errorClass === null) return html`${httpStatus ?? "ok"}`;
  return html`<span class="bad">${httpStatus ?? ""} ${errorClass.replaceAll("_", " ")}</span>`;
}

/** Renders the cost of a request. What a plan covers is marked: it is not part of what was spent. */
export function renderRequestCost(request: ShownRequest): Html {
  if (isUnpriced(request)) return html`<span class="warn">unpriced</span>`;
  return html`${renderUsd(request.costPicoUsd)}${effectiveBilling(request) === "plan" ? html` <span class="quiet">plan</span>` : ""}`;
}

/** Returns the share of the input that came from a cache, as text; null if it is not known. */
export function cacheShare({ tokens }: Pick<RequestRecord, "tokens">): string | null {
  const input = totalInputTokens(tokens);
  return tokens.cacheReadTokens === null || input === null || input === 0
    ? null
    : formatShare(tokens.cacheReadTokens, input);
}

/** The model, or the one that was asked for if none answered. */
function renderModel({ errorClass, model, requestedModel }: ShownRequest): Html {
  const isAsked = errorClass !== null && (model === "unknown" || model === requestedModel);
  return isAsked
    ? html`${renderName(requestedModel ?? model)} <span class="quiet">(asked)</span>`
    : renderName(model);
}

/**
 * Renders requests as rows. Failures and their reasons are also visible on a phone. A cloud gives the senders by request; it does
 * not receive the names of programs.
 */
export function renderRequestTable(
  label: string,
  requests: readonly ShownRequest[],
  place: PagePlace,
  senders?: ReadonlyMap<string, RequestSender>,
): Html {
  return html`<div class="scroll"><table aria-label="${label}">
    <thead><tr><th scope="col">When</th><th scope="col" class="desk">Project</th><th scope="col" class="wide">${senders === undefined ? "Program" : "Person"}</th><th scope="col">Model</th><th scope="col" class="num desk">In</th><th scope="col" class="num wide">Cached</th><th scope="col" class="num desk">Out</th><th scope="col" class="num">Cost</th><th scope="col" class="num wide">Time</th><th scope="col" class="desk">Status</th></tr></thead>
    <tbody>${requests.map((request) => renderRow(request, place, senders))}</tbody>
  </table></div>`;
}

function renderRow(
  request: ShownRequest,
  place: PagePlace,
  senders?: ReadonlyMap<string, RequestSender>,
): Html {
  const { requestId, project, gitBranch, client, tokens, latencyMs } = request;
  const [input, output] = [totalInputTokens(tokens), totalOutputTokens(tokens)];
  const isFromLogs = request.recordSource === "logs";
  const branch = gitBranch ?? null;
  const sender = senders?.get(requestId);
  const user =
    senders === undefined
      ? renderName(client)
      : html`${renderName(sender?.person)}<span class="sub">${renderName(sender?.machine)}</span>`;
  return html`<tr id="r-${requestId}">
    <th scope="row" class="when"><a href="${requestHref(place, requestId)}">${renderTime(request.requestedAt, place)}</a></th>
    <td class="name desk">${renderName(project)}${branch === null ? "" : html` <bdi class="quiet">${branch}</bdi>`}</td>
    <td class="name wide">${user}</td>
    <td class="name">${renderModel(request)}<span class="sub phone"><bdi>${project}</bdi>${request.errorClass === null ? html`, ${formatShortCount(input)} → ${formatShortCount(output)}` : html`, ${renderOutcome(request)}`}</span></td>
    <td class="num desk">${renderShortCount(input)}</td>
    <td class="num wide">${cacheShare(request) ?? UNKNOWN}</td>
    <td class="num desk">${renderShortCount(output)}</td>
    <td class="num">${renderRequestCost(request)}</td>
    <td class="num wide">${isFromLogs || latencyMs === null ? UNKNOWN : formatDuration(latencyMs)}</td>
    <td class="desk">${renderOutcome(request)}</td>
  </tr>`;
}
