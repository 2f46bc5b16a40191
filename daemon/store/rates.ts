import type { RateRow } from "../../core/pricing/rates.ts";
import type { StoreConnections } from "./connections.ts";
import type { RateStore } from "./port/settings.ts";

/** Implements `RateStore`. */
export function createRateStore({ state }: Pick<StoreConnections, "state">): RateStore {
  return {
    read: () =>
      state
        .prepare<{ rate_row: string }>("SELECT rate_row FROM pricing_rates ORDER BY rowid")
        .all([])
        .flatMap(({ rate_row }) => {
          try {
            return [JSON.parse(rate_row) as RateRow];
          } catch {
            return [];
          }
        }),

    replace(source, rows, at) {
      const insert = state.prepare(
        `INSERT INTO pricing_rates (source, provider, model, provenance_date, stored_at, rate_row)
         VALUES (?, ?, ?, ?, ?, ?)`,
      );
      state.transaction(() => {
        state.prepare("DELETE FROM pricing_rates WHERE source = ?").run([source]);
        for (const row of rows) {
          if (row.source !== source)
            throw new RangeError(`a rate row of source ${source} has another source: ${row.source}`);
          insert.run([source, row.provider, row.model, row.provenanceDate, at, JSON.stringify(row)]);
        }
      });
    },
  };
}
