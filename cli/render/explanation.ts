import { formatPicoUsd } from "../../core/pricing/mod.ts";
import { type Explanation, ratePerMillion } from "../explain-request.ts";
import { count } from "./report.ts";
import { printable, renderTable } from "./table.ts";

const right = "right" as const;

/** The explanation of one request: who, what, the counts, the rate, the arithmetic, and how it is stored. */
export function renderExplanation({ request, priced, agrees, rate }: Explanation, width: number): string {
  const { tokens } = request;
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

  const counts: [name: string, value: number | null][] = [
    ["input, fresh", tokens.promptTokens],
    ["input, cache read", tokens.cacheReadTokens],
    ["input, cache write", tokens.cacheWriteTokens],
    ["  of it for one hour", tokens.cacheWrite1hTokens],
    ["output, visible", tokens.completionTokens],
    ["output, thinking", tokens.thinkingTokens],
    ...Object.entries(request.usageExtras ?? {}).map(([name, value]): [string, number] => [
      name.replaceAll("_", " "),
      value,
    ]),
  ];
  const lines = [
    ...facts.map(([name, value]) => `${name.padEnd(14)}${printable(value)}`),
    "",
    "Counted by the provider (a dash: not stated)",
    ...indented(
      renderTable(
        [{ title: "tokens" }, { title: "count", align: right }],
        counts.map(([name, value]) => [name, count(value)]),
        width,
      ),
    ),
  ];
  if (!request.tokensComplete)
    lines.push("  The usage is incomplete: the provider did not state it all, or the answer was cut.");
  lines.push("", rate === null ? "No rate applied." : `Rate: ${rate}`);
  for (const { when, numerator, denominator, page } of priced.factors) {
    const what = "serviceTier" in when ? `service tier ${when.serviceTier}` : when.extra.replaceAll("_", " ");
    lines.push(`  × ${numerator}/${denominator} for ${what} (${page})`);
  }
  if (priced.lines.length > 0) {
    const rows = priced.lines.map((line) => [
      line.label,
      count(line.quantity),
      ratePerMillion(line.rate),
      `$${formatPicoUsd(line.costPicoUsd)}`,
    ]);
    if (priced.computedPicoUsd !== null)
      rows.push(["sum", "", "", `$${formatPicoUsd(priced.computedPicoUsd)}`]);
    lines.push(
      ...indented(
        renderTable(
          [
            { title: "line" },
            { title: "quantity", align: right },
            { title: "per million", align: right },
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
  return lines.join("\n");
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
