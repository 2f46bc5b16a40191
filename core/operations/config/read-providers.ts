import type { Dialect } from "../../metering/usage/dialects.ts";
import type { ExtraHost } from "../../metering/usage/registry.ts";
import { PORT_BOUNDS } from "./numbers.ts";
import type { SectionReader } from "./section-reader.ts";

/** Returns a host as URL parsers write it; null if they refuse it. */
export type HostInUrl = (host: string) => string | null;

/** Returns what is wrong with a host name in lower case; null if nothing is. */
function findHostProblem(host: string, hostInUrl: HostInUrl): string | null {
  if (!/^(\*\.)?[a-z0-9.:-]+$/.test(host) || /^\.|\.\.|\.$/.test(host)) return "must be a host name";
  const wildcard = host.startsWith("*.") ? "*." : "";
  const name = host.slice(wildcard.length);
  const written = hostInUrl(name);
  if (written === null) return "can't be part of a URL";
  return written === name ? null : `must be written ${wildcard}${written}, as in URLs`;
}

/** Reads a host of `[[providers]]`. One without a host name or a provider is ignored. */
export function readExtraHost(section: SectionReader, hostInUrl: HostInUrl): ExtraHost[] {
  const host = (section.text("host", "") as string).toLowerCase();
  const port = section.integer("port", 0, PORT_BOUNDS);
  const provider = section.text("provider", "") as string;
  const api = section.value("api", readDialects, `one of ${HOST_DIALECTS.join(", ")}, or a list of them`);
  const basePath = section.value("base_path", readBasePath, "a path such as /llm");
  const prices = section.text("prices", null);
  const billing = section.value("billing", readBilling, `one of ${HOST_BILLING.join(", ")}`);
  const problem = findHostProblem(host, hostInUrl);
  if (problem !== null) {
    section.warn("host", `${problem}; this provider is ignored`);
    return [];
  }
  if (provider === "") {
    section.warn("provider", "is required; this provider is ignored");
    return [];
  }
  return [
    {
      host,
      ...(port > 0 && { port }),
      provider,
      api: api ?? "openai",
      ...(basePath !== null && basePath !== "" && { basePath }),
      ...(prices !== null && prices !== "" && { prices }),
      ...(billing !== null && { billing }),
    },
  ];
}

/** The API dialects that a configured host may use. */
const HOST_DIALECTS = [
  "openai",
  "anthropic",
  "gemini",
  "ollama",
  "azure",
  "bedrock",
  "vertex",
  "code-assist",
  "cohere",
  "model-serving",
  "lmstudio",
  "llama-cpp",
] as const satisfies readonly Dialect[];

/** What an operator can say of a host. Which calls pay with credits depends on the response. */
const HOST_BILLING = ["metered", "plan", "free", "unknown"] as const;

const readBilling = (raw: unknown) => HOST_BILLING.find((known) => known === raw) ?? null;

/** Reads one dialect or a list of them. */
function readDialects(raw: unknown): Dialect | readonly Dialect[] | null {
  const dialects = (Array.isArray(raw) ? raw : [raw]).map((each) =>
    HOST_DIALECTS.find((known) => known === each),
  );
  if (dialects.length === 0 || dialects.includes(undefined)) return null;
  return Array.isArray(raw) ? (dialects as Dialect[]) : (dialects[0] as Dialect);
}

/** Reads a path, without a slash at its end. */
function readBasePath(raw: unknown): string | null {
  return typeof raw === "string" && /^(\/[^/?#\s]+)*\/?$/.test(raw) ? raw.replace(/\/$/, "") : null;
}
