import type { Config } from "../../core/config/mod.ts";
import {
  isFieldSent,
  isOverridableField,
  sentFields,
  UPLOAD_FIELDS,
  UPLOAD_PRESETS,
  type UploadField,
} from "../../core/policy/mod.ts";
import { labelled } from "./labelled.ts";

/** What leaves the machine, resolved; snake case, as `--json` prints it. */
export interface PrivacySummary {
  cloud_enabled: boolean;
  base_url: string | null;
  preset: string;
  sent_fields: readonly string[];
  held_back_fields: readonly string[];
  /** Overrides that the configuration states; `by_preset` is what the preset alone would do. */
  overrides: readonly { field: string; sent: boolean; by_preset: boolean }[];
  local_only_projects: readonly string[];
  bodies: {
    enabled: boolean;
    /** `all`: no filter; `now`: from the moment when the daemon first read it; else an instant. */
    upload_from: string;
    sync_interval_seconds: number;
    max_body_bytes_per_upload: number;
    projects_off: readonly string[];
  };
}

/** What the configuration says of privacy. */
export function summarisePrivacy({ enabled, baseUrl, upload, bodies }: Config["cloud"]): PrivacySummary {
  const sent = sentFields(upload);
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
    held_back_fields: (Object.keys(UPLOAD_FIELDS) as UploadField[]).filter((field) => !sent.includes(field)),
    overrides: Object.entries(upload.fields)
      .filter(([field]) => isOverridableField(field))
      .map(([field, wanted]) => ({
        field,
        sent: wanted,
        by_preset: isFieldSent(field as UploadField, { ...upload, fields: {} }),
      })),
    local_only_projects: off(upload.perProject),
    bodies: {
      enabled: bodies.enabled,
      upload_from:
        from?.kind === "instant" ? new Date(from.at).toISOString() : from?.kind === "now" ? "now" : "all",
      sync_interval_seconds: bodies.syncIntervalSeconds,
      max_body_bytes_per_upload: bodies.maxBodyBytesPerUpload,
      projects_off: off(bodies.perProject),
    },
  };
}

const LABEL_WIDTH = 12;

/** The same in plain words. */
export function renderPrivacy(summary: PrivacySummary, width: number): string {
  const { preset, sent_fields: sent, bodies } = summary;
  const level = (field: string) => UPLOAD_FIELDS[field as UploadField];
  const lines: string[] = [];
  const say = (label: string, text: string) => lines.push(labelled(label, text, LABEL_WIDTH, width));
  const list = (fields: readonly string[]) => fields.join(", ") || "nothing";
  const verdict = summary.cloud_enabled
    ? `Metadata of each request is sent to ${summary.base_url ?? "no address: base_url is not set"} once this machine is connected.`
    : "The cloud is off: nothing leaves this machine. Connected, it would send this:";
  lines.push(labelled("", verdict, 0, width));
  lines.push("");
  say("preset", `${preset} (of ${UPLOAD_PRESETS.join(", ")})`);
  say("always", list(sent.filter((field) => level(field) === "required")));
  say("sent", list(sent.filter((field) => level(field) !== "required")));
  say("held back", list(summary.held_back_fields));
  for (const { field, sent: on, by_preset } of summary.overrides) {
    const same =
      on === by_preset
        ? `, as ${preset} has it`
        : `; ${preset} alone would ${by_preset ? "send it" : "hold it back"}`;
    say("override", `${field} is ${on ? "sent" : "held back"}${same}`);
  }
  say("local only", summary.local_only_projects.join(", ") || "no project");
  say("never", "prompts, completions, names of hosts, messages of errors: no field holds them");
  lines.push("");
  if (!bodies.enabled) {
    say("bodies", "off: no text of a prompt or an answer leaves this machine");
    return lines.join("\n");
  }
  const since =
    bodies.upload_from === "all"
      ? "of all dates"
      : bodies.upload_from === "now"
        ? "captured since this was switched on"
        : `captured since ${bodies.upload_from}`;
  say(
    "bodies",
    `on: bodies ${since} are sent, redacted; the cloud keeps them only where the workspace stores prompt content too`,
  );
  say(
    "",
    `looked for every ${bodies.sync_interval_seconds} s; of each direction at most ${bodies.max_body_bytes_per_upload} bytes`,
  );
  if (bodies.projects_off.length > 0) say("no bodies", `of ${bodies.projects_off.join(", ")}`);
  return lines.join("\n");
}
