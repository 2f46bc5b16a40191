/**
 * Hosts of AI services that are not metered: their API is not read, or their client refuses an unknown certificate authority. A
 * connection to one is counted by name, so that it is known what the totals lack. `*.` matches one or more labels.
 *
 * Sources, read 2026-11-23: models.dev, `providers/<name>/provider.toml`; the documents of the services.
 */
const AI_HOSTS: readonly string[] = [
  // Coding assistants, which are billed by a plan.
  "*.cursor.sh",
  "server.codeium.com",
  "*.windsurf.com",
  "*.api.augmentcode.com",
  "cody-gateway.sourcegraph.com",
  "api.factory.ai",
  "codewhisperer.us-east-1.amazonaws.com",
  "q.us-east-1.amazonaws.com",
  "cloudaicompanion.googleapis.com",
  "proxy.individual.githubcopilot.com",
  "proxy.business.githubcopilot.com",
  "proxy.enterprise.githubcopilot.com",
  "copilot-proxy.githubusercontent.com",
  // Gateways and resellers.
  "api.302.ai",
  "api.aihubmix.com",
  "aihubmix.com",
  "api.aimlapi.com",
  "api.braintrust.dev",
  "api.inference.net",
  "api.jiekou.ai",
  "api.kilo.ai",
  "api.llmgateway.io",
  "api.poe.com",
  "api.portkey.ai",
  "go.fastrouter.ai",
  "nano-gpt.com",
  "oai.helicone.ai",
  "anthropic.helicone.ai",
  "routellm.abacus.ai",
  "zenmux.ai",
  "api.cline.bot",
  "api.v0.dev",
  // Makers and hosts of models.
  "*.openai.azure.cn",
  "api.ai.sakura.ad.jp",
  "api.baichuan-ai.com",
  "api.clarifai.com",
  "api.cortecs.ai",
  "api.gmi-serving.com",
  "api.inference.wandb.ai",
  "api.intelligence.io.solutions",
  "api.lambda.ai",
  "api.lkeap.cloud.tencent.com",
  "api.near.ai",
  "api.nova.amazon.com",
  "api.publicai.co",
  "api.qnaigc.com",
  "api.regolo.ai",
  "api.reka.ai",
  "api.runpod.ai",
  "api.sarvam.ai",
  "api.synthetic.new",
  "api.vultrinference.com",
  "api-inference.modelscope.cn",
  "apis.iflow.cn",
  "gigachat.devices.sberbank.ru",
  "hunyuan.tencentcloudapi.com",
  "inference.do-ai.run",
  "inference.poolside.ai",
  "inference.tinfoil.sh",
  "llm.api.cloud.yandex.net",
  "qianfan.baidubce.com",
  "spark-api-open.xf-yun.com",
  "tokenhub.tencentmaas.com",
  "token-plan-ams.xiaomimimo.com",
  "token-plan-cn.xiaomimimo.com",
  "token-plan-sgp.xiaomimimo.com",
  // Speech, images and video.
  "api.bfl.ai",
  "api.cartesia.ai",
  "api.dev.runwayml.com",
  "api.gladia.io",
  "api.hume.ai",
  "api.ideogram.ai",
  "api.lumalabs.ai",
  "api.mixedbread.com",
  "api.rev.ai",
  "api.stability.ai",
];

/** First labels of the names that companies give their own gateways, such as `llm.corp.example`. */
const GATEWAY_LABELS: ReadonlySet<string> = new Set([
  "ai-gateway",
  "ai-proxy",
  "aigateway",
  "genai-gateway",
  "litellm",
  "llm",
  "llm-gateway",
  "llm-proxy",
  "llmgateway",
  "lmstudio",
  "ollama",
  "openai-proxy",
  "vllm",
]);

/** Domains of private networks. In other domains, a name with two labels is a website, such as `vllm.ai`. */
const PRIVATE_DOMAINS: ReadonlySet<string> = new Set([
  "corp",
  "home",
  "internal",
  "intranet",
  "lan",
  "local",
]);

const exact: ReadonlySet<string> = new Set(AI_HOSTS.filter((host) => !host.startsWith("*.")));
const suffixes: readonly string[] = AI_HOSTS.filter((host) => host.startsWith("*.")).map((host) =>
  host.slice(1),
);

/** Whether a name is that of an AI service, or of a company's gateway to one. */
export function isAiHost(host: string): boolean {
  const name = host.toLowerCase().replace(/\.$/, "");
  const [first = "", ...rest] = name.split(".");
  return (
    exact.has(name) ||
    suffixes.some((suffix) => name.endsWith(suffix)) ||
    (GATEWAY_LABELS.has(first) && (rest.length > 1 || PRIVATE_DOMAINS.has(rest[0] ?? "")))
  );
}
