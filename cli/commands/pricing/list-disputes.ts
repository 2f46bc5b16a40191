import { loadBundledRates } from "../../../core/pricing/bundled-rates.ts";
import { formatRateText } from "../../../core/pricing/money.ts";
import type { RateRow } from "../../../core/pricing/rates.ts";
import { type Dispute, findDisputes } from "../../../core/pricing/sources/find-disputes.ts";
import { formatReason } from "../../../core/pricing/sources/known-differences.ts";
import { formatQuantity } from "../../../core/values/text/format-quantity.ts";
import { withStore } from "../../home/open-store.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { CommandFailure } from "../../program/exit-codes.ts";
import { printable } from "../../render/printable.ts";
import type { ListRatesOptions } from "./list-rates.ts";

/** Lists the rates on which the bundled rates and the pulled lists disagree. */
export async function listDisputes(context: CommandContext, options: ListRatesOptions): Promise<void> {
  const { provider, word, json } = options;
  const pulled = await readPulledRates(context.home);
  const disputes = findDisputes([...loadBundledRates(), ...pulled], Date.now()).filter(
    (dispute) =>
      (provider === undefined || dispute.provider === provider) &&
      (word === undefined || dispute.model.toLowerCase().includes(word.toLowerCase())),
  );
  if (json) return context.printJson({ disputes });
  if (!pulled.some(({ source }) => source === "auto"))
    return context.print(
      "No price list was pulled, so there is nothing to compare the bundled rates with.\nPull one: meter pricing pull --source litellm",
    );
  if (disputes.length === 0) return context.print("The sources agree.");
  return context.print(
    [
      `The sources disagree on ${formatQuantity(disputes.length, "rate")}, in USD per million tokens:`,
      ...disputes.map(renderDispute),
      "The newest source applies. To decide yourself, state the price in config.toml, section [[pricing.operator]].",
    ].join("\n"),
  );
}

async function readPulledRates(home: string): Promise<RateRow[]> {
  try {
    return await withStore(home, { readOnly: true }, async (store) => store.rates.read());
  } catch (cause) {
    // Without a database nothing was pulled.
    if (cause instanceof CommandFailure) return [];
    throw cause;
  }
}

function renderDispute({ provider, model, field, rates, reasons }: Dispute): string {
  const each = rates.map(({ source, rate }) => `${source} ${formatRateText(rate)}`).join(", ");
  const why = reasons.map((known) => `\n    ${known.source}: ${formatReason(known)}`);
  return printable(`  ${provider} ${model}, ${FIELD_NAMES[field]}: ${each}`) + why.join("");
}

const FIELD_NAMES = {
  input: "input",
  output: "output",
  cacheRead: "cache read",
  cacheWrite: "cache write",
  cacheWrite1h: "cache write 1h",
} as const satisfies Record<Dispute["field"], string>;
