import { parseUploadFrom, resolveUploadFrom } from "../../../../core/delivery/uploader/upload-from.ts";
import { PROMPT_HASH_KINDS, type PromptHashKind } from "../../../../core/privacy/policy/prompt-hash.ts";
import {
  isMachineField,
  isOverridableField,
  MACHINE_FIELDS,
  UPLOAD_FIELDS,
  UPLOAD_PRESETS,
} from "../../../../core/privacy/policy/upload-policy.ts";
import { normaliseSlug } from "../../../../core/values/slug/normalise-slug.ts";
import type { Millis } from "../../../../core/values/time.ts";
import type { ConfigChange } from "../../../home/edit-config.ts";

/** The arguments of `meter cloud privacy set`. */
export interface PrivacySetOptions {
  readonly key: string;
  readonly value: string;
  readonly project: string | undefined;
}

/** The current state: the file as written, and whether body upload is on. */
export interface PrivacyContext {
  readonly table: Readonly<Record<string, unknown>>;
  readonly bodiesEnabled: boolean;
  readonly now: Millis;
}

/** The changes to the configuration with the message to print, or what is wrong with the arguments. */
export type PrivacyChange =
  | {
      readonly ok: true;
      readonly changes: readonly ConfigChange[];
      readonly message: string;
      /** The time from which bodies are uploaded, if body upload is on or this turns it on; null for no filter. */
      readonly uploadFrom?: Millis | null;
    }
  | { readonly ok: false; readonly problem: string };

const invalid = (problem: string): PrivacyChange => ({ ok: false, problem });
const quoted = (text: string) => JSON.stringify(text);

/** Reads the arguments into changes of the configuration. Invalid arguments change nothing: a typing error must not send data. */
export function readPrivacyChange(options: PrivacySetOptions, context: PrivacyContext): PrivacyChange {
  const { key, value, project } = options;
  const perProject = key === "upload" || key === "bodies.upload";
  if (perProject && project === undefined) return invalid(`${key} is set per project. Add --project <slug>.`);
  if (!perProject && project !== undefined)
    return invalid(`${key} is not set per project. Leave out --project.`);
  if (key === "preset") return readPreset(value);
  if (key.startsWith("field.")) return readField(key.slice("field.".length), value);
  if (key === "prompt-hash-kind") return readPromptHashKind(value);
  if (key === "bodies.upload-from") return readWatermark(value, context);
  if (key !== "bodies.enabled" && !perProject) {
    return invalid(
      `${quoted(key)} is not a privacy setting. Expected: preset, field.<name>, prompt-hash-kind, upload, bodies.enabled, bodies.upload or bodies.upload-from.`,
    );
  }
  const on = readBoolean(value);
  if (on === null) return invalidValue(key, value, "true or false");
  if (key === "bodies.enabled") return setBodies(on, context);
  const slug = normaliseSlug(project ?? "");
  if (slug === "") return invalidValue("--project", project ?? "", "at least one letter or digit");
  return key === "upload" ? setUpload(slug, on, context) : setBodyUpload(slug, on, context);
}

const invalidValue = (name: string, value: string, expected: string): PrivacyChange =>
  invalid(`Invalid value for ${name}: ${quoted(value)}. Expected: ${expected}.`);

const readBoolean = (value: string) => (value === "true" ? true : value === "false" ? false : null);

function readPreset(value: string): PrivacyChange {
  if (!(UPLOAD_PRESETS as readonly string[]).includes(value))
    return invalidValue("preset", value, UPLOAD_PRESETS.join(", "));
  return {
    ok: true,
    changes: [{ path: ["cloud", "upload", "preset"], value }],
    message: `The upload preset is ${value}.`,
  };
}

const HASH_KIND_MESSAGES = {
  auto: "prompt_hash is keyed if the workspace gave this machine a key, otherwise plain.",
  plain: "prompt_hash is the plain SHA-256: a short or guessable prompt can be confirmed by hashing guesses.",
  keyed: "prompt_hash is keyed. It is not sent if the workspace gave this machine no key.",
} as const satisfies Record<PromptHashKind, string>;

