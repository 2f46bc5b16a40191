/** Where a table's rows are on a cluster. */
export type TablePlace =
  /** On the workers, by `workspace_id`. Every key contains it, and every statement names one. */
  | "distributed"
  /** On the coordinator. */
  | "coordinator";

/**
 * The place of each table on a cluster. `requests` and everything else of a workspace are together, so that a transaction of one
 * workspace needs one worker.
 */
export const TABLE_PLACES = {
  workspaces: "distributed",
  memberships: "distributed",
  machines: "distributed",
  sync_keys: "distributed",
  invitations: "distributed",
  requests: "distributed",
  request_bodies: "distributed",
  request_body_versions: "distributed",
  body_first_sightings: "distributed",
  body_keys: "distributed",
  erasures: "distributed",
  usage_hourly: "distributed",
  usage_daily: "distributed",
  usage_branches: "distributed",
  cost_seal_heads: "distributed",
  cost_seals: "distributed",
  prompt_view_heads: "distributed",
  prompt_views: "distributed",
  prompt_view_tickets: "distributed",
  audit_event_heads: "distributed",
  audit_events: "distributed",
  limit_readings: "distributed",
  coverage_hours: "distributed",
  coverage_days: "distributed",
  daemon_runs: "distributed",
  saved_views: "distributed",
  budgets: "distributed",
  budget_warnings: "distributed",
  organisations: "coordinator",
  organisation_members: "coordinator",
  account_deletions: "coordinator",
  workspace_directory: "coordinator",
  person_workspaces: "coordinator",
  weekly_summaries: "coordinator",
  tasks: "coordinator",
  pairing_sessions: "coordinator",
  checkout_consent_records: "coordinator",
  pricing_rates: "coordinator",
  limit_states: "coordinator",
  restores: "coordinator",
  cloud_migrations: "coordinator",
} as const satisfies Readonly<Record<string, TablePlace>>;
