import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { call, createCaptureRig } from "./capture.rig.ts";

describe("an Azure deployment", () => {
  const host = "somebody.openai.azure.com";
  const path = "/openai/deployments/our-chat/chat/completions";
  const usage = { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 };
  const bodyOf = (model: string) => JSON.stringify({ id: "chatcmpl-1", model, usage });

  it("gets the model that the operator configured, before the one in the response", async () => {
    const rig = createCaptureRig({ deployments: { "our-chat": "gpt-5-mini" } });
    await call(rig, { host, path, body: { messages: [] } }, { body: bodyOf("gpt-something") });
    const [record] = rig.records;
    assert.deepEqual([record?.model, record?.requestedModel], ["gpt-5-mini", "our-chat"]);
    assert.equal(record?.costSource, "computed");
  });

  it("gets the model of the response if none is configured", async () => {
    const rig = createCaptureRig();
    await call(rig, { host, path, body: { messages: [] } }, { body: bodyOf("gpt-5-mini") });
    assert.equal(rig.records[0]?.model, "gpt-5-mini");
  });
});
