import { DEFAULT_PROJECT } from "../attribution/mod.ts";
import { UPLOAD_FIELDS, UPLOAD_PRESET_DEFAULT, UPLOAD_PRESETS } from "../policy/mod.ts";
import {
  clampPullInterval,
  DEFAULT_PULL_INTERVAL_MS,
  isPullUrlAllowed,
  MIN_PULL_INTERVAL_MS,
  type PublishedRate,
  type RateRow,
  readPublishedRate,
} from "../pricing/mod.ts";
import { type RedactionRule, readLinearPattern } from "../redaction/mod.ts";
import { normaliseSlug } from "../slug/mod.ts";
import type { CalendarDate } from "../time.ts";
import { parseUploadFrom, UPLOAD_CAP_DEFAULT_BYTES, UPLOAD_CAP_MAX_BYTES } from "../uploader/mod.ts";
import type { Dialect, ExtraHost } from "../usage/mod.ts";
import { resolveBaseUrl, type StatedBaseUrls } from "./base-url.ts";
import type { Config, ResolvedConfig } from "./config.ts";
import { parseDuration } from "./duration.ts";
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
import { asText, createSectionReader, isTable, nearest, type SectionReader } from "./section-reader.ts";

const anyPort = { min: 0, max: 65_535 };
const farFuture = { min: 1, max: 36_500 };

/**
 * Resolves what a parsed TOML file says. Never throws: what is wrong takes its default and is told of. `today` dates
 * the operator's rates.
 */
export function resolveConfig(
  raw: unknown,
  context: { today: CalendarDate; baseUrl?: Omit<StatedBaseUrls, "file"> },
): ResolvedConfig {
  const warnings: string[] = [];
  const root = createSectionReader(raw ?? {}, "", warnings);
  const redactionRules = root.table("redaction").tables("rules").flatMap(readRedactionRule);
  const areRulesUnread = warnings.length > 0;
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
    redactionRules,
    log: { level: root.table("log").choice("level", "info", ["debug", "info", "warn", "error"]) },
  };
  root.finish();
  return { config, warnings };
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
  };
}

function readApi(section: SectionReader): Config["api"] {
  return {
    host: section.text("host", "127.0.0.1") as string,
    port: section.integer("port", DEFAULT_API_PORT, anyPort),
    dashboardOrigins: section.texts("dashboard_origins").flatMap((text) => {
      const origin = readOrigin(text);
      if (origin === null) section.warn("dashboard_origins", "an entry is no https origin; left out");
      return origin ?? [];
    }),
  };
}

/** An origin as browsers write it; plain http is left to pages on this machine. Never `null`, which any page can have. */
function readOrigin(text: string): string | null {
  const origin = resolveBaseUrl({ flag: text }).url;
  const [, scheme, authority] = /^(https?):\/\/([^/]+)$/.exec(origin ?? "") ?? [];
  if (authority === undefined) return null;
  return `${scheme}://${authority.replace(scheme === "https" ? /:443$/ : /:80$/, "")}`;
}

/**
 * Decision: where the rules that keep something on the machine can't be read at all, what they might be about is not sent.
 * Uploaded once it can't be taken back, and sending late loses nothing.
 */
