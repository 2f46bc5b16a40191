import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createCut } from "../../../../core/budgets/refusal/create-cut.ts";
import type { RefusedTurn } from "../../../../core/budgets/refusal/create-refusal.ts";
import type { RefusalFacts } from "../../../../core/budgets/refusal/refusal-text.ts";
import type { ApiId } from "../../../../core/metering/usage/api-readers.ts";
import { API_READERS } from "../../../../core/metering/usage/api-readers.ts";

const facts: RefusalFacts = {
  ...{ budget: "agents", isFleet: false, reason: "cut", unit: "usd", limit: 20_000_000_000_000n },
  ...{ periodEnd: null, retryAfter: null },
};
const MESSAGE =
  'meter: the budget "agents" (USD 20.00) is used up, so this answer was cut off. To continue now: meter budget lift agents --for 1h';

const cut = (api: ApiId, turn: RefusedTurn | null = null) =>
  createCut({ api }, { headers: [], program: null }, facts, { method: "POST", turn });
const text = (bytes: Uint8Array | undefined | null) =>
  bytes == null ? null : new TextDecoder().decode(bytes);

/** The events of a stream, by their name, with their data. */
const eventsOf = (api: ApiId) =>
  (text(cut(api).event?.bytes) ?? "").split("\n\n").flatMap((each) => {
    const [, name = null, data] = /^(?:event: (\S+)\n)?data: (.*)$/.exec(each) ?? [];
    return data === undefined ? [] : [[name, JSON.parse(data)]];
  });

describe("createCut()", () => {
  it("ends a stream with the error that its API has there", () => {
    const openai = { message: MESSAGE, type: "insufficient_quota", param: null, code: "insufficient_quota" };
    assert.deepEqual(eventsOf("anthropic.messages"), [
      ["error", { type: "error", error: { type: "billing_error", message: MESSAGE } }],
    ]);
    assert.deepEqual(eventsOf("openai.chat"), [[null, { error: openai }]]);
    assert.deepEqual(eventsOf("gemini.generate"), [
      [null, { error: { code: 400, message: MESSAGE, status: "FAILED_PRECONDITION", details: [] } }],
    ]);
    const [error, failed] = eventsOf("openai.responses");
    assert.deepEqual(error, [
      "error",
      { type: "error", code: "insufficient_quota", message: MESSAGE, param: null, sequence_number: 0 },
    ]);
    assert.deepEqual(
      [failed?.[0], failed?.[1].response.status, failed?.[1].response.error],
      ["response.failed", "failed", { code: "insufficient_quota", message: MESSAGE }],
    );
    const { event } = cut("ollama.chat");
    assert.deepEqual(
      [event?.mediaType, text(event?.bytes)],
      ["application/x-ndjson", `${JSON.stringify({ error: MESSAGE })}\n`],
    );
    assert.equal(cut("bedrock.converse").event, null);
  });

  it("is the API's refusal for a call that has no response yet", () => {
    for (const api of Object.keys(API_READERS) as ApiId[])
      assert.match(
        text(cut(api).response) ?? "",
        /^HTTP\/1\.1 4\d\d [\s\S]*is used up, so this answer was cut off/,
      );
  });

  it("ends a turn of a WebSocket with a message", () => {
    assert.equal(cut("openai.realtime").turn, null);
    const { error } = JSON.parse(text(cut("openai.realtime", { eventId: "e1" }).turn) ?? "");
    assert.deepEqual([error.message, error.event_id], [MESSAGE, "e1"]);
  });
});
