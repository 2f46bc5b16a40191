import { type Budget, MAX_BUDGETS } from "../../budgets/budget.ts";
import { BUDGET_KEYS } from "../../budgets/parse-budget.ts";
import { parseOwnBudget } from "../../budgets/parse-own-budget.ts";
import { isOtlpHeader, OTLP_SIGNALS } from "../../delivery/otlp/otlp-message.ts";
import { UPLOAD_CAP_DEFAULT_BYTES, UPLOAD_CAP_MAX_BYTES } from "../../delivery/uploader/upload-cap.ts";
import { parseUploadFrom } from "../../delivery/uploader/upload-from.ts";
import { isWebhookUrl, readWebhookSecret, WEBHOOK_EVENTS } from "../../delivery/webhook/webhook.ts";
import { DEFAULT_PROJECT } from "../../metering/attribution/default-project.ts";
import type { Dialect } from "../../metering/usage/dialects.ts";
import type { ExtraHost } from "../../metering/usage/registry.ts";
import {
  clampPullInterval,
  DEFAULT_PULL_INTERVAL_MS,
  isPullUrlAllowed,
  MIN_PULL_INTERVAL_MS,
} from "../../pricing/guard.ts";
import { readPublishedRate } from "../../pricing/published-rates.ts";
import type { RateRow } from "../../pricing/rates.ts";
import { PRICE_SOURCES } from "../../pricing/sources/price-sources.ts";
import { PROMPT_HASH_KIND_DEFAULT, PROMPT_HASH_KINDS } from "../../privacy/policy/prompt-hash.ts";
import {
  isMachineField,
  MACHINE_FIELDS,
  UPLOAD_FIELDS,
  UPLOAD_PRESET_DEFAULT,
  UPLOAD_PRESETS,
  type UploadPreset,
} from "../../privacy/policy/upload-policy.ts";
import { readLinearPattern } from "../../privacy/redaction/linear-pattern.ts";
import type { RedactionRule } from "../../privacy/redaction/rule.ts";
import { parseDuration } from "../../values/duration.ts";
import { normaliseSlug } from "../../values/slug/normalise-slug.ts";
import type { CalendarDate } from "../../values/time.ts";
import type { PublishedRate } from "../../wire/pricing-rates.ts";
import { resolveBaseUrl, type StatedBaseUrls } from "./base-url.ts";
import type { Config, ConfiguredOtlp, ConfiguredWebhook, ResolvedConfig } from "./config.ts";
import {
  DEFAULT_API_PORT,
  DEFAULT_BODY_RETENTION_DAYS,
  DEFAULT_BODY_SYNC_INTERVAL_SECONDS,
  DEFAULT_PROXY_PORT,
  DEFAULT_STORE_CAP_BYTES,
  MAX_PULL_INTERVAL_MS,
  MAX_STORE_CAP_BYTES,
  MIN_BODY_SYNC_INTERVAL_SECONDS,
} from "./numbers.ts";
import {
  asText,
  type ConfigWarnings,
  createConfigWarnings,
  createSectionReader,
  isTable,
  nearest,
  type SectionReader,
} from "./section-reader.ts";

const anyPort = { min: 0, max: 65_535 };
const farFuture = { min: 1, max: 36_500 };

/**
 * Resolves a parsed TOML file into the configuration. Never throws: an invalid value gets its default and a warning.
 * `today` becomes the date of the operator's rates. `locate` describes where a key is in the file; warnings then say what
 * to fix.
 */
