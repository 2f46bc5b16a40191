import {
  AWS_REGIONS,
  BEDROCK_FIPS_REGIONS,
  VERTEX_LOCATIONS,
  VERTEX_MULTI_REGIONS,
} from "./cloud-regions.ts";
import type { Dialect, PathDialect } from "./dialects.ts";

/** A provider that is metered out of the box. */
export interface Provider {
  /** The name in records and reports. */
  readonly provider: string;
  /** Lower-case host names; `*.` stands for one or more labels before the rest. The first is the gateway's. */
  readonly hosts: readonly string[];
  readonly port: number;
  readonly scheme: "https" | "http";
  /** The dialects that it speaks, and below which paths; a group named `model` is the model, or its deployment. */
  readonly apis: readonly (readonly [dialect: PathDialect, basePath: RegExp])[];
  /** Further paths that are not billed by usage: telemetry, accounts, a web site on the same host. */
  readonly free?: RegExp;
  /** The first path segment that stands for it in gateway mode; none where the host is the caller's own. */
  readonly gatewayPrefix?: string;
  /** Extras that each of its reports has. */
  readonly extras?: Readonly<Record<string, number>>;
}

const openai = (basePath: RegExp) => ["openai", basePath] as const;
const anthropic = (basePath: RegExp) => ["anthropic", basePath] as const;

const V1 = /^\/v1(?=\/)/;

/** Google's WebSockets stand beside the versions' paths. */
const LIVE = /^(?=\/ws\/)/;

/** An OpenAI-compatible host on HTTPS. */
const compatible = (provider: string, hosts: readonly string[], basePath: RegExp): Provider => ({
  provider,
  hosts,
  port: 443,
  scheme: "https",
  apis: [openai(basePath)],
  gatewayPrefix: provider,
});

/** The caller pays a subscription: the cost of a call is what the same call would have cost by the list. */
const SUBSCRIPTION = { subscription: 1 } as const;

const AZURE_APIS: Provider["apis"] = [
  openai(/^\/openai\/deployments\/(?<model>[^/]+)(?=\/)/),
  openai(/^\/openai(\/v1)?(?=\/)/),
  openai(/^\/models(?=\/)/),
  openai(/^\/providers\/mistral\/azure(?=\/)/),
  anthropic(/^\/anthropic\/v1(?=\/)/),
];

const VERTEX = {
  provider: "vertex",
  port: 443,
  scheme: "https",
  // With a project, or in express mode without one.
  apis: [
    ["vertex", /^\/v1[a-z0-9]*(\/projects\/[^/]+\/locations\/[^/]+)?(?=\/)/],
    ["vertex", LIVE],
  ],
} as const satisfies Partial<Provider>;

