import { isOverridableField, UPLOAD_FIELDS, UPLOAD_PRESETS } from "../core/policy/mod.ts";
import { normaliseSlug } from "../core/slug/mod.ts";
import type { Millis } from "../core/time.ts";
import { parseUploadFrom, watermarkOf } from "../core/uploader/mod.ts";
import type { ConfigChange } from "./edit-config.ts";

/** The words after `cloud privacy set`. */
export interface PrivacyWords {
  readonly key: string;
  readonly value: string;
  readonly project: string | undefined;
}

/** What there is already: the file as written, and whether body sync is on. */
export interface PrivacyContext {
  readonly table: Readonly<Record<string, unknown>>;
  readonly bodiesEnabled: boolean;
  readonly now: Millis;
}

/** What to write and what to tell, or what is wrong with the words. */
export type PrivacyChange =
  | {
      readonly ok: true;
      readonly changes: readonly ConfigChange[];
      readonly told: string;
      /** Where body sync is on, or this switches it on: the moment from which bodies are uploaded; null for no filter. */
      readonly uploadFrom?: Millis | null;
    }
  | { readonly ok: false; readonly problem: string };

const wrong = (problem: string): PrivacyChange => ({ ok: false, problem });
const quoted = (text: string) => JSON.stringify(text);

/** Turns the words into changes of the configuration. Malformed ones change nothing: a typing error must not send data. */
export function readPrivacyChange(words: PrivacyWords, context: PrivacyContext): PrivacyChange {
  const { key, value, project } = words;
  const perProject = key === "upload" || key === "bodies.upload";
  if (perProject && project === undefined) return wrong(`${key} is set for a project: add --project <slug>`);
  if (!perProject && project !== undefined) return wrong(`${key} is not set by project: leave --project out`);
  if (key === "preset") return readPreset(value);
  if (key.startsWith("field.")) return readField(key.slice("field.".length), value);
  if (key === "bodies.upload-from") return readWatermark(value, context);
  if (key !== "bodies.enabled" && !perProject) {
    return wrong(
      `${quoted(key)} is no privacy setting; there are preset, field.<name>, upload, bodies.enabled, bodies.upload, bodies.upload-from`,
    );
  }
  const on = readTruth(value);
  if (on === null) return wrong(`${key} takes true or false: ${quoted(value)}`);
  if (key === "bodies.enabled") return setBodies(on, context);
  const slug = normaliseSlug(project ?? "");
  if (slug === "") return wrong(`not a project name: ${quoted(project ?? "")}`);
  return key === "upload" ? setUpload(slug, on, context) : setBodyUpload(slug, on, context);
}

const readTruth = (value: string) => (value === "true" ? true : value === "false" ? false : null);

function readPreset(value: string): PrivacyChange {
  if (!(UPLOAD_PRESETS as readonly string[]).includes(value))
    return wrong(`preset takes ${UPLOAD_PRESETS.join(", ")}: ${quoted(value)}`);
  return {
    ok: true,
    changes: [{ path: ["cloud", "upload", "preset"], value }],
    told: `The upload preset is ${value}.`,
  };
}

function readField(name: string, value: string): PrivacyChange {
  if (!Object.hasOwn(UPLOAD_FIELDS, name)) {
    const names = Object.keys(UPLOAD_FIELDS).filter(isOverridableField);
    return wrong(`no field is called ${quoted(name)}; there are ${names.join(", ")}`);
  }
  if (!isOverridableField(name)) return wrong(`${name} goes out with every record and can't be held back`);
  const on = readTruth(value);
  if (on === null) return wrong(`field.${name} takes true or false: ${quoted(value)}`);
  return {
    ok: true,
    changes: [{ path: ["cloud", "upload", name], value: on }],
    told: on ? `${name} is sent, whatever the preset.` : `${name} is held back, whatever the preset.`,
  };
}

function readWatermark(text: string, { bodiesEnabled, now }: PrivacyContext): PrivacyChange {
  const from = parseUploadFrom(text);
  if (from.kind === "malformed")
    return wrong(`bodies.upload-from takes now, none, a date or a datetime: ${quoted(text)}`);
  const path = ["cloud", "bodies", "upload_from"];
  const uploadFrom = watermarkOf(from, now);
  const value = uploadFrom === null ? "none" : new Date(uploadFrom).toISOString();
  return {
    ok: true,
    changes: [{ path, value }],
    ...(bodiesEnabled && { uploadFrom }),
    told:
      uploadFrom === null
        ? "Bodies of all dates may be uploaded, those captured long ago too."
        : `Bodies captured before ${value} stay on this machine.`,
  };
}

/** Source: contract, "Daemon body uploader": switched on, `upload_from` is stamped with the current time. */
function setBodies(on: boolean, { bodiesEnabled, now }: PrivacyContext): PrivacyChange {
  const enabled: ConfigChange = { path: ["cloud", "bodies", "enabled"], value: on };
  if (!on) return { ok: true, changes: [enabled], told: "No bodies are uploaded." };
  if (bodiesEnabled) return { ok: true, changes: [enabled], told: "Body upload was on already." };
  const from = new Date(now).toISOString();
  return {
    ok: true,
    uploadFrom: now,
    changes: [enabled, { path: ["cloud", "bodies", "upload_from"], value: from }],
    told:
      `Body upload is on, for bodies captured from now on (${from}).\n` +
      "Older ones stay here; meter cloud privacy set bodies.upload-from <date|none> changes that.\n" +
      "They are redacted, and the cloud keeps them only where the workspace stores prompts too.",
  };
}

function setUpload(slug: string, on: boolean, { table }: PrivacyContext): PrivacyChange {
  const base = ["cloud", "upload", "per_project"];
  const changes = spellings(table, base, slug).map((name): ConfigChange => {
    const written = tableAt(table, base)[name];
    // `per_project.<slug> = false` is read as the table is.
    return { path: typeof written === "boolean" ? [...base, name] : [...base, name, "upload"], value: on };
  });
  const told = on
    ? `${slug} is uploaded as the preset says. What was passed over while it was local-only is never sent.`
    : `${slug} is local-only: neither its metadata nor its bodies leave this machine.`;
  return { ok: true, changes, told };
}

function setBodyUpload(slug: string, on: boolean, { table }: PrivacyContext): PrivacyChange {
  const base = ["cloud", "bodies", "per_project"];
  const changes = spellings(table, base, slug).map((name) => ({ path: [...base, name], value: on }));
  const told = on
    ? `Bodies of ${slug} are uploaded where body upload is on.`
    : `Bodies of ${slug} are not uploaded.`;
  return { ok: true, changes, told };
}

/** The names in the file that mean the project; the slug itself where there is none. All are set, since one that says false is enough. */
function spellings(table: PrivacyContext["table"], path: readonly string[], slug: string): string[] {
  const names = Object.keys(tableAt(table, path)).filter((name) => normaliseSlug(name) === slug);
  return names.length === 0 ? [slug] : names;
}

function tableAt(table: PrivacyContext["table"], path: readonly string[]): Readonly<Record<string, unknown>> {
  let inner: unknown = table;
  for (const name of path) {
    if (typeof inner !== "object" || inner === null || Array.isArray(inner)) return {};
    inner = Object.hasOwn(inner, name) ? (inner as Record<string, unknown>)[name] : undefined;
  }
  return typeof inner === "object" && inner !== null ? (inner as Record<string, unknown>) : {};
}
