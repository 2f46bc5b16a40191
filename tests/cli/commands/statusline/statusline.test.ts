import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { PassThrough, Readable } from "node:stream";
import { describe, it } from "node:test";
import { parseClaudeInput, readInput } from "../../../../cli/commands/statusline/claude-input.ts";
import { printStatusline } from "../../../../cli/commands/statusline/print-statusline.ts";
import { renderStatusline } from "../../../../cli/commands/statusline/render-statusline.ts";
import { stateFile, tokenFile } from "../../../../cli/daemon/daemon-process.ts";
import { formatParts } from "../../../../cli/render/format-parts.ts";
import type { NowResponse, NowSums } from "../../../../daemon/api/now-routes.ts";
import type { LimitView } from "../../../../daemon/limits/limit-views.ts";
import { onNodeOnly } from "../../../end-to-end/meter-process.rig.ts";
import { createEmptyHome, runWords } from "../../run-command.rig.ts";

/** A local time, so that the test is independent of the zone. */
const at = new Date(2026, 7, 31, 9, 20).getTime();
const HOUR = 3_600_000;

const sums = (members: Partial<NowSums> = {}): NowSums => ({
  spent_pico_usd: "0",
  plan_usage_pico_usd: "0",
  unknown_billing_pico_usd: "0",
  requests: 1,
  cache_percent: null,
  ...members,
});

const view = (members: Partial<LimitView> = {}): LimitView => ({
  id: 1,
  provider: "anthropic",
  account: null,
  window: "5h",
  scope: null,
  unit: "share",
  used_percent: 62.5,
  limit: null,
  remaining: null,
  resets_at: new Date(at + 2 * HOUR).toISOString(),
  status: null,
  level: "ok",
  seen_at: new Date(at).toISOString(),
  is_over: false,
  elapsed_percent: 60,
  burn_percent_per_hour: 10,
  full: "lasts",
  full_at: null,
  ...members,
});

const response = (members: Partial<NowResponse> = {}): NowResponse => ({
  today: sums({ plan_usage_pico_usd: "4260000000000" }),
  last_hour: sums({ plan_usage_pico_usd: "1100000000000" }),
  session: null,
  limits: [],
  calls_in_flight: 0,
  detail: null,
  ...members,
});

const claude = {
  session_id: "5e55-1",
  model: { id: "claude-opus-4-5", display_name: "Opus 4.5" },
  workspace: { current_dir: "/w" },
  cost: { total_cost_usd: 1.5 },
  rate_limits: {
    five_hour: { used_percentage: 91.9, resets_at: at / 1_000 + 3_600 },
    seven_day: { used_percentage: 4 },
  },
};
const input = parseClaudeInput(JSON.stringify(claude));

describe("renderStatusline()", () => {
  it("states the session, today, the last hour, the cache and the limits", () => {
    const now = response({
      session: sums({ plan_usage_pico_usd: "1234000000000", cache_percent: 87 }),
      limits: [
        view({ window: "7d", scope: "opus", used_percent: 25, resets_at: null }),
        view({ full: "at", full_at: new Date(at + HOUR).toISOString() }),
        view({ window: "5h", provider: "codex", is_over: true }),
      ],
    });
    assert.equal(
      renderStatusline(now, input, at),
      "Opus 4.5 · session $1.23 plan · today $4.26 plan · $1.10 plan/h · cache 87% · 5h 62% → 11:20, full 10:20 · 7d opus 25%",
    );
  });

  it("shows today's totals without Claude Code", () => {
    const now = response({
      today: sums({ spent_pico_usd: "1000000000", cache_percent: 3 }),
      last_hour: sums(),
      limits: [view(), view({ provider: "codex", used_percent: 10 })],
    });
    assert.equal(
      renderStatusline(now, null, at),
      "today <$0.01 · cache 3% · anthropic 5h 62% → 11:20 · codex 5h 10% → 11:20",
    );
  });

  it("takes Claude Code's numbers if no daemon answers", () => {
    assert.equal(
      renderStatusline(null, input, at),
      "Opus 4.5 · session $1.50 · 5h 91% → 10:20 · 7d 4% · meter is not running",
    );
    assert.equal(renderStatusline(null, null, at), "meter is not running");
  });

  it("lets no text control the terminal", () => {
    const hostile = parseClaudeInput(JSON.stringify({ model: { display_name: "a\u001b[2J\nb" } }));
    assert.equal(renderStatusline(null, hostile, at), "a\ufffd[2J\ufffdb · meter is not running");
  });

  it("shows spend and plan usage separately", () => {
    const all = {
      spent_pico_usd: "1200000000000",
      plan_usage_pico_usd: "3400000000000",
      unknown_billing_pico_usd: "50000000000",
    };
    assert.equal(formatParts(sums(all)), "$1.20 + $3.40 plan + $0.05 unknown");
    assert.equal(formatParts(sums()), "$0.00");
  });
});

