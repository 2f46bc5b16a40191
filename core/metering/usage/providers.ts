import { CLOUD_AI_PROVIDERS } from "./cloud-ai-providers.ts";
import {
  AWS_REGIONS,
  BEDROCK_FIPS_REGIONS,
  VERTEX_LOCATIONS,
  VERTEX_MULTI_REGIONS,
} from "./cloud-regions.ts";
import type { Dialect } from "./dialects.ts";
import { GATEWAY_PROVIDERS } from "./gateway-providers.ts";
import { INFERENCE_PROVIDERS } from "./inference-providers.ts";
import { LOCAL_SERVERS } from "./local-servers.ts";
import { MEDIA_PROVIDERS } from "./media-providers.ts";
import {
  ANTHROPIC_ANYWHERE,
  anthropic,
  compatible,
  LIVE,
  OPENAI_ANYWHERE,
  openai,
  type Provider,
  V1,
} from "./provider.ts";
import {
  ANTHROPIC_PATHS,
  AZURE_PATHS,
  CODEX_PATHS,
  DEEPSEEK_PATHS,
  GEMINI_PATHS,
  MISTRAL_PATHS,
  OLLAMA_CLOUD_PATHS,
  OLLAMA_PATHS,
  OPENROUTER_PATHS,
  PERPLEXITY_PATHS,
  TOGETHER_PATHS,
  XAI_PATHS,
} from "./provider-paths.ts";

/** Marks calls to a regional endpoint, which may cost more than the global one. */
const REGIONAL = { regional_endpoint: 1 } as const;

const AZURE_APIS: Provider["apis"] = [
  openai(/^\/openai\/deployments\/(?<model>[^/]+)(?=\/)/),
  openai(/^\/openai(\/v1)?(?=\/)/),
  openai(/^\/models(?=\/)/),
  openai(/^\/providers\/mistral\/azure(?=\/)/),
  ["cohere", /^\/providers\/cohere(?=\/v[12]\/)/],
  // A Foundry project, with OpenAI's API and with Azure's agents, which have the paths of Assistants.
  openai(/^\/api\/projects\/[^/]+(?=\/(assistants|threads)(\/|$))/),
  openai(/^\/api\/projects\/[^/]+\/openai(\/v1)?(?=\/)/),
  // Voice Live has the events of OpenAI's Realtime API.
  openai(/^\/voice-live(?=\/realtime$)/),
  anthropic(/^\/anthropic\/v1(?=\/)/),
];

const VERTEX = {
  provider: "vertex",
  port: 443,
  scheme: "https",
  // The project is absent in express mode.
  apis: [
    ["vertex", /^\/v1[a-z0-9]*(\/projects\/[^/]+\/locations\/[^/]+)?(?=\/)/],
    ["vertex", LIVE],
  ],
} as const satisfies Partial<Provider>;

