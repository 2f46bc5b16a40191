/** One step of the migrations. It is additive, runs in one transaction, and is checked before `user_version` is set. */
export interface Migration {
  to: number;
  /** SQL, one statement per element. */
  statements: readonly string[];
  /** The columns and indexes that must exist afterwards. */
  expects: {
    columns?: Readonly<Record<string, readonly string[]>>;
    indexes?: readonly string[];
  };
}

/** Identifies the file as a meter database (`PRAGMA application_id`): "mter" in ASCII. */
export const applicationId = 0x6d746572;

const syncState = (table: string, cursor: string) =>
  `CREATE TABLE ${table} (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    paused_reason TEXT,
    consecutive_failures INTEGER NOT NULL DEFAULT 0,
    last_error TEXT,
    ${cursor}
  ) STRICT`;

/** The sums of version 21. Costs are in two halves, of which the lower is below 10^9 for each request. */
const rollupSums = `requests INTEGER NOT NULL,
        prompt_tokens INTEGER NOT NULL,
        cache_read_tokens INTEGER NOT NULL,
        cache_write_tokens INTEGER NOT NULL,
        cache_write_1h_tokens INTEGER NOT NULL,
        completion_tokens INTEGER NOT NULL,
        thinking_tokens INTEGER NOT NULL,
        cost_high INTEGER NOT NULL,
        cost_low INTEGER NOT NULL`;

/** The sums of version 35, by value. A token count that no request states is null. */
const valueSums = `requests INTEGER NOT NULL,
        failed_requests INTEGER NOT NULL,
        unpriced_requests INTEGER NOT NULL,
        incomplete_requests INTEGER NOT NULL,
        prompt_tokens INTEGER,
        cache_read_tokens INTEGER,
        cache_write_tokens INTEGER,
        cache_write_1h_tokens INTEGER,
        completion_tokens INTEGER,
        thinking_tokens INTEGER,
        cost_high INTEGER NOT NULL,
        cost_low INTEGER NOT NULL`;

/** The columns of version 25: sessions and agents, Git, and where a record comes from. */
const SESSION_COLUMNS: Readonly<Record<string, "TEXT" | "INTEGER">> = {
  session_id: "TEXT",
  session_source: "TEXT",
  turn_id: "TEXT",
  agent_id: "TEXT",
  parent_agent_id: "TEXT",
  agent_kind: "TEXT",
  client_version: "TEXT",
  git_branch: "TEXT",
  git_commit: "TEXT",
  git_remote: "TEXT",
  pull_request: "INTEGER",
  record_source: "TEXT",
  log_file: "TEXT",
  log_line: "INTEGER",
};

/**
 * The migrations from an empty database to the latest schema. docs/specification.md#local-records defines the steps to 6, 7, 11, 12
 * and 14. A step that has been released never changes.
 *
 * Decision: the columns that reports read come first in `requests`, since SQLite reads a row from its start. There is no
 * index on `provider_response_id`: it would write to a random page for each record (25 µs, as long as the record itself).
 * Only responses that their provider can return again are looked up, and version 15 indexes only those. There is no index on
 * unsynced requests either: without a cloud it would contain every row. A cursor over `seq` replaces it.
 */
