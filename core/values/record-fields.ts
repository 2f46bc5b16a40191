import type { Millis } from "./time.ts";

/** The kind of a request. Source: docs/specification.md#metadata-batch. */
export const REQUEST_KINDS = ["chat", "embedding", "image", "audio", "other"] as const;

/** How a cost was determined. Source: docs/specification.md#money-and-rates. */
export const COST_SOURCES = ["computed", "provider", "estimated", "unpriced"] as const;

/** The origin of a rate. Source: docs/specification.md#money-and-rates. */
export const RATE_SOURCES = ["bundled", "auto", "operator"] as const;

/**
 * How a request is billed. `metered`: by usage, with an API key. `plan`: covered by a subscription; its cost is what the API
 * would have charged. `credits`: by usage, beyond the limit of a plan. `free`: not billed. Source:
 * docs/specification.md#billing-mode.
 */
export const BILLING_MODES = ["metered", "plan", "credits", "free", "unknown"] as const;

/** How the session of a call was determined: the client names it, or the meter groups the calls of one process by pauses. */
export const SESSION_SOURCES = ["stated", "inferred"] as const;

/** Where a record comes from: a call through the proxy, or an agent's own log. */
const RECORD_SOURCES = ["wire", "logs"] as const;

/** The values of `error_class`. Source: docs/specification.md#request-record. */
export const ERROR_CLASSES = [
  "rate_limit",
  "server_error",
  "bad_request",
  "auth",
  "timeout",
  "network",
  "unknown",
] as const;

/**
 * The types of fields, and how each database stores them. Code that converts a value has one conversion per type, so a
 * new type is a compile error wherever a conversion is missing.
 */
export const FIELD_TYPES = {
  uuid: { sqlite: "TEXT", postgres: "uuid" },
  /** Milliseconds since the epoch; ISO 8601 on the wire. */
  instant: { sqlite: "INTEGER", postgres: "timestamptz" },
  /** Text that is never empty. */
  name: { sqlite: "TEXT", postgres: "text" },
  text: { sqlite: "TEXT", postgres: "text" },
  /** The path of a URL, without its query. */
  path: { sqlite: "TEXT", postgres: "text" },
  /** One of the field's `values`. */
  choice: { sqlite: "TEXT", postgres: "text" },
  /** An id that a client states. It leaves this machine as a keyed hash of 32 hexadecimal digits, see `createIdHash()`. */
  id: { sqlite: "TEXT", postgres: "text" },
  /** SHA-256 in lower-case hex. */
  sha256: { sqlite: "TEXT", postgres: "text" },
  flag: { sqlite: "INTEGER", postgres: "boolean" },
  /** A token count. The record holds it in `tokens`. */
  tokens: { sqlite: "INTEGER", postgres: "bigint" },
  count: { sqlite: "INTEGER", postgres: "bigint" },
  milliseconds: { sqlite: "INTEGER", postgres: "bigint" },
  /** An HTTP status. */
  status: { sqlite: "INTEGER", postgres: "integer" },
  /** An integer in pico-USD; decimal text on the wire. */
  cost: { sqlite: "INTEGER", postgres: "numeric" },
  /** Counts by name. */
  counts: { sqlite: "TEXT", postgres: "jsonb" },
} as const;

/** The type of a field. */
export type FieldType = keyof typeof FIELD_TYPES;

