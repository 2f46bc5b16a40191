import * as v from "valibot";

/** What is wrong with one field of a payload. Holds nothing of the value, which may be a secret or a body. */
export interface WireProblem {
  /** Names and indexes joined by dots; empty for the payload as a whole. */
  readonly field: string;
  /** What the field must be. */
  readonly problem: string;
}

/** A payload in the form that its schema gives it, or what is wrong with it. */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly WireProblem[] };

/** Any schema of this module. */
export type WireSchema<T> = v.GenericSchema<unknown, T>;

/** As many problems are told at once: a hostile payload can have one for each of its bytes. */
export const MAX_WIRE_PROBLEMS = 20;

/**
 * Reads a payload: fields that the schema does not know are dropped, absent ones that may be absent become `null`.
 * Never throws.
 */
export function parseWire<T>(schema: WireSchema<T>, input: unknown): Parsed<T> {
  const result = v.safeParse(schema, input);
  if (result.success) return { ok: true, value: result.output };
  return { ok: false, problems: result.issues.slice(0, MAX_WIRE_PROBLEMS).map(describe) };
}

function describe(issue: v.BaseIssue<unknown>): WireProblem {
  // A name that could be anything, as in `usage_extras`, is the sender's text and is not repeated.
  const field = (issue.path ?? [])
    .map(({ key }) => (/^[a-z0-9_]{1,40}$/.test(String(key)) ? String(key) : "*"))
    .join(".");
  if (issue.kind === "schema") {
    return { field, problem: issue.input === undefined ? "is missing" : `must be ${issue.expected}` };
  }
  // The messages of our own checks are fixed texts; valibot's quote the value.
  return { field, problem: issue.message };
}
