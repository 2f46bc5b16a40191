import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as v from "valibot";
import { settingsSchema } from "../../cli/meter-cloud/settings.ts";
import { CLOUD_CONFIG_DEFAULTS } from "../../cloud/config.ts";
import { MAX_WRONG_CODES, WRONG_CODES_LOCK_MS } from "../../cloud/limits/wrong-code-lock.ts";
import { CODE_CHARACTERS, POLL_INTERVAL_SECONDS, POLL_WAIT_MS } from "../../cloud/routes/daemon/pairing.ts";
import { ORPHAN_AFTER_MS, SIGHTING_TTL_MS } from "../../cloud/store/bodies.ts";
import { PAIRING_TTL_MS } from "../../cloud/store/pairing.ts";
import { VIEW_TICKET_TTL_MS } from "../../cloud/store/trace-bodies.ts";
import {
  BANNER_FAILURES,
  BANNER_STALE_INTERVALS,
  BODY_STALE_MS,
} from "../../core/delivery/banner/status-banner.ts";
import { BACKOFF_CAP_MS, TIMER_CAP_MS } from "../../core/delivery/retry/backoff-delay.ts";
import { RETRY_AFTER_CAP_MS } from "../../core/delivery/retry/retry-after.ts";
import { UPLOAD_CAP_MAX_BYTES } from "../../core/delivery/uploader/upload-cap.ts";
import {
  DEFAULT_API_PORT,
  DEFAULT_PROXY_PORT,
  DEFAULT_STORE_CAP_BYTES,
  MAX_STORE_CAP_BYTES,
} from "../../core/operations/config/numbers.ts";
import {
  DEGRADED_RETRY_MS,
  FAST_RUN_MS,
  HEALTHY_RUN_MS,
} from "../../core/operations/supervisor/supervisor-machine.ts";
import { PICO_USD_PER_USD } from "../../core/pricing/decimal.ts";
import { MAX_RATE_MOVE } from "../../core/pricing/guard.ts";
import { PICO_USD_PER_MINOR_UNIT } from "../../core/pricing/money.ts";
import { VARIANCE_TOLERANCE_PER_MILLE } from "../../core/pricing/reconcile/variance.ts";
import { PLAN_TABLE } from "../../core/privacy/plans/plan-table.ts";
import { CLOCK_SKEW_MAX_MS } from "../../core/privacy/policy/received-record.ts";
import { WINDOW_TABLE } from "../../core/privacy/retention/windows.ts";
import { MAX_SLUG_LENGTH } from "../../core/values/slug/normalise-slug.ts";
import { PROMPT_VIEW_REASON_MAX } from "../../core/wire/audit.ts";
import { BODY_REQUEST_MAX_BYTES } from "../../core/wire/body-envelope.ts";
import { BATCH_MAX_BYTES, BATCH_MAX_RECORDS } from "../../core/wire/metadata-batch.ts";
import { RETENTION_DAYS_MAX } from "../../core/wire/settings.ts";

const MIB = 1024 * 1024;
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** The defaults of the program that serves the cloud, where they differ from the library's. */
const { limits } = v.parse(settingsSchema, {});
const { rateLimits } = CLOUD_CONFIG_DEFAULTS;

