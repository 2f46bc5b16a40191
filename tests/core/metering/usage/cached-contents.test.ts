import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { countsOf, NO_COUNTS, readAnswer } from "./answers.rig.ts";

const url = "https://generativelanguage.googleapis.com/v1beta/cachedContents";
const cache = (more: object) =>
  JSON.stringify({
    name: "cachedContents/abc",
    model: "models/gemini-2.5-flash",
    createTime: "2026-11-21T12:00:00Z",
    expireTime: "2026-11-21T12:30:00Z",
    usageMetadata: { totalTokenCount: 1001 },
    ...more,
  });

describe("geminiCachedContents", () => {
  const table: [
    what: string,
    more: object,
    tokens: number | null,
    hours: number | undefined,
    complete: boolean,
  ][] = [
    ["counts half an hour, rounded up", {}, 1001, 501, true],
    [
      "reads the model of a longer path",
      { model: "projects/p/locations/l/publishers/google/models/m" },
      1001,
      501,
      true,
    ],
    ["is incomplete without a lifetime", { expireTime: undefined }, 1001, undefined, false],
    ["is incomplete with times that are none", { createTime: "soon" }, 1001, undefined, false],
    [
      "is incomplete if it expires before it is created",
      { expireTime: "2020-01-01T00:00:00Z" },
      1001,
      undefined,
      false,
    ],
    [
      "is incomplete if the storage exceeds any count",
      { expireTime: "+275760-09-13T00:00:00Z", usageMetadata: { totalTokenCount: 2 ** 39 } },
      2 ** 39,
      undefined,
      false,
    ],
    [
      "is incomplete with sound, which costs more",
      { usageMetadata: { totalTokenCount: 8, audioDurationSeconds: 3 } },
      8,
      4,
      false,
    ],
    ["is unknown without usage", { usageMetadata: undefined }, null, undefined, false],
  ];
  for (const [what, more, tokens, hours, complete] of table)
    it(what, () => {
      const found = readAnswer(url, cache(more));
      assert.deepEqual(
        [found.tokens.cacheWriteTokens, found.extras.cache_storage_token_hours, found.tokensComplete],
        [tokens, hours, complete],
      );
    });

  it("states nothing if the creation was refused", () => {
    const body = JSON.stringify({ error: { code: 400, message: "too short", status: "INVALID_ARGUMENT" } });
    const found = readAnswer(url, body, { status: 400 });
    assert.deepEqual(
      [found.model, found.responseId, countsOf(found), found.extras, found.tokensComplete],
      [null, null, NO_COUNTS, {}, false],
    );
    assert.equal(found.error?.type, "INVALID_ARGUMENT");
  });
});
