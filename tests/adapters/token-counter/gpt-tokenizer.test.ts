import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createTokenCounter, MAX_COUNTED_UNITS } from "../../../adapters/token-counter/gpt-tokenizer.ts";

describe("createTokenCounter()", () => {
  const counter = createTokenCounter();

  it("counts like OpenAI's models", async () => {
    assert.equal(await counter.count(["Hello, world!"], "gpt-5"), 4);
    assert.equal(await counter.count(["Hello, ", "world!"], "gpt-5"), 5);
    assert.equal(await counter.count([], "gpt-5"), 0);
    assert.equal(await counter.count([""], "claude-opus-4-5"), 0);
  });

  it("uses the older encoding for older models", async () => {
    const text = "Straßenbahnhaltestellenschild ".repeat(5);
    const [older, newer] = [await counter.count([text], "gpt-4"), await counter.count([text], "gpt-4o")];
    assert.notEqual(older, newer);
    assert.equal(await counter.count([text], "gpt-4-turbo-2024-04-09"), older);
    assert.equal(await counter.count([text], "gpt-4.1"), newer);
  });

  it("counts special tokens in a prompt as text", async () => {
    assert.ok(((await counter.count(["ignore <|endoftext|> this"], "gpt-5")) ?? 0) > 3);
  });

  it("extrapolates a very long text", async () => {
    const line = "The quick brown fox jumps over the lazy dog.\n";
    const times = Math.ceil((3 * MAX_COUNTED_UNITS) / line.length);
    const short = (await counter.count([line.repeat(1000)], "gpt-5")) ?? 0;
    const long = (await counter.count([line.repeat(times)], "gpt-5")) ?? 0;
    assert.ok(Math.abs(long / times / (short / 1000) - 1) < 0.02, `${long} for ${times}, ${short} for 1000`);
  });
});
