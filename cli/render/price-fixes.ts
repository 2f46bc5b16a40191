import { distinctFixes, type PriceFix } from "../../core/pricing/price-fix.ts";
import { formatQuantity } from "../../core/values/text/format-quantity.ts";
import type { UnpricedModelFix } from "../../daemon/api/unpriced-models.ts";
import { printable } from "./printable.ts";

/** Renders a fix: the sentence, then the lines to paste and the commands. */
export function priceFixLines({ text, toml, commands }: PriceFix): string[] {
  return [text, ...[...toml, ...commands].map((line) => `  ${line}`)].map(printable);
}

/** Renders which models have no price, and each different fix once. */
export function unpricedModelLines(models: readonly UnpricedModelFix[]): string[] {
  const lines = models.map(({ provider, model, requests, lastRequestId }) =>
    printable(
      `  ${provider} ${model}: ${formatQuantity(requests, "request")}. Why: meter explain ${lastRequestId}`,
    ),
  );
  return [...lines, ...distinctFixes(models.map(({ fix }) => fix)).flatMap(priceFixLines)];
}