export function resolveConfig(
  raw: unknown,
  context: {
    readonly today: CalendarDate;
    readonly baseUrl?: Omit<StatedBaseUrls, "file">;
    /** Returns the time zone of budgets that state none. Default: UTC. */
    readonly zone?: () => string;
    readonly locate?: (key: string) => string | null;
  },
): ResolvedConfig {
  const warnings = createConfigWarnings(context.locate);
  const root = createSectionReader(raw ?? {}, "", warnings);
  const redactionRules = root.table("redaction").tables("rules").flatMap(readRedactionRule);
  const areRulesUnread = warnings.list.length > 0;
  const config: Config = {
    proxy: readProxy(root.table("proxy")),
    api: readApi(root.table("api")),
    cloud: readCloud(root.table("cloud"), context.baseUrl ?? {}, areRulesUnread, warnings),
    bodies: readBodies(root.table("bodies")),
    pricing: readPricing(root.table("pricing"), context.today),
    attribution: readAttribution(root),
    providers: root.tables("providers").flatMap(readExtraHost),
    azureDeployments: readTexts(root.table("azure"), "deployments"),
    usage: { estimateMissing: root.table("usage").boolean("estimate_missing", false) },
    telemetry: readTelemetry(root.table("telemetry"), root, raw),
    redactionRules,
    webhooks: readWebhooks(root, raw),
    budgets: readBudgets(root.tables("budget"), context.zone ?? (() => "UTC")),
    budgetWarnings: readBudgetWarnings(root.table("budget_warnings")),
    log: { level: root.table("log").choice("level", "info", ["debug", "info", "warn", "error"]) },
  };
  root.finish();
  return { config, warnings: warnings.list };
}

function readProxy(section: SectionReader): Config["proxy"] {
  return {
    host: section.text("host", "127.0.0.1") as string,
    port: section.integer("port", DEFAULT_PROXY_PORT, anyPort),
    parent: section.text("parent", null),
    parentFromEnvironment: section.boolean("parent_from_environment", false),
    extraCa: section.text("extra_ca", null),
    password: section.text("password", null),
    requireAuthorization: section.boolean("require_authorization", true),
    sharedTargets: section.texts("shared_targets"),
    otherUsers: section.choice("other_users", "tunnel", ["tunnel", "meter"]),
    warmConnections: section.boolean("warm_connections", true),
  };
}

function readApi(section: SectionReader): Config["api"] {
  return {
    host: section.text("host", "127.0.0.1") as string,
    port: section.integer("port", DEFAULT_API_PORT, anyPort),
    dashboardOrigins: section.texts("dashboard_origins").flatMap((text) => {
      const origin = readOrigin(text);
      if (origin === null) section.warn("dashboard_origins", "an entry is not an https origin; ignored");
      return origin ?? [];
    }),
  };
}

/** Normalises an origin to the form that browsers send; plain http only for loopback. Rejects the origin `null`, which any page can have. */
function readOrigin(text: string): string | null {
  const origin = resolveBaseUrl({ flag: text }).url;
  const [, scheme, authority] = /^(https?):\/\/([^/]+)$/.exec(origin ?? "") ?? [];
  if (authority === undefined) return null;
  return `${scheme}://${authority.replace(scheme === "https" ? /:443$/ : /:80$/, "")}`;
}

/**
 * Decision: if the rules that keep data on this machine cannot be read, nothing that they might cover is sent. An upload
 * cannot be undone, but it can be made later.
 */
