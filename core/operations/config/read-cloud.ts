import { UPLOAD_CAP_DEFAULT_BYTES, UPLOAD_CAP_MAX_BYTES } from "../../delivery/uploader/upload-cap.ts";
import { parseUploadFrom } from "../../delivery/uploader/upload-from.ts";
import { PROMPT_HASH_KIND_DEFAULT, PROMPT_HASH_KINDS } from "../../privacy/policy/prompt-hash.ts";
import {
  isMachineField,
  MACHINE_FIELDS,
  UPLOAD_FIELDS,
  UPLOAD_PRESET_DEFAULT,
  UPLOAD_PRESETS,
} from "../../privacy/policy/upload-policy.ts";
import { normaliseSlug } from "../../values/slug/normalise-slug.ts";
import { resolveBaseUrl, type StatedBaseUrls } from "./base-url.ts";
import type { Config } from "./config.ts";
import { DEFAULT_BODY_SYNC_INTERVAL_SECONDS, MIN_BODY_SYNC_INTERVAL_SECONDS } from "./numbers.ts";
import { asText, type ConfigWarnings, isTable, nearest, type SectionReader } from "./section-reader.ts";

/**
 * Reads the connection to the cloud and what is sent to it.
 *
 * Decision: if the rules that keep data on this machine cannot be read, nothing that they might cover is sent. An upload
 * cannot be undone, but it can be made later.
 */
export function readCloud(
  section: SectionReader,
  stated: Omit<StatedBaseUrls, "file">,
  areRedactionRulesUnread: boolean,
  warnings: ConfigWarnings,
): Config["cloud"] {
  const { url, warning } = resolveBaseUrl({ ...stated, file: section.text("base_url", null) });
  if (warning !== null) warnings.add("cloud.base_url", warning);
  const enabled = section.boolean("enabled", false);
  const upload = section.table("upload");
  const isUploadUnread = section.isNotTable("upload") || upload.isNotTable("per_project");
  if (enabled && isUploadUnread) section.warn("upload", "cannot be read; nothing is sent until it is fixed");
  const bodies = section.table("bodies");
  const areBodiesWanted = bodies.boolean("enabled", false);
  const areBodyRulesUnread = bodies.isNotTable("per_project") || areRedactionRulesUnread;
  if (areBodiesWanted && areBodyRulesUnread) {
    const rules = bodies.isNotTable("per_project") ? "per_project" : "[[redaction.rules]]";
    section.warn("bodies", `${rules} cannot be read; no body is sent until it is fixed`);
  }
  return {
    enabled: enabled && !isUploadUnread,
    baseUrl: url,
    bodies: {
      enabled: areBodiesWanted && !areBodyRulesUnread,
      syncIntervalSeconds: bodies.integer("sync_interval_seconds", DEFAULT_BODY_SYNC_INTERVAL_SECONDS, {
        min: MIN_BODY_SYNC_INTERVAL_SECONDS,
        max: 86_400,
      }),
      maxBodyBytesPerUpload: bodies.integer("max_body_bytes_per_upload", UPLOAD_CAP_DEFAULT_BYTES, {
        min: 1,
        max: UPLOAD_CAP_MAX_BYTES,
      }),
      perProject: readSwitches(bodies, "per_project", (value) => value),
      uploadFrom: readUploadFrom(bodies, warnings),
    },
    upload: readUpload(upload),
  };
}

/**
 * Reads the upload settings. Every key except the preset and the projects overrides one field, such as `source_workdir`.
 * Source: docs/specification.md#upload-presets.
 *
 * Decision: an invalid value selects the choice that keeps data on this machine, not the default.
 */
function readUpload(section: SectionReader): Config["cloud"]["upload"] {
  const stated = section.value(
    "preset",
    (value) => UPLOAD_PRESETS.find((each) => each === value) ?? "unreadable",
    "",
  );
  if (stated === "unreadable")
    section.warn("preset", `must be one of ${UPLOAD_PRESETS.join(", ")}; minimal is used`);
  const preset = stated === "unreadable" ? "minimal" : (stated ?? UPLOAD_PRESET_DEFAULT);
  const perProject = readSwitches(section, "per_project", (value) => (isTable(value) ? value.upload : value));
  const kind = section.value(
    "prompt_hash_kind",
    (value) => PROMPT_HASH_KINDS.find((each) => each === value) ?? "unreadable",
    "",
  );
  if (kind === "unreadable")
    section.warn("prompt_hash_kind", `must be one of ${PROMPT_HASH_KINDS.join(", ")}; keyed is used`);
  const promptHashKind = kind === "unreadable" ? "keyed" : (kind ?? PROMPT_HASH_KIND_DEFAULT);
  const fields: Record<string, boolean> = {};
  for (const [name, value] of section.remaining()) {
    fields[name] = value === true;
    if (typeof value !== "boolean") section.warn(name, "must be true or false; false is used");
    else if (!isMachineField(name) && !Object.hasOwn(UPLOAD_FIELDS, name)) {
      const near = nearest(name, [...Object.keys(UPLOAD_FIELDS), ...MACHINE_FIELDS, "preset", "per_project"]);
      section.warn(name, `is not an upload field${near === null ? "" : `; did you mean ${near}?`}`);
    }
  }
  return { preset, fields, perProject, promptHashKind };
}

function readUploadFrom(
  section: SectionReader,
  warnings: ConfigWarnings,
): Config["cloud"]["bodies"]["uploadFrom"] {
  const text = section.value("upload_from", asText, "now, none, a date or a datetime");
  if (text === null) return null;
  const uploadFrom = parseUploadFrom(text);
  if (uploadFrom.kind === "malformed") warnings.add("cloud.bodies.upload_from", uploadFrom.warning);
  return uploadFrom;
}

/**
 * Reads switches by project. Names are normalised as project slugs. An invalid switch is off.
 *
 * Decision: if two spellings of one project disagree, off takes precedence in either order. A later line must not send the
 * data of a project that was switched off.
 */
function readSwitches(
  section: SectionReader,
  key: string,
  read: (value: unknown) => unknown,
): Record<string, boolean> {
  const switches = new Map<string, boolean>();
  for (const [name, value] of section.entries(key)) {
    const found = read(value);
    const project = normaliseSlug(name);
    if (typeof found !== "boolean") section.warn(`${key}.${name}`, "must be true or false; false is used");
    if (project === "") section.warn(`${key}.${name}`, "is not a valid project name; ignored");
    else {
      const before = switches.get(project);
      const isOn = found === true;
      if (before !== undefined && before !== isOn) {
        section.warn(
          `${key}.${name}`,
          `project ${project} is listed twice with different values; false is used`,
        );
      }
      switches.set(project, isOn && before !== false);
    }
  }
  // Assignment would treat the name `__proto__` specially.
  return Object.fromEntries(switches);
}
