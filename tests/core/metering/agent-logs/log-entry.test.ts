import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  LOG_AGENTS,
  type LogEntry,
  largerEntry,
  totalTokens,
} from "../../../../core/metering/agent-logs/log-entry.ts";
import {
  LOG_FORMATS,
  type LogFormatName,
  logFormatOf,
  sessionOfPath,
} from "../../../../core/metering/agent-logs/log-formats.ts";
import { readLog, readSample } from "./read-log.rig.ts";

const entriesOf = (name: LogFormatName, sample: Parameters<typeof readSample>[0] = name) =>
  readLog(logFormatOf(name).reader, readSample(sample)).entries;

/** The members of an entry other than counts. */
function facts(entry: LogEntry | undefined): Partial<LogEntry> {
  const { tokens, tokensComplete, extras, key, line, provider, model, agent, ...rest } = entry as LogEntry;
  return Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null));
}

describe("largerEntry()", () => {
  const [first, second] = entriesOf("claude") as [LogEntry, LogEntry];

  it("keeps the entry with more tokens, in both orders", () => {
    assert.ok(totalTokens(first) > totalTokens(second));
    assert.equal(largerEntry(first, second), first);
    assert.equal(largerEntry(second, first), first);
  });

  it("fills in the place from the other, if both name the same session", () => {
    const nowhere = { clientVersion: null, cwd: null, branch: null, commit: null, remote: null };
    const entry = (completionTokens: number): LogEntry => ({
      ...{ ...first, ...nowhere },
      tokens: { ...first.tokens, completionTokens },
    });
    const place = { clientVersion: "2.1.240", cwd: "/w/demo", branch: "feat/x", commit: "ab", remote: "r" };
    const small = { ...entry(1), ...place };
    for (const [one, other] of [
      [small, entry(2)],
      [entry(2), small],
    ] as const)
      assert.deepEqual(largerEntry(one, other), { ...entry(2), ...place });
    const large = { ...entry(2), cwd: "/w/own" };
    assert.deepEqual(largerEntry(small, large), { ...large, ...place, cwd: "/w/own" });
    // A copy in another session may have been made elsewhere.
    assert.deepEqual(largerEntry({ ...small, session: "s-2" }, large), large);
  });

  it("keeps the first of two with the same counts, unless the second says more", () => {
    const copy = { ...first, line: 99 };
    assert.equal(largerEntry(first, copy), first);
    assert.equal(largerEntry({ ...copy, responseId: null }, first), first);
    const paid = { ...copy, billing: "plan" as const };
    assert.equal(largerEntry(first, paid), paid);
  });
});

