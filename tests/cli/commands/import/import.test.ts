import assert from "node:assert/strict";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { createSqliteOpener } from "../../../../adapters/sqlite/open-sqlite.ts";
import type { RequestRecord } from "../../../../core/values/record.ts";
import { sampleRecord } from "../../../daemon/store/sample-records.rig.ts";
import { createEmptyHome, createSampleHome, runWords } from "../../run-command.rig.ts";

const SAMPLES = fileURLToPath(new URL("../../../core/metering/agent-logs/samples/", import.meta.url));

/** A user's folder with logs of agents, and a meter home. */
interface Machine {
  readonly home: string;
  readonly user: string;
  /** Copies a sample to the place of a log. */
  addSample(name: string, place: string): string;
  write(place: string, text: string): string;
  import(...words: string[]): Promise<ImportJson>;
  run(...words: string[]): ReturnType<typeof runWords>;
}

interface ImportJson {
  readonly agents: readonly {
    agent: string;
    files: number;
    files_read: number;
    lines: number;
    new_records: number;
    known: number;
    grown: number;
    on_wire: number;
    overlapping: number;
    pruned: number;
    cost_pico_usd: string;
    faults: Record<string, number>;
  }[];
  readonly replaced_by_wire: number;
  readonly linked_to_pull_requests: number;
  readonly problems: readonly { path: string; reason: string }[];
}

async function onMachine(
  work: (machine: Machine) => Promise<void>,
  records: readonly RequestRecord[] | null = null,
): Promise<void> {
  const user = realpathSync(mkdtempSync(join(tmpdir(), "meter-user-")));
  const { home, remove } =
    records === null ? createEmptyHome() : await createSampleHome((store) => store.records.insert(records));
  const env = { HOME: user, USERPROFILE: user };
  const write = (place: string, text: string) => {
    const path = join(user, place);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  };
  try {
    await work({
      home,
      user,
      write,
      addSample(name, place) {
        const path = write(place, "");
        cpSync(`${SAMPLES}${name}.jsonl`, path);
        return path;
      },
      async import(...words) {
        const { stdout, stderr } = await runWords(home, ["import", "--json", ...words], env);
        assert.ok(stdout.startsWith("{"), stderr);
        return JSON.parse(stdout) as ImportJson;
      },
      run: (...words) => runWords(home, words, env),
    });
  } finally {
    remove();
    rmSync(user, { recursive: true, force: true });
  }
}

const CLAUDE = ".claude/projects/-w-shop/s-1.jsonl";

const newRecords = ({ agents }: ImportJson) => agents.reduce((sum, each) => sum + each.new_records, 0);

/** A line of Claude Code. */
const claudeLine = (id: string, output: number, at = "2026-08-01T10:00:05.000Z") =>
  `${JSON.stringify({
    type: "assistant",
    requestId: `req_${id}`,
    sessionId: "s-1",
    cwd: "/nowhere/shop",
    timestamp: at,
    message: {
      id: `msg_01${id}`,
      model: "claude-sonnet-5",
      usage: { input_tokens: 10, output_tokens: output },
    },
  })}\n`;

