import { anthropic, compatible, openai, overTls, type Provider, V1 } from "./provider.ts";

/**
 * Smaller makers and hosts of models. Their names are those of models.dev or LiteLLM, so that their price lists are
 * found. The endpoints of a coding plan are separate providers and come before the host's other paths.
 *
 * Sources, read 2026-11-23: models.dev, `providers/<name>/provider.toml`; docs.z.ai and docs.bigmodel.cn, "API";
 * platform.moonshot.ai; platform.minimax.io; alibabacloud.com, Model Studio, "Base URL overview"; volcengine.com, "Ark
 * API"; docs.deepinfra.com; novita.ai/docs; docs.baseten.co; docs.tokenfactory.nebius.com; docs.siliconflow.com;
 * docs.voyageai.com; jina.ai; dev.writer.com; docs.ai21.com.
 */
export const INFERENCE_PROVIDERS: readonly Provider[] = [
  ...zhipu("zai", "api.z.ai"),
  ...zhipu("zhipuai", "open.bigmodel.cn"),
  {
    ...compatible("moonshot", ["api.moonshot.ai", "api.moonshot.cn"], V1),
    apis: [anthropic(/^\/anthropic(\/v1)?(?=\/)/), openai(V1)],
  },
  overTls(
    "kimi-for-coding",
    ["api.kimi.com", "api.kimi.ai"],
    [anthropic(/^\/coding(\/v1)?(?=\/)/), openai(/^\/coding\/v1(?=\/)/)],
    { gatewayPrefix: "kimi-for-coding", billing: "plan" },
  ),
  {
    ...compatible(
      "minimax",
      ["api.minimax.io", "api.minimaxi.com", "api.minimax.chat", "api-uw.minimax.io"],
      V1,
    ),
    apis: [anthropic(/^\/anthropic(\/v1)?(?=\/)/), openai(V1), ["minimax", V1]],
  },
  {
    ...alibaba("alibaba-coding-plan", ["coding-intl.dashscope.aliyuncs.com"], /^\/v1(?=\/)/),
    billing: "plan",
  },
  { ...alibaba("alibaba-coding-plan-cn", ["coding.dashscope.aliyuncs.com"], /^\/v1(?=\/)/), billing: "plan" },
  { ...alibaba("alibaba-token-plan", ["token-plan.ap-southeast-1.maas.aliyuncs.com"]), billing: "plan" },
  { ...alibaba("alibaba-token-plan-cn", ["token-plan.cn-beijing.maas.aliyuncs.com"]), billing: "plan" },
  {
    ...alibaba("alibaba-cn", ["dashscope.aliyuncs.com", "*.cn-beijing.maas.aliyuncs.com"]),
    gatewayPrefix: "alibaba-cn",
  },
  {
    ...alibaba("alibaba", [
      "dashscope-intl.aliyuncs.com",
      "dashscope-us.aliyuncs.com",
      "cn-hongkong.dashscope.aliyuncs.com",
      "*.ap-southeast-1.maas.aliyuncs.com",
      "*.us-east-1.maas.aliyuncs.com",
      "*.eu-central-1.maas.aliyuncs.com",
      "*.ap-northeast-1.maas.aliyuncs.com",
      "*.cn-hongkong.maas.aliyuncs.com",
    ]),
    gatewayPrefix: "alibaba",
  },
  { ...compatible("qwen-code", ["portal.qwen.ai"], V1), billing: "plan" },
  overTls(
    "volcengine-coding-plan",
    ["ark.cn-beijing.volces.com", "ark.ap-southeast.bytepluses.com"],
    [openai(/^\/api\/coding\/v3(?=\/)/), anthropic(/^\/api\/coding(\/v1)?(?=\/)/)],
    { billing: "plan" },
  ),
  overTls(
    "volcengine",
    ["ark.cn-beijing.volces.com", "ark.ap-southeast.bytepluses.com", "ark.eu-west.bytepluses.com"],
    [anthropic(/^\/api\/compatible\/v1(?=\/)/), openai(/^\/api\/v3(\/bots)?(?=\/)/)],
    { gatewayPrefix: "volcengine" },
  ),
  overTls(
    "nvidia",
    ["integrate.api.nvidia.com", "ai.api.nvidia.com"],
    [openai(V1), openai(/^\/v1\/(?:gr|vlm)\/[^/]+\/[^/]+(?=\/)/)],
    { gatewayPrefix: "nvidia" },
  ),
  {
    ...compatible("sambanova", ["api.sambanova.ai"], V1),
    apis: [anthropic(V1), openai(V1)],
  },
  overTls(
    "deepinfra",
    ["api.deepinfra.com"],
    [anthropic(/^\/anthropic\/v1(?=\/)/), openai(/^\/v1(\/openai)?(?=\/)/)],
    { gatewayPrefix: "deepinfra" },
  ),
  overTls(
    "novita",
    ["api.novita.ai"],
    [anthropic(/^\/anthropic(\/v1)?(?=\/)/), openai(/^(\/v3)?\/openai(\/v1)?(?=\/)/)],
    { gatewayPrefix: "novita" },
  ),
  {
    ...compatible("baseten", ["inference.baseten.co"], V1),
    apis: [anthropic(V1), openai(V1)],
  },
  overTls(
    "baseten",
    ["*.api.baseten.co"],
    [openai(/^(\/(environments\/[^/]+|deployment\/[^/]+|production|development))?\/sync\/v1(?=\/)/)],
    // A customer's own models, of any kind.
    { shared: true },
  ),
  {
    ...compatible(
      "nebius",
      [
        "api.tokenfactory.nebius.com",
        "api.tokenfactory.us-central1.nebius.com",
        "api.studio.nebius.com",
        "api.studio.nebius.ai",
      ],
      V1,
    ),
  },
  compatible("hyperbolic", ["api.hyperbolic.xyz"], V1),
  {
    ...compatible("siliconflow", ["api.siliconflow.com", "api.siliconflow.cn"], V1),
    apis: [anthropic(V1), ["reranking", V1], openai(V1)],
  },
  {
    ...compatible("voyage", ["api.voyageai.com", "ai.mongodb.com"], V1),
    apis: [["reranking", V1], openai(V1)],
  },
  {
    ...compatible("jina", ["api.jina.ai", "deepsearch.jina.ai"], V1),
    apis: [["reranking", V1], openai(V1)],
  },
  { ...compatible("writer", ["api.writer.com"], V1), apis: [["writer", V1], openai(V1)] },
  compatible("ai21", ["api.ai21.com"], /^\/studio\/v1(?=\/)/),
  compatible("inception", ["api.inceptionlabs.ai"], V1),
  compatible("chutes", ["llm.chutes.ai"], V1),
  compatible("ovhcloud", ["oai.endpoints.kepler.ai.cloud.ovh.net"], V1),
  compatible("scaleway", ["api.scaleway.ai"], /^(\/[0-9a-f-]{36})?\/v1(?=\/)/),
  compatible("venice", ["api.venice.ai"], /^\/api\/v1(?=\/)/),
  {
    ...compatible("xiaomi", ["api.xiaomimimo.com"], V1),
    apis: [anthropic(/^\/anthropic\/v1(?=\/)/), openai(V1)],
  },
  compatible("upstage", ["api.upstage.ai"], /^\/v1(\/solar)?(?=\/)/),
  compatible("stepfun", ["api.stepfun.com", "api.stepfun.ai"], /^(\/step_plan)?\/v1(?=\/)/),
  compatible("friendli", ["api.friendli.ai"], /^\/(serverless|dedicated)\/v1(?=\/)/),
  compatible("morph", ["api.morphllm.com"], V1),
  compatible("llama", ["api.llama.com"], /^(\/compat)?\/v1(?=\/)/),
];