describe("the facts around the counts", () => {
  it("of Claude Code are session, agent, branch, folder, version and both ids", () => {
    const [main, side] = entriesOf("claude");
    assert.deepEqual(facts(main), {
      at: Date.UTC(2026, 7, 1, 10, 0, 5),
      scope: "call",
      serviceTier: "standard",
      billing: "unknown",
      responseId: "msg_01AAAA",
      providerRequestId: "req_1",
      session: "s-1",
      clientVersion: "2.1.240",
      cwd: "/w/shop",
      branch: "feat/x",
    });
    assert.deepEqual(main?.extras, { web_search_requests: 2 });
    assert.equal(main?.line, 3);
    assert.deepEqual([side?.agentId, side?.agentKind], ["agent-7", "sidechain"]);
  });

  it("of Codex are those of the session and the turn, and the plan if its limits are stated", () => {
    assert.deepEqual(facts(entriesOf("codex")[0]), {
      at: Date.UTC(2026, 8, 1, 8, 0, 5),
      scope: "call",
      billing: "plan",
      responseId: "resp_a",
      session: "thr-1",
      turn: "turn-1",
      clientVersion: "0.150.0",
      cwd: "/w/shop",
      branch: "main",
      commit: "c0ffee",
      remote: "git@example.com:acme/shop.git",
    });
    const [forked] = entriesOf("codex", "codex-fork");
    assert.deepEqual(
      [forked?.parentSession, forked?.agentId, forked?.billing],
      ["thr-1", "thr-2", "unknown"],
    );
  });

  it("of a sub-agent of Codex are its kind and its parent", () => {
    const [review, spawned] = [
      { id: "t", source: { subagent: "review" } },
      { id: "t", source: { subagent: { thread_spawn: { parent_thread_id: "p", agent_role: "worker" } } } },
    ].map(
      (payload) =>
        readLog(logFormatOf("codex").reader, [
          { type: "session_meta", payload },
          { type: "session_meta", payload: {} },
          { type: "turn_context", payload: {} },
          {
            type: "token_usage_record",
            timestamp: "2026-09-01T08:00:05Z",
            payload: { response_id: "resp_x", session_id: "s", usage: { output_tokens: 1 } },
          },
        ]).entries[0],
    );
    assert.deepEqual([review?.agentKind, review?.parentSession], ["review", null]);
    assert.deepEqual([spawned?.agentKind, spawned?.parentSession, spawned?.agentId], ["worker", "p", "t"]);
  });

  it("of the other agents are what their logs state", () => {
    assert.deepEqual(facts(entriesOf("gemini_document")[0]).parentSession, "g-1");
    assert.deepEqual(facts(entriesOf("qwen")[0]), {
      at: Date.UTC(2026, 7, 3, 7, 0, 2),
      scope: "call",
      billing: "unknown",
      session: "q-1",
      clientVersion: "0.9.0",
      cwd: "/w/shop",
      branch: "main",
    });
    assert.deepEqual(facts(entriesOf("opencode")[0]), {
      at: 1785600004000,
      scope: "call",
      billing: "unknown",
      statedCostUsd: "0.0041",
      session: "ses_o1",
      turn: "msg_u1",
      agentKind: "build",
      cwd: "/w/shop",
    });
    assert.deepEqual(facts(entriesOf("copilot")[0]), {
      at: Date.UTC(2026, 7, 4, 6, 10),
      scope: "session",
      billing: "plan",
      session: "cp-1",
      clientVersion: "1.0.64",
      cwd: "/w/shop",
      branch: "main",
    });
    assert.deepEqual(facts(entriesOf("goose")[1]), {
      at: Date.UTC(2026, 7, 5, 6),
      scope: "session",
      billing: "unknown",
      session: "20260805_2",
      parentSession: "20260805_1",
    });
    assert.equal(entriesOf("cline")[0]?.scope, "turn");
    assert.deepEqual(facts(entriesOf("pi")[0]), {
      at: Date.UTC(2026, 7, 8, 2, 0, 3),
      scope: "call",
      billing: "unknown",
      statedCostUsd: "0.00181",
      responseId: "msg_01PI",
      session: "pi-1",
      parentSession: "pi-0",
      cwd: "/w/shop",
    });
  });

  it("never include a text of more than 4,096 characters", () => {
    const [entry] = readLog(logFormatOf("goose").reader, [
      {
        id: "1",
        created_at: 1785600000,
        accumulated_input_tokens: 1,
        accumulated_output_tokens: 1,
        working_dir: "x".repeat(4097),
        model_config_json: { model_name: "not a text" },
      },
    ]).entries;
    assert.deepEqual([entry?.cwd, entry?.at, entry?.model], [null, 1785600000000, "unknown"]);
  });

  it("never include a time before 2020, after 2100, or that is none", () => {
    const times = ["2019-12-31 23:59:59", "2100-01-01T00:00:00Z", "soon", "x".repeat(41), 12, true];
    const rows = times.map((created_at) => ({
      id: "1",
      created_at,
      accumulated_input_tokens: 1,
      accumulated_output_tokens: 1,
    }));
    assert.deepEqual(readLog(logFormatOf("goose").reader, rows), {
      entries: [],
      faults: { without_time: 6 },
    });
  });

  it("of Droid have the time of the file, but none before the session chose its provider", () => {
    const lock = "2026-08-09T01:00:00.000Z";
    const settings = (more: object) => ({ tokenUsage: { inputTokens: 5, outputTokens: 1 }, ...more });
    const read = (modifiedAt: number, more: object = {}) =>
      readLog(logFormatOf("droid").reader, [settings(more)], { session: "s", modifiedAt });
    const later = Date.parse(lock) + 3_600_000;
    const timeOf = (...given: Parameters<typeof read>) => read(...given).entries[0]?.at;
    assert.equal(timeOf(later), later);
    assert.equal(timeOf(later, { providerLockTimestamp: lock }), later);
    assert.equal(timeOf(later, { providerLockTimestamp: "soon" }), later);
    for (const wrong of [0, 1_700_000_000, Date.parse(lock) - 1, Date.UTC(2100)])
      assert.equal(timeOf(wrong, { providerLockTimestamp: lock }), Date.parse(lock), String(wrong));
    // A file from 1970, as some archives have, states no time.
    for (const wrong of [0, 1_700_000_000, Date.UTC(2100)])
      assert.deepEqual(read(wrong), { entries: [], faults: { without_time: 1 } }, String(wrong));
  });
});