describe("meter import", () => {
  it("stores a record for each call, and the second time nothing", async () => {
    await onMachine(async (machine) => {
      machine.addSample("claude", CLAUDE);
      machine.addSample("claude", ".claude/projects/-w-shop/resumed.jsonl");
      machine.addSample("codex", ".codex/sessions/2026/09/01/rollout-a.jsonl");
      machine.addSample("codex-fork", ".codex/sessions/2026/09/01/rollout-b.jsonl");
      machine.addSample("droid", ".factory/sessions/-w/x.settings.json");
      const first = await machine.import();
      assert.deepEqual(
        first.agents.map(({ agent, files, new_records }) => [agent, files, new_records]),
        [
          ["claude", 2, 9],
          ["codex", 2, 9],
          ["droid", 1, 0],
        ],
      );
      assert.deepEqual(first.agents[2]?.faults, { unreadable: 1 });
      const second = await machine.import();
      assert.equal(newRecords(second), 0);
      assert.ok(second.agents.every(({ files_read }) => files_read === 0));
      const { stdout } = await machine.run("report", "--json", "--by", "client");
      const { rows } = JSON.parse(stdout) as { rows: { key: string; requests: number }[] };
      assert.deepEqual(rows.map(({ key, requests }) => [key, requests]).sort(), [
        ["claude", 9],
        ["codex", 9],
      ]);
    });
  });

  it("reads only what is new, merges larger counts, and reads a rewritten file again", async () => {
    await onMachine(async (machine) => {
      const path = machine.write(CLAUDE, claudeLine("AAAA", 5) + claudeLine("BBBB", 6));
      assert.equal(newRecords(await machine.import()), 2);
      appendFileSync(path, claudeLine("BBBB", 60) + claudeLine("CCCC", 7));
      const { agents } = await machine.import();
      assert.deepEqual(
        agents.map(({ lines, new_records, grown }) => [lines, new_records, grown]),
        [[2, 1, 1]],
      );
      writeFileSync(path, claudeLine("AAAA", 5) + claudeLine("DDDD", 9));
      const again = await machine.import();
      assert.deepEqual(
        again.agents.map(({ lines, new_records, known }) => [lines, new_records, known]),
        [[2, 1, 1]],
      );
      const { stdout } = await machine.run("report", "--json");
      const { rows } = JSON.parse(stdout) as { rows: { completion_tokens: string }[] };
      assert.equal(
        rows.reduce((sum, row) => sum + Number(row.completion_tokens), 0),
        5 + 60 + 7 + 9,
      );
    });
  });

  it("does not count a call that passed through the proxy, found by the id of its response", async () => {
    const at = Date.parse("2026-08-01T10:00:00.000Z");
    const wire = sampleRecord({ requestedAt: at, providerResponseId: "msg_01AAAA", client: "claude" });
    await onMachine(
      async (machine) => {
        machine.write(CLAUDE, claudeLine("AAAA", 5) + claudeLine("BBBB", 6));
        const { agents } = await machine.import();
        assert.deepEqual(
          agents.map(({ new_records, on_wire }) => [new_records, on_wire]),
          [[1, 1]],
        );
        const again = await machine.import();
        assert.deepEqual([newRecords(again), again.replaced_by_wire], [0, 0]);
      },
      [wire],
    );
  });

  it("replaces a record when the record of the proxy comes later", async () => {
    await onMachine(async (machine) => {
      machine.write(CLAUDE, claudeLine("AAAA", 5) + claudeLine("BBBB", 6));
      assert.equal(newRecords(await machine.import()), 2);
      await withRecords(machine.home, [
        sampleRecord({
          requestedAt: Date.parse("2026-08-01T09:59:00.000Z"),
          providerResponseId: "msg_01BBBB",
        }),
      ]);
      assert.equal((await machine.import()).replaced_by_wire, 1);
      assert.equal((await machine.import()).replaced_by_wire, 0);
      const { stdout } = await machine.run("report", "--json", "--by", "total");
      assert.equal((JSON.parse(stdout) as { rows: { requests: number }[] }).rows[0]?.requests, 2);
    });
  });

  it("leaves out totals of sessions that end after the program's first call through the proxy", async () => {
    const at = Date.parse("2026-08-04T07:00:00.000Z");
    await onMachine(
      async (machine) => {
        machine.addSample("copilot", ".copilot/session-state/cp-1/events.jsonl");
        const { agents } = await machine.import();
        assert.deepEqual(
          agents.map(({ new_records, overlapping }) => [new_records, overlapping]),
          [[1, 3]],
        );
      },
      [sampleRecord({ requestedAt: at, client: "copilot" })],
    );
  });

  it("gives calls of the proxy the pull request that the log names", async () => {
    await onMachine(
      async (machine) => {
        machine.addSample("claude", CLAUDE);
        const first = await machine.import();
        // The calls before the link whose branch the log does not state get none.
        assert.equal(first.linked_to_pull_requests, 4);
        const { stdout } = await machine.run("cost", "--pr", "7", "--json");
        const cost = JSON.parse(stdout) as { requests: number; from_logs: { requests: number } };
        assert.deepEqual([cost.requests, cost.from_logs.requests], [4, 3], stdout);
        const label =
          /^From logs: 3 of 4 requests and \$\d\.\d{4} of the cost\. The rest is from the wire\.$/m;
        assert.match((await machine.run("cost", "--pr", "7")).stdout, label);
        assert.match((await machine.run("pr-comment", "--pr", "7")).stdout, label);
        assert.equal((await machine.import()).linked_to_pull_requests, 0);
      },
      [
        sampleRecord({
          sessionId: "s-1",
          requestedAt: Date.parse("2026-08-01T10:03:00Z"),
          gitBranch: "feat/x",
        }),
      ],
    );
  });

  it("changes nothing in a dry run", async () => {
    await onMachine(async (machine) => {
      machine.addSample("claude", CLAUDE);
      machine.addSample("claude", ".claude/projects/-w-shop/resumed.jsonl");
      const { stdout } = await machine.run("import", "--dry-run");
      assert.match(stdout, /9 new records from logs would be stored\./);
      assert.equal((await machine.run("report")).code, 4);
      assert.equal(newRecords(await machine.import()), 9);
      assert.equal(newRecords(await machine.import("--dry-run")), 0);
    });
  });

  it("leaves out what is older than --since, and imports it later", async () => {
    await onMachine(async (machine) => {
      machine.write(
        CLAUDE,
        claudeLine("AAAA", 5, "2026-07-01T10:00:00Z") + claudeLine("BBBB", 6, "2026-08-01T10:00:00Z"),
      );
      assert.equal(newRecords(await machine.import("--since", "2026-07-15")), 1);
      assert.equal(newRecords(await machine.import()), 1);
    });
  });

  it("imports only the agents that are named, and fails for an unknown one", async () => {
    await onMachine(async (machine) => {
      machine.addSample("claude", CLAUDE);
      machine.addSample("codex", ".codex/sessions/2026/09/01/rollout-a.jsonl");
      const { agents } = await machine.import("codex");
      assert.deepEqual(
        agents.map(({ agent }) => agent),
        ["codex"],
      );
      const { code, stderr } = await machine.run("import", "cursor");
      assert.equal(code, 2);
      assert.match(stderr, /Unknown agent: cursor\. Expected: claude, codex/);
    });
  });

  it("reads databases and says what it could not read", async () => {
    await onMachine(async (machine) => {
      const path = join(machine.user, ".local/share/opencode/opencode.db");
      mkdirSync(dirname(path), { recursive: true });
      const connection = await createSqliteOpener().open(path);
      connection.execute(
        "CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, data TEXT, time_updated INTEGER)",
      );
      const data = {
        role: "assistant",
        providerID: "openai",
        modelID: "gpt-5",
        time: { created: 1785600010000 },
        tokens: { input: 3, output: 4, reasoning: 0, cache: { read: 0, write: 0 } },
      };
      connection.prepare("INSERT INTO message VALUES (?, ?, ?, ?)").run(["m1", "s", JSON.stringify(data), 1]);
      machine.write(".local/share/goose/sessions/sessions.db", "no database ".repeat(100));
      const { agents, problems } = await machine.import();
      connection.close();
      assert.deepEqual(
        agents.map(({ agent, new_records }) => [agent, new_records]),
        [
          ["opencode", 1],
          ["goose", 0],
        ],
      );
      assert.deepEqual(
        problems.map(({ reason }) => reason),
        ["corrupt"],
      );
      const { code, stdout } = await machine.run("import");
      assert.equal(code, 1);
      assert.match(stdout, /Could not read .*sessions\.db: it is not a readable SQLite database\./);
    });
  });

  it("deletes the copy that a killed import left, also if it copies nothing itself", async () => {
    await onMachine(async (machine) => {
      mkdirSync(join(machine.home, "import"));
      writeFileSync(join(machine.home, "import", "copy.db"), "");
      await machine.import("--dry-run");
      assert.equal(existsSync(join(machine.home, "import")), false);
    });
  });

  it("reads all of another database that was put in the place of one that it knows", async () => {
    await onMachine(async (machine) => {
      const folder = join(machine.user, ".local/share/opencode");
      mkdirSync(folder, { recursive: true });
      const write = async (name: string, id: string, at: number) => {
        const connection = await createSqliteOpener().open(join(folder, name));
        connection.execute(
          "CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, data TEXT, time_updated INTEGER)",
        );
        const tokens = { input: 3, output: 4, reasoning: 0, cache: { read: 0, write: 0 } };
        const data = {
          role: "assistant",
          providerID: "openai",
          modelID: "gpt-5",
          time: { created: at },
          tokens,
        };
        connection
          .prepare("INSERT INTO message VALUES (?, ?, ?, ?)")
          .run([id, "s", JSON.stringify(data), at]);
        connection.close();
      };
      const newRecords = async () => (await machine.import()).agents.map(({ new_records }) => new_records);
      await write("opencode.db", "m1", 1785600010000);
      assert.deepEqual(await newRecords(), [1]);
      await write("older", "m2", 1785500000000);
      renameSync(join(folder, "older"), join(folder, "opencode.db"));
      assert.deepEqual(await newRecords(), [1]);
    });
  });

  it("attributes records to projects, with file and line", async () => {
    await onMachine(async (machine) => {
      const path = machine.write(CLAUDE, claudeLine("AAAA", 5));
      await machine.import();
      const { stdout } = await machine.run("requests", "--json");
      const [record] = (JSON.parse(stdout) as { items: Record<string, unknown>[] }).items;
      assert.deepEqual(
        [
          record?.project,
          record?.attribution_tier,
          record?.record_source,
          record?.log_file,
          record?.log_line,
        ],
        ["shop", "working_directory", "logs", path, 1],
      );
    });
  });

  it("keeps the figure of an agent when costs are recomputed, as long as no rate is known", async () => {
    await onMachine(async (machine) => {
      machine.write(
        ".config/Code/User/globalStorage/rooveterinaryinc.roo-cline/tasks/t1/ui_messages.json",
        JSON.stringify([
          {
            ts: 1786100000000,
            type: "say",
            say: "api_req_started",
            text: '{"tokensIn":9,"tokensOut":2,"cost":0.25}',
          },
        ]),
      );
      const { agents } = await machine.import("roo");
      assert.deepEqual(
        agents.map(({ new_records, cost_pico_usd }) => [new_records, cost_pico_usd]),
        [[1, "250000000000"]],
      );
      const { stdout } = await machine.run("recompute-costs", "--json");
      const { requests, changed } = JSON.parse(stdout) as { requests: number; changed: number };
      assert.deepEqual([requests, changed], [1, 0]);
    });
  });

  it("says that nothing was found, or that nothing is new", async () => {
    await onMachine(async (machine) => {
      assert.match((await machine.run("import")).stdout, /^No logs of agents were found\./);
      machine.addSample("claude", CLAUDE);
      const { stdout } = await machine.run("import");
      assert.match(stdout, /7 new records from logs\.\n/);
      assert.match(stdout, /Delete them again: .*import remove/);
      assert.match(
        (await machine.run("import")).stdout,
        /^Nothing is new in the logs since the last import\./,
      );
    });
  });
});

