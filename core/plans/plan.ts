/** The plans, the smallest first. Source: decisions, "Cloud: people, keys, plans". "Business+" is business and above. */
export const PLANS = ["solo", "team", "business", "enterprise"] as const;

/** A workspace's plan. */
export type Plan = (typeof PLANS)[number];

/** Whether the text names a plan. */
export function isPlan(text: string): text is Plan {
  return (PLANS as readonly string[]).includes(text);
}
