import { isOtlpHeader, OTLP_SIGNALS } from "../../delivery/otlp/otlp-message.ts";
import { isWebhookUrl, readWebhookSecret, WEBHOOK_EVENTS } from "../../delivery/webhook/webhook.ts";
import {
  UPLOAD_PRESET_DEFAULT,
  UPLOAD_PRESETS,
  type UploadPreset,
} from "../../privacy/policy/upload-policy.ts";
import type { Config, ConfiguredOtlp, ConfiguredWebhook } from "./config.ts";
import { isTable, readTextTable, type SectionReader } from "./section-reader.ts";

/** Reads the webhooks: none if it is unknown which projects are local-only. */
export function readWebhooks(root: SectionReader, raw: unknown): ConfiguredWebhook[] {
  const webhooks = root.tables("webhooks").flatMap(readWebhook);
  if (webhooks.length === 0 || areTables(raw, ["cloud", "upload", "per_project"])) return webhooks;
  root.warn("webhooks", "[cloud.upload.per_project] cannot be read; nothing is sent until it is fixed");
  return [];
}

/** Reads the receiver and the export of OpenTelemetry. */
export function readTelemetry(
  section: SectionReader,
  root: SectionReader,
  raw: unknown,
): Config["telemetry"] {
  const receive = section.boolean("receive", false);
  const read = readOtlp(section.table("export"));
  if (read === null || areTables(raw, ["cloud", "upload", "per_project"])) return { receive, export: read };
  root.warn(
    "telemetry.export",
    "[cloud.upload.per_project] cannot be read; nothing is sent until it is fixed",
  );
  return { receive, export: null };
}

/** Reads where calls are exported to. With an invalid value nothing is exported, so that nothing is sent by mistake. */
function readOtlp(section: SectionReader): ConfiguredOtlp | null {
  const endpoint = section.text("endpoint", null);
  const names = section.texts("signals");
  const stated = section.text("fields", UPLOAD_PRESET_DEFAULT);
  const headers = readTextTable(section, "headers");
  if (endpoint === null) return null;
  const problems: [key: string, problem: string][] = [];
  if (!isWebhookUrl(endpoint) || /[?#]/.test(endpoint))
    problems.push(["endpoint", "must be an https URL, or http on this machine, without a query"]);
  const signals = names.length === 0 ? OTLP_SIGNALS : OTLP_SIGNALS.filter((name) => names.includes(name));
  if (signals.length < names.length)
    problems.push(["signals", `must be a list of ${OTLP_SIGNALS.join(", ")}`]);
  const preset = UPLOAD_PRESETS.find((each) => each === stated);
  if (preset === undefined) problems.push(["fields", `must be one of ${UPLOAD_PRESETS.join(", ")}`]);
  for (const [name, value] of Object.entries(headers))
    if (!isOtlpHeader(name, value)) problems.push([`headers.${name}`, "is not a header that can be sent"]);
  for (const [key, problem] of problems) section.warn(key, `${problem}; nothing is exported`);
  if (problems.length > 0 || preset === undefined) return null;
  const lowered = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  return { endpoint, signals, preset, headers: Object.fromEntries(lowered) };
}

/** Whether each value on this path is a table or absent. */
function areTables(raw: unknown, [key, ...rest]: readonly string[]): boolean {
  if (raw === undefined) return true;
  return isTable(raw) && (key === undefined || areTables(raw[key], rest));
}

/** Reads a webhook. One with an invalid value is ignored, so that nothing is sent by mistake. */
function readWebhook(section: SectionReader): ConfiguredWebhook[] {
  const problems = new Set<string>();
  const refuse = (key: string, problem: string) => {
    problems.add(key);
    section.warn(key, `${problem}; this webhook is ignored`);
  };
  const url = section.text("url", "") as string;
  if (!isWebhookUrl(url)) refuse("url", "must be an https URL, or http on this machine");
  const names = section.texts("events");
  const events = WEBHOOK_EVENTS.filter((event) => names.includes(event));
  if (events.length === 0 || names.length > events.length)
    refuse("events", `must be a list of ${WEBHOOK_EVENTS.join(", ")}`);
  const secretHex = readWebhookSecret(section.text("secret", "") as string);
  if (secretHex === null) refuse("secret", "must be whsec_ and 24 to 64 bytes in base64");
  const stated = section.text("fields", UPLOAD_PRESET_DEFAULT);
  const preset = UPLOAD_PRESETS.find((each) => each === stated);
  if (preset === undefined) refuse("fields", `must be one of ${UPLOAD_PRESETS.join(", ")}`);
  return problems.size > 0
    ? []
    : [{ url, events, secretHex: secretHex as string, preset: preset as UploadPreset }];
}
