import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { StoredRequest } from "../../daemon/store/port/records.ts";
import { START_TWO } from "./agent-answers.rig.ts";
import {
  type AgentMeter,
  agentsFolder,
  findAgentVersion,
  readKnownIds,
  skipWithoutAgents,
  startAgentMeter,
  waitForNewRecords,
  withAgentFolders,
} from "./agent-runs.rig.ts";
import { type MeterProcess, meterWords, runProgram, waitFor } from "./meter-process.rig.ts";
import type { ScriptedProvider } from "./scripted-provider.rig.ts";

/** How long an agent may take to start and make a few calls, in milliseconds. */
const AGENT_TIMEOUT_MS = 120_000;

interface Agent {
  readonly package: string;
  readonly program: string;
  readonly words: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The number of sub-agents that it starts. */
  readonly agents: number;
  readonly kind?: string;
  readonly source: "stated" | "inferred";
  /** Whether each call with usage states its turn. */
  readonly hasTurns?: true;
  /** Whether it reports by OpenTelemetry and writes a log of calls. */
  readonly reports?: true;
  /** Whether the version is known: pi sends only its SDK's. */
  readonly hasVersion: boolean;
}

/** A session and day of `meter reconcile logs --json`. */
interface ComparedDay {
  readonly agreed: number;
  readonly totals: Readonly<Record<"wire" | "log" | "client", { readonly calls: number } | null>>;
  readonly differences: readonly { readonly reason: string }[];
}

const AGENTS: readonly Agent[] = [
  {
    package: "@anthropic-ai/claude-code",
    program: "claude",
    words: ["-p", START_TWO, "--model", "claude-sonnet-4-5", "--dangerously-skip-permissions"],
    env: { ANTHROPIC_API_KEY: "sk-ant-api03-test", IS_SANDBOX: "1" },
    agents: 2,
    kind: "general-purpose",
    source: "stated",
    hasTurns: true,
    reports: true,
    hasVersion: true,
  },
  {
    package: "@openai/codex",
    program: "codex",
    words: ["exec", "--skip-git-repo-check", "-s", "read-only", "-m", "gpt-5.1-codex", START_TWO],
    env: { CODEX_API_KEY: "sk-test" },
    agents: 2,
    kind: "thread_spawn",
    source: "stated",
    hasTurns: true,
    reports: true,
    hasVersion: true,
  },
  {
    package: "opencode-ai",
    program: "opencode",
    words: ["run", "-m", "anthropic/claude-sonnet-4-5", START_TWO],
    env: { ANTHROPIC_API_KEY: "sk-ant-test" },
    agents: 2,
    source: "stated",
    hasVersion: true,
  },
  {
    package: "@qwen-code/qwen-code",
    program: "qwen",
    words: ["-p", "say ok"],
    env: { OPENAI_API_KEY: "x", OPENAI_BASE_URL: "https://api.openai.com/v1", OPENAI_MODEL: "qwen3" },
    agents: 0,
    source: "stated",
    hasVersion: true,
  },
  {
    package: "@mariozechner/pi-coding-agent",
    program: "pi",
    words: ["-p", "--provider", "openai", "--model", "gpt-5-mini", "say ok"],
    env: { OPENAI_API_KEY: "sk-test" },
    agents: 0,
    source: "stated",
    hasVersion: false,
  },
  {
    package: "@google/gemini-cli",
    program: "gemini",
    words: ["-p", "say ok", "-m", "gemini-2.5-pro"],
    env: { GEMINI_API_KEY: "x", GEMINI_CLI_TRUST_WORKSPACE: "true" },
    agents: 0,
    source: "inferred",
    reports: true,
    hasVersion: true,
  },
];