/** Every number of the specification's own decisions that is a constant, in their words and order. */
const numbers: readonly [
  heading: string,
  what: string,
  constant: number | bigint | null,
  value: number | bigint,
][] = [
  ["Tokens and money", "1 USD is 10^12 pico-USD", PICO_USD_PER_USD, 10n ** 12n],
  ["Tokens and money", "a minor unit is 10^7 pico-USD", PICO_USD_PER_MINOR_UNIT, 10n ** 7n],
  ["Tokens and money", "more than 10x either way", MAX_RATE_MOVE, 10],
  ["Metadata batch", "records 1..500", BATCH_MAX_RECORDS, 500],
  ["Metadata batch", "at most 4 MiB", BATCH_MAX_BYTES, 4 * MIB],
  ["Metadata batch", "a clock off by more than 23 hours", CLOCK_SKEW_MAX_MS, 23 * HOUR],
  ["Bodies", "after 24 hours of 425 an orphan", ORPHAN_AFTER_MS, 24 * HOUR],
  ["Bodies", "first sightings dropped after 48 hours", SIGHTING_TTL_MS, 48 * HOUR],
  ["Bodies", "the route's limit of 2 MiB", BODY_REQUEST_MAX_BYTES, 2 * MIB],
  ["Bodies", "upload cap clamped to 1.4 MiB", UPLOAD_CAP_MAX_BYTES, Math.floor(1.4 * MIB)],
  ["Bodies", "max_body_bytes defaults to 512 KiB", DEFAULT_STORE_CAP_BYTES, MIB / 2],
  ["Bodies", "and may be raised to 1 MiB", MAX_STORE_CAP_BYTES, MIB],
  ["Bodies", "reason 1..2000", PROMPT_VIEW_REASON_MAX, 2000],
  ["Bodies", "a view is valid for five minutes", VIEW_TICKET_TTL_MS, 5 * MINUTE],
  ["Cloud: people, keys, plans", "key 600/min", rateLimits.perKey, 600],
  ["Cloud: people, keys, plans", "user 120/min", rateLimits.perUser, 120],
  ["Cloud: people, keys, plans", "pairing start 10/min", rateLimits.pairingPerAddress, 10],
  ["Cloud: people, keys, plans", "sign-in 10/min", rateLimits.signInPerAddress, 10],
  ["Cloud: people, keys, plans", "key 600/min, as served", limits.key_per_minute, 600],
  ["Cloud: people, keys, plans", "user 120/min, as served", limits.user_per_minute, 120],
  ["Cloud: people, keys, plans", "pairing start 10/min, as served", limits.pairing_per_minute, 10],
  ["Cloud: people, keys, plans", "sign-in 10/min, as served", limits.sign_in_per_minute, 10],
  ["Pairing", "expires_in 600", PAIRING_TTL_MS, 600 * SECOND],
  ["Pairing", "interval 2", POLL_INTERVAL_SECONDS, 2],
  ["Pairing", "8 characters", CODE_CHARACTERS, 8],
  ["Pairing", "a poll waits up to 25 s", POLL_WAIT_MS, 25 * SECOND],
  ["Pairing", "five wrong codes", MAX_WRONG_CODES, 5],
  ["Pairing", "for ten minutes", WRONG_CODES_LOCK_MS, 10 * MINUTE],
  ["Reading", "the 0.5% verdict", VARIANCE_TOLERANCE_PER_MILLE, 5n],
  ["Reading", "optimisation: default 90 days", WINDOW_TABLE.optimisation.defaultDays, 90],
  ["Reading", "optimisation on Solo: also the most", PLAN_TABLE.solo.optimisationMaxDays, 90],
  ["Reading", "retention 1..3650 days", RETENTION_DAYS_MAX, 3650],
  ["Daemon", "proxy and gateway on 8081", DEFAULT_PROXY_PORT, 8081],
  ["Daemon", "loopback API on 8765", DEFAULT_API_PORT, 8765],
  ["Daemon", "banner: 3 consecutive failures", BANNER_FAILURES, 3],
  ["Daemon", "banner: last tick older than 3 intervals", BANNER_STALE_INTERVALS, 3],
  ["Daemon", "banner: body uploader stale beyond 300 s", BODY_STALE_MS, 300 * SECOND],
  ["Daemon", "ends within 10 s: a fast restart", FAST_RUN_MS, 10 * SECOND],
  ["Daemon", "60 s is a healthy run", HEALTHY_RUN_MS, 60 * SECOND],
  ["Daemon", "a degraded worker is tried every 300 s", DEGRADED_RETRY_MS, 300 * SECOND],
  ["Daemon", "own backoff capped at 300 s", BACKOFF_CAP_MS, 300 * SECOND],
  ["Daemon", "Retry-After honoured up to 3,600 s", RETRY_AFTER_CAP_MS, 3600 * SECOND],
  ["Daemon", "timers below 2^31 ms", TIMER_CAP_MS, 2 ** 31 - 1],
  ["Daemon", "slug: truncation to 64", MAX_SLUG_LENGTH, 64],
];

describe("the specification's numbers", () => {
  for (const [heading, what, constant, value] of numbers) {
    it(`${heading}: ${what}`, () => assert.equal(constant, value));
  }
});
