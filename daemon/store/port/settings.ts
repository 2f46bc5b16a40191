import type { RateRow } from "../../../core/pricing/rates.ts";
import type { RateSource } from "../../../core/values/record.ts";
import type { Millis } from "../../../core/values/time.ts";

/** The user's settings for a project. */
interface ProjectSettings {
  project: string;
  /** Null leaves it to `.meter.toml`, which may only switch it off. */
  bodyCapture: boolean | null;
}

/** Settings per project. */
export interface SettingStore {
  /** Returns the projects with settings, ordered by name. */
  listProjects(): ProjectSettings[];
  /** Sets body capture of a project. Idempotent; creates the settings if the project has none. */
  setBodyCapture(project: string, on: boolean | null, at: Millis): void;
}

/** Downloaded rates. */
export interface RateStore {
  /** Reads all rate rows in the order of storing. A row that can't be parsed is skipped; the bundled rate then applies. */
  read(): RateRow[];
  /** Replaces all rows of a source in one transaction. Idempotent. On an error no row is changed. */
  replace(source: RateSource, rows: readonly RateRow[], at: Millis): void;
}

/** The key of the note with the events that webhooks get. It says what was used, so a deletion of everything deletes it too. */
export const WEBHOOK_EVENTS_KEY = "webhook_events";

/** Short strings by key, such as the time of the last sweep. */
export interface NoteStore {
  /** Reads the text of a key. Not found: null. */
  read(key: string): string | null;
  /** Replaces the text of a key; null removes it. Idempotent. */
  write(key: string, value: string | null): void;
}
