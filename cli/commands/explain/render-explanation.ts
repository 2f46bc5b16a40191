import { describeFailure } from "../../../core/metering/classify/describe-failure.ts";
import {
  ESTIMATES_COMMAND,
  isStreamWithoutUsage,
  streamUsageFix,
} from "../../../core/metering/estimate/stream-usage.ts";
import { BILLING_TEXTS } from "../../../core/pricing/cost-split.ts";
import {
  type Explanation,
  formatLineQuantity,
  formatLineRate,
} from "../../../core/pricing/explain-request.ts";
import type { PriceFactor } from "../../../core/pricing/factors.data.ts";
import { formatPicoUsd } from "../../../core/pricing/money.ts";
import type { PriceFix } from "../../../core/pricing/price-fix.ts";
import { USAGE_EXTRAS } from "../../../core/pricing/usage-extras.ts";
import { effectiveBilling } from "../../../core/values/billing.ts";
import { priceFixLines } from "../../render/price-fixes.ts";
import { printable } from "../../render/printable.ts";
import { renderTable } from "../../render/table.ts";
import { wrap } from "../../render/wrap.ts";
import { countLines, estimateNote, priceConditions } from "./usage-counts.ts";

const right = "right" as const;

/** The longest line of a paragraph, in columns. */
const TEXT_WIDTH = 100;

/** Renders the explanation of one request: its facts, the counts, the rate, the calculation, and the stored cost. */
export function renderExplanation(
  explanation: Explanation,
  width: number,
  priceFix: PriceFix | null = null,
  origin: string | null = null,
): string {
  const { request, priced, agrees, rate } = explanation;
  const lines = [
    ...factLines(request, origin),
    ...failureLines(request, width),
    "",
    ...tokenCountLines(request, width),
    "",
    rate === null ? "No rate applied." : `Rate: ${rate}`,
    ...priced.factors.map((factor) => `  ${formatFactor(factor)}`),
    ...(priced.lines.length > 0 ? indented(renderCalculation(priced, width)) : []),
    ...(priced.unpricedReason === null ? [] : [`  Not priced: ${priced.unpricedReason}.`]),
    ...(priceFix === null ? [] : priceFixLines(priceFix).map((line) => `  ${line}`)),
    ...(request.providerCostPicoUsd === null
      ? []
      : [`The provider stated $${formatPicoUsd(request.providerCostPicoUsd)}, and that cost is used.`]),
    "",
    request.costPicoUsd === null
      ? "Stored: no cost (unpriced)."
      : `Stored: $${formatPicoUsd(request.costPicoUsd)} = ${request.costPicoUsd} pico-USD (${request.costSource}).`,
  ];
  if (!agrees)
    lines.push("The current rates give a different cost. Update the stored cost: meter recompute-costs");
  // Models, tiers and error codes come from the provider and may contain control characters.
  return lines.map(printable).join("\n");
}

/** Renders what is known of the request, one fact per line. `origin` tells the project from others of the same folder name. */
function factLines(request: Explanation["request"], origin: string | null): string[] {
  const facts: [name: string, value: string][] = [
    ["request", request.requestId],
    ...callFacts(request),
    ...(request.client === null ? [] : [["program", request.client] as [string, string]]),
    ["model", formatModel(request.model, request.requestedModel)],
    ["project", `${request.project}  (by ${request.attributionTier.replaceAll("_", " ")})`],
    ...(origin === null ? [] : [["origin", origin] as [string, string]]),
  ];
  if (request.recordSource !== "logs") facts.push(["response", formatResponse(request)]);
  if (request.providerResponseId !== null) facts.push(["response id", request.providerResponseId]);
  facts.push(["billing", BILLING_TEXTS[effectiveBilling(request)]]);
  if (request.serviceTier !== null) facts.push(["service tier", request.serviceTier]);
  facts.push(...priceConditions(request));
  return facts.map(([name, value]) => `${`${name} `.padEnd(14)}${value}`);
}

