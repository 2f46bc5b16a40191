/**
 * `npm run pictures:generate`: writes the terminal pictures of `docs/pictures`, which show the output of real commands over invented
 * calls as SVG. Run it after a change of one of these commands.
 */
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout } from "node:timers/promises";
import { stripVTControlCharacters } from "node:util";
import { createSqliteOpener } from "../adapters/sqlite/open-sqlite.ts";
import { databaseFile } from "../cli/home/database-file.ts";
import { openStore } from "../daemon/store/open-store.ts";
import { sampleRecord } from "../tests/daemon/store/sample-records.rig.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const PROGRAM = [join(import.meta.dirname, "../cli/bin.js")];
const now = Date.now();
const home = mkdtempSync(join(tmpdir(), "meter-pictures-"));

/** Sessions of invented work: program, project, model, calls, the minutes since the last call, and who pays. */
const SESSIONS = [
  ["claude", "web-shop", "claude-sonnet-4-5-20250929", 42, 1, "plan"],
  ["codex", "billing-api", "gpt-5-codex", 18, 7, "metered"],
  ["claude", "docs", "claude-haiku-4-5-20251001", 11, 55, "plan"],
  ["opencode", "web-shop", "gpt-5-mini", 6, 190, "metered"],
] as const;

function inventCalls() {
  return SESSIONS.flatMap(([client, project, model, calls, lastMinutes, billingMode], session) =>
    Array.from({ length: calls }, (_, index) => {
      const provider = model.startsWith("gpt") ? "openai" : "anthropic";
      const isOpenAi = provider === "openai";
      return sampleRecord({
        ...{ client, project, model, provider, billingMode, requestedModel: model, usageExtras: null },
        requestedAt: now - (lastMinutes + (calls - 1 - index) * 1.3) * MINUTE_MS,
        sessionId: `7f3${session}c0de-5b1e-4c7a-9d4f-00000000000${session}`,
        sessionSource: "stated",
        costPicoUsd: BigInt(8 + ((index * 37) % 61)) * 1_000_000_000n,
        tokens: {
          promptTokens: 900 + ((index * 131) % 700),
          cacheReadTokens: 41_000 + index * 900,
          cacheWriteTokens: isOpenAi ? null : 1_200,
          cacheWrite1hTokens: null,
          completionTokens: 350 + ((index * 71) % 400),
          thinkingTokens: isOpenAi ? 120 : null,
        },
      });
    }),
  );
}

const limit = (provider: string, window: string, windowMs: number, usedPpm: number, leftMs: number) => ({
  isPoint: true,
  reading: {
    ...{
      provider,
      window,
      windowMs,
      usedPpm,
      account: provider === "codex" ? "5be204d7c1" : "a81f3c90e2",
      scope: null,
    },
    ...{ unit: "share" as const, limit: null, remaining: null, status: "allowed" as const },
    ...{ resetAt: now + leftMs, seenAt: now - MINUTE_MS },
  },
});

const LIMITS = [
  limit("anthropic", "5h", 5 * HOUR_MS, 620_000, 1.7 * HOUR_MS),
  limit("anthropic", "7d", 168 * HOUR_MS, 310_000, 91 * HOUR_MS),
  limit("codex", "5h", 5 * HOUR_MS, 180_000, 3.2 * HOUR_MS),
];

const env = { ...process.env, METER_HOME: home, COLUMNS: "104", NO_COLOR: "1", HOME: home };

function run(words: readonly string[], input = ""): string {
  const { stdout, stderr, status } = spawnSync(process.execPath, [...PROGRAM, ...words], {
    ...{ env, input, encoding: "utf8" },
  });
  if (status !== 0) throw new Error(`meter ${words.join(" ")} failed with exit code ${status}: ${stderr}`);
  return stripVTControlCharacters(stdout).trimEnd();
}

const ROW = 18;
const CELL = 7.8;
const MARGIN = 16;

const escapeText = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** Draws a terminal with a command and its output. */
function draw(command: string, output: string): string {
  const lines = [`$ ${command}`, ...output.split("\n")];
  const width = Math.ceil(Math.max(...lines.map((line) => [...line].length)) * CELL) + 2 * MARGIN;
  const height = lines.length * ROW + 2 * MARGIN;
  const texts = lines.map((line, index) => {
    const [y, length] = [MARGIN + index * ROW + 13, Math.round([...line].length * CELL)];
    const fill = index === 0 ? ' fill="#8ab4f8"' : "";
    return line === ""
      ? ""
      : `<text x="${MARGIN}" y="${y}" textLength="${length}" xml:space="preserve"${fill}>${escapeText(line)}</text>\n`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="The output of ${escapeText(command)}">
<rect width="100%" height="100%" rx="8" fill="#16181d"/>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="13" fill="#e6e6e6" lengthAdjust="spacingAndGlyphs">
${texts.join("")}</g>
</svg>
`;
}

/** Starts the daemon and waits until `meter status` reaches it. */
async function startDaemon() {
  const daemon = spawn(process.execPath, [...PROGRAM, "start", "--foreground"], { env, stdio: "ignore" });
  for (let attempt = 0; attempt < 100; attempt++) {
    const { status } = spawnSync(process.execPath, [...PROGRAM, "status"], { env });
    if (status === 0) return daemon;
    await setTimeout(200);
  }
  daemon.kill();
  throw new Error("The daemon did not start.");
}

writeFileSync(join(home, "config.toml"), "[proxy]\nport = 0\n[api]\nport = 0\n");
const store = await openStore(createSqliteOpener(), databaseFile(home));
store.records.insert(inventCalls());
store.limits.save(LIMITS);
store.close();
const daemon = await startDaemon();
try {
  const folder = join(import.meta.dirname, "../docs/pictures");
  mkdirSync(folder, { recursive: true });
  const claude = JSON.stringify({ session_id: `7f30c0de-5b1e-4c7a-9d4f-000000000000` });
  const pictures: readonly (readonly [name: string, words: readonly string[], input?: string])[] = [
    ["top", ["top"]],
    ["sessions", ["sessions"]],
    ["limits", ["limits"]],
    ["statusline", ["statusline"], claude],
  ];
  for (const [name, words, input] of pictures)
    writeFileSync(join(folder, `${name}.svg`), draw(`meter ${words.join(" ")}`, run(words, input)));
} finally {
  daemon.kill();
  await new Promise((resolve) => daemon.once("exit", resolve));
  rmSync(home, { recursive: true, force: true });
}