/** The providers. A new one is one entry here. */
export const PROVIDERS: readonly Provider[] = [
  {
    ...compatible("anthropic", ["api.anthropic.com"], V1),
    // Beside its own API it offers a Chat Completions one for trials.
    apis: [anthropic(V1), openai(V1)],
    // Claude Code's telemetry, profile and settings.
    free: /^\/(api\/.*|v1\/oauth\/.*)?$/,
  },
  compatible("openai", ["api.openai.com", "*.api.openai.com"], V1),
  {
    provider: "gemini",
    hosts: ["generativelanguage.googleapis.com"],
    port: 443,
    scheme: "https",
    apis: [
      openai(/^\/v1[a-z0-9]*\/openai(?=\/)/),
      ["gemini", /^(\/download)?\/v1[a-z0-9]*(?=\/)/],
      ["gemini", LIVE],
    ],
    free: /^\/(resumable\/)?upload\/.*$/,
    gatewayPrefix: "gemini",
  },
  {
    ...compatible("xai", ["api.x.ai", "*.api.x.ai"], V1),
    apis: [openai(V1), anthropic(V1)],
    free: /^\/v1\/(api-key|tokenize-text|language-models(\/.*)?)$/,
  },
  {
    ...compatible("openrouter", ["openrouter.ai"], /^\/api\/v1(?=\/)/),
    apis: [openai(/^\/api\/v1(?=\/)/), anthropic(/^\/api\/v1(?=\/)/)],
    // Accounts, later truth about a generation, and the web site.
    free: /^\/(api\/v1\/(generation|credits|keys?|auth|providers|activity)(\/.*)?|(?!api\/).*)$/,
  },
  {
    provider: "ollama",
    hosts: ["localhost", "127.0.0.1", "::1", "host.docker.internal"],
    port: 11434,
    scheme: "http",
    apis: [["ollama", /^\/api(?=\/)/], openai(V1), anthropic(V1)],
    free: /^\/$/,
    gatewayPrefix: "ollama",
  },
  {
    ...compatible("ollama", ["ollama.com"], V1),
    apis: [["ollama", /^\/api(?=\/)/], openai(V1), anthropic(V1)],
    free: /^\/(?!api\/|v1\/).*$/,
    gatewayPrefix: "ollama-cloud",
  },
  compatible("groq", ["api.groq.com"], /^\/openai\/v1(?=\/)/),
  compatible("mistral", ["api.mistral.ai", "codestral.mistral.ai"], V1),
  {
    ...compatible("deepseek", ["api.deepseek.com"], /^(\/v1|\/beta)?(?=\/)/),
    apis: [anthropic(/^\/anthropic(\/v1)?(?=\/)/), openai(/^(\/v1|\/beta)?(?=\/)/)],
    free: /^\/user\/balance$/,
  },
  compatible("together", ["api.together.xyz", "api.together.ai"], V1),
  {
    ...compatible("fireworks", ["api.fireworks.ai"], /^\/inference\/v1(?=\/)/),
    apis: [openai(/^\/inference\/v1(?=\/)/), anthropic(/^\/inference\/v1(?=\/)/)],
  },
  compatible("perplexity", ["api.perplexity.ai"], /^(\/v1)?(?=\/)/),
  compatible("cerebras", ["api.cerebras.ai"], V1),
  {
    ...compatible("cohere", ["api.cohere.ai", "api.cohere.com"], /^\/compatibility\/v1(?=\/)/),
    apis: [openai(/^\/compatibility\/v1(?=\/)/), ["cohere", /^(?=\/v[12]\/)/]],
  },
  {
    provider: "codex",
    hosts: ["chatgpt.com"],
    port: 443,
    scheme: "https",
    apis: [openai(/^\/backend-api\/codex(?=\/)/)],
    // Telemetry, settings, cloud tasks, and the web site.
    free: /^\/(?!backend-api\/codex\/(?!analytics-events\/)).*$/,
    gatewayPrefix: "codex",
    extras: SUBSCRIPTION,
  },
  {
    provider: "code-assist",
    hosts: ["cloudcode-pa.googleapis.com", "daily-cloudcode-pa.googleapis.com"],
    port: 443,
    scheme: "https",
    apis: [["code-assist", /^\/v1internal(?=[:/])/]],
    gatewayPrefix: "code-assist",
    extras: SUBSCRIPTION,
  },
  { ...VERTEX, hosts: ["aiplatform.googleapis.com"], gatewayPrefix: "vertex" },
  {
    ...VERTEX,
    hosts: [
      ...VERTEX_LOCATIONS.map((location) => `${location}-aiplatform.googleapis.com`),
      ...VERTEX_MULTI_REGIONS.map((region) => `aiplatform.${region}.rep.googleapis.com`),
    ],
    extras: { regional_endpoint: 1 },
  },
  {
    provider: "bedrock",
    hosts: [
      ...AWS_REGIONS.map((region) => `bedrock-runtime.${region}.amazonaws.com`),
      ...BEDROCK_FIPS_REGIONS.map((region) => `bedrock-runtime-fips.${region}.amazonaws.com`),
      ...AWS_REGIONS.map((region) => `bedrock-mantle.${region}.api.aws`),
    ],
    port: 443,
    scheme: "https",
    apis: [["bedrock", /^(?=\/)/], openai(/^(\/openai)?\/v1(?=\/)/), anthropic(/^\/anthropic\/v1(?=\/)/)],
  },
  {
    provider: "azure",
    hosts: ["*.openai.azure.com", "*.cognitiveservices.azure.com", "*.services.ai.azure.com"],
    port: 443,
    scheme: "https",
    apis: AZURE_APIS,
    // Speech, vision and the other services that share these hosts.
    free: /^\/(?!openai\/|anthropic\/|models\/|providers\/).*$/,
  },
];

/** Below which paths the dialects of a host stand that an operator adds: with or without a version, and nothing else. */
export const EXTRA_HOST_APIS: Readonly<Record<Dialect, Provider["apis"]>> = {
  anthropic: [anthropic(/^(\/.*)?\/v1(?=\/)/)],
  // A gateway such as LiteLLM or vLLM may stand below a path of its own.
  openai: [openai(/^(\/.*)?\/v1(?=\/)/), openai(/^(?=\/)/)],
  gemini: [
    ["gemini", /^(\/.*)?\/v1[a-z0-9]*(?=\/)/],
    ["gemini", LIVE],
  ],
  ollama: [["ollama", /^(\/.*)?\/api(?=\/)/], openai(V1), anthropic(V1)],
  "code-assist": [["code-assist", /^(\/.*)?\/v1internal(?=[:/])/]],
  vertex: [
    ["vertex", /^(\/.*)?\/v1[a-z0-9]*(\/projects\/[^/]+\/locations\/[^/]+)?(?=\/)/],
    ["vertex", LIVE],
  ],
  bedrock: [["bedrock", /^(\/.*)?(?=\/model\/)/], openai(/^(\/openai)?\/v1(?=\/)/)],
  azure: AZURE_APIS,
  cohere: [["cohere", /^(\/.*)?(?=\/v[12]\/)/]],
};
