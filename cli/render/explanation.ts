import { formatPicoUsd, type PriceFactor, USAGE_EXTRAS } from "../../core/pricing/mod.ts";
import { type Explanation, quantityInWords, rateInWords } from "../../daemon/explain-request.ts";
import { printable } from "./printable.ts";
import { renderTable } from "./table.ts";
import { countLines, estimateNote, priceConditions } from "./usage-counts.ts";

const right = "right" as const;

/** The explanation of one request: who, what, the counts, the rate, the arithmetic, and how it is stored. */
export function renderExplanation({ request, priced, agrees, rate }: Explanation, width: number): string {
  const facts: [name: string, value: string][] = [
    ["request", request.requestId],
    ["when", `${new Date(request.requestedAt).toISOString()}  (${Math.round(request.latencyMs)} ms)`],
    ["what", `${request.method} ${request.host}${request.path}`],
    ["model", modelInWords(request.model, request.requestedModel)],
    ["project", `${request.project}  (by ${request.attributionTier.replaceAll("_", " ")})`],
    ["answer", answerInWords(request)],
  ];
  if (request.client !== null) facts.splice(3, 0, ["client", request.client]);
  if (request.providerResponseId !== null) facts.push(["response id", request.providerResponseId]);
  if (request.serviceTier !== null) facts.push(["service tier", request.serviceTier]);
  facts.push(...priceConditions(request));

  const lines = [
    ...facts.map(([name, value]) => `${`${name} `.padEnd(14)}${value}`),
    "",
    "What was counted (a dash: not stated)",
    ...indented(
      renderTable([{ title: "tokens" }, { title: "count", align: right }], countLines(request), width),
    ),
  ];
  const estimate = estimateNote(request);
  if (estimate !== null) lines.push(`  ${estimate}`);
  if (!request.tokensComplete)
    lines.push("  The usage is incomplete: the provider did not state it all, or the answer was cut.");
  lines.push("", rate === null ? "No rate applied." : `Rate: ${rate}`);
  for (const factor of priced.factors) lines.push(`  ${factorInWords(factor)}`);
  if (priced.lines.length > 0) {
    const factored = priced.lines.some((line) => line.rate !== line.listRate);
    const rows = priced.lines.map((line) => [
      line.label,
      quantityInWords(line),
      ...(factored ? [rateInWords(line, line.listRate)] : []),
      rateInWords(line, line.rate),
      `$${formatPicoUsd(line.costPicoUsd)}`,
    ]);
    if (priced.computedPicoUsd !== null) {
      rows.push(["sum", "", ...(factored ? [""] : []), "", `$${formatPicoUsd(priced.computedPicoUsd)}`]);
    }
    lines.push(
      ...indented(
        renderTable(
          [
            { title: "line" },
            { title: "quantity", align: right },
            ...(factored ? [{ title: "list rate", align: right }] : []),
            { title: "rate", align: right },
            { title: "cost", align: right },
          ],
          rows,
          width,
        ),
      ),
    );
  }
  if (priced.unpricedReason !== null) lines.push(`  Not priced: ${priced.unpricedReason}.`);
  if (request.providerCostPicoUsd !== null) {
    lines.push(
      `The provider stated $${formatPicoUsd(request.providerCostPicoUsd)}, and that is what counts.`,
    );
  }
  lines.push(
    "",
    request.costPicoUsd === null
      ? "Stored: no cost (unpriced)."
      : `Stored: $${formatPicoUsd(request.costPicoUsd)} = ${request.costPicoUsd} pico-USD (${request.costSource}).`,
  );
  if (!agrees)
    lines.push("Today's rates give another cost than the one stored: meter recompute-costs would change it.");
  // Models, tiers and error codes are the provider's words: none of them may steer the terminal.
  return lines.map(printable).join("\n");
}

function factorInWords({
  when,
  numerator,
  denominator,
  exceptCacheReads,
  page,
  readOn,
}: PriceFactor): string {
  const what = "serviceTier" in when ? `service tier ${when.serviceTier}` : USAGE_EXTRAS[when.extra].label;
  const but = exceptCacheReads ? ", cache reads excepted" : "";
  return `× ${numerator}/${denominator} for ${what}${but} (${page}${readOn === null ? "" : `, read on ${readOn}`})`;
}

function indented(text: string): string[] {
  return text.split("\n").map((line) => `  ${line}`);
}

function modelInWords(model: string, requested: string | null): string {
  return requested === null || requested === model ? model : `${model}  (asked for ${requested})`;
}

function answerInWords({
  httpStatus,
  errorClass,
  retryable,
  providerErrorCode,
  streaming,
}: Explanation["request"]): string {
  const status = httpStatus === null ? "none" : `HTTP ${httpStatus}${streaming ? ", streamed" : ""}`;
  if (errorClass === null) return status;
  const again = retryable === null ? "" : retryable ? ", worth a retry" : ", not worth a retry";
  return `${status}: ${errorClass}${again}${providerErrorCode === null ? "" : ` (${providerErrorCode})`}`;
}