/** A log states neither the address of a call nor how long it took. */
function callFacts(request: Explanation["request"]): [name: string, value: string][] {
  const when = new Date(request.requestedAt).toISOString();
  return request.recordSource === "logs"
    ? [
        ["when", when],
        ["from logs", `${request.logFile ?? "unknown file"}, line ${request.logLine ?? "unknown"}`],
      ]
    : [
        ["when", `${when}  (${Math.round(request.latencyMs)} ms)`],
        ["call", `${request.method} ${request.host}${request.path}`],
      ];
}

/** Renders what happened to a failed call as a paragraph. */
function failureLines(request: Explanation["request"], width: number): string[] {
  const failure = describeFailure(request);
  return failure === null ? [] : ["", ...wrap(failure, Math.min(width, TEXT_WIDTH))];
}

/** Renders the token counts, and what is missing from them. */
function tokenCountLines(request: Explanation["request"], width: number): string[] {
  const table = renderTable(
    [{ title: "tokens" }, { title: "count", align: right }],
    countLines(request),
    width,
  );
  const estimate = estimateNote(request);
  return [
    "Token counts (a dash: the provider did not state it)",
    ...indented(table),
    ...(estimate === null ? [] : [`  ${estimate}`]),
    // What is missing from a failed call is in the paragraph about the failure.
    ...(request.tokensComplete || request.errorClass !== null
      ? []
      : isStreamWithoutUsage(request)
        ? [
            "  The stream states no tokens, because the request did not ask for them.",
            `  In ${request.client ?? "the program"}: ${streamUsageFix(request.client)}`,
            `  Estimate such counts from the text: ${ESTIMATES_COMMAND}`,
          ]
        : ["  The usage is incomplete: the provider did not state all counts."]),
  ];
}

/** Renders each line of the calculation and the sum. The list rate has a column only if a factor changed it. */
function renderCalculation(priced: Explanation["priced"], width: number): string {
  const isFactored = priced.lines.some((line) => line.rate !== line.listRate);
  const rows = priced.lines.map((line) => [
    line.label,
    formatLineQuantity(line),
    ...(isFactored ? [formatLineRate(line, line.listRate)] : []),
    formatLineRate(line, line.rate),
    `$${formatPicoUsd(line.costPicoUsd)}`,
  ]);
  if (priced.computedPicoUsd !== null)
    rows.push(["sum", "", ...(isFactored ? [""] : []), "", `$${formatPicoUsd(priced.computedPicoUsd)}`]);
  return renderTable(
    [
      { title: "line" },
      { title: "quantity", align: right },
      ...(isFactored ? [{ title: "list rate", align: right }] : []),
      { title: "rate", align: right },
      { title: "cost", align: right },
    ],
    rows,
    width,
  );
}

function formatFactor({ when, numerator, denominator, exceptCacheReads, page, readOn }: PriceFactor): string {
  const what = "serviceTier" in when ? `service tier ${when.serviceTier}` : USAGE_EXTRAS[when.extra].label;
  const but = exceptCacheReads ? ", cache reads excepted" : "";
  return `× ${numerator}/${denominator} for ${what}${but} (${page}${readOn === null ? "" : `, read on ${readOn}`})`;
}

function indented(text: string): string[] {
  return text.split("\n").map((line) => `  ${line}`);
}

function formatModel(model: string, requested: string | null): string {
  return requested === null || requested === model ? model : `${model}  (requested: ${requested})`;
}

function formatResponse({
  blockedBy,
  httpStatus,
  errorClass,
  retryable,
  providerErrorCode,
  streaming,
}: Explanation["request"]): string {
  if (blockedBy !== null) return `none: refused by the budget ${blockedBy}, and not sent`;
  const status = httpStatus === null ? "none" : `HTTP ${httpStatus}${streaming ? ", streamed" : ""}`;
  if (errorClass === null) return status;
  const again = retryable === null ? "" : retryable ? ", retryable" : ", not retryable";
  return `${status}: ${errorClass}${again}${providerErrorCode === null ? "" : ` (${providerErrorCode})`}`;
}
