import type { CommandContext } from "../../program/command-context.ts";
import { currentRates } from "../../records/current-rates.ts";
import { renderRates } from "./render-rates.ts";

/** The options of `meter pricing list`. */
export interface ListRatesOptions {
  readonly provider: string | undefined;
  readonly json: boolean;
  readonly word: string | undefined;
}

/** Lists the rates in force. */
export async function listRates(context: CommandContext, options: ListRatesOptions): Promise<void> {
  const all = await currentRates(context.env);
  const rows = all.filter(
    (row) =>
      (options.provider === undefined || row.provider === options.provider) &&
      (options.word === undefined || row.model.toLowerCase().includes(options.word.toLowerCase())),
  );
  if (options.json) {
    return context.printJson(
      rows.map(({ provider, model, source, origin, provenanceDate, effectiveFrom, rates }) => ({
        ...{ provider, model, source, provenance_date: provenanceDate, effective_from: effectiveFrom },
        ...{
          input: rates.input,
          output: rates.output,
          cache_read: rates.cacheRead,
          cache_write: rates.cacheWrite,
        },
        cache_write_1h: rates.cacheWrite1h,
        origin: origin?.name ?? null,
        retrieved_on: origin?.retrievedOn ?? null,
        tiers: rates.tiers.map((tier) => ({
          ...{ above_tokens: tier.aboveTokens, input: tier.input, output: tier.output },
          ...{
            cache_read: tier.cacheRead,
            cache_write: tier.cacheWrite,
            cache_write_1h: tier.cacheWrite1h,
          },
        })),
      })),
    );
  }
  if (rows.length === 0) return context.print("No rates match.");
  return context.print(renderRates(rows, context.width));
}
