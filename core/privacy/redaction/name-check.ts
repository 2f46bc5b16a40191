import { createRedact } from "./redact.ts";
import type { RedactionRule } from "./rule.ts";
import { TOKEN_PREFIXES } from "./token-rules.ts";

/** A token prefix in any case: a name may have been lower-cased. */
const PREFIX = new RegExp(TOKEN_PREFIXES.map((prefix) => prefix.replaceAll(".", "\\.")).join("|"), "gi");
const SPELLING = new Map(TOKEN_PREFIXES.map((prefix) => [prefix.toLowerCase(), prefix]));

/** Maximum number of cached names. Calls on one machine use a few projects many times. */
const MAX_CACHED = 256;

/**
 * Creates a check whether a name, such as a project's, contains a secret. It applies the redaction rules to the name as
 * written, in upper case, and with token prefixes in their issuers' spelling. A failed search counts as a secret.
 */
export function createNameCheck(operatorRules: readonly RedactionRule[] = []): (name: string) => boolean {
  const redact = createRedact(operatorRules);
  // The space marks that the name is complete, not cut off.
  const containsSecret = (name: string): boolean => {
    const redacted = redact(`${name} `);
    return !redacted.ok || redacted.summary.length > 0;
  };
  const cache = new Map<string, boolean>();
  const check = (name: string): boolean => {
    const spelled = name.replaceAll(PREFIX, (prefix) => SPELLING.get(prefix.toLowerCase()) as string);
    return [...new Set([name, spelled, name.toUpperCase()])].some(containsSecret);
  };
  return (name) => {
    const known = cache.get(name);
    if (known !== undefined) return known;
    const answer = check(name);
    if (cache.size >= MAX_CACHED) cache.clear();
    cache.set(name, answer);
    return answer;
  };
}