/** What the table says about a field. */
export interface RecordField {
  /** The column in SQLite, and the name on the wire and in JSON. */
  readonly column: string;
  /** The column in Postgres if it has another name; null if the cloud does not store the field. */
  readonly cloudColumn?: string | null;
  readonly type: FieldType;
  /** The possible values of a `choice`. */
  readonly values?: readonly string[];
  /** What is sent instead of a value that is not among `values`; otherwise null is sent. */
  readonly otherwise?: string | null;
  /** The longest text that the wire allows, in characters. A text that is never sent has no limit. */
  readonly maxCharacters?: number;
  /** Whether the value may be unknown on this machine. On the wire and in the cloud, only `required` fields are never null. */
  readonly nullable?: true;
  /** Whether a record without the value has no such property. */
  readonly optional?: true;
  /**
   * The smallest preset with which the field leaves this machine. `required`: every record that is sent has it. `never`:
   * it stays on this machine.
   */
  readonly upload: "required" | "minimal" | "standard" | "full" | "never";
  /** Whether the field is computed from others when a record is sent, so that neither the record nor SQLite has it. */
  readonly madeForUpload?: true;
  /** Whether a complete usage that arrives later replaces the value of an incomplete one. */
  readonly fillable?: true;
  /** Whether clients, providers or the user's folders determine the text, so that it can contain a secret. */
  readonly freeText?: true;
  /** Whether the cloud erases the value with the person's account. Such a field must not be in `SEALED_COLUMNS`. */
  readonly personal?: true;
  /** Whether JSON for programs on this machine omits the field. */
  readonly hidden?: true;
}

type TextType = "name" | "text" | "path";

/** What a field must also state: the values of a choice, and the bound of a text that is sent. */
type RequiredDetails =
  | { readonly type: "choice"; readonly values: readonly string[] }
  | { readonly type: TextType; readonly maxCharacters: number }
  | { readonly type: TextType; readonly upload: "never" }
  | { readonly type: Exclude<FieldType, "choice" | TextType> };

/**
 * The fields of a request record, in the order of the wire. Types, the SQLite and Postgres columns, the wire's schema, the
 * upload presets and JSON all derive from this table. A new field also needs the code that measures it and two migrations:
 * docs/guides/add-a-column.md.
 */
