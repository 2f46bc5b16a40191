import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { describeExport } from "../../daemon/read-status.ts";

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
