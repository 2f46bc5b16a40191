import type { RedactionRule } from "./rule.ts";
import { streamViews } from "./stream-views.ts";
import { textRules } from "./text-rules.ts";
import { literalView, type TextView, unescapedView } from "./text-view.ts";
import { createTokenRules } from "./token-rules.ts";

/** Longest text that is redacted, in UTF-16 units. Source: contract, "Limits", capture skip threshold of 4 MiB. */
export const MAX_REDACTED_LENGTH = 4 * 1024 * 1024;

/**
 * A text without what the rules found, and the names of the rules that fired, sorted. A text that could not be searched
 * in full is not given back at all: nothing of it may be stored or sent.
 */
export type Redaction =
  | { readonly ok: true; readonly text: string; readonly summary: readonly string[] }
  | { readonly ok: false; readonly reason: "too_long" | "rule_failed" };

/** Redacts one text. Never throws. */
export type Redact = (text: string) => Redaction;

interface Found {
  readonly start: number;
  readonly end: number;
  /** The rule's name on the first piece of what it found, empty on the others. */
  readonly label: string;
}

function replaceFound(text: string, found: readonly Found[]): string {
  let redacted = "";
  let written = 0;
  for (const { start, end, label } of found) {
    if (end <= written) continue;
    if (start >= written) {
      redacted += text.slice(written, start);
      if (label !== "") redacted += `[redacted:${label}]`;
    }
    written = end;
  }
  return redacted + text.slice(written);
}

/**
 * Makes the redaction of the daemon: the built-in rules, then the operator's. Each rule sees the text without JSON
 * escapes, and of a streamed answer also the joined parts; `[redacted:rule]` takes the place of what it found, so that
 * JSON strings stay JSON strings. Cost is linear in the text.
 */
export function createRedact(operatorRules: readonly RedactionRule[] = []): Redact {
  const tokenRules = createTokenRules();
  const rules = [...tokenRules, ...textRules, ...operatorRules];
  return (text) => {
    if (text.length > MAX_REDACTED_LENGTH) return { ok: false, reason: "too_long" };
    const found: Found[] = [];
    const fired = new Set<string>();
    const search = (view: TextView, rule: RedactionRule): void =>
      rule.find(view.text, (start, end) => {
        fired.add(rule.name);
        let label = rule.name;
        view.pieces(start, end, (from, to) => {
          found.push({ start: from, end: to, label });
          label = "";
        });
      });
    try {
      const unescaped = unescapedView(text);
      for (const view of [unescaped, ...streamViews(text)]) {
        for (const rule of rules) search(view, rule);
      }
      // A backslash can also be itself: `\npm_…` is the end of a path and a token, not a line feed. What tokens look like
      // is telling enough for a second look; the other rules would take `\n@app.route` for an address.
      const literal = unescaped.text === text ? null : literalView(text);
      if (literal !== null) for (const rule of tokenRules) search(literal, rule);
    } catch {
      // Fail closed. The cause is not kept: its message could quote the text.
      return { ok: false, reason: "rule_failed" };
    }
    found.sort((a, b) => a.start - b.start || b.end - a.end);
    return { ok: true, text: replaceFound(text, found), summary: [...fired].sort() };
  };
}