export const RECORD_FIELDS = {
  /** A UUID; version 7 if the meter generated it. */
  requestId: { column: "request_id", type: "uuid", upload: "required" },
  /** When the first byte of the request was read. */
  requestedAt: { column: "requested_at", type: "instant", upload: "required" },
  provider: { column: "provider", type: "name", maxCharacters: 64, upload: "required" },
  /** The model named in the response, otherwise the requested model, otherwise `unknown`. */
  model: {
    column: "model",
    type: "name",
    maxCharacters: 256,
    upload: "required",
    fillable: true,
    freeText: true,
  },
  requestedModel: {
    column: "requested_model",
    type: "text",
    maxCharacters: 256,
    nullable: true,
    upload: "standard",
    freeText: true,
  },
  requestKind: { column: "request_kind", type: "choice", values: REQUEST_KINDS, upload: "standard" },
  streaming: { column: "streaming", type: "flag", upload: "standard" },
  /** Input tokens that were neither read from nor written to a cache. */
  promptTokens: {
    column: "prompt_tokens",
    type: "tokens",
    nullable: true,
    upload: "minimal",
    fillable: true,
  },
  /** Visible output. */
  completionTokens: {
    column: "completion_tokens",
    type: "tokens",
    nullable: true,
    upload: "minimal",
    fillable: true,
  },
  cacheReadTokens: {
    column: "cache_read_tokens",
    type: "tokens",
    nullable: true,
    upload: "minimal",
    fillable: true,
  },
  /** Input written to a cache, with any time to live. */
  cacheWriteTokens: {
    column: "cache_write_tokens",
    type: "tokens",
    nullable: true,
    upload: "minimal",
    fillable: true,
  },
  /** The part of `cacheWriteTokens` with a one-hour time to live. */
  cacheWrite1hTokens: {
    column: "cache_write_1h_tokens",
    type: "tokens",
    nullable: true,
    upload: "minimal",
    fillable: true,
  },
  /** Reasoning output, billed at the output rate. */
  thinkingTokens: {
    column: "thinking_tokens",
    type: "tokens",
    nullable: true,
    upload: "minimal",
    fillable: true,
  },
  /** False if the provider's usage is missing or a stream ended early. */
  tokensComplete: { column: "tokens_complete", type: "flag", upload: "minimal", fillable: true },
  /** The cost in millicents: 1 USD = 100,000. */
  costUsdMinorUnits: {
    column: "cost_usd_minor_units",
    cloudColumn: null,
    type: "count",
    upload: "minimal",
    madeForUpload: true,
  },
  costPicoUsd: {
    column: "cost_pico_usd",
    cloudColumn: "reported_cost_pico_usd",
    type: "cost",
    nullable: true,
    upload: "minimal",
    fillable: true,
  },
  costSource: {
    column: "cost_source",
    cloudColumn: "reported_cost_source",
    type: "choice",
    values: COST_SOURCES,
    upload: "minimal",
    fillable: true,
  },
  /** Null in records of older daemons: see `effectiveBilling()`. */
  billingMode: {
    column: "billing_mode",
    type: "choice",
    values: BILLING_MODES,
    otherwise: "unknown",
    nullable: true,
    upload: "minimal",
  },
  /** The cost that the provider stated. */
  providerCostPicoUsd: {
    column: "provider_cost_pico_usd",
    type: "cost",
    nullable: true,
    upload: "standard",
    fillable: true,
  },
  ratesSource: {
    column: "rates_source",
    cloudColumn: "reported_rates_source",
    type: "choice",
    values: RATE_SOURCES,
    nullable: true,
    upload: "minimal",
    fillable: true,
  },
  serviceTier: {
    column: "service_tier",
    type: "text",
    maxCharacters: 64,
    nullable: true,
    upload: "standard",
    fillable: true,
    freeText: true,
  },
  /** Counts that affect the price in addition to the token counts, such as modalities and server tools. */
  usageExtras: {
    column: "usage_extras",
    type: "counts",
    nullable: true,
    upload: "standard",
    fillable: true,
  },
  /** Time from the first request byte read to the last response byte written, on a monotonic clock. */
  latencyMs: { column: "latency_ms", type: "milliseconds", upload: "standard" },
  /** Time from the first request byte read to the first response byte. */
  ttfbMs: { column: "ttfb_ms", type: "milliseconds", nullable: true, upload: "standard" },
  httpStatus: { column: "http_status", type: "status", nullable: true, upload: "standard" },
  /** Any other value is sent as `unknown`. Source: docs/specification.md#error-classification. */
  errorClass: {
    column: "error_class",
    type: "choice",
    values: ERROR_CLASSES,
    otherwise: "unknown",
    nullable: true,
    upload: "standard",
  },
  providerErrorCode: {
    column: "provider_error_code",
    type: "text",
    maxCharacters: 128,
    nullable: true,
    upload: "standard",
    freeText: true,
  },
  retryable: { column: "retryable", type: "flag", nullable: true, upload: "standard" },
  /** The budget that refused the call, so that it was not sent to the provider and cost nothing. */
  blockedBy: {
    column: "blocked_by",
    type: "text",
    maxCharacters: 64,
    nullable: true,
    upload: "standard",
    freeText: true,
  },
  /** SHA-256 (hex) of the provider's error message. */
  errorMessageHash: {
    column: "error_message_hash",
    type: "sha256",
    nullable: true,
    upload: "never",
    hidden: true,
  },
  /** The normalised slug of the project. */
  project: { column: "project", type: "text", maxCharacters: 64, upload: "minimal" },
  attributionTier: { column: "attribution_tier", type: "text", maxCharacters: 64, upload: "standard" },
  /** The name of the calling program. */
  client: { column: "client", type: "text", nullable: true, upload: "never", freeText: true },
  /** The client's own id of the session (conversation, thread), or an inferred one: see `sessionSource`. */
  sessionId: {
    column: "session_id",
    type: "id",
    nullable: true,
    upload: "standard",
    freeText: true,
    personal: true,
  },
  sessionSource: {
    column: "session_source",
    type: "choice",
    values: SESSION_SOURCES,
    nullable: true,
    upload: "standard",
  },
  /** The client's id of the turn: one prompt of the user, with all calls that answer it. */
  turnId: {
    column: "turn_id",
    type: "id",
    nullable: true,
    upload: "standard",
    freeText: true,
    personal: true,
  },
  /** The client's id of the sub-agent that made the call. Null: the session's main agent, or unknown. */
  agentId: {
    column: "agent_id",
    type: "id",
    nullable: true,
    upload: "standard",
    freeText: true,
    personal: true,
  },
  /** The sub-agent that started this one. Null: the session's main agent, or unknown. */
  parentAgentId: {
    column: "parent_agent_id",
    type: "id",
    nullable: true,
    upload: "standard",
    freeText: true,
    personal: true,
  },
  /** What the client calls the kind of sub-agent, such as `review`. */
  agentKind: {
    column: "agent_kind",
    type: "text",
    maxCharacters: 64,
    nullable: true,
    upload: "standard",
    freeText: true,
    personal: true,
  },
  clientVersion: {
    column: "client_version",
    type: "text",
    maxCharacters: 64,
    nullable: true,
    upload: "full",
    freeText: true,
    personal: true,
  },
  /** The Git branch that was checked out in the caller's working directory. */
  gitBranch: {
    column: "git_branch",
    type: "text",
    maxCharacters: 255,
    nullable: true,
    upload: "full",
    freeText: true,
    personal: true,
  },
  /** The id of the commit that was checked out: 40 or 64 hexadecimal digits. */
  gitCommit: {
    column: "git_commit",
    type: "text",
    maxCharacters: 64,
    nullable: true,
    upload: "full",
    freeText: true,
    personal: true,
  },
  /** The remote repository as host and path, such as `github.com/acme/shop`: without a scheme, a user or a password. */
  gitRemote: {
    column: "git_remote",
    type: "text",
    maxCharacters: 255,
    nullable: true,
    upload: "full",
    freeText: true,
    personal: true,
  },
  /** The number of the pull request. */
  pullRequest: {
    column: "pull_request",
    type: "count",
    nullable: true,
    upload: "full",
    personal: true,
  },
  /** Null: the wire. */
  recordSource: {
    column: "record_source",
    type: "choice",
    values: RECORD_SOURCES,
    nullable: true,
    upload: "standard",
  },
  /** The log file from which the record was imported. */
  logFile: { column: "log_file", type: "text", nullable: true, upload: "never", freeText: true },
  /** The line in `logFile`, from 1. */
  logLine: { column: "log_line", type: "count", nullable: true, upload: "never" },
  /** SHA-256 (hex) of the canonical prompt. */
  promptHash: {
    column: "prompt_hash",
    type: "sha256",
    nullable: true,
    upload: "standard",
    personal: true,
  },
  /** `plain`: SHA-256 of the prompt. `keyed`: HMAC-SHA-256 of that with the workspace's key. Null (older daemons): plain. */
  promptHashKind: {
    column: "prompt_hash_kind",
    type: "choice",
    values: ["plain", "keyed"],
    upload: "standard",
    madeForUpload: true,
  },
  method: { column: "method", type: "text", maxCharacters: 32, upload: "full", personal: true },
  /** The provider's host. */
  host: { column: "host", type: "text", upload: "never" },
  /** The path without the query. */
  path: {
    column: "path",
    type: "path",
    maxCharacters: 2048,
    upload: "full",
    freeText: true,
    personal: true,
  },
  /** The id of the API, such as `anthropic.messages`. */
  api: { column: "api", type: "text", upload: "never" },
  sourceWorkdir: {
    column: "source_workdir",
    type: "text",
    maxCharacters: 4096,
    nullable: true,
    upload: "full",
    freeText: true,
    personal: true,
  },
  /** The provider's response id. */
  providerResponseId: {
    column: "provider_response_id",
    type: "text",
    nullable: true,
    upload: "never",
    freeText: true,
  },
  /**
   * Whether the response can be fetched again and so may be seen twice, such as a background response or the results of a
   * batch.
   */
  isResponseRefetchable: {
    column: "response_kept",
    type: "flag",
    optional: true,
    upload: "never",
    hidden: true,
  },
  /**
   * The deadline for identifying the caller. Until then, project, tier, working directory and client are provisional.
   * Absent once they are final.
   */
  attributionDueAt: {
    column: "attribution_due",
    type: "instant",
    optional: true,
    upload: "never",
    hidden: true,
  },
} as const satisfies Readonly<Record<string, RecordField & RequiredDetails>>;