describe("meter import after meter prune", () => {
  it("brings back nothing that was pruned, until everything is wiped", async () => {
    await onMachine(async (machine) => {
      const line = (id: string, at: string) => claudeLine(id, 5, at);
      machine.write(CLAUDE, line("old", "2026-08-01T10:00:00Z") + line("new", "2026-08-03T10:00:00Z"));
      assert.equal(newRecords(await machine.import()), 2);
      await machine.run("prune", "--before", "2026-08-02", "--utc", "--yes");
      await machine.run("import", "remove", "--yes");
      const again = await machine.import();
      assert.deepEqual(
        again.agents.map(({ new_records, pruned }) => [new_records, pruned]),
        [[1, 1]],
      );
      const { stdout } = await machine.run("requests", "--csv");
      const [columns = [], row = []] = stdout.split("\r\n").map((text) => text.split(","));
      assert.equal(row[columns.indexOf("latency_ms")], "");
      const json = JSON.parse((await machine.run("requests", "--json")).stdout) as {
        items: { latency_ms: null }[];
      };
      assert.deepEqual(
        json.items.map(({ latency_ms }) => latency_ms),
        [null],
      );
      machine.write(CLAUDE, line("old", "2026-08-01T10:00:00Z"));
      assert.match(
        (await machine.run("import")).stdout,
        /claude: 1 call left out, from before the date of a prune\./,
      );
      await machine.run("wipe", "--yes");
      assert.equal(newRecords(await machine.import()), 1);
    });
  });
});

describe("meter import remove", () => {
  it("deletes what was imported, after asking, and the next import reads it again", async () => {
    await onMachine(async (machine) => {
      machine.addSample("claude", CLAUDE);
      machine.addSample("codex", ".codex/sessions/2026/09/01/rollout-a.jsonl");
      await machine.import();
      assert.equal((await machine.run("import", "remove")).code, 2);
      const { stdout } = await machine.run("import", "remove", "codex", "--yes");
      assert.match(stdout, /Deleted 7 imported records\./);
      const again = await machine.import();
      assert.deepEqual(
        again.agents.map(({ agent, new_records }) => [agent, new_records]),
        [
          ["claude", 0],
          ["codex", 7],
        ],
      );
      assert.match((await machine.run("import", "remove", "--yes", "--json")).stdout, /"removed": 14/);
      assert.match((await machine.run("import", "remove", "--yes")).stdout, /Nothing was imported\./);
    });
  });
});

async function withRecords(home: string, records: readonly RequestRecord[]): Promise<void> {
  const { openStore } = await import("../../../../daemon/store/open-store.ts");
  const store = await openStore(createSqliteOpener(), join(home, "meter.db"));
  store.records.insert(records);
  store.close();
}
