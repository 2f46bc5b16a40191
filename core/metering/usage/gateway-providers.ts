import {
  ANTHROPIC_ANYWHERE,
  anthropic,
  compatible,
  GEMINI_ANYWHERE,
  OPENAI_ANYWHERE,
  openai,
  overTls,
  type Provider,
  V1,
} from "./provider.ts";

/** Base paths of Cloudflare's AI Gateway: the account, the gateway and the name of the provider behind it. */
const behind = (name: string): string => `^/v1/[^/]+/[^/]+/${name}`;

const CLOUDFLARE = "gateway.ai.cloudflare.com";

/** A provider behind Cloudflare's gateway, which passes its API and its bill on. */
const throughCloudflare = (provider: string, apis: Provider["apis"]): Provider =>
  overTls(provider, [CLOUDFLARE], apis);

const cloudflareCompatible = (provider: string, name: string): Provider =>
  throughCloudflare(provider, [openai(new RegExp(`${behind(name)}(?:/openai)?(?:/v1)?(?=/)`))]);

/**
 * Services that pass calls on to many makers' models. Their names are those of models.dev, so that their price lists are found.
 *
 * Sources, read 2026-11-23: models.dev, `providers/<name>/provider.toml`; docs.github.com, "GitHub Models", "REST API endpoints for models
 * inference"; vercel.com/docs/ai-gateway; huggingface.co/docs/inference-providers; developers.cloudflare.com/ai-gateway, "Providers",
 * "REST API"; opencode.ai/docs/zen; docs.databricks.com, "Query AI Gateway endpoints".
 */
