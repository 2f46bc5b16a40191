import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { requestItemSchema } from "../../../core/wire/loopback-data.ts";
import { parseWire } from "../../../core/wire/parse.ts";

const item = {
  request_id: "01994b8e-7c00-7000-8000-000000000000",
  requested_at: "2026-11-21T10:00:00.000Z",
  provider: "openai",
  model: "gpt-5",
  cost_usd: "0.5",
  client: null,
  host: "api.openai.com",
  api: "openai.chat",
  provider_response_id: "x".repeat(5_000),
};

describe("requestItemSchema", () => {
  it("has the local fields that JSON shows, with text of any length", () => {
    const parsed = parseWire(requestItemSchema, item);
    assert.ok(parsed.ok);
    assert.equal(parsed.value.provider_response_id, item.provider_response_id);
    assert.ok(!("error_message_hash" in parsed.value || "cost_usd_minor_units" in parsed.value));
  });

  it("requires the host and the API", () => {
    const { host: _host, api: _api, ...rest } = item;
    const parsed = parseWire(requestItemSchema, rest);
    assert.deepEqual(!parsed.ok && parsed.problems.map(({ field }) => field), ["host", "api"]);
  });
});
