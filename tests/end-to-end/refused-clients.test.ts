import assert from "node:assert/strict";
import { join } from "node:path";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import type { BudgetView } from "../../daemon/budgets/budget-views.ts";
import type { StoredRequest } from "../../daemon/store/port/records.ts";
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

/** How often each client is run. */
const ROUNDS = Number(process.env.METER_TEST_ROUNDS ?? 1);

/** How long a client may take to start, to be refused and to end on a busy machine, in milliseconds. */
const CLIENT_TIMEOUT_MS = 180_000;

interface Client {
  readonly name: string;
  readonly package: string;
  /** A program of the package with its arguments, or the source of a module that calls its SDK. */
  readonly program: readonly string[] | string;
  readonly env?: Readonly<Record<string, string>>;
  /** How many calls it makes, of which each is refused once. */
  readonly calls: number;
}

const anthropicKey = { ANTHROPIC_API_KEY: "sk-ant-api03-test" };
const openaiKey = { OPENAI_API_KEY: "sk-test" };
const geminiKey = { GEMINI_API_KEY: "x", GOOGLE_GENERATIVE_AI_API_KEY: "x" };
const messages = '[{ role: "user", content: "say ok" }]';

/** A module that prints what an SDK throws. */
const sdk = (imports: string, call: string) =>
  `${imports}\ntry { ${call} } catch (error) { console.log(String(error)); }`;

const anthropicSdk = (rest: string) =>
  sdk(
    'import Anthropic from "@anthropic-ai/sdk";',
    `const options = { model: "claude-sonnet-4-5", max_tokens: 9, messages: ${messages} }; const client = new Anthropic(); ${rest}`,
  );
const openaiSdk = (rest: string) =>
  sdk('import OpenAI from "openai";', `const messages = ${messages}; const client = new OpenAI(); ${rest}`);
const vercelSdk = (provider: string, model: string, rest: string) =>
  sdk(
    `import { generateText, streamText } from "ai"; import { ${provider} } from "@ai-sdk/${provider}";`,
    `const options = { model: ${provider}("${model}"), prompt: "say ok", onError: ({ error }) => console.log(String(error)) }; ${rest}`,
  );
const generate = "await generateText(options);";
const stream = "for await (const part of streamText(options).textStream) console.log(part);";
const sdkOf = (name: string, of: string, program: string, env: Client["env"]): Client => ({
  ...{ name, package: of, program, calls: 1 },
  ...(env !== undefined && { env }),
});

const CLIENTS: readonly Client[] = [
  {
    name: "Claude Code",
    package: "@anthropic-ai/claude-code",
    program: ["claude", "-p", "say ok", "--model", "claude-sonnet-4-5"],
    env: { ...anthropicKey, IS_SANDBOX: "1" },
    calls: 1,
  },
  {
    name: "Codex",
    package: "@openai/codex",
    program: ["codex", "exec", "--skip-git-repo-check", "-s", "read-only", "-m", "gpt-5.1-codex", "say ok"],
    env: { CODEX_API_KEY: "sk-test" },
    // Over a WebSocket: one that prepares the turn, and the turn.
    calls: 2,
  },
  {
    name: "Gemini CLI",
    package: "@google/gemini-cli",
    program: ["gemini", "-p", "say ok", "-m", "gemini-2.5-pro"],
    env: { ...geminiKey, GEMINI_CLI_TRUST_WORKSPACE: "true" },
    calls: 1,
  },
  ...(["anthropic/claude-sonnet-4-5", "openai/gpt-5-mini", "google/gemini-2.5-pro"] as const).map(
    (model): Client => ({
      name: `opencode, ${model}`,
      package: "opencode-ai",
      program: ["opencode", "run", "-m", model, "say ok"],
      env: { ...anthropicKey, ...openaiKey, ...geminiKey },
      // The title and the answer.
      calls: 2,
    }),
  ),
  ...(["anthropic/claude-sonnet-4-5", "openai/gpt-5-mini", "google/gemini-2.5-pro"] as const).map(
    (model): Client => ({
      name: `pi, ${model}`,
      package: "@earendil-works/pi-coding-agent",
      program: ["pi", "-p", "--model", model, "say ok"],
      env: { ...anthropicKey, ...openaiKey, ...geminiKey },
      calls: 1,
    }),
  ),
  {
    name: "Qwen Code",
    package: "@qwen-code/qwen-code",
    program: ["qwen", "-p", "say ok"],
    env: { OPENAI_API_KEY: "x", OPENAI_BASE_URL: "https://api.openai.com/v1", OPENAI_MODEL: "qwen3" },
    calls: 1,
  },
  ...(
    [
      ["anthropic", "claude-sonnet-4-5"],
      ["openai-native", "gpt-5-mini"],
      ["gemini", "gemini-2.5-pro"],
    ] as const
  ).map(
    ([provider, model]): Client => ({
      name: `Cline, ${provider}`,
      package: "cline",
      program: ["cline", "-P", provider, "-k", "sk-test", "-m", model, "say ok"],
      calls: 1,
    }),
  ),
  sdkOf(
    "SDK of Anthropic",
    "@anthropic-ai/sdk",
    anthropicSdk("await client.messages.create(options);"),
    anthropicKey,
  ),
  sdkOf(
    "SDK of Anthropic, streamed",
    "@anthropic-ai/sdk",
    anthropicSdk("await client.messages.stream(options).finalMessage();"),
    anthropicKey,
  ),
  sdkOf(
    "SDK of OpenAI, Chat Completions",
    "openai",
    openaiSdk('await client.chat.completions.create({ model: "gpt-5-mini", messages });'),
    openaiKey,
  ),
  sdkOf(
    "SDK of OpenAI, Responses, streamed",
    "openai",
    openaiSdk(
      'for await (const event of await client.responses.create({ model: "gpt-5-mini", input: messages, stream: true })) console.log(event);',
    ),
    openaiKey,
  ),
  ...["generateContent", "generateContentStream"].map((method) =>
    sdkOf(
      `SDK of Google, ${method}`,
      "@google/genai",
      sdk(
        'import { GoogleGenAI } from "@google/genai";',
        `await new GoogleGenAI({ apiKey: "x" }).models.${method}({ model: "gemini-2.5-pro", contents: "say ok" });`,
      ),
      undefined,
    ),
  ),
  ...(
    [
      ["anthropic", "claude-sonnet-4-5", anthropicKey],
      ["openai", "gpt-5-mini", openaiKey],
      ["google", "gemini-2.5-pro", geminiKey],
    ] as const
  ).flatMap(([provider, model, key]) => [
    sdkOf(`Vercel AI SDK, ${provider}`, "ai", vercelSdk(provider, model, generate), key),
    sdkOf(`Vercel AI SDK, ${provider}, streamed`, "ai", vercelSdk(provider, model, stream), key),
  ]),
];

