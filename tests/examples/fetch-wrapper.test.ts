import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMeteredFetch, type MeteredCall } from "../../examples/fetch-wrapper/metered-fetch.ts";
import { runExample } from "./run-example.rig.ts";

const CHAT = "https://api.openai.com/v1/chat/completions";
const usage = { prompt_tokens: 10, completion_tokens: 2 };
const ask = { method: "POST", body: JSON.stringify({ model: "gpt-4o-mini", messages: [] }) };

/** A wrapper over an invented response, and the calls that it reports. */
function meterAnswer(answer: () => Response | Promise<Response>) {
  const calls: MeteredCall[] = [];
  const seen: Request[] = [];
  const meteredFetch = createMeteredFetch({
    fetch: async (input) => {
      seen.push(input as Request);
      return answer();
    },
    onCall: (call) => calls.push(call),
  });
  return { meteredFetch, calls, seen };
}

describe("examples/fetch-wrapper", () => {
  it("runs, and meters a whole and a streamed response alike", async () => {
    const line = "gpt-4o-mini: 200 fresh, 1000 cached, 300 out: $0.000285";
    assert.deepEqual(await runExample("fetch-wrapper"), [line, line]);
  });
});

describe("createMeteredFetch()", () => {
  it("passes request and response on unchanged, and reports once the response is read", async () => {
    const text = JSON.stringify({ model: "gpt-4o-mini", usage });
    const { meteredFetch, calls, seen } = meterAnswer(() => new Response(text, { status: 200 }));
    const response = await meteredFetch(CHAT, ask);
    assert.equal(calls.length, 0);
    assert.equal(await response.text(), text);
    assert.equal(await seen[0]?.text(), ask.body);
    assert.equal(calls.length, 1);
    assert.equal(calls[0]?.usage.tokens.promptTokens, 10);
    assert.equal(calls[0]?.price.costPicoUsd, 10n * 150_000n + 2n * 600_000n);
  });
  it("does not change a call to another host", async () => {
    const answer = new Response("{}");
    const { meteredFetch, calls } = meterAnswer(() => answer);
    assert.equal(await meteredFetch("https://example.org/"), answer);
    assert.equal(await meteredFetch("https://api.openai.com/v1/models"), answer);
    assert.deepEqual(calls, []);
  });
  it("reports a failed call with its status and no tokens", async () => {
    const { meteredFetch, calls } = meterAnswer(() =>
      Response.json({ error: { code: "x" } }, { status: 429 }),
    );
    await (await meteredFetch(CHAT, ask)).text();
    assert.equal(calls[0]?.status, 429);
    assert.equal(calls[0]?.usage.tokens.promptTokens, null);
    assert.equal(calls[0]?.price.costPicoUsd, null);
  });
  it("reports a response without a body", async () => {
    const { meteredFetch, calls } = meterAnswer(() => new Response(null, { status: 204 }));
    assert.equal((await meteredFetch(CHAT, ask)).status, 204);
    assert.equal(calls[0]?.status, 204);
  });
  it("marks the counts as incomplete if the caller stops reading", async () => {
    const head = new TextEncoder().encode('data: {"model":"gpt-4o-mini","choices":[]}\n\n');
    const body = new ReadableStream({ pull: (controller) => controller.enqueue(head) });
    const { meteredFetch, calls } = meterAnswer(() => new Response(body));
    const reader = (await meteredFetch(CHAT, ask)).body?.getReader();
    await reader?.read();
    await reader?.cancel();
    assert.equal(calls[0]?.usage.tokensComplete, false);
    assert.equal(calls[0]?.model, "gpt-4o-mini");
  });
  it("passes on the error of a broken connection, and reports what was read", async () => {
    const body = new ReadableStream({ pull: (controller) => controller.error(new Error("reset")) });
    const { meteredFetch, calls } = meterAnswer(() => new Response(body));
    await assert.rejects((await meteredFetch(CHAT, ask)).text(), /reset/);
    assert.equal(calls[0]?.usage.tokensComplete, false);
  });
});