describe("an incomplete log", () => {
  const keysOf = (name: LogFormatName, items: readonly unknown[], session: string | null = null) =>
    readLog(logFormatOf(name).reader, items, { session, modifiedAt: 1 }).entries.map(
      ({ key, provider }) => `${key} ${provider}`,
    );
  const timestamp = "2026-08-01T10:00:00Z";

  it("of Claude Code has keys without ids, and providers by the form of the id", () => {
    const line = (id: string | undefined, usage: object) => ({
      type: "assistant",
      timestamp,
      message: { id, model: "m", usage: { input_tokens: 1, output_tokens: 1, ...usage } },
    });
    const advisor = {
      iterations: [{ type: "advisor_message", model: "big", input_tokens: 5, output_tokens: 6 }],
    };
    assert.deepEqual(
      keysOf("claude", [
        line(undefined, advisor),
        line("msg_vrtx_01", {}),
        line("msg_vrtx_01", advisor),
        line("gen-1", {}),
        line("msg_0199", {}),
      ]),
      [
        `null/${timestamp} unknown`,
        `null/${timestamp}/big unknown`,
        "msg_vrtx_01 vertex",
        "msg_vrtx_01/big vertex",
        "null/gen-1 openrouter",
        "msg_0199 anthropic",
      ],
    );
  });

  it("of Codex may be empty, or have limits before its first call", () => {
    assert.deepEqual(keysOf("codex", []), []);
    const limits = { primary: { used_percent: 1 } };
    const usage = { input_tokens: 3 };
    assert.deepEqual(
      keysOf("codex", [
        { type: "session_meta", payload: {} },
        { type: "event_msg", timestamp, payload: { type: "token_count", rate_limits: limits } },
        {
          type: "event_msg",
          timestamp,
          payload: { type: "token_count", info: { total_token_usage: usage } },
        },
      ]),
      ["null/3,0,0,0,0 codex"],
    );
  });

  it("of the other agents is read as far as it goes", () => {
    const shutdown = {
      type: "session.shutdown",
      timestamp,
      data: { modelMetrics: { m: { usage: { outputTokens: 1 } } } },
    };
    assert.deepEqual(keysOf("copilot", [shutdown]), ["null/m/0,0,0,1,0 github-copilot"]);
    assert.deepEqual(keysOf("cline", [{ messages: "none" }]), []);
  });
});

describe("the formats", () => {
  it("exist for each agent", () => {
    const agents = new Set(Object.keys(LOG_FORMATS).map((name) => name.replace(/_(?:tasks|document)$/, "")));
    assert.deepEqual([...agents].sort(), [...LOG_AGENTS].sort());
  });

  it("find the session in the path of a file", () => {
    const cases: [LogFormatName, string, string | null][] = [
      ["claude", "-w-shop/5e55.jsonl", "5e55"],
      ["claude", "-w-shop/5e55/subagents/agent-7.jsonl", "agent-7"],
      [
        "codex",
        "2026/09/01/rollout-2026-09-01T08-00-00-0199a213-81c0-7800-8aa1-bbab2a035a53.jsonl",
        "0199a213-81c0-7800-8aa1-bbab2a035a53",
      ],
      ["codex", "2026/09/01/rollout-x.jsonl", null],
      ["gemini", "abc/chats/session-1.jsonl", null],
      ["copilot", "cp-1/events.jsonl", "cp-1"],
      ["roo", "task-1/ui_messages.json", "task-1"],
      ["cline", "1/1.messages.json", "1"],
      ["droid", "-w/9.settings.json", "9"],
    ];
    for (const [name, path, session] of cases) assert.equal(sessionOfPath(name, path), session, path);
  });
});
