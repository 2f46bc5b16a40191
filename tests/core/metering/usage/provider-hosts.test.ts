import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { PROVIDERS } from "../../../../core/metering/usage/providers.ts";
import { matchUrl, registry } from "./registry.rig.ts";

/** A request to each built-in host except those of the large makers, which `registry.test.ts` covers. */
const hosts: Record<string, string> = {
  "POST https://api.githubcopilot.com/chat/completions": "github-copilot openai.chat chat plan",
  "POST https://api.individual.githubcopilot.com/responses": "github-copilot openai.responses chat plan",
  "POST https://api.business.githubcopilot.com/v1/messages": "github-copilot anthropic.messages chat plan",
  "POST https://api.enterprise.githubcopilot.com/embeddings":
    "github-copilot openai.embeddings embedding plan",
  "POST https://api.githubcopilot.com/v1/chat/completions": "github-copilot openai.chat chat plan",
  "GET https://api.githubcopilot.com/models": "github-copilot free",
  "POST https://api.githubcopilot.com/models/session": "github-copilot free",
  "GET https://api.individual.githubcopilot.com/_ping": "github-copilot free",
  "POST https://api.githubcopilot.com/mcp/readonly": "github-copilot free",
  "POST https://api.githubcopilot.com/agents/swe/jobs": "github-copilot unknown_path",
  "POST https://proxy.individual.githubcopilot.com/v1/engines/x/completions": "not_provider",
  "POST https://models.github.ai/inference/chat/completions": "github-models openai.chat chat",
  "POST https://models.github.ai/orgs/acme/inference/embeddings": "github-models openai.embeddings embedding",
  "GET https://models.github.ai/catalog/models": "github-models free",
  "POST https://models.inference.ai.azure.com/chat/completions": "github-models openai.chat chat",

  "POST https://api.z.ai/api/paas/v4/chat/completions": "zai openai.chat chat",
  "POST https://api.z.ai/api/coding/paas/v4/chat/completions": "zai-coding-plan openai.chat chat plan",
  "POST https://api.z.ai/api/anthropic/v1/messages": "zai anthropic.messages chat unknown",
  "POST https://open.bigmodel.cn/api/paas/v4/embeddings": "zhipuai openai.embeddings embedding",
  "POST https://open.bigmodel.cn/api/paas/v4/rerank": "zhipuai openai.embeddings other false",
  "POST https://open.bigmodel.cn/api/coding/paas/v4/chat/completions":
    "zhipuai-coding-plan openai.chat chat plan",
  "POST https://api.moonshot.ai/v1/chat/completions": "moonshot openai.chat chat",
  "POST https://api.moonshot.cn/anthropic/v1/messages": "moonshot anthropic.messages chat",
  "POST https://api.kimi.com/coding/v1/messages": "kimi-for-coding anthropic.messages chat plan",
  "POST https://api.kimi.com/coding/v1/chat/completions": "kimi-for-coding openai.chat chat plan",
  "POST https://api.minimax.io/anthropic/v1/messages": "minimax anthropic.messages chat",
  "POST https://api.minimaxi.com/v1/chat/completions": "minimax openai.chat chat",
  "POST https://api.minimax.io/v1/text/chatcompletion_v2": "minimax openai.chat chat",
  "POST https://dashscope.aliyuncs.com/compatible-mode/v1/chat/completions": "alibaba-cn openai.chat chat",
  "POST https://dashscope-intl.aliyuncs.com/compatible-mode/v1/responses": "alibaba openai.responses chat",
  "POST https://dashscope-us.aliyuncs.com/apps/anthropic/v1/messages": "alibaba anthropic.messages chat",
  "POST https://cn-hongkong.dashscope.aliyuncs.com/compatible-mode/v1/embeddings":
    "alibaba openai.embeddings embedding",
  "POST https://dashscope.aliyuncs.com/api/v1/services/aigc/text-generation/generation":
    "alibaba-cn openai.chat chat",
  "POST https://dashscope.aliyuncs.com/api/v1/services/embeddings/text-embedding/text-embedding":
    "alibaba-cn openai.embeddings embedding false",
  "POST https://ws1.cn-beijing.maas.aliyuncs.com/compatible-mode/v1/chat/completions":
    "alibaba-cn openai.chat chat",
  "POST https://ws1.ap-southeast-1.maas.aliyuncs.com/compatible-mode/v1/chat/completions":
    "alibaba openai.chat chat",
  "POST https://token-plan.ap-southeast-1.maas.aliyuncs.com/compatible-mode/v1/chat/completions":
    "alibaba-token-plan openai.chat chat plan",
  "POST https://coding-intl.dashscope.aliyuncs.com/v1/chat/completions":
    "alibaba-coding-plan openai.chat chat plan",
  "POST https://coding.dashscope.aliyuncs.com/apps/anthropic/v1/messages":
    "alibaba-coding-plan-cn anthropic.messages chat plan",
  "POST https://portal.qwen.ai/v1/chat/completions": "qwen-code openai.chat chat plan",
  "POST https://ark.cn-beijing.volces.com/api/v3/chat/completions": "volcengine openai.chat chat",
  "POST https://ark.cn-beijing.volces.com/api/v3/bots/chat/completions": "volcengine openai.chat chat",
  "POST https://ark.cn-beijing.volces.com/api/coding/v3/chat/completions":
    "volcengine-coding-plan openai.chat chat plan",
  "POST https://ark.cn-beijing.volces.com/api/coding/v1/messages":
    "volcengine-coding-plan anthropic.messages chat plan",
  "POST https://ark.ap-southeast.bytepluses.com/api/v3/responses": "volcengine openai.responses chat",

  "POST https://ai-gateway.vercel.sh/v1/chat/completions": "vercel openai.chat chat",
  "POST https://ai-gateway.vercel.sh/v1/messages": "vercel anthropic.messages chat",
  "POST https://ai-gateway.vercel.sh/v1/responses": "vercel openai.responses chat",
  "POST https://ai-gateway.vercel.sh/v3/ai/language-model": "vercel vercel.language_model chat",
  "POST https://ai-gateway.vercel.sh/v1/ai/embedding-model": "vercel vercel.language_model embedding false",
  "GET https://ai-gateway.vercel.sh/v3/ai/config": "vercel free",
  "POST https://router.huggingface.co/v1/chat/completions": "huggingface openai.chat chat",
  "POST https://router.huggingface.co/together/v1/chat/completions": "huggingface openai.chat chat",
  "POST https://router.huggingface.co/hf-inference/models/a/b/v1/chat/completions":
    "huggingface openai.chat chat",
  "GET https://router.huggingface.co/v1/models": "huggingface free",
  "POST https://router.huggingface.co/hf-inference/models/a/b": "huggingface unknown_path",
  "POST https://x1.us-east-1.aws.endpoints.huggingface.cloud/v1/chat/completions":
    "huggingface openai.chat chat",
  "POST https://gateway.ai.cloudflare.com/v1/acc/gw/compat/chat/completions":
    "cloudflare-ai-gateway openai.chat chat",
  "POST https://gateway.ai.cloudflare.com/v1/acc/gw/anthropic/v1/messages":
    "anthropic anthropic.messages chat",
  "POST https://gateway.ai.cloudflare.com/v1/acc/gw/openai/chat/completions": "openai openai.chat chat",
  "POST https://gateway.ai.cloudflare.com/v1/acc/gw/openai/responses": "openai openai.responses chat",
  "POST https://gateway.ai.cloudflare.com/v1/acc/gw/google-ai-studio/v1beta/models/gemini-x:generateContent":
    "gemini gemini.generate chat gemini-x false",
  "POST https://gateway.ai.cloudflare.com/v1/acc/gw/google-vertex-ai/v1/projects/p/locations/l/publishers/google/models/m:generateContent":
    "vertex gemini.generate chat m false",
  "POST https://gateway.ai.cloudflare.com/v1/acc/gw/aws-bedrock/bedrock-runtime/us-east-1/model/m/converse":
    "bedrock bedrock.converse chat m false",
  "POST https://gateway.ai.cloudflare.com/v1/acc/gw/azure-openai/res/dep/chat/completions":
    "azure openai.chat chat dep",
  "POST https://gateway.ai.cloudflare.com/v1/acc/gw/groq/chat/completions": "groq openai.chat chat",
  "POST https://gateway.ai.cloudflare.com/v1/acc/gw/grok/v1/chat/completions": "xai openai.chat chat",
  "POST https://gateway.ai.cloudflare.com/v1/acc/gw/cohere/v2/chat": "cohere cohere.chat chat",
  "POST https://gateway.ai.cloudflare.com/v1/acc/gw/workers-ai/v1/chat/completions":
    "cloudflare-workers-ai openai.chat chat",
  "POST https://gateway.ai.cloudflare.com/v1/acc/gw": "cloudflare-ai-gateway unknown_path",
  "POST https://api.cloudflare.com/client/v4/accounts/acc/ai/v1/chat/completions":
    "cloudflare-workers-ai openai.chat chat",
  "POST https://api.cloudflare.com/client/v4/accounts/acc/ai/run/@cf/meta/llama-x":
    "cloudflare-workers-ai workers_ai.run chat @cf/meta/llama-x",
  "POST https://api.cloudflare.com/client/v4/accounts/acc/ai/run/%40cf/baai/bge-m3":
    "cloudflare-workers-ai workers_ai.run embedding @cf/baai/bge-m3",
  "POST https://gateway.ai.cloudflare.com/v1/acc/gw/workers-ai/@cf/baai/bge-reranker-base":
    "cloudflare-workers-ai workers_ai.run chat @cf/baai/bge-reranker-base",
  "GET https://api.cloudflare.com/client/v4/accounts/acc/ai/models/search": "not_provider",
  "GET https://api.cloudflare.com/client/v4/zones": "not_provider",
  "POST https://opencode.ai/zen/v1/chat/completions": "opencode openai.chat chat",
  "POST https://opencode.ai/zen/v1/messages": "opencode anthropic.messages chat",
  "POST https://opencode.ai/zen/v1/models/gemini-x:streamGenerateContent":
    "opencode gemini.generate chat gemini-x true",
  "POST https://opencode.ai/zen/go/v1/chat/completions": "opencode-go openai.chat chat plan",
  "GET https://opencode.ai/docs": "not_provider",
  "POST https://1234.ai-gateway.cloud.databricks.com/mlflow/v1/chat/completions":
    "databricks openai.chat chat",
  "POST https://1234.ai-gateway.cloud.databricks.com/anthropic/v1/messages":
    "databricks anthropic.messages chat",
  "POST https://acme.cloud.databricks.com/api/2.0/sql/statements": "not_provider",

  "POST https://acme.openai.azure.us/openai/v1/responses": "azure openai.responses chat",
  "POST https://mistral-x.eastus2.models.ai.azure.com/v1/chat/completions": "azure openai.chat chat",
  "POST https://mistral-x.eastus2.models.ai.azure.com/chat/completions": "azure openai.chat chat",
  "POST https://cohere-x.eastus2.models.ai.azure.com/v1/embed": "azure cohere.embed embedding false",
  "POST https://acme.azure-api.net/team/openai/deployments/gpt/chat/completions":
    "azure openai.chat chat gpt",
  "POST https://acme.azure-api.net/anthropic/v1/messages": "azure anthropic.messages chat",
  "POST https://acme.azure-api.net/gemini/v1beta/models/m:generateContent":
    "azure gemini.generate chat m false",
  "POST https://acme.azure-api.net/orders": "not_provider",
  "POST https://aws-external-anthropic.us-west-2.api.aws/v1/messages":
    "anthropic-aws anthropic.messages chat",
  "POST https://runtime.sagemaker.us-east-1.amazonaws.com/endpoints/llama/invocations":
    "sagemaker openai.served chat llama",
  "POST https://runtime.sagemaker.us-east-1.amazonaws.com/endpoints/llama/invocations-response-stream":
    "sagemaker openai.served chat llama true",
  "POST https://us-south.ml.cloud.ibm.com/ml/v1/text/chat?version=2024-10-08":
    "watsonx openai.chat chat false",
  "POST https://eu-de.ml.cloud.ibm.com/ml/v1/text/generation_stream": "watsonx watsonx.text chat true",
  "POST https://eu-de.ml.cloud.ibm.com/ml/v1/deployments/d/text/chat_stream": "watsonx openai.chat chat true",
  "POST https://jp-tok.ml.cloud.ibm.com/ml/v1/text/embeddings": "watsonx watsonx.text embedding false",
  "GET https://us-south.ml.cloud.ibm.com/ml/v1/foundation_model_specs": "watsonx free",
  "POST https://inference.generativeai.us-chicago-1.oci.oraclecloud.com/20231130/actions/chat":
    "oci oci.inference chat",
  "POST https://inference.generativeai.uk-london-1.oci.oraclecloud.com/openai/v1/responses":
    "oci openai.responses chat",
  "POST https://inference.generativeai.us-chicago-1.oci.oraclecloud.com/20231130/actions/v1/chat/completions":
    "oci openai.chat chat",

  "POST https://integrate.api.nvidia.com/v1/chat/completions": "nvidia openai.chat chat",
  "POST https://ai.api.nvidia.com/v1/gr/meta/llama/chat/completions": "nvidia openai.chat chat",
  "POST https://api.sambanova.ai/v1/chat/completions": "sambanova openai.chat chat",
  "POST https://api.deepinfra.com/v1/openai/chat/completions": "deepinfra openai.chat chat",
  "POST https://api.deepinfra.com/anthropic/v1/messages": "deepinfra anthropic.messages chat",
  "POST https://api.novita.ai/v3/openai/chat/completions": "novita openai.chat chat",
  "POST https://api.novita.ai/openai/v1/chat/completions": "novita openai.chat chat",
  "POST https://inference.baseten.co/v1/chat/completions": "baseten openai.chat chat",
  "POST https://model-1.api.baseten.co/environments/production/sync/v1/chat/completions":
    "baseten openai.chat chat",
  "POST https://model-1.api.baseten.co/production/predict": "not_provider",
  "POST https://api.tokenfactory.nebius.com/v1/chat/completions": "nebius openai.chat chat",
  "POST https://api.studio.nebius.ai/v1/embeddings": "nebius openai.embeddings embedding",
  "POST https://api.hyperbolic.xyz/v1/chat/completions": "hyperbolic openai.chat chat",
  "POST https://api.siliconflow.com/v1/chat/completions": "siliconflow openai.chat chat",
  "POST https://api.siliconflow.cn/v1/rerank": "siliconflow openai.embeddings other false",
  "POST https://api.voyageai.com/v1/embeddings": "voyage openai.embeddings embedding",
  "POST https://api.voyageai.com/v1/multimodalembeddings": "voyage openai.embeddings embedding false",
  "POST https://api.voyageai.com/v1/rerank": "voyage openai.embeddings other false",
  "POST https://api.jina.ai/v1/embeddings": "jina openai.embeddings embedding",
  "POST https://deepsearch.jina.ai/v1/chat/completions": "jina openai.chat chat",
  "POST https://api.writer.com/v1/chat": "writer openai.chat chat",
  "POST https://api.ai21.com/studio/v1/chat/completions": "ai21 openai.chat chat",
  "POST https://llm.chutes.ai/v1/chat/completions": "chutes openai.chat chat",
  "POST https://api.venice.ai/api/v1/chat/completions": "venice openai.chat chat",

  "POST https://api.elevenlabs.io/v1/text-to-speech/v1/stream": "elevenlabs units.stated audio",
  "POST https://api.elevenlabs.io/v1/speech-to-text": "elevenlabs units.stated audio",
  "GET https://api.elevenlabs.io/v1/voices": "elevenlabs free",
  "GET https://api.elevenlabs.io/v1/text-to-speech/v1/stream-input?model_id=m":
    "elevenlabs speech.live audio true webSocket",
  "GET https://api.us.elevenlabs.io/v1/text-to-speech/v1/multi-stream-input":
    "elevenlabs speech.live audio true webSocket",
  "GET https://api.elevenlabs.io/v1/speech-to-text/realtime": "elevenlabs speech.live audio true webSocket",
  "GET https://api.elevenlabs.io/v1/convai/conversation": "elevenlabs speech.live audio true webSocket",
  "GET https://api.elevenlabs.io/v1/convai/conversation/get-signed-url?agent_id=a": "elevenlabs free",
  "GET https://api.elevenlabs.io/v1/convai/agents": "elevenlabs unknown_path",
  "POST https://api.deepgram.com/v1/listen?model=nova-3": "deepgram units.stated audio",
  "POST https://api.deepgram.com/v1/speak": "deepgram units.stated audio",
  "GET https://api.deepgram.com/v1/listen?model=nova-3": "deepgram speech.live audio true webSocket",
  "GET https://api.deepgram.com/v2/listen": "deepgram speech.live audio true webSocket",
  "GET https://api.eu.deepgram.com/v1/speak": "deepgram speech.live audio true webSocket",
  "POST https://api.deepgram.com/v2/speak": "deepgram units.stated audio",
  "GET https://agent.deepgram.com/v1/agent/converse": "deepgram speech.live audio true webSocket",
  "GET https://agent.deepgram.com/v1/agent/settings/think/models": "deepgram free",
  "POST https://api.assemblyai.com/v2/transcript": "assemblyai free",
  "GET https://api.assemblyai.com/v2/transcript/t1": "assemblyai units.stated audio fetches",
  "GET https://api.assemblyai.com/v2/transcript/t1/sentences": "assemblyai free",
  "POST https://api.assemblyai.com/lemur/v3/generate/task": "assemblyai openai.chat chat false",
  "GET https://streaming.assemblyai.com/v3/ws?sample_rate=16000":
    "assemblyai speech.live audio true webSocket",
  "GET https://streaming.eu.assemblyai.com/v3/token": "assemblyai free",
  "GET https://api.assemblyai.com/v2/realtime/ws": "assemblyai speech.live audio true webSocket",
  "POST https://llm-gateway.assemblyai.com/v1/chat/completions": "assemblyai openai.chat chat",
  "POST https://api.replicate.com/v1/predictions": "replicate units.stated other",
  "POST https://api.replicate.com/v1/models/meta/llama/predictions":
    "replicate units.stated other meta/llama",
  "GET https://api.replicate.com/v1/predictions/p1": "replicate units.stated other fetches",
  "GET https://api.replicate.com/v1/models": "replicate free",
  "POST https://fal.run/fal-ai/flux/dev": "fal units.stated other fal-ai/flux/dev",
  "POST https://queue.fal.run/fal-ai/flux/dev": "fal units.stated other fal-ai/flux/dev",
  "GET https://queue.fal.run/fal-ai/flux/requests/r1/status": "fal free",
  "GET https://queue.fal.run/fal-ai/flux/requests/r1": "fal units.stated other fal-ai/flux fetches",

  "POST http://localhost:1234/v1/chat/completions": "lmstudio openai.chat chat free",
  "POST http://127.0.0.1:1234/api/v0/chat/completions": "lmstudio openai.chat chat free",
  "POST http://127.0.0.1:1234/api/v0/completions": "lmstudio openai.completions chat free",
  "POST http://127.0.0.1:1234/api/v0/embeddings": "lmstudio openai.embeddings embedding free",
  "POST http://localhost:1234/api/v1/chat": "lmstudio lmstudio.chat chat free",
  "GET http://localhost:1234/api/v1/models": "not_provider",
  "POST http://localhost:8000/v1/completions": "vllm openai.completions chat free",
  "POST http://[::1]:8000/v1/messages": "vllm anthropic.messages chat free",
  "POST http://localhost:8080/v1/chat/completions": "llama-cpp openai.chat chat free",
  "POST http://localhost:8080/chat/completions": "llama-cpp openai.chat chat free",
  "POST http://localhost:8080/completion": "llama-cpp llama.completion chat free",
  "POST http://localhost:8080/completions": "llama-cpp llama.completion chat free",
  "POST http://localhost:8080/v1/completions": "llama-cpp openai.completions chat free",
  "POST http://localhost:8080/infill": "llama-cpp llama.completion chat free",
  "POST http://localhost:4000/chat/completions": "litellm openai.chat chat unknown",
  "POST http://localhost:4000/v1/responses": "litellm openai.responses chat unknown",
  "POST http://localhost:4000/v1beta/models/m:generateContent":
    "litellm gemini.generate chat m false unknown",
  "GET http://localhost:8000/v1/models": "not_provider",
  "GET http://localhost:8000/": "not_provider",
  "POST http://localhost:8000/api/login": "not_provider",
  "GET http://localhost:8080/chat/completions/1": "not_provider",
  "POST http://localhost:3000/v1/chat/completions": "not_provider",
};

