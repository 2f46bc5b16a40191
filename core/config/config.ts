import type { AttributionRules } from "../attribution/mod.ts";
import type { UploadPreset } from "../policy/mod.ts";
import type { RateRow } from "../pricing/mod.ts";
import type { RedactionRule } from "../redaction/mod.ts";
import type { UploadFrom } from "../uploader/mod.ts";
import type { ExtraHost } from "../usage/mod.ts";

/** What a person has configured, with every default filled in and every value within its bounds. */
export interface Config {
  proxy: {
    host: string;
    /** 0 takes a free port. */
    port: number;
    /** A proxy that all upstream connections go through. */
    parent: string | null;
    /** Whether `HTTPS_PROXY` and its kin are followed. */
    parentFromEnvironment: boolean;
    /** A file of certificates that upstream servers are trusted by, besides the system's. */
    extraCa: string | null;
    /** Demanded of clients as the password of their proxy login. */
    password: string | null;
    /** Whether clients must log in under the override that lets the proxy listen beyond loopback. */
    requireAuthorization: boolean;
  };
  api: { host: string; port: number; dashboardOrigins: readonly string[] };
  cloud: {
    enabled: boolean;
    /** Null: not configured. */
    baseUrl: string | null;
    bodies: {
      enabled: boolean;
      syncIntervalSeconds: number;
      maxBodyBytesPerUpload: number;
      /** By project slug. */
      perProject: Readonly<Record<string, boolean>>;
      /** Null: not set. */
      uploadFrom: UploadFrom | null;
    };
    upload: {
      preset: UploadPreset;
      /** Overrides by field name; what is absent follows the preset. */
      fields: Readonly<Record<string, boolean>>;
      /** By project slug; false: the project is local-only. */
      perProject: Readonly<Record<string, boolean>>;
    };
  };
  bodies: { maxBodyBytes: number; retentionDays: number };
  pricing: {
    autoPull: boolean;
    pullIntervalMs: number;
    pullUrl: string | null;
    operator: readonly RateRow[];
  };
  attribution: AttributionRules;
  providers: readonly ExtraHost[];
  /** Azure OpenAI: the model behind a deployment's name. */
  azureDeployments: Readonly<Record<string, string>>;
  usage: { estimateMissing: boolean };
  redactionRules: readonly RedactionRule[];
  log: { level: "debug" | "info" | "warn" | "error" };
}

/** A configuration and what was found wrong with it, in plain language. */
export interface ResolvedConfig {
  config: Config;
  warnings: readonly string[];
}