function readCloud(
  section: SectionReader,
  stated: Omit<StatedBaseUrls, "file">,
  areRedactionRulesUnread: boolean,
  warnings: string[],
): Config["cloud"] {
  const { url, warning } = resolveBaseUrl({ ...stated, file: section.text("base_url", null) });
  if (warning !== null) warnings.push(warning);
  const enabled = section.boolean("enabled", false);
  const upload = section.table("upload");
  const isUploadUnread = section.isNoTable("upload") || upload.isNoTable("per_project");
  if (enabled && isUploadUnread) section.warn("upload", "can't be read: nothing is sent until it is mended");
  const bodies = section.table("bodies");
  const areBodiesWanted = bodies.boolean("enabled", false);
  const areBodyRulesUnread = bodies.isNoTable("per_project") || areRedactionRulesUnread;
  if (areBodiesWanted && areBodyRulesUnread) {
    const rules = bodies.isNoTable("per_project") ? "per_project" : "[[redaction.rules]]";
    section.warn("bodies", `${rules} can't be read: no body is sent until that is mended`);
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
 * Beside preset and projects each key is a field's override, as the contract spells `source_workdir`.
 *
 * Decision: what can't be read here means the choice that keeps data on the machine, not the default.
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
  const fields: Record<string, boolean> = {};
  for (const [name, value] of section.remaining()) {
    fields[name] = value === true;
    if (typeof value !== "boolean") section.warn(name, "must be true or false; false is used");
    else if (!Object.hasOwn(UPLOAD_FIELDS, name)) {
      const near = nearest(name, [...Object.keys(UPLOAD_FIELDS), "preset", "per_project"]);
      section.warn(name, `no field is called that${near === null ? "" : `; did you mean ${near}?`}`);
    }
  }
  return { preset, fields, perProject };
}

function readUploadFrom(section: SectionReader, warnings: string[]): Config["cloud"]["bodies"]["uploadFrom"] {
  const text = section.value("upload_from", asText, "now, none, a date or a datetime");
  if (text === null) return null;
  const uploadFrom = parseUploadFrom(text);
  if (uploadFrom.kind === "malformed") warnings.push(uploadFrom.warning);
  return uploadFrom;
}

/**
 * Switches by project: the names are normalised, as projects are. One that can't be read is off.
 *
 * Decision: of two spellings of one project that disagree, off holds, wherever they stand: what a person forbade once
 * does not leave the machine because of a line further down.
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
    if (typeof found !== "boolean") section.warn(`${key}.${name}`, "must say true or false; false is used");
    if (project === "") section.warn(`${key}.${name}`, "no project can be called that; ignored");
    else {
      const before = switches.get(project);
      const isOn = found === true;
      if (before !== undefined && before !== isOn) {
        section.warn(`${key}.${name}`, `the project ${project} stands there twice; false is used`);
      }
      switches.set(project, isOn && before !== false);
    }
  }
  // Not by assignment, for which `__proto__` is no name like others.
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

function readPricing(section: SectionReader, today: CalendarDate): Config["pricing"] {
  const wishedMs = section.value(
    "pull_interval",
    (value) => (typeof value === "string" ? parseDuration(value) : null),
    'a length of time such as "6h"',
  );
  const pullIntervalMs = Math.min(
    clampPullInterval(wishedMs ?? DEFAULT_PULL_INTERVAL_MS),
    MAX_PULL_INTERVAL_MS,
  );
  if (wishedMs !== null && pullIntervalMs !== wishedMs) {
    section.warn(
      "pull_interval",
      pullIntervalMs === MIN_PULL_INTERVAL_MS
        ? `is below the floor; ${MIN_PULL_INTERVAL_MS / 3_600_000}h is used`
        : `is too long; ${MAX_PULL_INTERVAL_MS / 86_400_000}d is used`,
    );
  }
  return {
    autoPull: section.boolean("auto_pull", false),
    pullIntervalMs,
    pullUrl: section.value(
      "pull_url",
      (value) => (typeof value === "string" && isPullUrlAllowed(value) ? value : null),
      "a public https address",
    ),
    operator: section.tables("operator").flatMap((each) => readOperatorRate(each, today)),
  };
}

/** The dialects that a configured host may speak. */
const HOST_DIALECTS = [
  "openai",
  "anthropic",
  "gemini",
  "ollama",
  "azure",
  "bedrock",
  "vertex",
  "code-assist",
  "cohere",
] as const satisfies readonly Dialect[];

const rateFields = ["input", "output", "cache_read", "cache_write", "cache_write_1h"] as const;

/** A rate as a decimal text; a number's shortest text is what was written. */
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

/** The contract lists `auto_classify_unknown_processes` outside of any table; beside the default project it counts too. */
function readAttribution(root: SectionReader): Config["attribution"] {
  const section = root.table("attribution");
  const key = "auto_classify_unknown_processes";
  const stated = section.text("default_project", DEFAULT_PROJECT) as string;
  const defaultProject = normaliseSlug(stated) || DEFAULT_PROJECT;
  if (normaliseSlug(stated) === "") {
    section.warn("default_project", `no project can be called that; ${DEFAULT_PROJECT} is used`);
  }
  return { defaultProject, autoClassifyUnknownProcesses: root.boolean(key, section.boolean(key, true)) };
}

function readExtraHost(section: SectionReader): ExtraHost[] {
  const host = section.text("host", "") as string;
  const port = section.integer("port", 0, anyPort);
  const provider = section.text("provider", "") as string;
  const api = section.choice("api", "openai", [...HOST_DIALECTS]);
  if (!/^(\*\.)?[a-z0-9.:-]+$/i.test(host)) {
    section.warn("host", "must be a host's name; this provider is ignored");
    return [];
  }
  if (provider === "") {
    section.warn("provider", "must be named; this provider is ignored");
    return [];
  }
  return [{ host: host.toLowerCase(), ...(port > 0 && { port }), provider, api }];
}

function readTexts(section: SectionReader, key: string): Record<string, string> {
  const entries = section.entries(key).flatMap(([name, value]): [string, string][] => {
    if (typeof value === "string") return [[name, value]];
    section.warn(`${key}.${name}`, "must be a text; ignored");
    return [];
  });
  return Object.fromEntries(entries);
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
