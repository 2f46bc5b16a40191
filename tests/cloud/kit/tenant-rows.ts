export const WORKSPACE = "01994b8e-7c00-7000-8000-00000000000a";
export const OTHER = "01994b8e-7c00-7000-8000-00000000000b";
export const ID = "01994b8e-7c00-7000-8000-000000000001";

/** Every tenant table with an insert of one row, in an order that foreign keys allow. */
export const TENANT_ROWS: readonly (readonly [table: string, insert: (workspace: string) => string])[] = [
  [
    "workspaces",
    (w) =>
      `insert into workspaces (workspace_id, organisation_id, name, created_at) values ('${w}', '${w}', 'n', now())`,
  ],
  ["memberships", (w) => `insert into memberships values ('${w}', 'ann', 'member', now(), null)`],
  ["machines", (w) => `insert into machines values ('${w}', '${ID}', null, 'h', 'p', 'v', now(), null)`],
  [
    "sync_keys",
    (w) =>
      `insert into sync_keys values ('${w}', '${ID}', '\\x00', 'mtr_', 'sync', '${ID}', 'ann', now(), null)`,
  ],
  [
    "requests",
    (w) =>
      `insert into requests (workspace_id, request_id, requested_at, received_at, clock_skewed, user_id, provider, model, cost_source)
       values ('${w}', '${ID}', now(), now(), false, 'ann', 'openai', 'gpt-5', 'unpriced')`,
  ],
  ["request_bodies", (w) => `insert into request_bodies (workspace_id, request_id) values ('${w}', '${ID}')`],
  [
    "request_body_versions",
    (w) =>
      `insert into request_body_versions (workspace_id, request_id, direction, version, body, replaced_at)
       values ('${w}', '${ID}', 'request', 1, '\\x00', now())`,
  ],
  [
    "invitations",
    (w) =>
      `insert into invitations values ('${w}', '${ID}', '\\x00', 'a@example.com', 'member', 'ann', now(), now())`,
  ],
  ["body_first_sightings", (w) => `insert into body_first_sightings values ('${w}', '${ID}', now())`],
  ...["usage_hourly", "usage_daily"].map(
    (table) =>
      [
        table,
        (w: string) => `insert into ${table} values ('${w}', now(), '${ID}', 'ann', '', 'openai', 'gpt-5')`,
      ] as const,
  ),
  [
    "usage_branches",
    (w) => `insert into usage_branches values ('${w}', 1, now(), '', 'main', 'openai', 'gpt-5')`,
  ],
  ["body_keys", (w) => `insert into body_keys values ('${w}', '${ID}', 'ann', '', now(), null, null)`],
  [
    "erasures",
    (w) =>
      `insert into erasures (workspace_id, erasure_id, user_id, before, finished_at) values ('${w}', '${ID}', 'ann', now(), now())`,
  ],
  ["prompt_view_heads", (w) => `insert into prompt_view_heads values ('${w}', 0, '')`],
  [
    "prompt_views",
    (w) =>
      `insert into prompt_views values ('${w}', 1, '${ID}', '${ID}', 'ann', 'ben', null, 'why', now(), null, null, '', '')`,
  ],
  [
    "prompt_view_tickets",
    (w) => `insert into prompt_view_tickets values ('${w}', '${ID}', '${ID}', 'ann', now(), null)`,
  ],
  [
    "coverage_hours",
    (w) =>
      `insert into coverage_hours values ('${w}', date_trunc('hour', now()), '${ID}', now(), 1, 1, '{}')`,
  ],
  ["coverage_days", (w) => `insert into coverage_days values ('${w}', now(), '${ID}', 1, 1, '{}')`],
  ["daemon_runs", (w) => `insert into daemon_runs values ('${w}', '${ID}', now(), now())`],
  [
    "limit_readings",
    (w) =>
      `insert into limit_readings values ('${w}', '${ID}', 'ann', 'openai', '', '5h', '', 'share', null, null, null, null, null, null, now())`,
  ],
  [
    "budgets",
    (w) =>
      `insert into budgets values ('${w}', '${ID}', 'n', 'workspace', '', '{}', false, null, 'ann', now())`,
  ],
  [
    "budget_warnings",
    (w) => `insert into budget_warnings values ('${w}', '${ID}', now(), 50, 1, now(), null)`,
  ],
  [
    "saved_views",
    (w) => `insert into saved_views values ('${w}', '${ID}', 'ann', 'n', '/', '', true, now())`,
  ],
  ["cost_seal_heads", (w) => `insert into cost_seal_heads values ('${w}', 0, '', '')`],
  ["cost_seals", (w) => `insert into cost_seals values ('${w}', 1, 'stored', now(), null, '', '', '', null)`],
  ["audit_event_heads", (w) => `insert into audit_event_heads values ('${w}', 0, '', '')`],
  ["audit_events", (w) => `insert into audit_events values ('${w}', '${ID}', now(), 'k', null, '{}', now())`],
];
