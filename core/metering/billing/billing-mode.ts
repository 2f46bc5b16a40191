import { runsOnOllamaCloud } from "../../pricing/free-calls.ts";
import type { BillingMode } from "../../values/record.ts";
import { type HeaderList, headerValue } from "../exchange/head.ts";
import type { CredentialKind } from "./credential.ts";

/** The facts that decide who pays for a call. */
export interface BillingFacts {
  readonly provider: string;
  /** What the provider's entry states for all of its calls; null if the credential decides. */
  readonly billing: BillingMode | null;
  readonly credential: CredentialKind;
  /** Null if there was no response. */
  readonly responseHeaders: HeaderList | null;
  /** Whether the response's body says that credits pay; null if it does not tell. */
  readonly usesCredits: boolean | null;
  /** The model that answered, and the one that was asked for. */
  readonly models: readonly string[];
}

/** Providers that accept the login of a person's account as well as API keys, so that a token does not tell which one pays. */
const SELLS_PLANS: ReadonlySet<string> = new Set(["openai", "xai"]);

/** Returns how a call is billed. Source: docs/specification.md#billing-mode. */
export function readBillingMode(facts: BillingFacts): BillingMode {
  const { provider, billing, credential, responseHeaders, usesCredits, models } = facts;
  if (billing === "plan" || (billing === null && credential === "claude_login")) {
    // The headers of a WebSocket's handshake may be older than its events.
    const isPaid = usesCredits ?? (responseHeaders !== null && isOverage(responseHeaders));
    return isPaid ? "credits" : "plan";
  }
  if (billing === "free" && runsOnOllamaCloud(provider, models)) return "plan";
  if (billing !== null) return billing;
  if (credential === "none") return "unknown";
  return credential === "token" && SELLS_PLANS.has(provider) ? "unknown" : "metered";
}

/**
 * Whether a call under a plan was paid with credits, because the plan's limit was already reached. Anthropic says so
 * (undocumented headers). OpenAI's Codex states each window's use before the call: at 100 %, an account with credits pays with
 * these.
 */
function isOverage(headers: HeaderList): boolean {
  if (headerValue(headers, "anthropic-ratelimit-unified-overage-in-use")?.toLowerCase() === "true")
    return true;
  if (headerValue(headers, "anthropic-ratelimit-unified-representative-claim") === "overage") return true;
  if (headerValue(headers, "x-codex-credits-has-credits")?.toLowerCase() !== "true") return false;
  return ["primary", "secondary"].some((window) => {
    const used = headerValue(headers, `x-codex-${window}-used-percent`);
    return used !== null && Number.parseFloat(used) >= 100;
  });
}
