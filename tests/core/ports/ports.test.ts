import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CertificateStoreError } from "../../../core/ports/certificates.ts";
import { CLOUD_LOG_LEVELS } from "../../../core/ports/cloud-log.ts";
import { LOG_EVENTS } from "../../../core/ports/log.ts";
import { MailError } from "../../../core/ports/mail.ts";
import { DatabaseError } from "../../../core/ports/postgres.ts";
import { StoreError } from "../../../core/ports/sqlite.ts";

describe("the errors of the ports", () => {
  const cause = new Error("the vendor's");

  it("state what failed and keep the vendor's error as their cause", () => {
    const error = new StoreError("busy", "the store is full", { cause });
    assert.deepEqual([error.name, error.reason, error.cause], ["StoreError", "busy", cause]);
    assert.equal(new CertificateStoreError("no certificate", { cause }).name, "CertificateStoreError");
    assert.equal(new MailError("not sent", { cause }).name, "MailError");
  });

  it("contain the database's code if there is one, and have a default message", () => {
    const bare = new DatabaseError("unavailable");
    assert.equal(bare.message, "the database failed: unavailable");
    assert.deepEqual([bare.code, bare.constraint, bare.cause], [null, null, undefined]);
    const told = new DatabaseError("unavailable", { code: "57P01", constraint: "c", cause });
    assert.equal(told.message, "the database failed: unavailable (57P01)");
    assert.deepEqual([told.code, told.constraint, told.cause], ["57P01", "c", cause]);
    assert.equal(new DatabaseError("unavailable", { message: "gone" }).message, "gone");
  });
});

describe("the names of log events", () => {
  /** Source: docs/specification.md#log-events, 4. */
  const names = [
    ...["cloud.supervisor.spawned", "cloud.supervisor.skip", "cloud.supervisor.worker_exited"],
    ...["cloud.worker.sync_paused", "sync.paused", "cloud.body_uploader.policy_rejected_tick"],
    ...["cloud.transport_error", "pricing.pull_failed", "pricing.pull_invalid", "bodies.retention_sweep"],
    ...["addon.body_capture.skip", "daemon.heartbeat", "daemon.task_crashed", "watchdog.mitm_unhealthy"],
    "attribution.tier_hit",
  ];
  for (const name of names) {
    it(`include the specification's ${name}`, () => assert.ok(Object.hasOwn(LOG_EVENTS, name)));
  }

  it("have the fields that the specification states", () => {
    const fields = (name: keyof typeof LOG_EVENTS) => Object.keys(LOG_EVENTS[name]).sort();
    assert.deepEqual(fields("bodies.retention_sweep"), ["deleted", "elapsed_ms", "retention_days"]);
    assert.deepEqual(fields("addon.body_capture.skip"), ["gate_bytes", "reason", "size_bytes"]);
    assert.deepEqual(fields("sync.paused"), ["http_status", "last_request_id", "reason"]);
    assert.deepEqual(fields("cloud.body_uploader.policy_rejected_tick"), ["count", "hint"]);
  });

  it("of the cloud are errors if a request, an email or the purge failed, and debug for an answered request", () => {
    assert.deepEqual(CLOUD_LOG_LEVELS, {
      "cloud.request_failed": "error",
      "cloud.mail_failed": "error",
      "cloud.purge_failed": "error",
      "cloud.body_key_unavailable": "error",
      "cloud.budget_check_failed": "error",
      "cloud.summaries_failed": "error",
      "cloud.request_answered": "debug",
    });
  });
});
