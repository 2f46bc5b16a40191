import { expectedCostPicoUsd, type SimulatedCall } from "../../tests/simulation/mod.ts";

/** The disjoint token counts, as `meter report --json` names them. */
const counts = {
  prompt_tokens: "promptTokens",
  cache_read_tokens: "cacheReadTokens",
  cache_write_tokens: "cacheWriteTokens",
  completion_tokens: "completionTokens",
  thinking_tokens: "thinkingTokens",
} as const;

type Line = Record<keyof typeof counts | "cost_pico_usd" | "requests", bigint>;

/** The usage totals, by provider and overall. */
export interface Totals {
  requests: number;
  tokens: bigint;
  costPicoUsd: bigint;
  byProvider: ReadonlyMap<string, Line>;
}

function sumLines(lines: readonly (readonly [provider: string, line: Line])[]): Totals {
  const byProvider = new Map<string, Line>();
  const totals = { requests: 0, tokens: 0n, costPicoUsd: 0n, byProvider };
  for (const [provider, line] of lines) {
    const sum = byProvider.get(provider);
    const names = Object.keys(line) as (keyof Line)[];
    byProvider.set(
      provider,
      Object.fromEntries(names.map((name) => [name, (sum?.[name] ?? 0n) + line[name]])) as Line,
    );
    totals.requests += Number(line.requests);
    totals.costPicoUsd += line.cost_pico_usd;
    for (const name of Object.keys(counts) as (keyof typeof counts)[]) totals.tokens += line[name];
  }
  return totals;
}

/** Totals stated by the simulated providers, at the published prices. */
export function statedTotals(ledger: readonly SimulatedCall[]): Totals {
  return sumLines(
    ledger.map((entry) => {
      const tokens = Object.entries(counts).map(([name, field]) => [name, BigInt(entry.tokens[field] ?? 0)]);
      const cost = { requests: 1n, cost_pico_usd: expectedCostPicoUsd(entry) ?? 0n };
      return [entry.provider, { ...Object.fromEntries(tokens), ...cost } as Line];
    }),
  );
}

/** Totals printed by `meter report --by provider --json`. */
export function reportedTotals(json: string): Totals {
  const { rows } = JSON.parse(json) as {
    rows: (Record<keyof Line, string | number | null> & { key: string })[];
  };
  return sumLines(
    rows.map((row) => {
      const names = [...Object.keys(counts), "cost_pico_usd", "requests"] as (keyof Line)[];
      return [row.key, Object.fromEntries(names.map((name) => [name, BigInt(row[name] ?? 0)])) as Line];
    }),
  );
}

/** Describes every total that differs. */
export function compareTotals(stated: Totals, reported: Totals): string[] {
  const providers = [...new Set([...stated.byProvider.keys(), ...reported.byProvider.keys()])];
  return providers.flatMap((provider) => {
    const [one, other] = [stated.byProvider.get(provider), reported.byProvider.get(provider)];
    const names = Object.keys(one ?? other ?? {}) as (keyof Line)[];
    return names
      .filter((name) => one?.[name] !== other?.[name])
      .map(
        (name) => `${provider} ${name}: stated ${one?.[name] ?? "none"}, reported ${other?.[name] ?? "none"}`,
      );
  });
}
