import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { describeExport, describeFailure } from "../../daemon/read-status.ts";

const works = {
  ...{ host: "otel.test", consecutiveFailures: 0, lastError: null },
  ...{ refused: { traces: 0, logs: 0, metrics: 0 }, lastRefusal: null },
};

describe("describeExport()", () => {
  it("says nothing of an export that works, or of none", () => {
    assert.deepEqual(describeExport(works), []);
    assert.deepEqual(describeExport(undefined), []);
  });

  it("says that attempts failed, and what the collector refused", () => {
    const status = {
      ...{ ...works, consecutiveFailures: 2, lastError: "HTTP 503" },
      ...{ refused: { traces: 1, logs: 2, metrics: 0 }, lastRefusal: "HTTP 413" },
    };
    assert.deepEqual(describeExport(status), [
      "The export of telemetry to otel.test failed (2 attempts, last: HTTP 503). What it missed is sent once it works.",
      "The collector at otel.test refused 1 span, 2 log records since the daemon started (last: HTTP 413). They are not sent again.",
    ]);
    assert.match(
      describeExport({ ...works, refused: { ...works.refused, metrics: 3 }, lastRefusal: "HTTP 400" })[0]!,
      /refused 3 data points since/,
    );
  });
});

describe("describeFailure()", () => {
  const failed = { host: "hooks.test", consecutiveFailures: 3, lastError: "HTTP 500", lastDeliveredAt: null };

  it("says how often a webhook failed, and how to try it", () => {
    assert.equal(
      describeFailure({ ...failed, isGone: false }),
      "The webhook at hooks.test failed (3 attempts, last: HTTP 500). What it missed is sent once it answers. Try it: meter webhook test",
    );
  });

  it("says that a webhook wants no more messages, and what to do", () => {
    assert.match(
      describeFailure({ ...failed, isGone: true }),
      /^The webhook at hooks\.test answered 410 \(Gone\), so nothing more is sent to it\. .*: meter stop && meter start$/,
    );
  });
});
