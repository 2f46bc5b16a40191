import type { BillingMode } from "../../values/record.ts";
import type { PathDialect } from "./dialects.ts";
import type { PathRule } from "./path-rules.ts";

/** A built-in provider. */
export interface Provider {
  /** The provider's name in records and reports. */
  readonly provider: string;
  /** Lower-case host names. `*.` matches one or more labels. The gateway uses the first one. */
  readonly hosts: readonly string[];
  readonly port: number;
  readonly scheme: "https" | "http";
  /** The supported dialects with their base paths. A group named `model` captures the model or deployment. */
  readonly apis: readonly (readonly [dialect: PathDialect, basePath: RegExp])[];
  /** Paths of this provider only, matched from the host and before those of `apis`. */
  readonly paths?: readonly PathRule[];
  /**
   * Whether other programs or websites share the address. Then only metered paths count, and everything else is ignored:
   * it appears neither in the coverage nor in the log.
   */
  readonly shared?: true;
  /** The first path segment that selects this provider in gateway mode; none if each customer has their own host. */
  readonly gatewayPrefix?: string;
  /** How all calls are billed; absent if the credential decides. */
  readonly billing?: BillingMode;
  /** Extras added to every report. */
  readonly extras?: Readonly<Record<string, number>>;
}

/** A dialect with its base path. */
export type ProviderApi = Provider["apis"][number];

export const openai = (basePath: RegExp): ProviderApi => ["openai", basePath];
export const anthropic = (basePath: RegExp): ProviderApi => ["anthropic", basePath];

export const V1 = /^\/v1(?=\/)/;

/** Google's WebSocket paths have no version prefix. */
export const LIVE = /^(?=\/ws\/)/;

/** Any base path of a path that ends like one of OpenAI's billed paths. */
export const OPENAI_ANYWHERE =
  /^(?:\/.*?)??(?=\/(?:(?:chat\/|agents\/|fim\/)?completions|responses|embeddings|images\/(?:generations|edits|variations)|audio\/(?:transcriptions|translations|speech))$)/;

/** Any base path of a path that ends like Anthropic's Messages API. */
export const ANTHROPIC_ANYWHERE = /^(?:\/.*?)??(?=\/messages$)/;

/** Any base path of a path that ends like one of Gemini's billed paths. */
export const GEMINI_ANYWHERE =
  /^(?:\/.*?)??(?=\/models\/[^/:]+:(?:generateContent|streamGenerateContent|embedContent|batchEmbedContents)$)/;

/** Returns a provider over HTTPS. */
export const overTls = (
  provider: string,
  hosts: readonly string[],
  apis: Provider["apis"],
  more: Pick<Provider, "paths" | "shared" | "gatewayPrefix" | "billing"> = {},
): Provider => ({ provider, hosts, port: 443, scheme: "https", apis, ...more });

/** Returns a provider with an OpenAI-compatible API over HTTPS. */
export const compatible = (provider: string, hosts: readonly string[], basePath: RegExp): Provider =>
  overTls(provider, hosts, [openai(basePath)], { gatewayPrefix: provider });
