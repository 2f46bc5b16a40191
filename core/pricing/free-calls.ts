import { priceListOf } from "./provider-names.ts";
import { USAGE_EXTRAS, type UsageExtraName } from "./usage-extras.ts";
import type { UsageToPrice } from "./usage-to-price.ts";

/** A model that a local Ollama runs on ollama.com, by its tag: `gpt-oss:120b-cloud`. Source: docs.ollama.com/cloud. */
const CLOUD_MODEL = /[:-]cloud$/;

/** The suffix of OpenRouter's free variants. Source: openrouter.ai/docs/guides/routing/model-variants/free. */
const FREE_VARIANT = ":free";

/** Whether a local Ollama runs one of the models on ollama.com, under a plan. */
export function runsOnOllamaCloud(provider: string, models: readonly string[]): boolean {
  return provider === "ollama" && models.some((model) => CLOUD_MODEL.test(model));
}

/**
 * Why a call without a rate costs nothing, for people; null if it may cost something. Servers on this machine are free, and
 * so are OpenRouter's free variants, except what they bill besides tokens.
 */
export function describeFreeCall(
  usage: Pick<UsageToPrice, "provider" | "model" | "requestedModel" | "extras" | "billingMode">,
): string | null {
  const { provider, model, requestedModel, extras, billingMode } = usage;
  const names = [model, requestedModel ?? model];
  if (billingMode === "free" && !names.some((name) => CLOUD_MODEL.test(name)))
    return "free: a server on this machine";
  const isFreeVariant =
    priceListOf(provider) === "openrouter" && names.some((name) => name.endsWith(FREE_VARIANT));
  return isFreeVariant && !hasFees(extras) ? "free: a free variant of OpenRouter" : null;
}

/** Whether a call used something that is billed in addition to tokens, such as a search. */
function hasFees(extras: UsageToPrice["extras"]): boolean {
  return Object.entries(extras ?? {}).some(
    ([name, count]) =>
      count > 0 && Object.hasOwn(USAGE_EXTRAS, name) && USAGE_EXTRAS[name as UsageExtraName].partOf === null,
  );
}
