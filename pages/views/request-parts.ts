import { html } from "hono/html";
import { isUnpriced } from "../../core/pricing/unpriced.ts";
import { effectiveBilling } from "../../core/values/billing.ts";
import type { RequestRecord } from "../../core/values/record.ts";
import { totalInputTokens } from "../../core/values/token-totals.ts";
import { formatShare, renderUsd } from "../figures.ts";
import type { Html } from "../html.ts";
import { renderName } from "../names.ts";
import type { ShownRequest } from "./shown-request.ts";

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

/** Renders the model, or the requested one if none responded. */
export function renderModel({ errorClass, model, requestedModel }: ShownRequest): Html {
  const isRequested = errorClass !== null && (model === "unknown" || model === requestedModel);
  return isRequested
    ? html`${renderName(requestedModel ?? model)} <span class="quiet">(requested)</span>`
    : renderName(model);
}
