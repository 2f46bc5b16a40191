import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readView } from "../../../pages/view.ts";
import { renderSession, sessionView } from "../../../pages/views/session.ts";
import type { SessionLine } from "../../../pages/views/sessions.ts";
import { sampleRecord } from "../../daemon/store/sample-records.rig.ts";

const BEGAN = Date.UTC(2026, 10, 22, 4);

/** A call of the main agent: its minute in the session, fresh input, and input from a cache. */
type Given = readonly [minute: number, fresh: number, read: number, model?: string];

/** Returns what the page says about each call, by its number. */
function notesOf(given: readonly Given[]): Record<string, string> {
  const requests = given.map(([minute, promptTokens, cacheReadTokens, model = "claude-opus-4-5"]) =>
    sampleRecord({
      ...{ requestedAt: BEGAN + minute * 60_000, latencyMs: 1_000, agentId: null, sessionId: "s", model },
      tokens: {
        ...{ promptTokens, cacheReadTokens, cacheWriteTokens: 0, cacheWrite1hTokens: 0 },
        ...{ completionTokens: 10, thinkingTokens: null },
      },
    }),
  );
  const session: SessionLine = {
    ...{ sessionId: "s", isInferred: false, project: "p", branch: null, client: null },
    ...{
      startedAt: BEGAN,
      endedAt: BEGAN + 3_600_000,
      agents: 0,
      calls: requests.length,
      failed: 0,
      blocked: 0,
    },
    ...{ unpriced: 0, cached: null },
    split: { spentPicoUsd: 0n, planUsagePicoUsd: 0n, unknownBillingPicoUsd: 0n },
  };
  const view = readView(sessionView("/sessions/s"), new URLSearchParams());
  const page = String(renderSession({ session, requests }, view, { zone: "UTC", now: BEGAN, base: "" }));
  const rows = page.matchAll(/>#(\d+)<\/a>(?:(?!<\/th>).)*?<span class="sub warn">([^<]*)/gs);
  return Object.fromEntries([...rows].map(([, number, note]) => [number, note]));
}

describe("renderSession()", () => {
  it("names each call that missed the cache, with the pause before it if that explains it", () => {
    assert.deepEqual(
      notesOf([
        [0, 20_000, 0],
        [1, 500, 20_000],
        [2, 21_000, 0],
        [12, 22_000, 0],
        [13, 500, 22_000],
      ]),
      { 3: "cache miss", 4: "cache miss after 10 min idle" },
    );
  });

  it("expects no cache of a helper call with another model, and of a model that has none", () => {
    assert.deepEqual(
      notesOf([
        [0, 20_000, 0],
        [1, 20_500, 0],
      ]),
      {},
    );
    assert.deepEqual(
      notesOf([
        [0, 20_000, 0],
        [1, 300, 0, "claude-haiku-4-5"],
        [2, 15_000, 0, "claude-sonnet-4-5"],
        [3, 500, 20_000],
      ]),
      {},
    );
  });

  it("expects no cache after a compaction, and none of a small context", () => {
    assert.deepEqual(
      notesOf([
        [0, 500, 90_000],
        [1, 12_000, 0],
        [2, 500, 12_000],
      ]),
      { 2: "context compacted" },
    );
    assert.deepEqual(
      notesOf([
        [0, 2_000, 0],
        [1, 3_000, 0],
      ]),
      {},
    );
  });
});
