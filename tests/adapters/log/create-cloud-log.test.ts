import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createCloudLog } from "../../../adapters/log/create-cloud-log.ts";
import type { LogLevel } from "../../../core/ports/log.ts";

function logTo(level: LogLevel) {
  const lines: string[] = [];
  const log = createCloudLog({ write: (line) => lines.push(line) }, level, () => 0);
  return { log, lines };
}

const failed = {
  event: "cloud.request_failed",
  request_id: "01994b8e-7c00-7000-8000-000000000000",
  method: "POST",
  route: "/v1/requests/:id/body",
  reason: "unavailable",
  code: "57P01",
} as const;

describe("createCloudLog()", () => {
  it("writes one JSON object per line, with its time and level", () => {
    const { log, lines } = logTo("info");
    log(failed);
    assert.deepEqual(
      lines.map((line) => JSON.parse(line)),
      [{ time: "1970-01-01T00:00:00.000Z", level: "error", ...failed }],
    );
    assert.ok(lines[0]?.endsWith("}\n"));
  });

  it("omits events below the level", () => {
    const { log, lines } = logTo("info");
    const answered = { request_id: "a", method: "GET", route: "/", status: 200, duration_ms: 1 };
    log({ event: "cloud.request_answered", ...answered });
    log({ event: "cloud.draining", signal: "SIGTERM" });
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).event),
      ["cloud.draining"],
    );
  });

  it("rejects line breaks, sentences and secrets", () => {
    const { log, lines } = logTo("info");
    for (const reason of [
      'x\n{"event":"forged"}',
      "a prompt of somebody's",
      "sk-ant-api03-".padEnd(60, "a1B2"),
      "x".repeat(500),
    ]) {
      log({ ...failed, reason });
    }
    assert.equal(lines.length, 4);
    const reasons = lines.map((line) => JSON.parse(line).reason);
    assert.deepEqual([reasons[0], reasons[1], reasons[3]], ["?", "?", "?"]);
    assert.ok(!reasons[2].includes("a1B2a1B2"));
  });
});
