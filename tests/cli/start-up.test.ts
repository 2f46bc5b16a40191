import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { commandsFor } from "../../cli/commands/commands-for.ts";
import { main as runReport } from "../../cli/commands/report/run-report.ts";
import { main as runRun } from "../../cli/commands/run/run-run.ts";
import { main as runStatus } from "../../cli/commands/status/run-status.ts";
import { stateFile, tokenFile } from "../../cli/daemon/daemon-process.ts";
import { onNodeOnly, runProgram, sourceWords } from "../end-to-end/meter-process.rig.ts";
import { createEmptyHome, runWords } from "./run-command.rig.ts";

/** Lists the files and Node modules that a command loads. A hook prints them to standard error at the end. */
const listLoads = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from "node:module";
  const loaded = [];
  registerHooks({ load: (url, context, next) => { loaded.push(url); return next(url, context); } });
  process.on("exit", () => process.stderr.write(JSON.stringify([...loaded, ...process.moduleLoadList])));
`)}`;

async function loadsOf(words: readonly string[]): Promise<string[]> {
  const { home, remove } = createEmptyHome();
  try {
    const [node = "", ...program] = sourceWords;
    const { stderr } = await runProgram([node, "--import", listLoads, ...program, ...words], {
      env: { METER_HOME: home },
    });
    // The command may print an error first.
    return JSON.parse(stderr.slice(stderr.indexOf('["')));
  } finally {
    remove();
  }
}

describe("commandsFor()", () => {
  it("returns each command for the first word of each of its paths", async () => {
    const all = await commandsFor([]);
    for (const command of all) {
      for (const path of command.paths ?? [])
        assert.ok((await commandsFor(path)).includes(command), path.join(" "));
    }
  });

  it("returns all commands for an unknown word, and none for --version", async () => {
    assert.deepEqual(await commandsFor(["statu"]), await commandsFor([]));
    assert.deepEqual(await commandsFor(["--version"]), []);
  });
});

describe("the single-file programs of report, run and status", () => {
  const programs = { report: runReport, run: runRun, status: runStatus };

  for (const [word, run] of Object.entries(programs)) {
    it(`${word} runs as main() does: its help, its output and its errors`, async () => {
      const { home, remove } = createEmptyHome();
      try {
        for (const more of [["--help"], [], ["--no-such-option"]]) {
          const words = [word, ...more];
          assert.deepEqual(await runWords(home, words, {}, run), await runWords(home, words));
        }
      } finally {
        remove();
      }
    });
  }
});

describe("meter status", () => {
  it("sends all requests over one connection, and closes it", async () => {
    const startedAt = "2026-11-21T10:00:00.000Z";
    const seen: string[] = [];
    let connections = 0;
    const server = createServer((request, answer) => {
      seen.push(`${request.url}`);
      const body = {
        status: "ok",
        started_at: startedAt,
        store: { capturing: "ok" },
        proxy: { watchdog: "healthy" },
      };
      answer.setHeader("content-type", "application/json").end(JSON.stringify(body));
    }).on("connection", () => (connections += 1));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { home, remove } = createEmptyHome();
    try {
      const { port } = server.address() as AddressInfo;
      const running = { pid: 1, version: "0.4.0", proxy_port: 1, api_port: port, started_at: startedAt };
      writeFileSync(stateFile(home), JSON.stringify(running));
      writeFileSync(tokenFile(home), "secret");
      assert.equal((await runWords(home, ["status", "--json"])).code, 0);
      assert.deepEqual([seen, connections], [["/health", "/v1/status"], 1]);
      // Exits at once if no connection stays open.
      await new Promise((resolve) => server.close(resolve));
    } finally {
      server.closeAllConnections();
      remove();
    }
  });
});

// Times can't be asserted on a busy machine, but their causes can. `npm run bench:cli` measures them.
describe("what a command loads", { skip: onNodeOnly }, () => {
  const here = pathToFileURL(join(import.meta.dirname, "../..")).href;
  const ofProject = (loads: readonly string[], part: string) =>
    loads.filter((each) => each.startsWith(`${here}/${part}`));

  it("meter --version loads no command", async () => {
    const loads = await loadsOf(["--version"]);
    assert.deepEqual(ofProject(loads, "cli/commands/"), [`${here}/cli/commands/commands-for.ts`]);
    assert.deepEqual([ofProject(loads, "core/"), ofProject(loads, "adapters/")], [[], []]);
  });

  it("meter status loads its own command, no prices, no database and no second HTTP client", async () => {
    const loads = await loadsOf(["status"]);
    assert.deepEqual(ofProject(loads, "cli/commands/").sort(), [
      `${here}/cli/commands/status/installed-service.ts`,
      `${here}/cli/commands/status/render-status.ts`,
      `${here}/cli/commands/status/run-status.ts`,
      `${here}/cli/commands/status/show-status.ts`,
      `${here}/cli/commands/status/status-command.ts`,
    ]);
    const heavy =
      /\/core\/pricing\/|\/(kysely|hono|tslog|undici|string-width|smol-toml)\/|deps\/undici|node:sqlite/;
    assert.deepEqual(
      loads.filter((each) => heavy.test(each)),
      [],
    );
    assert.ok(
      loads.some((each) => each.endsWith("NativeModule http")),
      "the daemon is asked over HTTP",
    );
  });

  it("meter run loads its own command, no redaction rules, no registry of providers and no database", async () => {
    const loads = await loadsOf(["run", "--", "true"]);
    assert.deepEqual(ofProject(loads, "cli/commands/").sort(), [
      `${here}/cli/commands/run/client-variables.ts`,
      `${here}/cli/commands/run/run-command.ts`,
      `${here}/cli/commands/run/run-login.ts`,
      `${here}/cli/commands/run/run-metered.ts`,
      `${here}/cli/commands/run/run-run.ts`,
    ]);
    const heavy =
      /redaction\/(gitleaks-shapes|redact)|usage\/registry|\/(kysely|hono|tslog|undici|string-width)\/|deps\/undici|node:sqlite/;
    assert.deepEqual(
      loads.filter((each) => heavy.test(each)),
      [],
    );
  });
});
