import type { Budget } from "../../budgets/budget.ts";
import type { OtlpEndpoint } from "../../delivery/otlp/otlp-message.ts";
import type { UploadFrom } from "../../delivery/uploader/upload-from.ts";
import type { Webhook } from "../../delivery/webhook/webhook.ts";
import type { AttributionRules } from "../../metering/attribution/choose-project.ts";
import type { ExtraHost } from "../../metering/usage/registry.ts";
import type { RateRow } from "../../pricing/rates.ts";
import type { PromptHashKind } from "../../privacy/policy/prompt-hash.ts";
import type { UploadPreset } from "../../privacy/policy/upload-policy.ts";
import type { RedactionRule } from "../../privacy/redaction/rule.ts";

/** The configuration, with all defaults filled in and all values within their bounds. */
export interface Config {
  proxy: {
    host: string;
    /** 0 means any free port. */
    port: number;
    /** The proxy for all upstream connections. */
    parent: string | null;
    /** Whether `HTTPS_PROXY` and the related variables are used. */
    parentFromEnvironment: boolean;
    /** A file of additional certificates for verifying upstream servers. */
    extraCa: string | null;
    /** The password that clients must send to the proxy. */
    password: string | null;
    /** Whether clients must authenticate when an override lets the proxy listen beyond loopback. */
    requireAuthorization: boolean;
    /** Hosts, optionally with a port, that are not public but that clients on other machines may reach. */
    sharedTargets: readonly string[];
    /** How calls of other users of this machine are handled. */
    otherUsers: "tunnel" | "meter";
    /** Whether connections to providers in recent use are kept ready. */
    warmConnections: boolean;
  };
  api: { host: string; port: number; dashboardOrigins: readonly string[] };
  cloud: {
    enabled: boolean;
    /** Null if not configured. */
    baseUrl: string | null;
    bodies: {
      enabled: boolean;
      syncIntervalSeconds: number;
      maxBodyBytesPerUpload: number;
      /** By project slug. */
      perProject: Readonly<Record<string, boolean>>;
      /** Null if not set. */
      uploadFrom: UploadFrom | null;
    };
    upload: {
      preset: UploadPreset;
      /** Overrides by field name. Other fields follow the preset. */
      fields: Readonly<Record<string, boolean>>;
      /** By project slug. False means that the project is local-only. */
      perProject: Readonly<Record<string, boolean>>;
      promptHashKind: PromptHashKind;
    };
  };
  bodies: { maxBodyBytes: number; retentionDays: number };
  pricing: {
    autoPull: boolean;
    pullIntervalMs: number;
    pullUrl: string | null;
    /** The name of a public price list, or `cloud`. Null: `pull_url`, or else the cloud. */
    source: string | null;
    operator: readonly RateRow[];
  };
  attribution: AttributionRules;
  providers: readonly ExtraHost[];
  /** Azure OpenAI: models by deployment name. */
  azureDeployments: Readonly<Record<string, string>>;
  usage: { estimateMissing: boolean };
  /** Whether the loopback API receives the OpenTelemetry of clients. */
  telemetry: { receive: boolean; export: ConfiguredOtlp | null };
  redactionRules: readonly RedactionRule[];
  webhooks: readonly ConfiguredWebhook[];
  /** With unique names. */
  budgets: readonly Budget[];
  budgetWarnings: {
    /** Whether warnings are shown on the desktop. */
    desktop: boolean;
    /** A program with its arguments, which is started for each warning. Empty: none. */
    command: readonly string[];
  };
  log: { level: "debug" | "info" | "warn" | "error" };
}

/** Where calls are exported to, and which fields of a record. */
export interface ConfiguredOtlp extends OtlpEndpoint {
  readonly preset: UploadPreset;
}

/** A webhook, and which fields of a record it is sent. */
export interface ConfiguredWebhook extends Webhook {
  readonly preset: UploadPreset;
}

/** A configuration and the warnings about it, for people. */
export interface ResolvedConfig {
  config: Config;
  warnings: readonly string[];
  /** The dotted keys that the warnings are about. */
  warnedKeys: ReadonlySet<string>;
}