export const GATEWAY_PROVIDERS: readonly Provider[] = [
  overTls(
    "github-copilot",
    [
      "api.githubcopilot.com",
      "api.individual.githubcopilot.com",
      "api.business.githubcopilot.com",
      "api.enterprise.githubcopilot.com",
    ],
    [["copilot", /^(?=\/)/], anthropic(V1), openai(/^(\/v1)?(?=\/)/)],
    { gatewayPrefix: "github-copilot", billing: "plan" },
  ),
  overTls(
    "github-models",
    ["models.github.ai"],
    [openai(/^(\/orgs\/[^/]+)?\/inference(\/v1)?(?=\/)/), openai(/^\/catalog(?=\/models$)/)],
    { gatewayPrefix: "github-models" },
  ),
  overTls("github-models", ["models.inference.ai.azure.com"], [openai(/^(\/v1)?(?=\/)/)]),
  overTls(
    "vercel",
    ["ai-gateway.vercel.sh"],
    [["vercel-ai-sdk", /^\/v\d+\/ai(?=\/)/], anthropic(V1), openai(V1)],
    { gatewayPrefix: "vercel" },
  ),
  overTls("huggingface", ["router.huggingface.co"], [openai(OPENAI_ANYWHERE), openai(V1)], {
    gatewayPrefix: "huggingface",
  }),
  overTls("huggingface", ["*.endpoints.huggingface.cloud"], [openai(OPENAI_ANYWHERE)], { shared: true }),
  overTls(
    "cloudflare-ai-gateway",
    [CLOUDFLARE],
    [
      openai(new RegExp(`${behind("compat")}(?:/v1)?(?=/)`)),
      anthropic(new RegExp(`${behind("compat")}/v1(?=/)`)),
    ],
  ),
  throughCloudflare("anthropic", [anthropic(new RegExp(`${behind("anthropic")}/v1(?=/)`))]),
  throughCloudflare("gemini", [
    openai(new RegExp(`${behind("google-ai-studio")}/v1[a-z0-9]*/openai(?=/)`)),
    ["gemini", new RegExp(`${behind("google-ai-studio")}/v1[a-z0-9]*(?=/)`)],
  ]),
  throughCloudflare("vertex", [
    [
      "vertex",
      new RegExp(`${behind("google-vertex-ai")}/v1[a-z0-9]*(/projects/[^/]+/locations/[^/]+)?(?=/)`),
    ],
  ]),
  throughCloudflare("bedrock", [
    ["bedrock", new RegExp(`${behind("aws-bedrock")}/bedrock-runtime/[^/]+(?=/model/)`)],
  ]),
  throughCloudflare("azure", [openai(new RegExp(`${behind("azure-openai")}/[^/]+/(?<model>[^/]+)(?=/)`))]),
  throughCloudflare("cohere", [
    ["cohere", new RegExp(`${behind("cohere")}(?=/v[12]/)`)],
    openai(new RegExp(`${behind("cohere")}/compatibility/v1(?=/)`)),
  ]),
  cloudflareCompatible("openai", "openai"),
  cloudflareCompatible("mistral", "mistral"),
  cloudflareCompatible("groq", "groq"),
  cloudflareCompatible("deepseek", "deepseek"),
  cloudflareCompatible("perplexity", "perplexity-ai"),
  cloudflareCompatible("openrouter", "openrouter"),
  cloudflareCompatible("xai", "grok"),
  cloudflareCompatible("cerebras", "cerebras"),
  cloudflareCompatible("cloudflare-workers-ai", "workers-ai"),
  throughCloudflare("cloudflare-workers-ai", [["workers-ai", new RegExp(`${behind("workers-ai")}(?=/)`)]]),
  overTls(
    "cloudflare-workers-ai",
    ["api.cloudflare.com"],
    [
      anthropic(/^\/client\/v4\/accounts\/[^/]+\/ai\/v1(?=\/)/),
      openai(/^\/client\/v4\/accounts\/[^/]+\/ai\/v1(?=\/)/),
      ["workers-ai", /^\/client\/v4\/accounts\/[^/]+\/ai\/run(?=\/)/],
    ],
    // The API of all of Cloudflare.
    { shared: true },
  ),
  overTls(
    "opencode-go",
    ["opencode.ai"],
    [
      ["gemini", /^\/zen\/go\/v1(?=\/models\/[^/]+:)/],
      anthropic(/^\/zen\/go\/v1(?=\/)/),
      openai(/^\/zen\/go\/v1(?=\/)/),
    ],
    { shared: true, billing: "plan" },
  ),
  overTls(
    "opencode",
    ["opencode.ai"],
    [["gemini", /^\/zen\/v1(?=\/models\/[^/]+:)/], anthropic(/^\/zen\/v1(?=\/)/), openai(/^\/zen\/v1(?=\/)/)],
    { shared: true, gatewayPrefix: "opencode" },
  ),
  overTls(
    "databricks",
    [
      "*.ai-gateway.cloud.databricks.com",
      "*.ai-gateway.azuredatabricks.net",
      "*.ai-gateway.gcp.databricks.com",
    ],
    [
      anthropic(/^\/anthropic\/v1(?=\/)/),
      openai(/^\/(mlflow|openai|cursor|codex)\/v1(?=\/)/),
      ["gemini", /^\/gemini\/v1[a-z0-9]*(?=\/)/],
    ],
  ),
  // A company's own API Management instance, with any API behind any path.
  overTls(
    "azure",
    ["*.azure-api.net"],
    [
      openai(/^(?:\/.*?)??\/openai\/deployments\/(?<model>[^/]+)(?=\/)/),
      anthropic(ANTHROPIC_ANYWHERE),
      openai(OPENAI_ANYWHERE),
      ["gemini", GEMINI_ANYWHERE],
      ["bedrock", /^(?:\/.*?)??(?=\/model\/[^/]+\/(?:converse|invoke))/],
    ],
    { shared: true },
  ),
  {
    ...compatible("helicone", ["ai-gateway.helicone.ai"], V1),
    apis: [anthropic(V1), openai(V1)],
  },
  compatible("requesty", ["router.requesty.ai", "router.eu.requesty.ai"], V1),
];
