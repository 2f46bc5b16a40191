import { decodedViews } from "./decoded-views.ts";
import { namedValuesRule } from "./named-values.ts";
import type { RedactionRule } from "./rule.ts";
import { serviceKeyRule } from "./shape-rules.ts";
import { streamViews } from "./stream-views.ts";
import { textRules } from "./text-rules.ts";
import { literalView, type TextView, unescapedView } from "./text-view.ts";
import { createTokenRules } from "./token-rules.ts";

/**
 * Maximum length of a text that is redacted, in UTF-16 code units. Source: docs/specification.md#limits, capture skip
 * threshold of 4 MiB.
 */
export const MAX_REDACTED_LENGTH = 4 * 1024 * 1024;

/**
 * A redacted text with the sorted names of the rules that fired. A text that could not be searched completely is not
 * returned: none of it may be stored or sent.
 */
export type Redaction =
  | { readonly ok: true; readonly text: string; readonly summary: readonly string[] }
  | { readonly ok: false; readonly reason: "too_long" | "rule_failed" };

/** Redacts one text. Never throws. */
export type Redact = (text: string) => Redaction;

/** The marks of an earlier redaction, also with the padding of base64 that one left: the value is no longer a secret. */
const ONLY_MARKS = /^(?:\[redacted:[a-z0-9_]{1,64}\])+={0,2}$/;

interface FoundRange {
  readonly start: number;
  readonly end: number;
  /** The rule's name on the first piece of a finding; empty on the others. */
  readonly label: string;
}

function replaceFound(text: string, found: readonly FoundRange[]): string {
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
 * Creates the daemon's redaction: the built-in rules, then the operator's. Each rule searches the text without JSON escapes
 * and the joined parts of a streamed response. A finding is replaced by `[redacted:rule]`, which keeps JSON strings valid.
 * Time is linear in the length of the text.
 */
export function createRedact(operatorRules: readonly RedactionRule[] = []): Redact {
  const tokenRules = [...createTokenRules(), serviceKeyRule];
  const rules = [...tokenRules, ...textRules, namedValuesRule, ...operatorRules];
  return (text) => {
    if (text.length > MAX_REDACTED_LENGTH) return { ok: false, reason: "too_long" };
    const found: FoundRange[] = [];
    const fired = new Set<string>();
    const search = (view: TextView, rule: RedactionRule, starts: Set<number>): void =>
      rule.find(view.text, (start, end) => {
        if (rule.yields === true && starts.has(start)) return;
        if (ONLY_MARKS.test(view.text.slice(start, end))) return;
        starts.add(start);
        fired.add(rule.name);
        let label = rule.name;
        view.pieces(start, end, (from, to) => {
          found.push({ start: from, end: to, label });
          label = "";
        });
      });
    try {
      const unescaped = unescapedView(text);
      for (const view of [unescaped, ...streamViews(text)].flatMap((each) => [each, ...decodedViews(each)])) {
        const starts = new Set<number>();
        for (const rule of rules) search(view, rule, starts);
      }
      // A backslash can also be literal: `\npm_…` may be the end of a path and a token. Only the token rules are precise
      // enough for this second search; others would take `\n@app.route` for an email address.
      const literal = unescaped.text === text ? null : literalView(text);
      const starts = new Set<number>();
      if (literal !== null) for (const rule of tokenRules) search(literal, rule, starts);
    } catch {
      // Fail closed. The cause is dropped: its message could quote the text.
      return { ok: false, reason: "rule_failed" };
    }
    found.sort((a, b) => a.start - b.start || b.end - a.end);
    return { ok: true, text: replaceFound(text, found), summary: [...fired].sort() };
  };
}
