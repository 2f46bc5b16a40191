import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { readFormFields } from "../../../../core/metering/usage/form-fields.ts";
import { readRequest } from "../../../../core/metering/usage/read-request.ts";
import { createRegistry } from "../../../../core/metering/usage/registry.ts";
import { bytesOf, routeOf } from "./answers.rig.ts";

const part = (head: string, value: string, boundary = "--b") => `${boundary}\r\n${head}\r\n\r\n${value}\r\n`;
const field = (name: string, value: string) => part(`Content-Disposition: form-data; name="${name}"`, value);
const FILE = part(
  'Content-Disposition: form-data; name="file"; filename="model"\r\nContent-Type: audio/wav',
  'RIFF\r\n\r\nname="model"\r\n\r\nnot-this',
);

const read = (body: string) => {
  const fields = readFormFields(bytesOf(body), ["model", "stream"]);
  return fields === null ? null : Object.fromEntries(fields);
};

describe("readFormFields()", () => {
  const cases: [name: string, body: string, fields: object | null][] = [
    ["a field behind a file", `${FILE}${field("model", "whisper-1")}--b--\r\n`, { model: "whisper-1" }],
    [
      "a field before a file",
      `${field("model", "m")}${field("stream", "true")}${FILE}--b--`,
      { model: "m", stream: "true" },
    ],
    ["no field that is not wanted", `${field("prompt", "x")}--b--`, {}],
    [
      "no empty field, and none that is too long",
      `${field("model", "")}${field("stream", "x".repeat(257))}--b--`,
      {},
    ],
    [
      "the last of a field that comes twice",
      `${field("model", "a")}${field("model", "b")}--b--`,
      { model: "b" },
    ],
    ["what a cut left whole", `${field("model", "a")}${field("stream", "b").slice(0, 20)}`, { model: "a" }],
    ["a value that the body ends in", field("model", "m").slice(0, -2), { model: "m" }],
    ["nothing of JSON", '{"model":"m"}', null],
    ["nothing of an empty body", "", null],
    ["nothing of dashes alone", "--", null],
    ["nothing of an empty boundary", "--\nmodel", null],
  ];
  for (const [name, body, fields] of cases)
    it(`reads ${name}`, () => {
      assert.deepEqual(read(body), fields);
    });

  // Planted once: the search for the next part started at the boundary just found, which never ended.
  it("terminates for any bytes", () => {
    const piece = fc.constantFrom("--b", "\r\n", "\r\n\r\n", 'name="model"', "x", "--", "\n", "--b\r\n");
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const fields = read(pieces.join(""));
        assert.ok(fields === null || Object.keys(fields).every((name) => name === "model"));
      }),
    );
  });
});

describe("readRequest() of a form", () => {
  const TRANSCRIPTIONS = routeOf("https://api.openai.com/v1/audio/transcriptions");

  it("reads the model, and whether the response streams", () => {
    const body = `${FILE}${field("model", "gpt-4o-transcribe")}${field("stream", "true")}--b--\r\n`;
    assert.deepEqual(readRequest(TRANSCRIPTIONS, bytesOf(body)), {
      requestedModel: "gpt-4o-transcribe",
      streaming: true,
      canonicalPrompt: null,
      requestedServiceTier: null,
    });
    const least = readRequest(TRANSCRIPTIONS, bytesOf(`${FILE}--b--`));
    assert.deepEqual([least.requestedModel, least.streaming], [null, false]);
  });
});

describe("readRequest() of Azure", () => {
  const registry = createRegistry([], { deployments: { "my-gpt": "gpt-5" } });
  const deployed = (path: string, body: object) => {
    const route = registry.match({ host: "acme.openai.azure.com", port: 443, method: "POST", path });
    if (route.kind !== "metered") throw new Error(`${path} is ${route.kind}`);
    const { requestedModel, deployedModel } = readRequest(route, bytesOf(JSON.stringify(body)));
    return [requestedModel, deployedModel];
  };

  it("uses the model configured for the deployment in the path, regardless of the body", () => {
    const path = "/openai/deployments/my-gpt/chat/completions";
    assert.deepEqual(deployed(path, {}), ["my-gpt", "gpt-5"]);
    assert.deepEqual(deployed(path, { model: "other" }), ["other", "gpt-5"]);
  });

  it("uses the model configured for the deployment in the body", () => {
    assert.deepEqual(deployed("/openai/v1/responses", { model: "my-gpt" }), ["my-gpt", "gpt-5"]);
    assert.deepEqual(deployed("/openai/v1/responses", {}), [null, null]);
  });

  it("names no model for a deployment that is not listed", () => {
    assert.deepEqual(deployed("/openai/deployments/other/embeddings", {}), ["other", null]);
    assert.deepEqual(deployed("/openai/v1/responses", { model: "constructor" }), ["constructor", null]);
  });

  it("names no model without a list of deployments", () => {
    const route = routeOf("https://acme.openai.azure.com/openai/v1/responses");
    assert.equal("deployedModel" in readRequest(route, null), false);
  });
});
