// `npm run bench:import [-- --lines N]`, after `npm run build`: imports a million lines of logs of Claude Code and
// Codex, and again with nothing new. Fails if that takes longer than 60 s or more than 200 MB. All data is invented.
import { spawn } from "node:child_process";
import { createWriteStream, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { finished } from "node:stream/promises";
import { parseArgs } from "node:util";
import { installProgram } from "../installed-program.ts";

const MAX_SECONDS = 60;
const MAX_BYTES = 200e6;

const { values } = parseArgs({ options: { lines: { type: "string", default: "1000000" } } });
const lines = Number(values.lines);

/** How many lines one session has, and how many of them make one call. */
const SESSION_LINES = 500;
const CALL_LINES = 5;

const start = Date.UTC(2026, 0, 1);
const json = (value: unknown) => `${JSON.stringify(value)}\n`;

/** The lines of one call of Claude Code: the prompt, three content blocks and the output of a tool. */
function claudeCall(session: number, call: number): string {
  const timestamp = new Date(start + session * 600_000 + call * 5_000).toISOString();
  const around = {
    sessionId: `s-${session}`,
    cwd: `/w/p${session % 20}`,
    gitBranch: "main",
    version: "2.1.240",
    timestamp,
  };
  const usage = {
    input_tokens: 3 + call,
    cache_read_input_tokens: 9_000 + call,
    cache_creation_input_tokens: 500,
  };
  const block = (output: number) =>
    json({
      type: "assistant",
      uuid: `${session}-${call}-${output}`,
      requestId: `req_${session}_${call}`,
      ...around,
      message: {
        id: `msg_01${session}x${call}`,
        model: "claude-sonnet-4-5",
        content: [{ type: "text", text: "x".repeat(300) }],
        usage: { ...usage, output_tokens: output },
      },
    });
  const user = json({
    type: "user",
    uuid: `u-${session}-${call}`,
    ...around,
    message: { content: "y".repeat(1_500) },
  });
  return user + block(10) + block(20) + block(30) + user;
}

/** The lines of one call of Codex. */
function codexCall(session: number, call: number): string {
  const timestamp = new Date(start + session * 600_000 + call * 5_000).toISOString();
  const usage = {
    input_tokens: 1_000 + session,
    cached_input_tokens: 800,
    output_tokens: 50,
    reasoning_output_tokens: 20,
  };
  const total = Object.fromEntries(Object.entries(usage).map(([name, count]) => [name, count * (call + 1)]));
  const info = { total_token_usage: total, last_token_usage: usage };
  const count = json({
    timestamp,
    type: "event_msg",
    payload: { type: "token_count", info, rate_limits: { primary: { used_percent: 1 } } },
  });
  const text = json({
    timestamp,
    type: "response_item",
    payload: { type: "message", content: "z".repeat(800) },
  });
  return text + text + text + count + count;
}

async function writeLogs(home: string): Promise<number> {
  let bytes = 0;
  for (let session = 0; session * SESSION_LINES < lines; session++) {
    const isCodex = session % 4 === 0;
    const folder = isCodex
      ? join(home, ".codex", "sessions", "2026")
      : join(home, ".claude", "projects", `p${session % 20}`);
    mkdirSync(folder, { recursive: true });
    const file = createWriteStream(join(folder, isCodex ? `rollout-${session}.jsonl` : `s-${session}.jsonl`));
    if (isCodex)
      file.write(
        json({
          timestamp: new Date(start).toISOString(),
          type: "session_meta",
          payload: { id: `thr-${session}`, cwd: "/w/p1" },
        }) +
          json({
            timestamp: new Date(start).toISOString(),
            type: "turn_context",
            payload: { model: "gpt-5" },
          }),
      );
    for (let call = 0; call < SESSION_LINES / CALL_LINES; call++)
      file.write(isCodex ? codexCall(session, call) : claudeCall(session, call));
    file.end();
    await finished(file);
    bytes += file.bytesWritten;
  }
  return bytes;
}

/** Runs `meter import` and returns its JSON, its duration and its peak memory (Linux only). */
async function runImport({ program, env }: ReturnType<typeof installProgram>, home: string) {
  const begun = performance.now();
  const child = spawn(process.execPath, [program, "import", "--json"], {
    env: { ...env, HOME: home, USERPROFILE: home },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  child.stdout.on("data", (chunk) => (text += String(chunk)));
  let bytes = 0;
  const watch = setInterval(() => {
    try {
      const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
      bytes = Math.max(bytes, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024);
    } catch {
      // The process has exited, or this is not Linux.
    }
  }, 50);
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  clearInterval(watch);
  if (code !== 0) throw new Error(`meter import failed with exit code ${code}`);
  const { agents } = JSON.parse(text) as { agents: { agent: string; lines: number; new_records: number }[] };
  return { seconds: (performance.now() - begun) / 1_000, bytes, agents };
}

const installed = installProgram();
const home = mkdtempSync(join(tmpdir(), "meter-bench-import-"));
try {
  const bytes = await writeLogs(home);
  process.stdout.write(`${lines} lines, ${(bytes / 1e6).toFixed(0)} MB\n`);
  for (const name of ["first import", "second import"]) {
    const run = await runImport(installed, home);
    const counts = run.agents.map(
      ({ agent, lines: read, new_records }) => `${agent} ${read} lines, ${new_records} records`,
    );
    process.stdout.write(
      `${name}: ${run.seconds.toFixed(1)} s, at most ${(run.bytes / 1e6).toFixed(0)} MB; ${counts.join("; ")}\n`,
    );
    if (run.seconds > MAX_SECONDS || run.bytes > MAX_BYTES) process.exitCode = 1;
  }
} finally {
  rmSync(home, { recursive: true, force: true });
  installed.remove();
}
