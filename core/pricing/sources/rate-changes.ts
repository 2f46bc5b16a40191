import type { RateRow, Rates, TokenRates } from "../rates.ts";

/** A changed rate, in micro-USD per million units; null for none. */
export interface RateChange {
  provider: string;
  model: string;
  /** The name of the rate, such as `input` or `above 200000 tokens: output`. */
  field: string;
  from: number | null;
  to: number | null;
}

/** Lists the rates that differ. */
export function changedFields(before: RateRow, after: RateRow): RateChange[] {
  const [known, offered] = [listRates(before.rates), listRates(after.rates)];
  const { provider, model } = after;
  return [...new Set([...known.keys(), ...offered.keys()])].flatMap((field) => {
    const [from, to] = [known.get(field) ?? null, offered.get(field) ?? null];
    return from === to ? [] : [{ provider, model, field, from, to }];
  });
}

/** Lists all rates of a model by name. */
export function listRates(rates: Rates): Map<string, number> {
  const found = new Map<string, number>();
  const add = (field: string, rate: number | null | undefined): void => {
    if (rate !== null && rate !== undefined) found.set(field, rate);
  };
  const addTokens = (
    where: string,
    { input, output, cacheRead, cacheWrite, cacheWrite1h }: TokenRates,
  ): void => {
    add(`${where}input`, input);
    add(`${where}output`, output);
    add(`${where}cache read`, cacheRead);
    add(`${where}cache write`, cacheWrite);
    add(`${where}cache write 1h`, cacheWrite1h);
  };
  addTokens("", rates);
  for (const tier of rates.tiers) addTokens(`above ${tier.aboveTokens} tokens: `, tier);
  for (const [name, service] of Object.entries(rates.serviceTiers ?? {})) {
    addTokens(`${name}: `, service);
    for (const tier of service.tiers) addTokens(`${name} above ${tier.aboveTokens} tokens: `, tier);
  }
  for (const [name, rate] of Object.entries(rates.extras)) add(name.replaceAll("_", " "), rate);
  add("thinking", rates.thinking);
  add("request", rates.perRequest);
  return found;
}
