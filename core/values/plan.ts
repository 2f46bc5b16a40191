/** The plans, smallest first. "Business+" means business or enterprise. Source: docs/specification.md#cloud-accounts-and-keys. */
export const PLANS = ["solo", "team", "business", "enterprise"] as const;

/** The plan of a workspace. */
export type Plan = (typeof PLANS)[number];

/** Whether the text is the name of a plan. */
export function isPlan(text: string): text is Plan {
  return (PLANS as readonly string[]).includes(text);
}
