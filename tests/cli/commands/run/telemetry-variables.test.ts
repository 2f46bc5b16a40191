import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { telemetrySettings } from "../../../../cli/commands/run/telemetry-variables.ts";

const ADDRESS = "http://127.0.0.1:8765";

describe("telemetrySettings()", () => {
  it("points agents at the daemon by variables, and Codex by an argument", () => {
    const claude = telemetrySettings({}, "/usr/bin/claude", ADDRESS);
    assert.ok(typeof claude !== "string");
    assert.equal(claude.variables.OTEL_EXPORTER_OTLP_ENDPOINT, "http://127.0.0.1:8765/otlp");
    assert.deepEqual(claude.words, []);
    const codex = telemetrySettings({}, "codex", ADDRESS);
    assert.ok(typeof codex !== "string");
    assert.deepEqual(codex.words, [
      "-c",
      'otel.exporter={ otlp-http = { endpoint = "http://127.0.0.1:8765/otlp/v1/logs", protocol = "json" } }',
    ]);
  });

  it("keeps another collector's variables, and replaces its own", () => {
    assert.equal(
      telemetrySettings({ OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: "http://collector:4318" }, "claude", ADDRESS),
      "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT",
    );
    const inherited = { OTEL_EXPORTER_OTLP_ENDPOINT: `${ADDRESS}/otlp`, GEMINI_TELEMETRY_OTLP_ENDPOINT: "" };
    assert.notEqual(typeof telemetrySettings(inherited, "claude", ADDRESS), "string");
  });
});
