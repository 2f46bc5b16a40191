import { METERED_PROVIDERS, PLAN_PROVIDERS } from "../../values/billing.ts";
import type { BillingMode } from "../../values/record.ts";
import type { LogEntry } from "./log-entry.ts";

/** The meter's names of providers that agents name otherwise. Those of plans come first. */
const PROVIDER_NAMES: Readonly<Record<string, string>> = {
  "openai-codex": "codex",
  chatgpt: "codex",
  "google-gemini-cli": "code-assist",
  "gemini-cli": "code-assist",
  "cloud-code": "code-assist",
  google: "gemini",
  "google-ai": "gemini",
  "google-vertex": "vertex",
  "google-vertex-anthropic": "vertex",
  gcp_vertex_ai: "vertex",
  "amazon-bedrock": "bedrock",
  aws_bedrock: "bedrock",
  "openai-native": "openai",
  "claude-code": "anthropic",
  "claude-acp": "anthropic",
  "azure-openai": "azure",
  "x-ai": "xai",
  moonshotai: "moonshot",
  copilot: "github-copilot",
  github_copilot: "github-copilot",
  "fireworks-ai": "fireworks",
  togetherai: "together",
};

/** Providers that only sell plans, besides `PLAN_PROVIDERS`. */
const SELLS_ONLY_PLANS =
  /^(?:github-copilot|kimi-for-coding|qwen-code|opencode-go)$|-(?:coding|token)-plan(?:-cn)?$/;

const includes = (names: readonly string[], name: string) => names.includes(name);

/** Returns the meter's name of the provider that a log names. */
export function providerOfEntry({ provider }: Pick<LogEntry, "provider">): string {
  const name = provider.trim().toLowerCase().slice(0, 64) || "unknown";
  return Object.hasOwn(PROVIDER_NAMES, name) ? PROVIDER_NAMES[name]! : name;
}

/**
 * Returns how the calls of an entry are billed, as far as the log or the provider's name tells. Logs do not tell whether Claude
 * Code and Gemini CLI were used with a plan or with a key.
 */
export function billingOfEntry(entry: Pick<LogEntry, "agent" | "billing" | "provider">): BillingMode {
  if (entry.billing !== "unknown") return entry.billing;
  const provider = providerOfEntry(entry);
  if (includes(PLAN_PROVIDERS, provider) || SELLS_ONLY_PLANS.test(provider)) return "plan";
  return entry.agent !== "gemini" && includes(METERED_PROVIDERS, provider) ? "metered" : "unknown";
}
