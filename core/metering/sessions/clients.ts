/** One place in which a client states something about its call. */
export interface Source {
  readonly in: "header" | "body";
  /** The header's name in lower case, or the path of a string in the body. */
  readonly name: string;
  /** The path of the value in the text, if that is a JSON object. */
  readonly member?: string;
  /** The pattern of the text, or of the member in it. Its first group is the value. */
  readonly pattern?: RegExp;
}

/** What a client states, each with its sources, the most reliable first. */
export interface StatedSources {
  readonly session?: readonly Source[];
  /** The session that started this one. Sub-agents of such clients are separate sessions. */
  readonly parentSession?: readonly Source[];
  /** The sub-agent or thread. The main agent's may be the same as the session. */
  readonly agent?: readonly Source[];
  readonly parentAgent?: readonly Source[];
  readonly agentKind?: readonly Source[];
  readonly turn?: readonly Source[];
}

/** A program that calls providers, and where it states its session. */
export interface KnownClient extends StatedSources {
  readonly name: string;
  /** How its `User-Agent` begins, in lower case. The version follows the first slash. */
  readonly userAgents: readonly string[];
  /** Headers that only this client sends. */
  readonly ownHeaders?: readonly string[];
  /** Whether other programs send the same `User-Agent`, so that it counts only with a stated session. */
  readonly isImitated?: true;
}

const header = (name: string, more: Partial<Source> = {}): Source => ({ in: "header", name, ...more });
const body = (name: string, more: Partial<Source> = {}): Source => ({ in: "body", name, ...more });

/** A UUID anywhere in a text. */
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/i;

/** Codex's thread. The first one of a session has the session's id. */
const CODEX_THREAD: readonly Source[] = [body("client_metadata.thread_id"), header("thread-id")];

/** Codex's metadata of a turn: JSON in the body, which is canonical, and a copy in a header. */
const inCodexTurn = (member: string, more: Partial<Source> = {}): readonly Source[] => [
  body("client_metadata.x-codex-turn-metadata", { member, ...more }),
  header("x-codex-turn-metadata", { member, ...more }),
];

/**
 * The clients whose names for sessions are known, from their sources, documentation and recorded calls (2026-11). Most names
 * are undocumented and change: an absent, renamed or malformed one means unknown. `x-client-request-id` is not read: it is a
 * request in Claude Code and a thread in Codex.
 */
export const KNOWN_CLIENTS: readonly KnownClient[] = [
  {
    name: "claude-code",
    userAgents: ["claude-cli/", "claude-code/"],
    ownHeaders: ["x-claude-code-session-id", "x-claude-code-agent-id"],
    // pi sends the same `User-Agent` with a Claude login.
    isImitated: true,
    session: [
      header("x-claude-code-session-id"),
      body("metadata.user_id", { member: "session_id" }),
      body("metadata.user_id", { pattern: /^user_.*_session_([0-9a-f-]{36})$/i }),
    ],
    agent: [header("x-claude-code-agent-id")],
    parentAgent: [header("x-claude-code-parent-agent-id")],
    agentKind: [
      header("x-claude-code-agent-type"),
      header("x-claude-code-request-class", { pattern: /^(?!(?:main|subagent)$)(.+)$/ }),
    ],
    turn: [header("x-claude-code-prompt-id")],
  },
  {
    name: "codex",
    userAgents: ["codex_", "codex-", "codex/", "codex "],
    ownHeaders: ["x-codex-turn-metadata", "x-codex-window-id", "x-codex-installation-id"],
    session: [
      body("client_metadata.session_id"),
      header("session-id"),
      header("session_id"),
      header("conversation_id"),
      body("prompt_cache_key"),
      ...CODEX_THREAD,
    ],
    agent: CODEX_THREAD,
    parentAgent: [...inCodexTurn("parent_thread_id"), header("x-codex-parent-thread-id")],
    agentKind: [
      ...inCodexTurn("subagent_kind"),
      header("x-openai-subagent"),
      ...inCodexTurn("request_kind", { pattern: /^(?!turn$)(.+)$/ }),
    ],
    turn: [body("client_metadata.turn_id"), ...inCodexTurn("turn_id")],
  },
  {
    name: "gemini-cli",
    userAgents: ["geminicli/", "geminicli-", "cloudcodevscode/"],
    session: [body("request.session_id")],
    turn: [body("user_prompt_id")],
  },
  {
    name: "opencode",
    userAgents: ["opencode/"],
    ownHeaders: ["x-opencode-session"],
    session: [header("x-opencode-session"), header("x-session-id")],
    turn: [header("x-opencode-request")],
  },
  {
    name: "qwen-code",
    userAgents: ["qwencode/"],
    session: [
      body("metadata.sessionId"),
      body("prompt_cache_key", { pattern: new RegExp(`^qwen-code:(${UUID.source})$`, "i") }),
    ],
    turn: [body("metadata.promptId")],
  },
  {
    name: "copilot",
    userAgents: ["copilot/", "githubcopilotchat/"],
    ownHeaders: ["x-client-session-id"],
    session: [header("x-client-session-id"), header("vscode-sessionid")],
    turn: [header("x-interaction-id")],
    agentKind: [header("x-interaction-type", { pattern: /^(.*subagent.*)$/ })],
  },
  { name: "cline", userAgents: ["cline/"], session: [header("x-task-id")] },
  {
    name: "roo-code",
    userAgents: ["roocode/", "roo-code/"],
    ownHeaders: ["x-roo-task-id"],
    session: [header("session_id"), header("x-roo-task-id")],
  },
  {
    name: "kilo-code",
    userAgents: ["kilo-code/"],
    ownHeaders: ["x-kilocode-taskid"],
    session: [header("x-kilocode-taskid")],
    parentSession: [header("x-kilocode-parent-taskid")],
  },
  { name: "crush", userAgents: ["charm-crush/", "charm crush/", "crush/"] },
  {
    name: "amp",
    userAgents: [],
    ownHeaders: ["x-amp-thread-id"],
    session: [header("x-amp-thread-id")],
    turn: [header("x-amp-message-id")],
  },
  {
    name: "grok-build",
    userAgents: [],
    ownHeaders: ["x-grok-session-id"],
    session: [header("x-grok-session-id")],
    agent: [header("x-grok-agent-id")],
  },
  { name: "droid", userAgents: ["factory-cli/"] },
  { name: "zed", userAgents: ["zed/"] },
];

/** What any client may state, such as pi, OpenRouter's `session_id`, and OpenAI's `prompt_cache_key`. */
export const ANY_CLIENT: StatedSources = {
  session: [
    header("session_id"),
    header("session-id"),
    header("x-session-id"),
    header("x-session-affinity"),
    header("x-task-id"),
    body("session_id"),
    // Decision: a key without a UUID may be an application's constant, such as the name of its prompt.
    body("prompt_cache_key", { pattern: new RegExp(`^(.*${UUID.source}.*)$`, "i") }),
  ],
  parentSession: [header("x-parent-session-id")],
};

/**
 * The trace of a `traceparent` (W3C Trace Context, section 3.2), without the reserved version `ff` and the invalid trace of
 * zeros. Decision: a trace is a turn, because frameworks start one for each operation.
 */
export const TRACE: Source = header("traceparent", {
  pattern: /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:$|-)/,
});