/** The table of fields as a type. */
export type RecordFields = typeof RECORD_FIELDS;

/** The name of a field in the record. */
export type FieldName = keyof RecordFields;

/** The names of the fields that have, or lack, what `Filter` describes. */
export type FieldsWith<Filter> = {
  [Name in FieldName]: RecordFields[Name] extends Filter ? Name : never;
}[FieldName];

/** The value of each type of field in a record. A `choice` is one of its own values. */
export interface FieldValues extends Record<FieldType, unknown> {
  uuid: string;
  instant: Millis;
  name: string;
  text: string;
  path: string;
  choice: string;
  id: string;
  sha256: string;
  flag: boolean;
  tokens: number;
  count: number;
  milliseconds: number;
  status: number;
  cost: bigint;
  counts: Readonly<Record<string, number>>;
}

/** The value of a field in a record, if it is known. */
export type FieldValue<Name extends FieldName> = RecordFields[Name] extends {
  readonly values: readonly (infer Value)[];
}
  ? Value
  : FieldValues[RecordFields[Name]["type"]];

/** The value of a field in a record. */
export type ValueOrNull<Name extends FieldName> =
  | FieldValue<Name>
  | (RecordFields[Name] extends { readonly nullable: true } ? null : never);

/** The fields that SQLite stores. */
export type StoredField = Exclude<FieldName, FieldsWith<{ readonly madeForUpload: true }>>;

