import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LOG_BACKUPS, MAX_LOG_FILE_MIB } from "../../adapters/log/rotating-log-file.ts";
import { BODY_STALE_MS } from "../../core/delivery/banner/status-banner.ts";
import { FINGERPRINT_LENGTH } from "../../core/delivery/fingerprint/derive-fingerprint.ts";
import { BACKOFF_CAP_MS } from "../../core/delivery/retry/backoff-delay.ts";
import { SYNC_INTERVAL_MS } from "../../core/delivery/sync/sync-steps.ts";
import { UPLOAD_CAP_DEFAULT_BYTES } from "../../core/delivery/uploader/upload-cap.ts";
import {
  DEFAULT_BODIES_STATUS_DAYS,
  DEFAULT_BODY_RETENTION_DAYS,
  DEFAULT_BODY_SYNC_INTERVAL_SECONDS,
  DEFAULT_STORE_CAP_BYTES,
  HEARTBEAT_INTERVAL_MS,
  MAX_STORE_CAP_BYTES,
} from "../../core/operations/config/numbers.ts";
import {
  FAST_RESTARTS_MAX,
  RESTART_DELAY_MAX_MS,
  RESTART_DELAY_MIN_MS,
} from "../../core/operations/supervisor/supervisor-machine.ts";
import {
  PROBE_FAILURES_TO_LOG,
  PROBE_FAILURES_TO_RESTART,
  PROBE_INTERVAL_MS,
  PROXY_RESTARTS_PER_HOUR,
} from "../../core/operations/watchdog/watchdog-machine.ts";
import {
  DEFAULT_PULL_INTERVAL_MS,
  MAX_RATE_MOVE,
  MIN_PULL_INTERVAL_MS,
  RATE_CEILING_MICRO_USD,
} from "../../core/pricing/guard.ts";
import { VARIANCE_TOLERANCE_PER_MILLE } from "../../core/pricing/reconcile/variance.ts";
import { USER_AGENT_MAX_CHARACTERS } from "../../core/privacy/consent/checkout-consent.ts";
import { PURGE_DELAY_MS } from "../../core/privacy/deletion/soft-deletion.ts";
import { PLAN_TABLE } from "../../core/privacy/plans/plan-table.ts";
import { ERROR_CLASSES } from "../../core/values/record-fields.ts";
import { MAX_SLUG_LENGTH } from "../../core/values/slug/normalise-slug.ts";
import { PROMPT_VIEW_REASON_MAX } from "../../core/wire/audit.ts";
import { AUDIT_LOG_RETENTION_DAYS_DEFAULT, DATA_RETENTION_DAYS_DEFAULT } from "../../core/wire/settings.ts";
import { MAX_CAPTURED_BYTES } from "../../daemon/capture/body-buffer.ts";

const KIB = 1024;
const MIB = 1024 * KIB;
const SECOND = 1000;
const HOUR = 3600 * SECOND;
const DAY = 24 * HOUR;

