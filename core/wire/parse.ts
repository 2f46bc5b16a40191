import * as v from "valibot";

/** A validation problem of one field. It never contains the value, which may be a secret or a body. */
export interface WireProblem {
  /** The path of names and indexes, joined by dots; empty for the payload as a whole. */
  readonly field: string;
  /** What the field must be. */
  readonly problem: string;
}

/** A parsed payload, or its validation problems. */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly WireProblem[] };

/** A schema of this module. */
export type WireSchema<T> = v.GenericSchema<unknown, T>;

/** Maximum number of problems reported for one payload: a hostile payload can have one per byte. */
export const MAX_WIRE_PROBLEMS = 20;

/**
 * Parses a payload. Unknown fields are dropped, and absent optional fields become `null`. Never throws.
 */
export function parseWire<T>(schema: WireSchema<T>, input: unknown): Parsed<T> {
  const result = v.safeParse(schema, input);
  if (result.success) return { ok: true, value: result.output };
  return { ok: false, problems: result.issues.slice(0, MAX_WIRE_PROBLEMS).map(describe) };
}

function describe(issue: v.BaseIssue<unknown>): WireProblem {
  // Names chosen by the sender, as in `usage_extras`, are not repeated in the problem.
  const field = (issue.path ?? [])
    .map(({ key }) => (/^[a-z0-9_]{1,40}$/.test(String(key)) ? String(key) : "*"))
    .join(".");
  if (issue.kind === "schema") {
    return { field, problem: issue.input === undefined ? "is missing" : `must be ${issue.expected}` };
  }
  // The checks in this module have fixed messages; valibot's own messages quote the value.
  return { field, problem: issue.message };
}
