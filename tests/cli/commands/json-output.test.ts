import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { forPrograms } from "../../../cli/render/for-programs.ts";
import { noon, sampleRecord } from "../../daemon/store/sample-records.rig.ts";
import { createSampleHome, runWords } from "../run-command.rig.ts";

/** Returns the names of all nested objects. */
function namesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(namesIn);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [name, ...namesIn(inner)]);
}

const commands = [
  "report --json",
  "coverage --json",
  "requests --json",
  "explain last --json",
  "project list --json",
  "bodies show last --json",
  "bodies stats --json",
  "pricing list --json --provider anthropic",
  "pricing status --json",
  "recompute-costs --dry-run --json",
  "status --json",
  "cloud status --json",
  "cloud sync --json",
  "cloud bodies status --json",
  "cloud quarantine list --json",
  "cloud privacy show --json",
  "cloud privacy audit --json",
];

describe("--json", () => {
  it("writes every name in snake case, in every command", async () => {
    const record = sampleRecord({ requestedAt: noon });
    const { requestId } = record;
    const sample = await createSampleHome((store) => {
      const body = { requestId, direction: "request" as const, capturedAt: noon, contentType: "text/plain" };
      const content = new TextEncoder().encode("hello");
      const size = { originalSizeBytes: 5, truncated: false, redactionApplied: false, redactionSummary: [] };
      store.insertBatch({
        records: [record],
        bodies: [{ ...body, ...size, content }],
        coverage: [{ kind: "metered", host: "api.anthropic.com", at: noon, count: 1 }],
      });
      store.delivery.settle({
        ...{ synced: [], skipped: [], at: noon },
        quarantined: [
          {
            kind: "metadata",
            requestId,
            direction: null,
            reason: "odd",
            httpStatus: 422,
            quarantinedAt: noon,
          },
        ],
      });
    });
    for (const command of commands) {
      const { stdout, stderr } = await runWords(sample.home, command.split(" "));
      const names = namesIn(JSON.parse(stdout));
      const odd = names.filter((name) => !/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(name));
      assert.deepEqual([command, odd, stderr], [command, [], ""]);
      assert.ok(names.length > 0, command);
    }
    sample.remove();
  });
});

describe("forPrograms()", () => {
  it("writes names in snake case and times as ISO 8601, and changes nothing else", () => {
    assert.deepEqual(
      forPrograms({
        lastTickAt: 0,
        uploadFrom: 1,
        from: "cloud",
        cacheWrite1hTokens: 1n,
        neverAt: null,
        at: 5,
        list: [{ atAll: [1, "aB"] }],
      }),
      {
        last_tick_at: "1970-01-01T00:00:00.000Z",
        upload_from: "1970-01-01T00:00:00.001Z",
        from: "cloud",
        cache_write_1h_tokens: 1n,
        never_at: null,
        at: 5,
        list: [{ at_all: [1, "aB"] }],
      },
    );
  });
});