/** Zhipu's two sites: the plan's own endpoint, which Anthropic's API belongs to, and the one that bills by tokens. */
function zhipu(provider: string, host: string): Provider[] {
  return [
    overTls(`${provider}-coding-plan`, [host], [openai(/^\/api\/coding\/paas\/v4(?=\/)/)], {
      billing: "plan",
    }),
    // Keys of the plan and keys that pay by tokens look the same.
    overTls(provider, [host], [anthropic(/^\/api\/anthropic(\/v1)?(?=\/)/)], { billing: "unknown" }),
    overTls(provider, [host], [["reranking", /^\/api\/paas\/v4(?=\/)/], openai(/^\/api\/paas\/v4(?=\/)/)], {
      gatewayPrefix: provider,
    }),
  ];
}

/** A site of Alibaba's Model Studio (Qwen). Its hosts have the same paths. */
function alibaba(
  provider: string,
  hosts: readonly string[],
  openaiBase: RegExp = /^\/(compatible-mode|compatible-api)\/v1(?=\/)/,
): Provider {
  return overTls(provider, hosts, [
    anthropic(/^\/apps\/anthropic(\/v1)?(?=\/)/),
    ["reranking", openaiBase],
    openai(openaiBase),
    openai(/^\/api\/v2\/apps\/protocols\/compatible-mode\/v1(?=\/)/),
    ["dashscope", /^\/api\/v1(?=\/)/],
  ]);
}
