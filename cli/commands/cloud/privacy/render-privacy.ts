import { sha256 } from "../../../../adapters/crypto/node-crypto.ts";
import type { Config } from "../../../../core/operations/config/config.ts";
import { choosePromptHashForm } from "../../../../core/privacy/policy/prompt-hash.ts";
import {
  isFieldSent,
  isMachineField,
  isMachineFieldSent,
  isOverridableField,
  MACHINE_FIELDS,
  sentFields,
  UPLOAD_FIELDS,
  UPLOAD_PRESETS,
  type UploadField,
} from "../../../../core/privacy/policy/upload-policy.ts";
import { wireFields } from "../../../../core/values/record-fields.ts";
import { labelled } from "../../../render/labelled.ts";

/** What leaves the machine, in snake case as `--json` prints it. */
export interface PrivacySummary {
  cloud_enabled: boolean;
  base_url: string | null;
  preset: string;
  sent_fields: readonly string[];
  held_back_fields: readonly string[];
  /** Overrides in the configuration; `by_preset` is whether the preset alone would send the field. */
  overrides: readonly { field: string; sent: boolean; by_preset: boolean }[];
  /** The form in which `prompt_hash` is sent. */
  prompt_hash: "plain" | "keyed" | "not_sent";
  /** Whether the workspace gave this machine a key for the prompt hash. */
  has_prompt_hash_key: boolean;
  local_only_projects: readonly string[];
  bodies: {
    enabled: boolean;
    /** `all`: no filter; `now`: from when the daemon first read the setting; otherwise a time. */
    upload_from: string;
    sync_interval_seconds: number;
    max_body_bytes_per_upload: number;
    projects_off: readonly string[];
  };
  /** What else records are sent to: see docs/export.md and docs/webhooks.md. */
  exports: readonly PrivacyExport[];
}

/** A receiver other than the cloud. The path of its URL may be a secret, and is left out. */
interface PrivacyExport {
  readonly kind: "otlp" | "webhook";
  readonly to: string;
  /** The signals of OTLP, or the events of a webhook. */
  readonly what: readonly string[];
  readonly preset: string;
  readonly sent_fields: readonly string[];
}

/** Lists the receivers that the configuration names. */
function listExports({ telemetry, webhooks }: Pick<Config, "telemetry" | "webhooks">): PrivacyExport[] {
  const receiver = (
    kind: PrivacyExport["kind"],
    url: string,
    what: readonly string[],
    preset: Config["webhooks"][number]["preset"],
  ): PrivacyExport => {
    // The plain hash of a short prompt can be guessed: only the cloud gets one.
    const fields = sentFields({ preset, fields: { prompt_hash: false }, perProject: {} });
    return { kind, to: new URL(url).origin, what, preset, sent_fields: fields };
  };
  const otlp = telemetry.export;
  return [
    ...(otlp === null ? [] : [receiver("otlp", otlp.endpoint, otlp.signals, otlp.preset)]),
    ...webhooks.map(({ url, events, preset }) => receiver("webhook", url, events, preset)),
  ];
}

/** Summarises the privacy settings of the configuration. */
export function summarisePrivacy(
  { cloud, ...config }: Pick<Config, "cloud" | "telemetry" | "webhooks">,
  promptHashKey: string | null,
): PrivacySummary {
  const { enabled, baseUrl, upload, bodies } = cloud;
  const form = choosePromptHashForm(upload.promptHashKind, promptHashKey, sha256).kind;
  const sent: string[] = [
    ...sentFields(upload),
    ...MACHINE_FIELDS.filter((name) => isMachineFieldSent(name, upload)),
  ];
  const off = (switches: Readonly<Record<string, boolean>>) =>
    Object.keys(switches)
      .filter((name) => switches[name] === false)
      .sort();
  const from = bodies.uploadFrom;
  return {
    cloud_enabled: enabled,
    base_url: baseUrl,
    preset: upload.preset,
    sent_fields: sent,
    held_back_fields: [...Object.keys(UPLOAD_FIELDS), ...MACHINE_FIELDS].filter(
      (field) => !sent.includes(field),
    ),
    overrides: Object.entries(upload.fields)
      .filter(([field]) => isOverridableField(field))
      .map(([field, wanted]) => ({
        field,
        sent: wanted,
        by_preset: isMachineField(field)
          ? isMachineFieldSent(field, { ...upload, fields: {} })
          : isFieldSent(field as UploadField, { ...upload, fields: {} }),
      })),
    prompt_hash: form === "withheld" || !sent.includes("prompt_hash") ? "not_sent" : form,
    has_prompt_hash_key: promptHashKey !== null,
    local_only_projects: off(upload.perProject),
    bodies: {
      enabled: bodies.enabled,
      upload_from:
        from?.kind === "instant" ? new Date(from.at).toISOString() : from?.kind === "now" ? "now" : "all",
      sync_interval_seconds: bodies.syncIntervalSeconds,
      max_body_bytes_per_upload: bodies.maxBodyBytesPerUpload,
      projects_off: off(bodies.perProject),
    },
    exports: listExports(config),
  };
}

