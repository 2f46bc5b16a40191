import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { type CallIdentity, readCallIdentity } from "../../../../core/metering/sessions/call-identity.ts";
import { KNOWN_CLIENTS } from "../../../../core/metering/sessions/clients.ts";
import {
  MAX_STATED_CHARACTERS,
  readStatedMembers,
  STATED_MEMBERS,
} from "../../../../core/metering/sessions/stated-members.ts";
import { anyCharacter } from "../../any-character.rig.ts";

const NOTHING: CallIdentity = {
  sessionId: null,
  turnId: null,
  agentId: null,
  parentAgentId: null,
  agentKind: null,
  clientVersion: null,
  isChildSession: false,
};

const SESSION = "5e550001-0000-4000-8000-000000000000";

function read(headers: Readonly<Record<string, string>>, body: object = {}, isHandshake = false) {
  return readCallIdentity({
    headers: Object.entries(headers),
    body: readStatedMembers(body as Record<string, unknown>),
    isHandshake,
  });
}

const claude = { "User-Agent": "claude-cli/2.1.240 (external, cli)", "x-app": "cli" };
const codex = { "User-Agent": "codex_cli_rs/0.60.1 (Ubuntu 24.4; x86_64) xterm", originator: "codex_cli_rs" };
const turn = (members: object) => JSON.stringify(members);