function readCloud(
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

function readBodies(section: SectionReader): Config["bodies"] {
  return {
    maxBodyBytes: section.integer("max_body_bytes", DEFAULT_STORE_CAP_BYTES, {
      min: 1,
      max: MAX_STORE_CAP_BYTES,
    }),
    retentionDays: section.integer("retention_days", DEFAULT_BODY_RETENTION_DAYS, farFuture),
  };
}

/** The values of `[pricing] source`. */
const PULL_SOURCES = [...PRICE_SOURCES.map(({ name }) => name as string), "cloud"];

function readPricing(section: SectionReader, today: CalendarDate): Config["pricing"] {
  const configuredMs = section.value(
    "pull_interval",
    (value) => (typeof value === "string" ? parseDuration(value) : null),
    'a duration such as "6h"',
  );
  const pullIntervalMs = Math.min(
    clampPullInterval(configuredMs ?? DEFAULT_PULL_INTERVAL_MS),
    MAX_PULL_INTERVAL_MS,
  );
  if (configuredMs !== null && pullIntervalMs !== configuredMs) {
    section.warn(
      "pull_interval",
      pullIntervalMs === MIN_PULL_INTERVAL_MS
        ? `is below the minimum; ${MIN_PULL_INTERVAL_MS / 3_600_000}h is used`
        : `is too long; ${MAX_PULL_INTERVAL_MS / 86_400_000}d is used`,
    );
  }
  return {
    autoPull: section.boolean("auto_pull", false),
    pullIntervalMs,
    pullUrl: section.value(
      "pull_url",
      (value) => (typeof value === "string" && isPullUrlAllowed(value) ? value : null),
      "a public https URL",
    ),
    source: section.value(
      "source",
      (value) => (typeof value === "string" && PULL_SOURCES.includes(value) ? value : null),
      `one of ${PULL_SOURCES.join(", ")}`,
    ),
    operator: section.tables("operator").flatMap((each) => readOperatorRate(each, today)),
  };
}

/** The API dialects that a configured host may use. */
export const HOST_DIALECTS = [
  "openai",
  "anthropic",
  "gemini",
  "ollama",
  "azure",
  "bedrock",
  "vertex",
  "code-assist",
  "cohere",
  "model-serving",
  "lmstudio",
  "llama-cpp",
] as const satisfies readonly Dialect[];

const rateFields = ["input", "output", "cache_read", "cache_write", "cache_write_1h"] as const;

/** Reads a rate as decimal text. The shortest text of a number is what the user wrote. */
function rateText(section: SectionReader, key: string): string | null {
  return section.value(
    key,
    (value) => (typeof value === "string" ? value : typeof value === "number" ? String(value) : null),
    "a price in USD per million tokens",
  );
}

function readOperatorRate(section: SectionReader, today: CalendarDate): RateRow[] {
  const rates = (from: SectionReader) =>
    Object.fromEntries(rateFields.map((field) => [field, rateText(from, field)])) as Record<
      (typeof rateFields)[number],
      string | null
    >;
  const item: PublishedRate = {
    provider: section.text("provider", "") as string,
    model: section.text("model", "") as string,
    ...rates(section),
    tiers: section.tables("tiers").map((tier) => ({
      ...rates(tier),
      above_tokens: tier.integer("above_tokens", 0, { min: 0, max: 1e9 }),
    })),
    effective_from: section.text("effective_from", null),
  };
  const read = readPublishedRate(item, "operator", today);
  if (read.ok) return [read.row];
  for (const { field, problem } of read.problems) section.warn(field, `${problem}; this rate is ignored`);
  return [];
}

/**
 * Reads `auto_classify_unknown_processes` from the root or from `[attribution]`. The root takes precedence. Source:
 * docs/specification.md#configuration-keys.
 */
function readAttribution(root: SectionReader): Config["attribution"] {
  const section = root.table("attribution");
  const key = "auto_classify_unknown_processes";
  const stated = section.text("default_project", DEFAULT_PROJECT) as string;
  const defaultProject = normaliseSlug(stated) || DEFAULT_PROJECT;
  if (normaliseSlug(stated) === "") {
    section.warn("default_project", `is not a valid project name; ${DEFAULT_PROJECT} is used`);
  }
  return { defaultProject, autoClassifyUnknownProcesses: root.boolean(key, section.boolean(key, true)) };
}

function readExtraHost(section: SectionReader): ExtraHost[] {
  const host = section.text("host", "") as string;
  const port = section.integer("port", 0, anyPort);
  const provider = section.text("provider", "") as string;
  const api = section.value("api", readDialects, `one of ${HOST_DIALECTS.join(", ")}, or a list of them`);
  const basePath = section.value("base_path", readBasePath, "a path such as /llm");
  const prices = section.text("prices", null);
  const billing = section.value("billing", readBilling, `one of ${HOST_BILLING.join(", ")}`);
  if (!/^(\*\.)?[a-z0-9.:-]+$/i.test(host)) {
    section.warn("host", "must be a host name; this provider is ignored");
    return [];
  }
  if (provider === "") {
    section.warn("provider", "is required; this provider is ignored");
    return [];
  }
  return [
    {
      host: host.toLowerCase(),
      ...(port > 0 && { port }),
      provider,
      api: api ?? "openai",
      ...(basePath !== null && basePath !== "" && { basePath }),
      ...(prices !== null && prices !== "" && { prices }),
      ...(billing !== null && { billing }),
    },
  ];
}

/** What an operator can say of a host. Which calls pay with credits depends on the response. */
const HOST_BILLING = ["metered", "plan", "free", "unknown"] as const;

const readBilling = (raw: unknown) => HOST_BILLING.find((known) => known === raw) ?? null;

/** Reads one dialect or a list of them. */
function readDialects(raw: unknown): Dialect | readonly Dialect[] | null {
  const dialects = (Array.isArray(raw) ? raw : [raw]).map((each) =>
    HOST_DIALECTS.find((known) => known === each),
  );
  if (dialects.length === 0 || dialects.includes(undefined)) return null;
  return Array.isArray(raw) ? (dialects as Dialect[]) : (dialects[0] as Dialect);
}

/** Reads a path, without a slash at its end. */
function readBasePath(raw: unknown): string | null {
  return typeof raw === "string" && /^(\/[^/?#\s]+)*\/?$/.test(raw) ? raw.replace(/\/$/, "") : null;
}

function readTexts(section: SectionReader, key: string): Record<string, string> {
  const entries = section.entries(key).flatMap(([name, value]): [string, string][] => {
    if (typeof value === "string") return [[name, value]];
    section.warn(`${key}.${name}`, "must be a string; ignored");
    return [];
  });
  return Object.fromEntries(entries);
}

/** Reads the webhooks: none if it is unknown which projects are local-only. */
function readWebhooks(root: SectionReader, raw: unknown): ConfiguredWebhook[] {
  const webhooks = root.tables("webhooks").flatMap(readWebhook);
  if (webhooks.length === 0 || areTables(raw, ["cloud", "upload", "per_project"])) return webhooks;
  root.warn("webhooks", "[cloud.upload.per_project] cannot be read; nothing is sent until it is fixed");
  return [];
}

function readTelemetry(section: SectionReader, root: SectionReader, raw: unknown): Config["telemetry"] {
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
  const headers = readTexts(section, "headers");
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

/** Reads the budgets. A budget with an invalid value is ignored: a wrong limit would be worse than none. */
function readBudgets(sections: readonly SectionReader[], zone: () => string): Budget[] {
  const budgets: Budget[] = [];
  for (const section of sections) {
    const input = Object.fromEntries(
      BUDGET_KEYS.map((key) => [key, section.value<unknown>(key, (raw) => raw, "") ?? undefined]),
    );
    const refuse = (key: string, problem: string) => section.warn(key, `${problem}; this budget is ignored`);
    const [unknown] = section.remaining();
    const parsed = parseOwnBudget(input, { zone: zone() });
    if (unknown !== undefined) {
      const near = nearest(unknown[0], BUDGET_KEYS);
      refuse(unknown[0], `is not a key of a budget${near === null ? "" : ` (did you mean ${near}?)`}`);
    } else if (!parsed.ok) refuse(parsed.key, parsed.problem);
    else if (budgets.some(({ name }) => name === parsed.budget.name))
      refuse("name", `another budget has the name ${parsed.budget.name}`);
    else if (budgets.length === MAX_BUDGETS) refuse("name", `there are more than ${MAX_BUDGETS} budgets`);
    else budgets.push(parsed.budget);
  }
  return budgets;
}

function readBudgetWarnings(section: SectionReader): Config["budgetWarnings"] {
  return { desktop: section.boolean("desktop", true), command: section.texts("command") };
}

function readRedactionRule(section: SectionReader): RedactionRule[] {
  const name = section.text("name", "") as string;
  const pattern = section.text("pattern", "") as string;
  if (!/^[a-z][a-z0-9_]{0,63}$/.test(name)) {
    section.warn("name", "must be a name in snake case; this rule is ignored");
    return [];
  }
  const read = readLinearPattern(pattern);
  if (read.ok) return [{ name, find: read.find }];
  section.warn("pattern", `${read.problem}; this rule is ignored`);
  return [];
}