function readPromptHashKind(value: string): PrivacyChange {
  const kind = PROMPT_HASH_KINDS.find((each) => each === value);
  if (kind === undefined) return invalidValue("prompt-hash-kind", value, PROMPT_HASH_KINDS.join(", "));
  return {
    ok: true,
    changes: [{ path: ["cloud", "upload", "prompt_hash_kind"], value: kind }],
    message: HASH_KIND_MESSAGES[kind],
  };
}

function readField(name: string, value: string): PrivacyChange {
  if (!isMachineField(name) && !Object.hasOwn(UPLOAD_FIELDS, name)) {
    const names = [...Object.keys(UPLOAD_FIELDS).filter(isOverridableField), ...MACHINE_FIELDS];
    return invalid(`There is no field ${quoted(name)}. Expected: ${names.join(", ")}.`);
  }
  if (name === "prompt_hash_kind")
    return invalid("prompt_hash_kind is sent together with prompt_hash. Set field.prompt_hash instead.");
  if (!isOverridableField(name)) return invalid(`${name} is sent with every record and can't be held back.`);
  const on = readBoolean(value);
  if (on === null) return invalidValue(`field.${name}`, value, "true or false");
  return {
    ok: true,
    changes: [{ path: ["cloud", "upload", name], value: on }],
    message: on ? `${name} is sent with every preset.` : `${name} is held back with every preset.`,
  };
}

function readWatermark(text: string, { bodiesEnabled, now }: PrivacyContext): PrivacyChange {
  const from = parseUploadFrom(text);
  if (from.kind === "malformed")
    return invalidValue("bodies.upload-from", text, "now, none, a date or a date with time (ISO 8601)");
  const path = ["cloud", "bodies", "upload_from"];
  const uploadFrom = resolveUploadFrom(from, now);
  const value = uploadFrom === null ? "none" : new Date(uploadFrom).toISOString();
  return {
    ok: true,
    changes: [{ path, value }],
    ...(bodiesEnabled && { uploadFrom }),
    message:
      uploadFrom === null
        ? "Bodies of all dates may be uploaded, including those captured long ago."
        : `Bodies captured before ${value} stay on this machine.`,
  };
}

/** Turns body upload on or off. Turning it on sets `upload_from` to the current time. Source: docs/specification.md#body-uploader. */
function setBodies(on: boolean, { bodiesEnabled, now }: PrivacyContext): PrivacyChange {
  const enabled: ConfigChange = { path: ["cloud", "bodies", "enabled"], value: on };
  if (!on) return { ok: true, changes: [enabled], message: "Body upload is off." };
  if (bodiesEnabled) return { ok: true, changes: [enabled], message: "Body upload was already on." };
  const from = new Date(now).toISOString();
  return {
    ok: true,
    uploadFrom: now,
    changes: [enabled, { path: ["cloud", "bodies", "upload_from"], value: from }],
    message:
      `Body upload is on for bodies captured from now on (${from}). They are sent redacted.\n` +
      "The cloud keeps them only if the workspace stores prompt content.\n" +
      "Send older ones too: meter cloud privacy set bodies.upload-from <date|none>",
  };
}

function setUpload(slug: string, on: boolean, { table }: PrivacyContext): PrivacyChange {
  const base = ["cloud", "upload", "per_project"];
  const changes = spellings(table, base, slug).map((name): ConfigChange => {
    const written = tableAt(table, base)[name];
    // `per_project.<slug> = false` means the same as a table with `upload = false`.
    return { path: typeof written === "boolean" ? [...base, name] : [...base, name, "upload"], value: on };
  });
  const message = on
    ? `${slug} is uploaded according to the preset. Requests made while it was local-only are never sent.`
    : `${slug} is local-only: neither its metadata nor its bodies leave this machine.`;
  return { ok: true, changes, message };
}

function setBodyUpload(slug: string, on: boolean, { table }: PrivacyContext): PrivacyChange {
  const base = ["cloud", "bodies", "per_project"];
  const changes = spellings(table, base, slug).map((name) => ({ path: [...base, name], value: on }));
  const message = on
    ? `Bodies of ${slug} are uploaded if body upload is on.`
    : `Bodies of ${slug} are not uploaded.`;
  return { ok: true, changes, message };
}

/** Returns the spellings of the project in the file, or its slug if there is none. All are set, because a single `false` turns the project off. */
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