export const migrations: readonly Migration[] = [
  {
    to: 1,
    statements: [
      `PRAGMA application_id = ${applicationId}`,
      "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID",
      `CREATE TABLE requests (
        seq INTEGER PRIMARY KEY,
        request_id TEXT NOT NULL UNIQUE,
        requested_at INTEGER NOT NULL,
        provider TEXT NOT NULL,
        model TEXT NOT NULL,
        project TEXT NOT NULL,
        client TEXT,
        prompt_tokens INTEGER,
        completion_tokens INTEGER,
        cache_read_tokens INTEGER,
        cache_write_tokens INTEGER,
        cache_write_1h_tokens INTEGER,
        thinking_tokens INTEGER,
        tokens_complete INTEGER NOT NULL,
        cost_pico_usd INTEGER,
        cost_source TEXT NOT NULL,
        error_class TEXT,
        requested_model TEXT,
        request_kind TEXT NOT NULL,
        streaming INTEGER NOT NULL,
        provider_cost_pico_usd INTEGER,
        rates_source TEXT,
        service_tier TEXT,
        usage_extras TEXT,
        latency_ms INTEGER NOT NULL,
        ttfb_ms INTEGER,
        http_status INTEGER,
        provider_error_code TEXT,
        retryable INTEGER,
        attribution_tier TEXT NOT NULL,
        prompt_hash TEXT,
        method TEXT NOT NULL,
        path TEXT NOT NULL,
        source_workdir TEXT,
        host TEXT NOT NULL,
        api TEXT NOT NULL,
        provider_response_id TEXT,
        error_message_hash TEXT
      ) STRICT`,
      "CREATE INDEX requests_requested_at ON requests (requested_at)",
    ],
    expects: {
      columns: {
        meta: ["key", "value"],
        requests: ["seq", "request_id", "cost_pico_usd", "error_message_hash"],
      },
      indexes: ["requests_requested_at"],
    },
  },
  {
    to: 2,
    statements: [
      `CREATE TABLE project_settings (
        project TEXT PRIMARY KEY,
        body_capture INTEGER,
        updated_at INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID`,
    ],
    expects: { columns: { project_settings: ["project", "body_capture", "updated_at"] } },
  },
  {
    to: 3,
    statements: [
      `CREATE TABLE pricing_rates (
        source TEXT NOT NULL,
        provider TEXT NOT NULL,
        model TEXT NOT NULL,
        provenance_date TEXT NOT NULL,
        stored_at INTEGER NOT NULL,
        rate_row TEXT NOT NULL
      ) STRICT`,
    ],
    expects: { columns: { pricing_rates: ["source", "provenance_date", "rate_row"] } },
  },
  {
    to: 4,
    statements: [
      `CREATE TABLE cloud_state (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        enabled INTEGER NOT NULL DEFAULT 0,
        workspace_id TEXT,
        workspace_name TEXT,
        machine_id TEXT,
        hostname TEXT,
        last_connected_at INTEGER,
        paused_reason TEXT,
        api_key_mirror BLOB
      ) STRICT`,
      syncState("cloud_sync_state", "cursor_seq INTEGER NOT NULL DEFAULT 0"),
      "INSERT INTO cloud_state (id) VALUES (1)",
      "INSERT INTO cloud_sync_state (id) VALUES (1)",
    ],
    expects: {
      columns: {
        cloud_state: ["enabled", "api_key_mirror"],
        cloud_sync_state: ["paused_reason", "cursor_seq"],
      },
    },
  },
  {
    to: 5,
    statements: [
      `CREATE TABLE request_bodies (
        body_id INTEGER PRIMARY KEY,
        request_id TEXT NOT NULL,
        direction TEXT NOT NULL CHECK (direction IN ('request', 'response')),
        captured_at INTEGER NOT NULL,
        content_type TEXT,
        size_bytes INTEGER NOT NULL,
        original_size_bytes INTEGER NOT NULL,
        truncated INTEGER NOT NULL,
        redaction_applied INTEGER NOT NULL,
        redaction_summary TEXT NOT NULL,
        UNIQUE (request_id, direction)
      ) STRICT`,
      // A separate table, so that setting `uploaded_at` does not rewrite half a megabyte. A blob, because text may contain
      // U+0000.
      `CREATE TABLE request_body_contents (
        body_id INTEGER PRIMARY KEY REFERENCES request_bodies ON DELETE CASCADE,
        content BLOB NOT NULL
      ) STRICT`,
      syncState(
        "cloud_body_sync_state",
        `cursor_body_id INTEGER NOT NULL DEFAULT 0,
        upload_from INTEGER,
        records_policy_rejected INTEGER NOT NULL DEFAULT 0`,
      ),
      "INSERT INTO cloud_body_sync_state (id) VALUES (1)",
    ],
    expects: {
      columns: {
        request_bodies: ["request_id", "direction", "captured_at"],
        request_body_contents: ["body_id", "content"],
        cloud_body_sync_state: ["paused_reason", "cursor_body_id"],
      },
    },
  },
  {
    to: 6,
    statements: ["ALTER TABLE request_bodies ADD COLUMN uploaded_at INTEGER"],
    expects: { columns: { request_bodies: ["uploaded_at"] } },
  },
  {
    to: 7,
    statements: [
      "ALTER TABLE cloud_sync_state ADD COLUMN last_error_at INTEGER",
      "ALTER TABLE cloud_body_sync_state ADD COLUMN last_error_at INTEGER",
    ],
    expects: { columns: { cloud_sync_state: ["last_error_at"], cloud_body_sync_state: ["last_error_at"] } },
  },
  {
    to: 8,
    statements: [
      `CREATE TABLE cloud_quarantine (
        kind TEXT NOT NULL CHECK (kind IN ('metadata', 'body')),
        request_id TEXT NOT NULL,
        direction TEXT NOT NULL DEFAULT '',
        reason TEXT NOT NULL,
        http_status INTEGER,
        quarantined_at INTEGER NOT NULL,
        PRIMARY KEY (kind, request_id, direction)
      ) STRICT, WITHOUT ROWID`,
    ],
    expects: { columns: { cloud_quarantine: ["kind", "request_id", "reason"] } },
  },
  {
    to: 9,
    statements: [
      "ALTER TABLE requests ADD COLUMN synced_at INTEGER",
      "ALTER TABLE requests ADD COLUMN sync_skipped_at INTEGER",
    ],
    expects: { columns: { requests: ["synced_at", "sync_skipped_at"] } },
  },
  {
    to: 10,
    statements: [
      `CREATE TABLE coverage (
        slot INTEGER NOT NULL,
        host TEXT NOT NULL,
        kind TEXT NOT NULL,
        count INTEGER NOT NULL,
        PRIMARY KEY (slot, host, kind)
      ) STRICT, WITHOUT ROWID`,
    ],
    expects: { columns: { coverage: ["slot", "host", "kind", "count"] } },
  },
  {
    to: 11,
    statements: ["ALTER TABLE cloud_sync_state ADD COLUMN last_tick_at INTEGER"],
    expects: { columns: { cloud_sync_state: ["last_tick_at"] } },
  },
  {
    to: 12,
    statements: ["ALTER TABLE cloud_body_sync_state ADD COLUMN last_body_tick_at INTEGER"],
    expects: { columns: { cloud_body_sync_state: ["last_body_tick_at"] } },
  },
  {
    to: 13,
    statements: [
      "ALTER TABLE requests ADD COLUMN recomputed_at INTEGER",
      "ALTER TABLE requests ADD COLUMN reassigned_at INTEGER",
      "ALTER TABLE requests ADD COLUMN reassigned_from TEXT",
    ],
    expects: { columns: { requests: ["recomputed_at", "reassigned_at", "reassigned_from"] } },
  },
  {
    to: 14,
    statements: [
      "CREATE INDEX request_bodies_captured_uploaded ON request_bodies (captured_at, uploaded_at)",
    ],
    expects: { indexes: ["request_bodies_captured_uploaded"] },
  },
  {
    to: 15,
    statements: [
      "ALTER TABLE requests ADD COLUMN response_kept INTEGER",
      "CREATE INDEX requests_kept_response ON requests (provider_response_id) WHERE response_kept = 1",
    ],
    expects: { columns: { requests: ["response_kept"] }, indexes: ["requests_kept_response"] },
  },
  {
    // When a request is sent even if the lookup of its caller has not finished: see `pendingProjects()`.
    to: 16,
    statements: ["ALTER TABLE requests ADD COLUMN attribution_due INTEGER"],
    expects: { columns: { requests: ["attribution_due"] } },
  },
  {
    // The fields of each request that were sent, which the upload policy determined at that time.
    to: 17,
    statements: [
      `CREATE TABLE sent_fields (
        sent_fields_id INTEGER PRIMARY KEY,
        fields TEXT NOT NULL UNIQUE
      ) STRICT`,
      "ALTER TABLE requests ADD COLUMN sent_fields_id INTEGER",
    ],
    expects: { columns: { requests: ["sent_fields_id"], sent_fields: ["fields"] } },
  },
  {
    to: 18,
    statements: ["ALTER TABLE requests ADD COLUMN billing_mode TEXT"],
    expects: { columns: { requests: ["billing_mode"] } },
  },
  {
    // What was not metered, by method and path template: see `addCoverageRows()`.
    to: 19,
    statements: [
      `CREATE TABLE coverage_calls (
        slot INTEGER NOT NULL,
        host TEXT NOT NULL,
        kind TEXT NOT NULL,
        method TEXT NOT NULL,
        path TEXT NOT NULL,
        count INTEGER NOT NULL,
        PRIMARY KEY (slot, host, kind, method, path)
      ) STRICT, WITHOUT ROWID`,
    ],
    expects: { columns: { coverage_calls: ["slot", "host", "kind", "method", "path", "count"] } },
  },
  {
    // Where projects that are named after a folder come from: see `decideAssignment()`.
    to: 20,
    statements: [
      `CREATE TABLE project_origins (
        seq INTEGER PRIMARY KEY,
        name TEXT NOT NULL,
        origin TEXT NOT NULL,
        folder TEXT NOT NULL,
        slug TEXT NOT NULL,
        UNIQUE (name, origin)
      ) STRICT`,
      `CREATE TABLE project_merges (
        project TEXT NOT NULL,
        merged_at INTEGER NOT NULL,
        merged_into TEXT NOT NULL,
        PRIMARY KEY (project, merged_at)
      ) STRICT, WITHOUT ROWID`,
    ],
    expects: {
      columns: {
        project_origins: ["seq", "name", "origin", "folder", "slug"],
        project_merges: ["project", "merged_at", "merged_into"],
      },
    },
  },
  {
    // Sums of requests: see `rollup-definition.ts`. The daemon fills them in the background.
    to: 21,
    statements: [
      `CREATE TABLE usage_state (
        definition TEXT PRIMARY KEY,
        through_seq INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID`,
      `CREATE TABLE usage_series (
        series_id INTEGER PRIMARY KEY,
        series_key TEXT NOT NULL UNIQUE,
        project TEXT NOT NULL,
        provider TEXT NOT NULL,
        model TEXT NOT NULL,
        client TEXT,
        billing_mode TEXT NOT NULL,
        error_class TEXT,
        cost_source TEXT NOT NULL,
        incomplete INTEGER NOT NULL,
        unpriced INTEGER NOT NULL,
        stream_without_usage INTEGER NOT NULL,
        stated INTEGER NOT NULL
      ) STRICT`,
      `CREATE TABLE usage_slots (
        slot INTEGER NOT NULL,
        series_id INTEGER NOT NULL,
        min_seq INTEGER NOT NULL,
        max_seq INTEGER NOT NULL,
        ${rollupSums},
        PRIMARY KEY (slot, series_id)
      ) STRICT, WITHOUT ROWID`,
      `CREATE TABLE usage_days (
        day_from INTEGER PRIMARY KEY,
        day_to INTEGER NOT NULL
      ) STRICT`,
      `CREATE TABLE usage_day_series (
        series_id INTEGER NOT NULL,
        day_from INTEGER NOT NULL,
        ${rollupSums},
        PRIMARY KEY (series_id, day_from)
      ) STRICT, WITHOUT ROWID`,
      `CREATE TABLE usage_day_totals (
        day_from INTEGER NOT NULL,
        billing_mode TEXT NOT NULL,
        cost_source TEXT NOT NULL,
        failed INTEGER NOT NULL,
        incomplete INTEGER NOT NULL,
        unpriced INTEGER NOT NULL,
        stated INTEGER NOT NULL,
        ${rollupSums},
        PRIMARY KEY (day_from, billing_mode, cost_source, failed, incomplete, unpriced, stated)
      ) STRICT, WITHOUT ROWID`,
    ],
    expects: {
      columns: {
        usage_state: ["definition", "through_seq"],
        usage_series: ["series_key", "project", "stated"],
        usage_slots: ["slot", "series_id", "min_seq", "max_seq", "requests", "cost_low"],
        usage_days: ["day_from", "day_to"],
        usage_day_series: ["series_id", "day_from", "requests", "cost_low"],
      },
    },
  },
  {
    // The coverage of the days in `usage_days`.
    to: 22,
    statements: [
      `CREATE TABLE coverage_days (
        day_from INTEGER NOT NULL,
        host TEXT NOT NULL,
        kind TEXT NOT NULL,
        count INTEGER NOT NULL,
        last_slot INTEGER NOT NULL,
        PRIMARY KEY (day_from, host, kind)
      ) STRICT, WITHOUT ROWID`,
    ],
    expects: { columns: { coverage_days: ["day_from", "host", "kind", "count", "last_slot"] } },
  },
  {
    to: 23,
    statements: ["ALTER TABLE usage_series ADD COLUMN http_status INTEGER"],
    expects: { columns: { usage_series: ["http_status"] } },
  },
  {
    // How many numbers after the cursor belong to no pending request, so that these need not be counted: see `pending.ts`.
    to: 24,
    statements: [
      "ALTER TABLE cloud_sync_state ADD COLUMN settled_after_cursor INTEGER NOT NULL DEFAULT 0",
      `UPDATE cloud_sync_state SET settled_after_cursor =
         max(0, coalesce((SELECT max(seq) FROM requests), 0) - cursor_seq - (
           SELECT count(*) FROM requests NOT INDEXED
           WHERE seq > cursor_seq AND synced_at IS NULL AND sync_skipped_at IS NULL
             AND NOT EXISTS (SELECT 1 FROM cloud_quarantine AS q
                             WHERE q.kind = 'metadata' AND q.request_id = requests.request_id)))`,
    ],
    expects: { columns: { cloud_sync_state: ["settled_after_cursor"] } },
  },
  {
    to: 25,
    statements: Object.entries(SESSION_COLUMNS).map(
      ([column, type]) => `ALTER TABLE requests ADD COLUMN ${column} ${type}`,
    ),
    expects: { columns: { requests: Object.keys(SESSION_COLUMNS) } },
  },
  {
    // The limits of accounts: see `LimitStore`.
    to: 26,
    statements: [
      `CREATE TABLE limit_windows (
        window_id INTEGER PRIMARY KEY,
        provider TEXT NOT NULL,
        account TEXT NOT NULL,
        window_name TEXT NOT NULL,
        scope TEXT NOT NULL,
        unit TEXT NOT NULL,
        window_ms INTEGER,
        used_ppm INTEGER,
        limit_amount REAL,
        remaining_amount REAL,
        reset_at INTEGER,
        status TEXT,
        seen_at INTEGER NOT NULL,
        UNIQUE (provider, account, window_name, scope, unit)
      ) STRICT`,
      `CREATE TABLE limit_points (
        window_id INTEGER NOT NULL,
        seen_at INTEGER NOT NULL,
        used_ppm INTEGER,
        reset_at INTEGER,
        PRIMARY KEY (window_id, seen_at)
      ) STRICT, WITHOUT ROWID`,
    ],
    expects: {
      columns: {
        limit_windows: [
          "window_id",
          "provider",
          "account",
          "window_name",
          "scope",
          "unit",
          "used_ppm",
          "seen_at",
        ],
        limit_points: ["window_id", "seen_at", "used_ppm", "reset_at"],
      },
    },
  },
  {
    to: 27,
    statements: [
      "ALTER TABLE usage_series ADD COLUMN git_remote TEXT",
      "ALTER TABLE usage_series ADD COLUMN git_branch TEXT",
      "ALTER TABLE usage_series ADD COLUMN pull_request TEXT",
      "CREATE INDEX requests_git_commit ON requests (git_commit) WHERE git_commit IS NOT NULL",
    ],
    expects: {
      columns: { usage_series: ["git_remote", "git_branch", "pull_request"] },
      indexes: ["requests_git_commit"],
    },
  },
  {
    // A session's requests are next to each other, so the index grows at a few places at a time.
    to: 28,
    statements: ["CREATE INDEX requests_session ON requests (session_id, requested_at)"],
    expects: { indexes: ["requests_session"] },
  },
  {
    // How far the logs of agents were read, and which of their calls passed through the proxy: see `logs.ts`.
    to: 29,
    statements: [
      `CREATE TABLE log_files (
        path TEXT PRIMARY KEY,
        agent TEXT NOT NULL,
        format TEXT NOT NULL,
        reader_version INTEGER NOT NULL,
        file_id TEXT,
        size INTEGER NOT NULL,
        modified_at INTEGER NOT NULL,
        read_bytes INTEGER NOT NULL,
        read_lines INTEGER NOT NULL,
        tail_hash TEXT NOT NULL,
        state TEXT NOT NULL
      ) STRICT, WITHOUT ROWID`,
      `CREATE TABLE log_matches (
        entry_id TEXT PRIMARY KEY,
        request_id TEXT NOT NULL,
        agent TEXT NOT NULL
      ) STRICT, WITHOUT ROWID`,
      "CREATE INDEX log_matches_request_id ON log_matches (request_id)",
      "CREATE INDEX requests_from_logs ON requests (requested_at, seq) WHERE record_source = 'logs'",
      "ALTER TABLE usage_series ADD COLUMN record_source TEXT",
    ],
    expects: {
      columns: {
        log_files: ["path", "agent", "read_bytes", "tail_hash", "state"],
        log_matches: ["entry_id", "request_id", "agent"],
        usage_series: ["record_source"],
      },
      indexes: ["log_matches_request_id", "requests_from_logs"],
    },
  },
  {
    // What clients state by OpenTelemetry: see `client-reports.ts`.
    to: 30,
    statements: [
      `CREATE TABLE client_reports (
        seq INTEGER PRIMARY KEY,
        report_key TEXT NOT NULL UNIQUE,
        client TEXT NOT NULL,
        scope TEXT NOT NULL,
        event TEXT NOT NULL,
        session_id TEXT,
        reported_at INTEGER NOT NULL,
        started_at INTEGER,
        model TEXT NOT NULL,
        prompt_tokens INTEGER,
        cache_read_tokens INTEGER,
        cache_write_tokens INTEGER,
        completion_tokens INTEGER,
        thinking_tokens INTEGER,
        stated_cost_pico_usd INTEGER,
        provider_request_id TEXT,
        provider_response_id TEXT,
        query_source TEXT
      ) STRICT`,
      "CREATE INDEX client_reports_reported_at ON client_reports (reported_at)",
    ],
    expects: {
      columns: {
        client_reports: ["report_key", "client", "scope", "session_id", "reported_at", "query_source"],
      },
      indexes: ["client_reports_reported_at"],
    },
  },
  {
    to: 31,
    statements: ["ALTER TABLE requests ADD COLUMN blocked_by TEXT"],
    expects: { columns: { requests: ["blocked_by"] } },
  },
  {
    // Budgets set on the command line, what was done to budgets, and the warnings that were given: see `budgets.ts`.
    to: 32,
    statements: [
      "CREATE TABLE budgets (name TEXT PRIMARY KEY, input TEXT NOT NULL) STRICT, WITHOUT ROWID",
      `CREATE TABLE budget_marks (
        name TEXT PRIMARY KEY,
        paused INTEGER NOT NULL,
        lifted_until INTEGER
      ) STRICT, WITHOUT ROWID`,
      `CREATE TABLE budget_actions (
        action_id INTEGER PRIMARY KEY,
        name TEXT NOT NULL,
        at INTEGER NOT NULL,
        action TEXT NOT NULL,
        actor TEXT NOT NULL,
        reason TEXT,
        until INTEGER
      ) STRICT`,
      `CREATE TABLE budget_warnings (
        name TEXT NOT NULL,
        sum_key TEXT NOT NULL,
        threshold INTEGER NOT NULL,
        limit_amount TEXT NOT NULL,
        fired_at INTEGER NOT NULL,
        PRIMARY KEY (name, sum_key, threshold, limit_amount)
      ) STRICT, WITHOUT ROWID`,
    ],
    expects: {
      columns: {
        budgets: ["name", "input"],
        budget_marks: ["name", "paused", "lifted_until"],
        budget_actions: ["name", "at", "action", "actor", "reason", "until"],
        budget_warnings: ["name", "sum_key", "threshold", "limit_amount", "fired_at"],
      },
    },
  },
  {
    // The sums of a day are found by the day, and read from this index alone.
    to: 33,
    statements: [
      `CREATE INDEX usage_day_series_day ON usage_day_series (day_from, series_id, ${rollupSums.replaceAll(" INTEGER NOT NULL", "")})`,
    ],
    expects: { indexes: ["usage_day_series_day"] },
  },
  {
    // The pull requests that agents' logs name: see `logs.ts`.
    to: 34,
    statements: [
      `CREATE TABLE log_pull_requests (
        session_id TEXT NOT NULL,
        linked_at INTEGER NOT NULL,
        pull_request INTEGER NOT NULL,
        agent TEXT NOT NULL,
        PRIMARY KEY (session_id, linked_at)
      ) STRICT, WITHOUT ROWID`,
    ],
    expects: { columns: { log_pull_requests: ["session_id", "linked_at", "pull_request", "agent"] } },
  },
  {
    // Sums by value: see `VALUE_COLUMNS`. They replace `usage_day_totals`, which stays empty.
    to: 35,
    statements: [
      `CREATE TABLE usage_hours (
        hour_from INTEGER PRIMARY KEY,
        hour_to INTEGER NOT NULL
      ) STRICT`,
      ...["usage_hour_values", "usage_day_values"].map(
        (table) => `CREATE TABLE ${table} (
        column_name TEXT NOT NULL,
        span_from INTEGER NOT NULL,
        row_number INTEGER NOT NULL,
        value TEXT,
        cost_source TEXT NOT NULL,
        billing_mode TEXT NOT NULL,
        ${valueSums},
        PRIMARY KEY (column_name, span_from, row_number)
      ) STRICT, WITHOUT ROWID`,
      ),
    ],
    expects: {
      columns: {
        usage_hours: ["hour_from", "hour_to"],
        usage_hour_values: ["column_name", "span_from", "value", "requests", "cost_low"],
        usage_day_values: ["column_name", "span_from", "value", "requests", "cost_low"],
      },
    },
  },
  {
    // Counts the changes of the sums of whole hours and days, which pages remember: see `summed-rows.ts`.
    to: 36,
    statements: [
      "CREATE TABLE usage_sums_version (version INTEGER NOT NULL) STRICT",
      "INSERT INTO usage_sums_version (version) VALUES (0)",
    ],
    expects: { columns: { usage_sums_version: ["version"] } },
  },
  {
    // When the daemon ran, so that times without metering are known: see `coverage.ts`.
    to: 37,
    statements: ["CREATE TABLE daemon_runs (run_from INTEGER PRIMARY KEY, run_to INTEGER NOT NULL) STRICT"],
    expects: { columns: { daemon_runs: ["run_from", "run_to"] } },
  },
  {
    // Budgets sum the rollups, but not refused calls.
    to: 38,
    statements: ["ALTER TABLE usage_series ADD COLUMN blocked INTEGER"],
    expects: { columns: { usage_series: ["blocked"] } },
  },
  {
    // The most of what requests are sorted by: see `request-peaks.ts`.
    to: 39,
    statements: [
      `CREATE TABLE request_peaks (
        block INTEGER PRIMARY KEY,
        first_at INTEGER NOT NULL,
        last_at INTEGER NOT NULL,
        cost INTEGER NOT NULL,
        tokens INTEGER NOT NULL,
        ms INTEGER NOT NULL
      ) STRICT`,
    ],
    expects: { columns: { request_peaks: ["block", "first_at", "last_at", "cost", "tokens", "ms"] } },
  },
  {
    // How many calls budgets refused. The sums by value are built again, since they are of another definition.
    to: 40,
    statements: ["usage_hour_values", "usage_day_values"].map(
      (table) => `ALTER TABLE ${table} ADD COLUMN blocked_requests INTEGER`,
    ),
    expects: {
      columns: { usage_hour_values: ["blocked_requests"], usage_day_values: ["blocked_requests"] },
    },
  },
];

/** The latest schema version. */
export const latestSchemaVersion = migrations.reduce((latest, { to }) => Math.max(latest, to), 0);
