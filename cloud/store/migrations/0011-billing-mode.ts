import type { Migration } from "../migration.ts";

const METERED_PROVIDERS =
  "'azure', 'bedrock', 'cerebras', 'cohere', 'deepseek', 'fireworks', 'gemini', 'groq', 'mistral', 'openrouter', " +
  "'perplexity', 'together', 'vertex'";

const ROLLUPS = ["usage_hourly", "usage_daily"];

/**
 * Adds how a request is billed, and the sums of what was spent and of plan usage. The rest of `cost_pico_usd` has unknown
 * billing, as have all older requests except those of providers that bill all calls alike.
 */
export const billingMode: Migration = {
  name: "0011-billing-mode",
  statements: [
    "alter table requests add column billing_mode text",
    ...ROLLUPS.flatMap((table) => [
      `alter table ${table}
        add column spent_pico_usd numeric not null default 0,
        add column plan_usage_pico_usd numeric not null default 0`,
      // The policies apply to the owner of the tables too, which would see no rows.
      `alter table ${table} no force row level security`,
      `update ${table} set plan_usage_pico_usd = cost_pico_usd where provider in ('codex', 'code-assist')`,
      `update ${table} set spent_pico_usd = cost_pico_usd where provider in (${METERED_PROVIDERS})`,
      `alter table ${table} force row level security`,
    ]),
  ],
};
