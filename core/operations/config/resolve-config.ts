import { type Budget, MAX_BUDGETS } from "../../budgets/budget.ts";
import { BUDGET_KEYS } from "../../budgets/parse-budget.ts";
import { parseOwnBudget } from "../../budgets/parse-own-budget.ts";
import { DEFAULT_PROJECT } from "../../metering/attribution/default-project.ts";
import { readLinearPattern } from "../../privacy/redaction/linear-pattern.ts";
import type { RedactionRule } from "../../privacy/redaction/rule.ts";
import { normaliseSlug } from "../../values/slug/normalise-slug.ts";
import type { CalendarDate } from "../../values/time.ts";
import { resolveBaseUrl, type StatedBaseUrls } from "./base-url.ts";
import type { Config, ResolvedConfig } from "./config.ts";
import {
  DEFAULT_API_PORT,
  DEFAULT_BODY_RETENTION_DAYS,
  DEFAULT_PROXY_PORT,
  DEFAULT_STORE_CAP_BYTES,
  MAX_STORE_CAP_BYTES,
  PORT_BOUNDS,
} from "./numbers.ts";
import { readCloud } from "./read-cloud.ts";
import { readPricing } from "./read-pricing.ts";
import { type HostInUrl, readExtraHost } from "./read-providers.ts";
import { readTelemetry, readWebhooks } from "./read-receivers.ts";
import {
  createConfigWarnings,
  createSectionReader,
  nearest,
  readTextTable,
  type SectionReader,
} from "./section-reader.ts";

/**
 * The bounds of the days for which captured bodies are kept.
 *
 * Decision: a smaller number counts as the default. Some programs read 0 as "for ever", and what is deleted by mistake is lost.
 */
const RETENTION_BOUNDS = { min: 1, max: 36_500, ifBelow: DEFAULT_BODY_RETENTION_DAYS };

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
    /** Default: URL parsers accept each host as it is. */
    readonly hostInUrl?: HostInUrl;
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
    providers: root
      .tables("providers")
      .flatMap((section) => readExtraHost(section, context.hostInUrl ?? ((host) => host))),
    azureDeployments: readTextTable(root.table("azure"), "deployments"),
    usage: { estimateMissing: root.table("usage").boolean("estimate_missing", false) },
    telemetry: readTelemetry(root.table("telemetry"), root, raw),
    redactionRules,
    webhooks: readWebhooks(root, raw),
    budgets: readBudgets(root.tables("budget"), context.zone ?? (() => "UTC")),
    budgetWarnings: readBudgetWarnings(root.table("budget_warnings")),
    log: { level: root.table("log").choice("level", "info", ["debug", "info", "warn", "error"]) },
  };
  root.finish();
  return { config, warnings: warnings.list, warnedKeys: warnings.keys };
}

function readProxy(section: SectionReader): Config["proxy"] {
  return {
    host: section.text("host", "127.0.0.1") as string,
    port: section.integer("port", DEFAULT_PROXY_PORT, PORT_BOUNDS),
    parent: section.text("parent", null),
    parentFromEnvironment: section.boolean("parent_from_environment", false),
    extraCa: section.text("extra_ca", null) || null,
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
    port: section.integer("port", DEFAULT_API_PORT, PORT_BOUNDS),
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

function readBodies(section: SectionReader): Config["bodies"] {
  return {
    maxBodyBytes: section.integer("max_body_bytes", DEFAULT_STORE_CAP_BYTES, {
      min: 1,
      max: MAX_STORE_CAP_BYTES,
    }),
    retentionDays: section.integer("retention_days", DEFAULT_BODY_RETENTION_DAYS, RETENTION_BOUNDS),
  };
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