describe("the built-in hosts", () => {
  for (const [request, expected] of Object.entries(hosts))
    it(`match ${request}`, () => assert.equal(matchUrl(request), expected));

  it("are shared only where other programs or websites use them", () => {
    for (const [host, port] of [
      ["localhost", 8000],
      ["127.0.0.1", 1234],
      ["opencode.ai", 443],
      ["acme.azure-api.net", 443],
    ] as const)
      assert.equal(registry.isSharedHost(host, port), true, host);
    for (const [host, port] of [
      ["localhost", 11434],
      ["api.openai.com", 443],
      ["api.githubcopilot.com", 443],
      ["example.com", 443],
    ] as const)
      assert.equal(registry.isSharedHost(host, port), false, host);
  });

  it("have slugs as names, and one gateway prefix each", () => {
    const prefixes = PROVIDERS.flatMap(({ gatewayPrefix = [] }) => gatewayPrefix);
    assert.equal(new Set(prefixes).size, prefixes.length);
    for (const { provider } of PROVIDERS) assert.match(provider, /^[a-z0-9]+(-[a-z0-9]+)*$/);
  });

  it("never answer for a whole domain of a cloud, or of a customer's other data", () => {
    for (const host of [
      "s3.us-east-1.amazonaws.com",
      "x.aliyuncs.com",
      "acme.snowflakecomputing.com",
      "acme.cloud.databricks.com",
      "objectstorage.us-chicago-1.oraclecloud.com",
      "cloud.ibm.com",
      "acme.azure.com",
      "huggingface.co",
    ])
      assert.equal(registry.isProviderHost(host, 443), false, host);
  });
});