/** What one run did: how many seconds passed before the first refusal and after the last one, and what was printed. */
interface RefusedRun {
  /** How many calls were refused. */
  readonly refused: number;
  readonly before: number;
  readonly after: number;
  readonly output: string;
}

describe("real clients whose budget is used up", { skip: skipWithoutAgents }, () => {
  let started: AgentMeter;
  let meter: MeterProcess;

  before(async () => {
    started = await startAgentMeter([], { webSockets: true });
    meter = started.meter;
    const { code, stderr } = await meter.run([
      "budget",
      "set",
      "agents",
      "0 USD",
      "--period",
      "day",
      "--block",
    ]);
    assert.equal(code, 0, stderr);
  });
  after(() => started?.close());

  const letThrough = async (): Promise<number> => {
    const { budgets } = JSON.parse((await meter.run(["budget", "list", "--json"])).stdout) as {
      budgets: BudgetView[];
    };
    const [{ let_through } = assert.fail()] = budgets;
    return Object.values(let_through).reduce((sum, count) => sum + count, 0);
  };

  /** Runs a client until it ends. Null: on a busy machine, a call was sent because its decision came too late. */
  async function run({ program, env }: Client): Promise<RefusedRun | null> {
    const known = await readKnownIds(meter);
    const letThroughBefore = await letThrough();
    const startedAt = Date.now();
    const words =
      typeof program === "string"
        ? [process.execPath, "--input-type=module", "-e", program]
        : [join(agentsFolder, "node_modules", ".bin", program[0] ?? ""), ...program.slice(1)];
    const finished = await withAgentFolders((home, cwd) =>
      runProgram([...meterWords, "run", "--", ...words], {
        // An SDK is found from the folder in which npm installed it.
        cwd: typeof program === "string" ? agentsFolder : cwd,
        env: { ...env, HOME: home, METER_HOME: meter.home, CI: "1" },
      }),
    );
    const endedAt = Date.now();
    if ((await letThrough()) > letThroughBefore) return null;
    const rows = await waitForNewRecords(meter, known).catch((): StoredRequest[] => []);
    const times = rows.map(({ requestedAt }) => requestedAt);
    return {
      refused: rows.filter(({ blockedBy }) => blockedBy === "agents").length,
      before: (Math.min(...times) - startedAt) / 1_000,
      after: (endedAt - Math.max(...times)) / 1_000,
      output: finished.stdout + finished.stderr,
    };
  }

  for (const client of CLIENTS) {
    const version = findAgentVersion(client.package);
    const missing = version === null && `${client.package} is not installed in METER_TEST_AGENTS`;
    it(`${client.name} makes no call twice, shows the message and ends`, {
      skip: missing,
      timeout: CLIENT_TIMEOUT_MS * ROUNDS,
    }, async (test) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const result = await waitFor(
          "a run in which every call was decided in time",
          () => run(client),
          CLIENT_TIMEOUT_MS,
        );
        const { refused, before, after, output } = result;
        test.diagnostic(
          `${version}: ${refused}, ${before.toFixed(1)} s + ${after.toFixed(1)} s: ${/[^\n]*meter: the budget[^\n]*/.exec(output)?.[0] ?? output.slice(-500)}`,
        );
        assert.equal(refused, client.calls);
        assert.match(output, /meter: the budget \\?"agents\\?"[^\n]*meter budget lift agents --for 1h/);
      }
    });
  }
});