describe("parseClaudeInput()", () => {
  it("ignores other and malformed JSON", () => {
    for (const text of ["", "{", "[]x", "null", "5"]) assert.equal(parseClaudeInput(text), null, text);
    const nothing = { model: null, sessionId: null, costUsd: null, limits: [] };
    for (const value of [
      {},
      {
        session_id: 5,
        model: "m",
        cost: { total_cost_usd: -1 },
        rate_limits: { five_hour: { used_percentage: "9" } },
      },
      { model: { display_name: "" }, cost: null, rate_limits: [] },
    ])
      assert.deepEqual(parseClaudeInput(JSON.stringify(value)), nothing);
  });

  it("reads resets in seconds and as text", () => {
    const limits = (resets_at: unknown) =>
      parseClaudeInput(JSON.stringify({ rate_limits: { seven_day: { used_percentage: 1, resets_at } } }))
        ?.limits;
    assert.deepEqual(limits(at / 1_000), [{ window: "7d", usedPercent: 1, resetsAt: at }]);
    assert.deepEqual(limits(new Date(at).toISOString()), [{ window: "7d", usedPercent: 1, resetsAt: at }]);
    assert.deepEqual(limits("soon"), [{ window: "7d", usedPercent: 1, resetsAt: null }]);
  });
});

describe("readInput()", () => {
  it("does not wait for a terminal, and only briefly for a silent pipe", async () => {
    assert.equal(await readInput(Object.assign(new PassThrough(), { isTTY: true })), "");
    assert.equal(await readInput(new PassThrough()), "");
    assert.equal(await readInput(Readable.from(["a", "b"])), "ab");
  });

  it("stops at an endless input", async () => {
    const endless = new Readable({ read: () => endless.push("x".repeat(64 * 1024)) });
    assert.ok((await readInput(endless)).length > 256 * 1024);
  });
});

describe("meter statusline", () => {
  async function withDaemon(
    answer: (path: string) => { status?: number; body: string },
    work: (home: string, seen: string[]) => Promise<void>,
  ) {
    const seen: string[] = [];
    const server: Server = createServer((request, reply) => {
      seen.push(`${request.url} ${request.headers.authorization}`);
      const { status = 200, body } = answer(`${request.url}`);
      reply.writeHead(status, { "content-length": Buffer.byteLength(body) }).end(body);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { home, remove } = createEmptyHome();
    writeFileSync(stateFile(home), JSON.stringify({ api_port: (server.address() as AddressInfo).port }));
    writeFileSync(tokenFile(home), "secret\n");
    try {
      await work(home, seen);
    } finally {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      remove();
    }
  }

  async function print(home: string, text: string): Promise<string> {
    let written = "";
    const stdout = { write: (part: string) => void (written += part) };
    await printStatusline({ stdin: Readable.from([text]), stdout, env: { METER_HOME: home } });
    return written;
  }

  it("asks the daemon about the session of Claude Code", () =>
    withDaemon(
      () => ({ body: JSON.stringify(response({ session: sums({ spent_pico_usd: "2000000000000" }) })) }),
      async (home, seen) => {
        const line = await print(home, JSON.stringify({ ...claude, session_id: "a b" }));
        assert.match(line, /^Opus 4\.5 · session \$2\.00 · today \$4\.26 plan .*\n$/);
        assert.deepEqual(seen, ["/v1/now?session=a%20b Bearer secret"]);
      },
    ));

  it("prints a neutral line if the daemon's answer is unexpected", async () => {
    for (const answer of [{ status: 500, body: "{}" }, { body: "{" }, { body: "{}" }])
      await withDaemon(
        () => answer,
        async (home) => assert.match(await print(home, ""), /^meter( is not running)?\n$/),
      );
  });

  it("prints a neutral line without a daemon, and if the home does not exist", async () => {
    assert.equal(await print("/nowhere", ""), "meter is not running\n");
    assert.equal((await runWords("/nowhere", ["statusline", "--help"])).code, 0);
  });

  // The parser, schemas, the database and Node's HTTP client would each take longer than the command.
  it("loads almost nothing, and exits with 0", { skip: onNodeOnly }, async () => {
    const list = `data:text/javascript,${encodeURIComponent(`
      import { registerHooks } from "node:module";
      const loaded = [];
      registerHooks({ load: (url, context, next) => { loaded.push(url); return next(url, context); } });
      process.on("exit", () => process.stderr.write(JSON.stringify([...loaded, ...process.moduleLoadList])));
    `)}`;
    const program = join(import.meta.dirname, "../../../../cli/bin.js");
    const child = spawn(process.execPath, ["--import", list, program, "statusline"], {
      stdio: ["pipe", "pipe", "pipe"],
      env: { METER_HOME: "/nowhere", PATH: process.env.PATH },
    });
    const read = async (stream: Readable) => (await stream.setEncoding("utf8").toArray()).join("");
    child.stdin.end(JSON.stringify(claude));
    const [out, loads, code] = await Promise.all([
      read(child.stdout),
      read(child.stderr),
      new Promise((resolve) => child.on("close", resolve)),
    ]);
    assert.match(out, /^Opus 4\.5 · session \$1\.50 · /);
    assert.equal(code, 0);
    const heavy = (JSON.parse(loads) as string[]).filter((each) =>
      /clipanion|valibot|hono|kysely|sqlite|NativeModule (http|internal\/deps\/undici)|\/core\/|\/daemon\//.test(
        each,
      ),
    );
    assert.deepEqual(heavy, []);
  });
});