const LABEL_WIDTH = 12;

/** The ids of sessions and agents. */
const ID_FIELDS: ReadonlySet<string> = new Set(
  wireFields.flatMap(({ type, column }) => (type === "id" ? [column] : [])),
);

/** Describes what the prompt hash can reveal in the form in which it is sent, and how to change that. */
function describePromptHash({ prompt_hash: form, has_prompt_hash_key: hasKey }: PrivacySummary): string {
  if (form === "not_sent") return "not sent";
  if (form === "keyed") {
    return "keyed (HMAC-SHA-256): a guessed prompt can be confirmed only with the workspace's key, which the cloud and the workspace's machines have";
  }
  const advice = hasKey
    ? "Send it keyed: meter cloud privacy set prompt-hash-kind auto"
    : "If the cloud supports keys, get one by pairing again: meter cloud connect --force";
  return `plain (SHA-256): it contains no text, but a short or guessable prompt can be confirmed by hashing guesses. ${advice}`;
}

/** Describes what the coverage contains, or why it is not sent. */
function describeCoverage({
  sent_fields: sent,
  local_only_projects: local,
  overrides,
}: PrivacySummary): string {
  if (sent.includes("coverage"))
    return "how many calls were metered and missed in each hour, over all projects, and when the daemon ran; no host, path or project";
  const isOff = overrides.some(({ field }) => field === "coverage");
  return local.length === 0 || isOff
    ? "not sent"
    : "not sent while a project is local only, because it counts all calls. Send it: meter cloud privacy set field.coverage true";
}

/** Renders the summary for people. */
export function renderPrivacy(summary: PrivacySummary, width: number): string {
  const { preset, sent_fields: sent, bodies } = summary;
  const level = (field: string) => UPLOAD_FIELDS[field as UploadField];
  const lines: string[] = [];
  const add = (label: string, text: string) => lines.push(labelled(label, text, LABEL_WIDTH, width));
  const list = (fields: readonly string[]) => fields.join(", ") || "nothing";
  const verdict = summary.cloud_enabled
    ? `Once this machine is connected, the metadata of each request is sent to ${summary.base_url ?? "the cloud (base_url is not set)"}.`
    : `The cloud is off: nothing ${summary.exports.length === 0 ? "leaves this machine" : "is sent to it"}. If it were connected, this would be sent:`;
  lines.push(labelled("", verdict, 0, width));
  lines.push("");
  add("preset", `${preset} (available: ${UPLOAD_PRESETS.join(", ")})`);
  add("always", list(sent.filter((field) => level(field) === "required")));
  add("sent", list(sent.filter((field) => level(field) !== "required")));
  add("held back", list(summary.held_back_fields));
  for (const { field, sent: on, by_preset } of summary.overrides) {
    const same =
      on === by_preset
        ? `, the same as in ${preset}`
        : `; ${preset} alone would ${by_preset ? "send it" : "hold it back"}`;
    add("override", `${field} is ${on ? "sent" : "held back"}${same}`);
  }
  add("prompt_hash", describePromptHash(summary));
  if (sent.some((field) => ID_FIELDS.has(field))) {
    add("ids", "keyed (HMAC-SHA-256) with a key that only this machine has, so the cloud cannot read them");
  }
  add("coverage", describeCoverage(summary));
  add("local only", summary.local_only_projects.join(", ") || "no project");
  add("never", "prompts, completions, host names, error messages: no field contains them");
  lines.push("");
  if (!bodies.enabled) {
    add("bodies", "off: no prompt or answer text leaves this machine");
    return [...lines, ...exportLines(summary, width)].join("\n");
  }
  const since =
    bodies.upload_from === "all"
      ? "of all dates"
      : bodies.upload_from === "now"
        ? "captured since this was switched on"
        : `captured since ${bodies.upload_from}`;
  add(
    "bodies",
    `on: bodies ${since} are sent redacted; the cloud stores them only if the workspace also stores prompt content`,
  );
  add(
    "",
    `sent every ${bodies.sync_interval_seconds} s, at most ${bodies.max_body_bytes_per_upload} bytes of each body`,
  );
  if (bodies.projects_off.length > 0) add("no bodies", `of ${bodies.projects_off.join(", ")}`);
  return [...lines, ...exportLines(summary, width)].join("\n");
}

/** Renders what is sent elsewhere: to where, and which fields of a record. Bodies are not sent there. */
function exportLines({ exports }: PrivacySummary, width: number): string[] {
  return exports.flatMap(({ kind, to, what, preset, sent_fields: sent }) => [
    "",
    labelled(kind, `${what.join(", ")} to ${to}`, LABEL_WIDTH, width),
    labelled("", `fields of ${preset}: ${sent.join(", ")}`, LABEL_WIDTH, width),
  ]);
}
