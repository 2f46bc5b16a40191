/**
 * Redaction of captured bodies: named rules that find secrets and personal data, and put `[redacted:rule]` in their
 * place. It runs before a body is stored and again before it is uploaded, sees through JSON escapes and through the
 * parts of a streamed answer, takes linear time whatever the text, and fails closed: a text that could not be searched
 * in full is not given back.
 *
 * What it can't find: secrets without a shape, a name or a scheme before them, and secrets in an encoding other than
 * JSON's (PEM files in base64 excepted).
 *
 * ```ts
 * import { createRedact } from "./mod.ts";
 *
 * const redact = createRedact();
 * redact("mail ann@example.com"); // { ok: true, text: "mail [redacted:email_address]", summary: ["email_address"] }
 * ```
 *
 * @module
 */
export { MAX_PATTERN_POSITIONS, type PatternReading, readLinearPattern } from "./linear-pattern.ts";
export { createRedact, MAX_REDACTED_LENGTH, type Redact, type Redaction } from "./redact.ts";
export type { RedactionRule, ReportRange } from "./rule.ts";