/** What each client sends, and what follows from it. */
const calls: readonly (readonly [
  what: string,
  headers: Readonly<Record<string, string>>,
  body: object,
  expected: Partial<CallIdentity>,
])[] = [
  [
    "Claude Code's main agent",
    { ...claude, "X-Claude-Code-Session-Id": SESSION, "x-client-request-id": "r1" },
    {},
    { sessionId: SESSION, clientVersion: "2.1.240" },
  ],
  [
    "a sub-agent of a sub-agent in Claude Code",
    {
      ...claude,
      "x-claude-code-session-id": SESSION,
      "x-claude-code-agent-id": "a2",
      "x-claude-code-parent-agent-id": "a1",
      "x-claude-code-agent-type": "code-reviewer",
    },
    {},
    {
      sessionId: SESSION,
      agentId: "a2",
      parentAgentId: "a1",
      agentKind: "code-reviewer",
      clientVersion: "2.1.240",
    },
  ],
  [
    "a call of Claude Code that compacts the context",
    {
      ...claude,
      "x-claude-code-session-id": SESSION,
      "x-claude-code-prompt-id": "p1",
      "x-claude-code-request-class": "compact",
    },
    {},
    { sessionId: SESSION, turnId: "p1", agentKind: "compact", clientVersion: "2.1.240" },
  ],
  [
    "Claude Code's usual request class",
    { ...claude, "x-claude-code-session-id": SESSION, "x-claude-code-request-class": "main" },
    {},
    { sessionId: SESSION, clientVersion: "2.1.240" },
  ],
  [
    "Claude Code behind an embedding program",
    { "user-agent": "node", "x-claude-code-session-id": SESSION },
    {},
    { sessionId: SESSION },
  ],
  [
    "Claude Code from 2.1.78, in the body",
    claude,
    { metadata: { user_id: JSON.stringify({ device_id: "d0", account_uuid: "", session_id: SESSION }) } },
    { sessionId: SESSION, clientVersion: "2.1.240" },
  ],
  [
    "Claude Code before 2.1.78, in the body",
    claude,
    { metadata: { user_id: `user_${"0f".repeat(32)}_account__session_${SESSION}` } },
    { sessionId: SESSION, clientVersion: "2.1.240" },
  ],
  ["pi with a Claude login, which sends Claude Code's name", claude, {}, {}],
  [
    "Codex's main thread",
    { ...codex, "session-id": "thr-1", "thread-id": "thr-1", "x-client-request-id": "thr-1" },
    {},
    { sessionId: "thr-1", clientVersion: "0.60.1" },
  ],
  [
    "a thread that Codex's main thread started",
    {
      ...codex,
      "session-id": "thr-1",
      "thread-id": "thr-2",
      "x-codex-parent-thread-id": "thr-1",
      "x-openai-subagent": "collab_spawn",
      "x-codex-turn-metadata": turn({ turn_id: "turn-1", request_kind: "turn" }),
    },
    {},
    {
      sessionId: "thr-1",
      agentId: "thr-2",
      agentKind: "collab_spawn",
      turnId: "turn-1",
      clientVersion: "0.60.1",
    },
  ],
  [
    "Codex's body, which counts more than its headers",
    { ...codex, "session-id": "old", "thread-id": "old" },
    {
      client_metadata: {
        session_id: "thr-1",
        thread_id: "thr-3",
        turn_id: "turn-2",
        "x-codex-turn-metadata": turn({
          turn_id: "other",
          parent_thread_id: "thr-2",
          subagent_kind: "review",
        }),
      },
    },
    {
      sessionId: "thr-1",
      agentId: "thr-3",
      parentAgentId: "thr-2",
      agentKind: "review",
      turnId: "turn-2",
      clientVersion: "0.60.1",
    },
  ],
  [
    "Codex before its first turn",
    {
      ...codex,
      "session-id": "thr-1",
      "x-codex-turn-metadata": turn({ turn_id: "", request_kind: "prewarm" }),
    },
    {},
    { sessionId: "thr-1", agentKind: "prewarm", clientVersion: "0.60.1" },
  ],
  [
    "Codex in 2025",
    { ...codex, conversation_id: "c1", session_id: "c1" },
    { prompt_cache_key: "c1" },
    { sessionId: "c1", clientVersion: "0.60.1" },
  ],
  ["Codex's oldest form", codex, { prompt_cache_key: "c1" }, { sessionId: "c1", clientVersion: "0.60.1" }],
  [
    "Codex under another name",
    { "user-agent": "acme/1.0", "x-codex-window-id": "thr-1:0", "thread-id": "thr-1" },
    {},
    { sessionId: "thr-1" },
  ],
  [
    "Gemini CLI with Code Assist",
    { "user-agent": "GeminiCLI/0.9.1/gemini-2.5-pro (linux; x64; cli)" },
    { model: "gemini-2.5-pro", user_prompt_id: `${SESSION}########0`, request: { session_id: SESSION } },
    { sessionId: SESSION, turnId: `${SESSION}########0`, clientVersion: "0.9.1" },
  ],
  [
    "Gemini CLI in an editor with an API key",
    { "user-agent": "GeminiCLI-vscode/0.9.1/gemini-2.5-pro (linux; x64)" },
    { contents: [] },
    { clientVersion: "0.9.1" },
  ],
  [
    "opencode with its own gateway",
    { "user-agent": "opencode/1.2.3", "x-opencode-session": "ses_1", "x-opencode-request": "msg_1" },
    {},
    { sessionId: "ses_1", turnId: "msg_1", clientVersion: "1.2.3" },
  ],
  [
    "a sub-agent of opencode",
    { "user-agent": "opencode/1.2.3", "x-session-affinity": "ses_2", "x-parent-session-id": "ses_1" },
    {},
    { sessionId: "ses_1", agentId: "ses_2", isChildSession: true, clientVersion: "1.2.3" },
  ],
  [
    "Qwen Code with DashScope",
    { "user-agent": "QwenCode/0.2.0 (linux; x64)" },
    { metadata: { sessionId: "q1", promptId: "q1########3" } },
    { sessionId: "q1", turnId: "q1########3", clientVersion: "0.2.0" },
  ],
  [
    "Qwen Code with another provider",
    { "user-agent": "QwenCode/0.24.4 (linux; x64)" },
    { prompt_cache_key: `qwen-code:${SESSION}` },
    { sessionId: SESSION, clientVersion: "0.24.4" },
  ],
  [
    "a sub-agent of Copilot",
    {
      "user-agent": "copilot/1.0.29 (linux)",
      "X-Client-Session-Id": "s1",
      "x-interaction-id": "i1",
      "x-interaction-type": "conversation-subagent",
    },
    {},
    { sessionId: "s1", turnId: "i1", agentKind: "conversation-subagent", clientVersion: "1.0.29" },
  ],
  [
    "Copilot Chat",
    {
      "user-agent": "GitHubCopilotChat/0.31.0",
      "vscode-sessionid": "w1",
      "x-interaction-type": "conversation-agent",
    },
    {},
    { sessionId: "w1", clientVersion: "0.31.0" },
  ],
  [
    "Cline",
    { "user-agent": "Cline/3.2.0", "X-Task-ID": "1788260000000" },
    {},
    { sessionId: "1788260000000", clientVersion: "3.2.0" },
  ],
  [
    "Roo Code",
    { "user-agent": "roo-code/3.30.0 (linux)", originator: "roo-code", session_id: "t1" },
    {},
    { sessionId: "t1", clientVersion: "3.30.0" },
  ],
  ["Roo Code's cloud", { "user-agent": "OpenAI/JS 6.1", "X-Roo-Task-ID": "t1" }, {}, { sessionId: "t1" }],
  [
    "a sub-task of Kilo Code",
    { "user-agent": "kilo-code/4.1", "X-KILOCODE-TASKID": "k2", "x-kilocode-parent-taskid": "k1" },
    {},
    { sessionId: "k1", agentId: "k2", isChildSession: true, clientVersion: "4.1" },
  ],
  [
    "Crush",
    { "user-agent": "Charm-Crush/0.9.0 (x)", "x-session-id": "h1" },
    {},
    { sessionId: "h1", clientVersion: "0.9.0" },
  ],
  [
    "Amp",
    { "user-agent": "Ap/JS 0.74.0", "x-amp-thread-id": `T-${SESSION}`, "x-amp-message-id": "4" },
    {},
    { sessionId: `T-${SESSION}`, turnId: "4" },
  ],
  [
    "Grok Build",
    { "user-agent": "x", "X-Grok-Session-Id": "g1", "X-Grok-Agent-Id": "g2" },
    {},
    { sessionId: "g1", agentId: "g2" },
  ],
  ["Droid", { "user-agent": "factory-cli/0.19.2" }, {}, { clientVersion: "0.19.2" }],
  [
    "Zed",
    { "user-agent": "zed/0.200.1+stable.12 (linux; x86_64)" },
    {},
    { clientVersion: "0.200.1+stable.12" },
  ],
  [
    "pi with OpenAI",
    { "user-agent": "OpenAI/JS 7.5.0" },
    { prompt_cache_key: SESSION },
    { sessionId: SESSION },
  ],
  [
    "OpenRouter's session",
    { "user-agent": "curl/8.0" },
    { session_id: "my-session" },
    { sessionId: "my-session" },
  ],
  [
    "a constant prompt_cache_key",
    { "user-agent": "OpenAI/Python 2.1" },
    { prompt_cache_key: "support-v3" },
    {},
  ],
  [
    "an Anthropic SDK with a user",
    { "user-agent": "Anthropic/JS 0.120.0" },
    { metadata: { user_id: "u-17" } },
    {},
  ],
  [
    "a trace",
    { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" },
    {},
    { turnId: "0af7651916cd43dd8448eb211c80319c" },
  ],
  ["the invalid trace", { traceparent: `00-${"0".repeat(32)}-b7ad6b7169203331-01` }, {}, {}],
  ["the reserved version of a trace", { traceparent: `ff-${"1".repeat(32)}-b7ad6b7169203331-01` }, {}, {}],
];

describe("readCallIdentity()", () => {
  for (const [what, headers, body, expected] of calls)
    it(`reads ${what}`, () => assert.deepEqual(read(headers, body), { ...NOTHING, ...expected }));

  it("ignores what a handshake says about the first turn", () => {
    const handshake = {
      ...codex,
      "session-id": "thr-1",
      "thread-id": "thr-2",
      "x-openai-subagent": "review",
      "x-codex-turn-metadata": turn({ turn_id: "turn-1" }),
      traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    };
    const later = read(handshake, { client_metadata: { turn_id: "turn-9" } }, true);
    assert.deepEqual(
      [later.sessionId, later.agentId, later.turnId, later.agentKind],
      ["thr-1", "thr-2", "turn-9", null],
    );
    assert.equal(read(handshake, {}, true).turnId, null);
  });

  it("takes the first of repeated headers", () => {
    const headers: [string, string][] = [
      ["Session_Id", "first"],
      ["session_id", "second"],
    ];
    assert.equal(readCallIdentity({ headers, body: null }).sessionId, "first");
  });

  const malformed = [
    ["empty", ""],
    ["with a blank", "my session"],
    ["with a control character", "a\tb"],
    ["outside ASCII", "sitzung-\u00fc"],
    ["too long", "x".repeat(129)],
  ] as const;
  for (const [why, value] of malformed) {
    it(`rejects an id that is ${why}`, () => {
      assert.equal(read({ session_id: value }).sessionId, null);
      assert.equal(read({}, { session_id: value }).sessionId, null);
    });
  }

  it("accepts an id of the greatest length", () => {
    const longest = "x".repeat(128);
    assert.equal(read({ session_id: longest }).sessionId, longest);
  });

  it("does not read a malformed form of what a client states", () => {
    const user = (text: string) => read(claude, { metadata: { user_id: text } }).sessionId;
    for (const text of ["{", "[]", '"x"', '{"session_id":5}', '{"session_id":["a"]}', "user_1_session_"])
      assert.equal(user(text), null, text);
    assert.equal(user(`${" ".repeat(MAX_STATED_CHARACTERS)}{}`), null);
    assert.equal(read({ ...codex, "x-codex-turn-metadata": "{}" }).turnId, null);
    assert.equal(
      read({ ...codex, "x-codex-turn-metadata": "x".repeat(MAX_STATED_CHARACTERS + 1) }).turnId,
      null,
    );
    assert.equal(read({ "user-agent": "codex_cli_rs/next" }).clientVersion, null);
    assert.equal(read({ "user-agent": `zed/1${"0".repeat(64)}` }).clientVersion, null);
  });

  it("names no agent without a session, none that is the session, and no parent of the main agent", () => {
    assert.deepEqual(read({ "x-claude-code-agent-id": "a1" }), NOTHING);
    const main = { ...codex, "session-id": "t", "thread-id": "t", "x-codex-parent-thread-id": "p" };
    assert.deepEqual(read(main), { ...NOTHING, sessionId: "t", clientVersion: "0.60.1" });
    const own = { ...codex, "session-id": "s", "thread-id": "t", "x-codex-parent-thread-id": "t" };
    assert.equal(read(own).parentAgentId, null);
    const self = { "x-session-id": "s", "x-parent-session-id": "s" };
    assert.deepEqual(read(self), { ...NOTHING, sessionId: "s" });
    assert.deepEqual(read({ "x-parent-session-id": "s" }), NOTHING);
  });

  // Planted: the form of an id from the body not checked.
  it("returns bounded visible ASCII or null for any values, and never throws", () => {
    const names = [
      ...KNOWN_CLIENTS.flatMap(({ ownHeaders = [] }) => ownHeaders),
      ...["user-agent", "session_id", "x-codex-turn-metadata", "traceparent", "x-parent-session-id"],
    ];
    const hostile = fc.oneof(
      fc.string({ maxLength: 200, unit: anyCharacter }),
      fc.constantFrom(
        "{",
        "null",
        '{"session_id":"a b"}',
        '{"__proto__":{"session_id":"x"}}',
        "\u0000",
        "codex_/1",
      ),
      fc.json(),
      fc.string({ unit: fc.constantFrom("x", " ", "\n", "é"), minLength: 120, maxLength: 140 }),
    );
    const headers = fc.array(fc.tuple(fc.constantFrom(...names), hostile), { maxLength: 8 });
    const members = fc.dictionary(fc.constantFrom(...STATED_MEMBERS), hostile);
    fc.assert(
      fc.property(headers, members, fc.boolean(), (given, stated, isHandshake) => {
        const identity = readCallIdentity({
          headers: given,
          body: new Map(Object.entries(stated)),
          isHandshake,
        });
        for (const id of [identity.sessionId, identity.turnId, identity.agentId, identity.parentAgentId])
          assert.ok(id === null || /^[\x21-\x7e]{1,128}$/.test(id));
        assert.ok(identity.agentKind === null || /^[\w.:/ -]{1,64}$/.test(identity.agentKind));
        assert.ok(identity.clientVersion === null || /^\d[\w.+-]{0,63}$/.test(identity.clientVersion));
        assert.ok(identity.agentId === null || identity.sessionId !== null);
        assert.ok(identity.agentId === null || identity.agentId !== identity.sessionId);
        assert.ok(identity.parentAgentId === null || identity.agentId !== null);
      }),
      { numRuns: 500 },
    );
  });
});
