import type { PriceFix } from "../../core/pricing/price-fix.ts";
import { formatQuantity } from "../../core/values/text/format-quantity.ts";
import { printable } from "./printable.ts";

/** A model without a price, and what to do about it; null if no price can be added. */
export interface UnpricedModelFix {
  readonly provider: string;
  readonly model: string;
  readonly requests: number;
  readonly lastRequestId: string;
  readonly fix: PriceFix | null;
}

/** Renders a fix: the sentence, then the lines to paste and the commands. */
export function priceFixLines({ text, toml, commands }: PriceFix): string[] {
  return [text, ...[...toml, ...commands].map((line) => `  ${line}`)].map(printable);
}

/** Renders which models have no price, and each different fix once. */
export function unpricedModelLines(models: readonly UnpricedModelFix[]): string[] {
  const lines: string[] = [];
  const shown = new Set<string>();
  for (const { provider, model, requests, lastRequestId } of models) {
    lines.push(
      printable(
        `  ${provider} ${model}: ${formatQuantity(requests, "request")}. Why: meter explain ${lastRequestId}`,
      ),
    );
  }
  for (const { fix } of models) {
    if (fix === null || shown.has(JSON.stringify(fix))) continue;
    shown.add(JSON.stringify(fix));
    lines.push(...priceFixLines(fix));
  }
  return lines;
}
