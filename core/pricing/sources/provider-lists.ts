/**
 * The price list of each provider name that a public source uses, if it is not the same name. Several names may mean one
 * list; the name that comes first here takes precedence where both price a model.
 */
export type ProviderNames = Readonly<Record<string, string>>;

/** The names of LiteLLM (`litellm_provider`). */
export const LITELLM_PROVIDERS: ProviderNames = {
  openai: "openai",
  "text-completion-openai": "openai",
  anthropic: "anthropic",
  gemini: "google",
  vertex_ai: "google",
  "vertex_ai-language-models": "google",
  "vertex_ai-embedding-models": "google",
  "vertex_ai-anthropic_models": "google",
  "vertex_ai-mistral_models": "google",
  "vertex_ai-deepseek_models": "google",
  "vertex_ai-ai21_models": "google",
  "vertex_ai-llama_models": "google",
  "vertex_ai-minimax_models": "google",
  "vertex_ai-moonshot_models": "google",
  "vertex_ai-zai_models": "google",
  "vertex_ai-openai_models": "google",
  "vertex_ai-qwen_models": "google",
  bedrock: "aws",
  bedrock_converse: "aws",
  bedrock_mantle: "aws",
  azure: "azure",
  azure_ai: "azure",
  azure_text: "azure",
  cohere: "cohere",
  cohere_chat: "cohere",
  mistral: "mistral",
  codestral: "mistral",
  xai: "x-ai",
  fireworks_ai: "fireworks",
  "fireworks_ai-embedding-models": "fireworks",
  together_ai: "together",
  moonshot: "moonshotai",
  voyage: "voyageai",
  jina_ai: "jina",
  nvidia_nim: "nvidia",
  vercel_ai_gateway: "vercel",
  cloudflare: "cloudflare-workers-ai",
  friendliai: "friendli",
  meta_llama: "llama",
};

/** The names of models.dev (the keys of `api.json`). */
export const MODELS_DEV_PROVIDERS: ProviderNames = {
  google: "google",
  "google-vertex": "google",
  "google-vertex-anthropic": "google",
  "amazon-bedrock": "aws",
  azure: "azure",
  "azure-cognitive-services": "azure",
  xai: "x-ai",
  "fireworks-ai": "fireworks",
  togetherai: "together",
  "novita-ai": "novita",
  alibaba: "dashscope",
};

/** Returns the name of the price list. */
export function listOf(names: ProviderNames, provider: string): string {
  return Object.hasOwn(names, provider) ? names[provider]! : provider;
}

/** Returns the precedence of a provider name among those of one list; a lower number takes precedence. */
export function precedenceOf(names: ProviderNames, provider: string): number {
  return Object.keys(names).indexOf(provider);
}