/** The fields that leave this machine. */
export type WireField = Exclude<FieldName, FieldsWith<{ readonly upload: "never" }>>;

/** A field with its name. */
export interface NamedField<Name extends FieldName = FieldName> extends RecordField {
  readonly name: Name;
  readonly column: RecordFields[Name]["column"];
}

/** All fields, in the order of the table. */
export const recordFields: readonly NamedField[] = (Object.keys(RECORD_FIELDS) as FieldName[]).map(
  (name) => ({ name, ...RECORD_FIELDS[name] }),
);

/** The fields that SQLite stores. */
export const storedFields = recordFields.filter(
  (field): field is NamedField<StoredField> => field.madeForUpload !== true,
);

type UnknownField = Exclude<FieldsWith<{ readonly nullable: true }>, FieldsWith<{ readonly type: "tokens" }>>;

/**
 * Every field of a record that may be unknown, as null. Code that spreads it into a new record needs no edit when a
 * field is added.
 */
export const UNKNOWN_FIELDS = Object.fromEntries(
  storedFields.flatMap(({ name, nullable, type }) =>
    nullable === true && type !== "tokens" ? [[name, null]] : [],
  ),
) as Readonly<Record<UnknownField, null>>;

/** The fields that leave this machine, in the order of the wire. */
export const wireFields = recordFields.filter(
  (field): field is NamedField<WireField> => field.upload !== "never",
);

/**
 * An object with these keys, all null, to copy (`{ ...template }`) and fill in. JSON.parse() makes it, because V8 turns an
 * object that grows by computed keys into a hash table, which is several times slower to write and read.
 */
export function createTemplate(keys: readonly string[]): Readonly<Record<string, null>> {
  return JSON.parse(JSON.stringify(Object.fromEntries(keys.map((key) => [key, null]))));
}
