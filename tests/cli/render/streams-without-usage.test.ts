import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { streamsWithoutUsageLines } from "../../../cli/render/streams-without-usage.ts";

describe("streamsWithoutUsageLines()", () => {
  it("is empty if every stream states its usage", () => assert.deepEqual(streamsWithoutUsageLines([]), []));

  it("names each program with its setting, and the command for estimates", () => {
    const lines = streamsWithoutUsageLines([
      { client: "opencode", requests: 1200 },
      { client: null, requests: 1 },
    ]);
    assert.deepEqual(lines, [
      "1,201 streams state no tokens, because their requests did not ask for them; their cost is not included.",
      '  opencode (1,200): set "includeUsage": true in the options of the provider in opencode.json',
      '  unknown program (1): send "stream_options": {"include_usage": true} with the request',
      "Estimate such counts from the text: meter estimates on",
    ]);
  });

  it("uses the singular for one stream, and prints no control characters of a program's name", () => {
    const [first, second] = streamsWithoutUsageLines([{ client: "a\u001b[2J", requests: 1 }]);
    assert.match(first!, /^1 stream states no tokens, because its request did not ask for them;/);
    assert.ok(!second!.includes("\u001b"));
  });
});