/** Every number of the specification that is a constant, in the specification's words and order. */
const numbers: readonly [heading: string, what: string, constant: number | bigint, value: number | bigint][] =
  [
    ["Metadata request record", "error_class: seven words", ERROR_CLASSES.length, 7],
    ["Workspace", "data_retention_days 365", DATA_RETENTION_DAYS_DEFAULT, 365],
    ["Workspace", "audit_log_retention_days 365", AUDIT_LOG_RETENTION_DAYS_DEFAULT, 365],
    ["Checkout consent record", "user_agent 512 characters", USER_AGENT_MAX_CHARACTERS, 512],
    ["Prompt-view ledger row", "reason 1 to 2000 characters", PROMPT_VIEW_REASON_MAX, 2000],
    ["Local daemon configuration keys", "sync_interval_seconds 60", DEFAULT_BODY_SYNC_INTERVAL_SECONDS, 60],
    [
      "Local daemon configuration keys",
      "max_body_bytes_per_upload 1048576",
      UPLOAD_CAP_DEFAULT_BYTES,
      1_048_576,
    ],
    ["Local daemon configuration keys", "max_body_bytes 512 KiB", DEFAULT_STORE_CAP_BYTES, 512 * KIB],
    ["Local daemon configuration keys", "retention_days 90", DEFAULT_BODY_RETENTION_DAYS, 90],
    ["Local daemon configuration keys", "pull_interval 6h", DEFAULT_PULL_INTERVAL_MS, 6 * HOUR],
    ["Local daemon configuration keys", "pull_interval, floor 1h", MIN_PULL_INTERVAL_MS, HOUR],
    ["Local daemon configuration keys", "slug truncated to 64 characters", MAX_SLUG_LENGTH, 64],
    ["Local daemon state records", "request_bodies up to 1 MiB per body", MAX_STORE_CAP_BYTES, MIB],
    ["Local daemon state records", "fingerprint 32-character hex", FINGERPRINT_LENGTH, 32],
    ["Daemon metadata sync", "supervisor's backoff from 1 s", RESTART_DELAY_MIN_MS, SECOND],
    ["Daemon metadata sync", "supervisor's backoff to 60 s", RESTART_DELAY_MAX_MS, 60 * SECOND],
    ["Daemon metadata sync", "8 consecutive fast restarts", FAST_RESTARTS_MAX, 8],
    ["Workspace or account deletion", "a purge about 30 days later", PURGE_DELAY_MS, 30 * DAY],
    ["Command-line", "bodies status: default 30 days", DEFAULT_BODIES_STATUS_DAYS, 30],
    ["Command-line", "reconcile: under 0.5% tolerance", VARIANCE_TOLERANCE_PER_MILLE, 5n],
    ["Events", "daemon.heartbeat every 30 s", HEARTBEAT_INTERVAL_MS, 30 * SECOND],
    ["Errors", "backoff capped at 300 s", BACKOFF_CAP_MS, 300 * SECOND],
    ["Limits", "store cap 512 KiB", DEFAULT_STORE_CAP_BYTES, 512 * KIB],
    ["Limits", "capture skip threshold 4 MiB", MAX_CAPTURED_BYTES, 4 * MIB],
    ["Limits", "per-upload cap 1 MiB", UPLOAD_CAP_DEFAULT_BYTES, MIB],
    ["Limits", "body sync interval 60 s", DEFAULT_BODY_SYNC_INTERVAL_SECONDS, 60],
    ["Limits", "metadata sync interval 30 s", SYNC_INTERVAL_MS, 30 * SECOND],
    ["Limits", "body uploader staleness 300 s", BODY_STALE_MS, 300 * SECOND],
    ["Limits", "data_retention_days 365", DATA_RETENTION_DAYS_DEFAULT, 365],
    ["Limits", "audit_log_retention_days 365", AUDIT_LOG_RETENTION_DAYS_DEFAULT, 365],
    ["Limits", "Traces window, Solo 7 days", PLAN_TABLE.solo.tracesWindowDays, 7],
    ["Limits", "Traces window, Team 30 days", PLAN_TABLE.team.tracesWindowDays, 30],
    ["Limits", "Traces window, Business+ 30 days", PLAN_TABLE.business.tracesWindowDays, 30],
    ["Limits", "Traces window, Enterprise 30 days", PLAN_TABLE.enterprise.tracesWindowDays, 30],
    ["Limits", "optimisation, Solo 90 days", PLAN_TABLE.solo.optimisationMaxDays ?? 0, 90],
    ["Limits", "soft-delete purge 30 days", PURGE_DELAY_MS, 30 * DAY],
    ["Limits", "local body retention sweep 90 days", DEFAULT_BODY_RETENTION_DAYS, 90],
    ["Limits", "user_agent 512 characters", USER_AGENT_MAX_CHARACTERS, 512],
    ["Limits", "prompt-view reason 2000 characters", PROMPT_VIEW_REASON_MAX, 2000],
    ["Limits", "project slug 64 characters", MAX_SLUG_LENGTH, 64],
    ["Limits", "fingerprint 32 hex characters", FINGERPRINT_LENGTH, 32],
    ["Limits", "pricing pull interval 6 h", DEFAULT_PULL_INTERVAL_MS, 6 * HOUR],
    ["Limits", "pricing pull interval, floor 1 h", MIN_PULL_INTERVAL_MS, HOUR],
    [
      "Limits",
      "pricing ceiling 1000 (USD per million, in micro-USD)",
      RATE_CEILING_MICRO_USD,
      1000 * 1_000_000,
    ],
    ["Limits", "pricing relative guard 10x", MAX_RATE_MOVE, 10],
    ["Limits", "worker backoff from 1 s", RESTART_DELAY_MIN_MS, SECOND],
    ["Limits", "worker backoff to 60 s", RESTART_DELAY_MAX_MS, 60 * SECOND],
    ["Limits", "worker: 8 fast restarts", FAST_RESTARTS_MAX, 8],
    ["Limits", "sync retry backoff cap 300 s", BACKOFF_CAP_MS, 300 * SECOND],
    ["Limits", "log rotation 100 MiB per file", MAX_LOG_FILE_MIB, 100],
    ["Limits", "log rotation, 5 backups", LOG_BACKUPS, 5],
    ["Limits", "watchdog probes every 1.5 s", PROBE_INTERVAL_MS, 1500],
    ["Limits", "watchdog: 3 failures log an error", PROBE_FAILURES_TO_LOG, 3],
    ["Limits", "watchdog: 5 trigger a restart", PROBE_FAILURES_TO_RESTART, 5],
    ["Limits", "watchdog: 3 restarts per hour", PROXY_RESTARTS_PER_HOUR, 3],
  ];

describe("the specification's numbers", () => {
  for (const [heading, what, constant, value] of numbers) {
    it(`${heading}: ${what}`, () => assert.equal(constant, value));
  }
});