/** The makers of models and the large clouds. */
const MAKERS: readonly Provider[] = [
  {
    ...compatible("anthropic", ["api.anthropic.com"], V1),
    // Anthropic also offers an OpenAI-compatible Chat Completions API for evaluation.
    apis: [anthropic(V1), openai(V1)],
    paths: ANTHROPIC_PATHS,
  },
  compatible("openai", ["api.openai.com"], V1),
  {
    // The hosts of data residency, such as eu.api.openai.com.
    provider: "openai",
    hosts: ["*.api.openai.com"],
    port: 443,
    scheme: "https",
    apis: [openai(V1)],
    extras: REGIONAL,
  },
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
    paths: GEMINI_PATHS,
    gatewayPrefix: "gemini",
  },
  {
    ...compatible("xai", ["api.x.ai", "*.api.x.ai"], V1),
    apis: [openai(V1), anthropic(V1)],
    paths: XAI_PATHS,
  },
  {
    ...compatible("openrouter", ["openrouter.ai"], /^\/api\/v1(?=\/)/),
    apis: [
      openai(/^\/api\/v1(?=\/)/),
      anthropic(/^\/api\/v1(?=\/)/),
      // The requests of a preset or of a stored agent.
      openai(/^\/api\/v1\/(presets|interns)\/[^/]+(?=\/)/),
      anthropic(/^\/api\/v1\/presets\/[^/]+(?=\/)/),
    ],
    paths: OPENROUTER_PATHS,
  },
  {
    provider: "ollama",
    hosts: ["localhost", "127.0.0.1", "::1", "host.docker.internal"],
    port: 11434,
    scheme: "http",
    apis: [["ollama", /^\/api(?=\/)/], openai(V1), anthropic(V1)],
    paths: OLLAMA_PATHS,
    gatewayPrefix: "ollama",
    billing: "free",
  },
  {
    ...compatible("ollama", ["ollama.com"], V1),
    apis: [["ollama", /^\/api(?=\/)/], openai(V1), anthropic(V1)],
    paths: OLLAMA_CLOUD_PATHS,
    gatewayPrefix: "ollama-cloud",
    billing: "plan",
  },
  compatible("groq", ["api.groq.com"], /^\/openai\/v1(?=\/)/),
  {
    ...compatible("mistral", ["api.mistral.ai", "codestral.mistral.ai"], V1),
    paths: MISTRAL_PATHS,
  },
  {
    ...compatible("deepseek", ["api.deepseek.com"], /^(\/v1|\/beta)?(?=\/)/),
    apis: [anthropic(/^\/anthropic(\/v1)?(?=\/)/), openai(/^(\/v1|\/beta)?(?=\/)/)],
    paths: DEEPSEEK_PATHS,
  },
  { ...compatible("together", ["api.together.xyz", "api.together.ai"], V1), paths: TOGETHER_PATHS },
  {
    // Inference within one geography. Source: docs.together.ai, "Geo-specific inference"; 2026-11-23.
    provider: "together",
    hosts: ["us-api.together.ai", "ca-api.together.ai"],
    port: 443,
    scheme: "https",
    apis: [openai(V1)],
    paths: TOGETHER_PATHS,
    extras: REGIONAL,
  },
  {
    ...compatible("fireworks", ["api.fireworks.ai"], /^\/inference\/v1(?=\/)/),
    apis: [openai(/^\/inference\/v1(?=\/)/), anthropic(/^\/inference\/v1(?=\/)/)],
  },
  {
    ...compatible("perplexity", ["api.perplexity.ai"], /^(\/v1)?(?=\/)/),
    paths: PERPLEXITY_PATHS,
  },
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
    paths: CODEX_PATHS,
    gatewayPrefix: "codex",
    billing: "plan",
  },
  {
    provider: "code-assist",
    hosts: ["cloudcode-pa.googleapis.com", "daily-cloudcode-pa.googleapis.com"],
    port: 443,
    scheme: "https",
    apis: [["code-assist", /^\/v1internal(?=[:/])/]],
    gatewayPrefix: "code-assist",
    billing: "plan",
  },
  { ...VERTEX, hosts: ["aiplatform.googleapis.com"], gatewayPrefix: "vertex" },
  {
    ...VERTEX,
    hosts: [
      ...VERTEX_LOCATIONS.map((location) => `${location}-aiplatform.googleapis.com`),
      ...VERTEX_MULTI_REGIONS.map((region) => `aiplatform.${region}.rep.googleapis.com`),
    ],
    extras: REGIONAL,
  },
  {
    provider: "bedrock",
    hosts: [
      ...AWS_REGIONS.map((region) => `bedrock-runtime.${region}.amazonaws.com`),
      ...BEDROCK_FIPS_REGIONS.map((region) => `bedrock-runtime-fips.${region}.amazonaws.com`),
      ...AWS_REGIONS.map((region) => `bedrock-agent-runtime.${region}.amazonaws.com`),
      ...AWS_REGIONS.map((region) => `bedrock-mantle.${region}.api.aws`),
    ],
    port: 443,
    scheme: "https",
    apis: [["bedrock", /^(?=\/)/], openai(/^(\/openai)?\/v1(?=\/)/), anthropic(/^\/anthropic\/v1(?=\/)/)],
  },
  {
    provider: "azure",
    hosts: [
      "*.openai.azure.com",
      "*.cognitiveservices.azure.com",
      "*.services.ai.azure.com",
      "*.openai.azure.us",
      "*.cognitiveservices.azure.us",
      "*.services.ai.azure.us",
    ],
    port: 443,
    scheme: "https",
    apis: AZURE_APIS,
    paths: AZURE_PATHS,
  },
];

/** The built-in providers. Of two entries for a host, the first that knows a path applies. */
export const PROVIDERS: readonly Provider[] = [
  ...MAKERS,
  ...GATEWAY_PROVIDERS,
  ...INFERENCE_PROVIDERS,
  ...CLOUD_AI_PROVIDERS,
  ...MEDIA_PROVIDERS,
  ...LOCAL_SERVERS,
];

/** The base paths of each dialect on a host that an operator adds. */
export const EXTRA_HOST_APIS: Readonly<Record<Dialect, Provider["apis"]>> = {
  anthropic: [anthropic(/^(\/.*)?\/v1(?=\/)/), anthropic(ANTHROPIC_ANYWHERE)],
  // A gateway such as LiteLLM or vLLM may have its own path prefix.
  openai: [openai(/^(\/.*)?\/v1(?=\/)/), openai(OPENAI_ANYWHERE), openai(/^(?=\/)/)],
  gemini: [
    ["gemini", /^(\/.*)?\/v1[a-z0-9]*(?=\/)/],
    ["gemini", LIVE],
  ],
  ollama: [["ollama", /^(\/.*)?\/api(?=\/)/], openai(V1), anthropic(V1)],
  lmstudio: [["lmstudio", /^(?=\/)/], openai(OPENAI_ANYWHERE), anthropic(ANTHROPIC_ANYWHERE)],
  // `/completions` is its own, `/v1/completions` is compatible.
  "llama-cpp": [["llama-cpp", /^(?=\/)/], openai(OPENAI_ANYWHERE), anthropic(ANTHROPIC_ANYWHERE)],
  "code-assist": [["code-assist", /^(\/.*)?\/v1internal(?=[:/])/]],
  vertex: [
    ["vertex", /^(\/.*)?\/v1[a-z0-9]*(\/projects\/[^/]+\/locations\/[^/]+)?(?=\/)/],
    ["vertex", LIVE],
  ],
  bedrock: [["bedrock", /^(\/.*)?(?=\/model\/)/], openai(/^(\/openai)?\/v1(?=\/)/)],
  azure: AZURE_APIS,
  cohere: [["cohere", /^(\/.*)?(?=\/v[12]\/)/]],
  "model-serving": [["model-serving", /^(?:\/.*?)??(?=\/(?:serving-)?endpoints\/|\/api\/v2\/cortex\/)/]],
};