describe("the sessions of real agents", { skip: skipWithoutAgents }, () => {
  let started: AgentMeter;
  let provider: ScriptedProvider;
  let meter: MeterProcess;

  before(async () => {
    started = await startAgentMeter(["[telemetry]", "receive = true"]);
    ({ provider, meter } = started);
  });
  after(() => started?.close());

  /** Checks that the agent's log and its reports agree with what was metered: each call that did not fail. */
  async function compareWitnesses(home: string): Promise<void> {
    const compared = await waitFor("its reports", async () => {
      const { stdout } = await meter.run(["reconcile", "logs", "--json"], { env: { HOME: home } });
      const { days } = JSON.parse(stdout) as { days: readonly ComparedDay[] };
      // The other agents keep no logs.
      const own = days.filter(({ totals }) => totals.log !== null);
      return own.length > 0 && own.every(({ totals }) => totals.client?.calls === totals.log?.calls) && own;
    });
    for (const { agreed, totals, differences } of compared) {
      assert.equal(agreed, totals.log?.calls);
      assert.deepEqual(
        [...new Set(differences.map(({ reason }) => reason))],
        differences.length === 0 ? [] : ["failed"],
      );
    }
  }

  /** Runs an agent until it exits, and returns the records of its calls with usage. */
  async function run({ program, words, env, reports }: Agent): Promise<StoredRequest[]> {
    const known = await readKnownIds(meter);
    const sentBefore = provider.requests.length;
    await withAgentFolders(async (home, cwd) => {
      const { code, stderr } = await runProgram(
        [
          ...[...meterWords, "run", "--telemetry", "--"],
          ...[join(agentsFolder, "node_modules", ".bin", program), ...words],
        ],
        { cwd, env: { ...env, HOME: home, METER_HOME: meter.home, CI: "1" } },
      );
      assert.equal(code, 0, stderr.slice(-500));
      if (reports === true) await compareWitnesses(home);
    });
    assert.ok(provider.requests.length > sentBefore);
    const rows = await waitForNewRecords(meter, known);
    return rows.filter(({ tokensComplete }) => tokensComplete);
  }

  for (const agent of AGENTS) {
    const version = findAgentVersion(agent.package);
    const missing = version === null && `${agent.package} is not installed in METER_TEST_AGENTS`;
    it(`of ${agent.program} are right, with ${agent.agents} sub-agents`, {
      skip: missing,
      timeout: AGENT_TIMEOUT_MS,
    }, async () => {
      const rows = await run(agent);
      const [sessionId, ...others] = new Set(rows.map((row) => row.sessionId));
      assert.deepEqual(others, []);
      assert.ok(sessionId);
      assert.deepEqual([...new Set(rows.map((row) => row.sessionSource))], [agent.source]);
      if (agent.source === "stated") {
        // The client's own headers or body contain the id, possibly as a part of a value.
        const stated = provider.requests.map(({ headers, body }) => JSON.stringify([headers, body]));
        assert.ok(stated.some((text) => text.includes(sessionId)));
      }
      for (const row of rows) {
        assert.equal(row.clientVersion, agent.hasVersion ? version : null);
        if (agent.hasTurns) assert.notEqual(row.turnId, null);
      }
      const ofAgents = rows.filter(({ agentId }) => agentId !== null);
      assert.equal(new Set(ofAgents.map(({ agentId }) => agentId)).size, agent.agents);
      for (const row of ofAgents) assert.equal(row.agentKind, agent.kind ?? null);

      const shown = JSON.parse((await meter.run(["session", sessionId, "--json"])).stdout);
      assert.deepEqual(
        [shown.session_source, shown.agents, shown.tree.agents.length],
        [agent.source, agent.agents, agent.agents],
      );
      const sum = (node: { calls: { input_tokens: number | null }[]; agents: never[] }): number =>
        node.calls.reduce((total, call) => total + (call.input_tokens ?? 0), 0) +
        node.agents.reduce((total, each) => total + sum(each), 0);
      assert.equal(
        sum(shown.tree),
        rows.reduce((total, { tokens }) => total + (tokens.promptTokens ?? 0), 0),
      );
    });
  }
});
