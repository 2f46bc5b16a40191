import type { RateRow } from "../../core/pricing/rates.ts";
import type { RateSource } from "../../core/record.ts";
import type { Millis } from "../../core/time.ts";
import type { StoreConnections } from "./connections.ts";

/** What the user set for a project. */
export interface ProjectSettings {
  project: string;
  /** `null` leaves it to `.meter.toml`, which may only switch it off. */
  bodyCapture: boolean | null;
}

/** Settings, stored rates, and odds and ends by key. */
export interface SettingStore {
  listProjectSettings(): ProjectSettings[];
  setBodyCapture(project: string, on: boolean | null, at: Millis): void;
  /**
   * The stored rate rows, in the order in which they were stored. One that can't be read any more is left out: its model has
   * the rate that comes with the program until others are published.
   */
  readRates(): RateRow[];
  /** Replaces all rows of the source in one transaction, or leaves all as they were. */
  replaceRates(source: RateSource, rows: readonly RateRow[], at: Millis): void;
  /** A note under a key; `null` when there is none. */
  readMeta(key: string): string | null;
  /** Replaces the note; `null` takes it away. */
  writeMeta(key: string, value: string | null): void;
}

interface ProjectRow {
  project: string;
  body_capture: number | null;
}

/** Makes the part of the store that holds settings. */
export function createSettingStore({ state }: Pick<StoreConnections, "state">): SettingStore {
  return {
    listProjectSettings: () =>
      state
        .prepare<ProjectRow>("SELECT project, body_capture FROM project_settings ORDER BY project")
        .all([])
        .map(({ project, body_capture: on }) => ({ project, bodyCapture: on === null ? null : on === 1 })),

    setBodyCapture(project, on, at) {
      state
        .prepare(
          `INSERT INTO project_settings (project, body_capture, updated_at) VALUES (?, ?, ?)
           ON CONFLICT (project) DO UPDATE SET body_capture = excluded.body_capture, updated_at = excluded.updated_at`,
        )
        .run([project, on === null ? null : on ? 1 : 0, at]);
    },

    readRates: () =>
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

    replaceRates(source, rows, at) {
      const insert = state.prepare(
        `INSERT INTO pricing_rates (source, provider, model, provenance_date, stored_at, rate_row)
         VALUES (?, ?, ?, ?, ?, ?)`,
      );
      state.transaction(() => {
        state.prepare("DELETE FROM pricing_rates WHERE source = ?").run([source]);
        for (const row of rows) {
          if (row.source !== source)
            throw new RangeError(`a rate row of ${source} must say so: ${row.source}`);
          insert.run([source, row.provider, row.model, row.provenanceDate, at, JSON.stringify(row)]);
        }
      });
    },

    readMeta: (key) =>
      state.prepare<{ value: string }>("SELECT value FROM meta WHERE key = ?").get([key])?.value ?? null,

    writeMeta(key, value) {
      if (value === null) state.prepare("DELETE FROM meta WHERE key = ?").run([key]);
      else state.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)").run([key, value]);
    },
  };
}
