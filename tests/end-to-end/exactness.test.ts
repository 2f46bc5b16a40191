import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { StoredRequest } from "../../daemon/store/port/records.ts";
import {
  createProjectFolder,
  type DrivenClient,
  driveSdks,
  gatewayBaseUrls,
  type SdkClient,
  type SimulatedCall,
} from "../simulation/mod.ts";
import { expectedRow, inOrder, toComparable } from "./expected-rows.rig.ts";
import { meterWords, onNodeOnly, SUITE_TIMEOUT_MS, waitFor } from "./meter-process.rig.ts";
import { useSimulatedMeter } from "./simulated-meter.rig.ts";

/** The calls of one project as its programs saw them, the providers' lists of calls, and the rows. */
interface Course {
  project: string;
  driven: DrivenClient[];
  entries: SimulatedCall[];
  rows: StoredRequest[];
}

/** Ollama's own port, where the gateway expects it; null if another program uses it. */
async function listenAsOllama(plainPort: number): Promise<Server | null> {
  const server = createServer((socket) => {
    const upstream = connect(plainPort, "127.0.0.1");
    socket.pipe(upstream).pipe(socket);
    for (const each of [socket, upstream]) each.on("error", () => socket.destroy() && upstream.destroy());
  });
  return new Promise((resolve) => {
    server.once("error", () => resolve(null));
    server.listen(11_434, "127.0.0.1", () => resolve(server));
  });
}

describe("the database compared with the providers' totals", {
  skip: onNodeOnly,
  timeout: SUITE_TIMEOUT_MS,
}, () => {
  const rig = useSimulatedMeter("exactness");
  let folder: string;
  let ollama: Server | null;
  const courses: Course[] = [];
  const course = (project: string) => {
    const found = courses.find((each) => each.project === project);
    assert.ok(found);
    return found;
  };

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "exactness-"));
    ollama = await listenAsOllama(rig.simulation.plainPort);
    let seen = 0;
    /** Runs the clients of one project at the same time, and returns the results. */
    const drive = async (
      project: string,
      clients: readonly SdkClient[],
      how: Partial<Parameters<typeof driveSdks>[0]>,
    ) => {
      const from = rig.simulation.calls.length;
      const cwd = createProjectFolder(folder, project);
      const driven = await Promise.all(
        clients.map((client) => driveSdks({ clients: [client], cwd, ...how })),
      );
      await rig.simulation.idle();
      const entries = rig.simulation.calls.slice(from);
      const rows = (await rig.meter.waitForRows(seen + entries.length)).slice(seen);
      seen += rows.length;
      courses.push({ project, driven: driven.flat(), entries, rows });
    };
    const run = { prefix: [...meterWords, "run", "--"], env: { METER_HOME: rig.meter.home } };
    await drive("apollo", ["anthropic", "openai"], run);
    await drive("hermes", ["google", "compatible", "openai"], run);
    const gateway = `http://127.0.0.1:${rig.meter.proxyPort}`;
    await drive("icarus", ["anthropic", "openai", "google", "compatible"], {
      baseUrls: gatewayBaseUrls(gateway),
    });
    if (ollama !== null) await drive("talos", ["ollama"], { ollamaUrl: `${gateway}/ollama` });
  });
  after(async () => {
    ollama?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  for (const project of ["apollo", "hermes", "icarus", "talos"]) {
    it(`has one row for each call of ${project}, exact to one token and one pico-USD`, (test) => {
      if (project === "talos" && ollama === null) return test.skip("port 11434 is taken on this machine");
      const { entries, rows } = course(project);
      assert.ok(entries.length >= 3);
      assert.deepEqual(inOrder(rows.map(toComparable)), inOrder(entries.map(expectedRow)));
    });
  }

  it("has one row per request of the SDKs, including retries, except the free one", () => {
    const { driven, rows } = course("apollo");
    const sent = driven.flatMap(({ calls }) => calls).reduce((sum, call) => sum + call.requests, 0);
    assert.equal(rows.length, sent - 1);
  });

  it("attributes each call to its project", () => {
    for (const { project, rows } of courses) {
      for (const row of rows) {
        // A simulated call may end before its caller can be looked up; attribution.test.ts holds its calls open.
        const nobody = row.attributionTier === "default_project";
        if (row.attributionTier === "header") assert.equal(row.project, "side-project");
        else assert.equal(row.project, nobody ? "misc" : project, `${row.attributionTier} ${row.path}`);
      }
    }
    const labelled = courses.flatMap(({ rows }) => rows).filter((row) => row.project === "side-project");
    assert.equal(labelled.length, 2, "one through the proxy, one through the gateway");
  });

  it("removes the project header from gateway requests, and nothing from proxied ones", () => {
    const labels = (project: string) =>
      course(project).entries.flatMap(({ requestHeaders }) =>
        requestHeaders.filter(([name]) => name.toLowerCase() === "x-meter-project"),
      );
    assert.deepEqual(
      labels("apollo").map(([, value]) => value),
      ["Side Project"],
    );
    assert.deepEqual(labels("icarus"), []);
  });

  it("agrees with the providers' totals in every report", async () => {
    const entries = courses.flatMap((each) => each.entries);
    const costs = entries.map((entry) => BigInt(expectedRow(entry).costPicoUsd ?? 0));
    const total = costs.reduce((sum, cost) => sum + cost, 0n);
    const prompt = entries.reduce((sum, { tokens }) => sum + (tokens.promptTokens ?? 0), 0);
    for (const by of ["project", "model", "provider", "day", "client", "total"]) {
      const { stdout } = await rig.meter.run(["report", "--by", by, "--json"]);
      const { rows } = JSON.parse(stdout) as {
        rows: { requests: number; prompt_tokens: string | null; cost_pico_usd: string }[];
      };
      assert.equal(
        rows.reduce((sum, row) => sum + row.requests, 0),
        entries.length,
        by,
      );
      assert.equal(
        rows.reduce((sum, row) => sum + Number(row.prompt_tokens), 0),
        prompt,
        by,
      );
      assert.equal(
        rows.reduce((sum, row) => sum + BigInt(row.cost_pico_usd), 0n),
        total,
        by,
      );
    }
  });

  it("counts every exchange with a provider as metered or free, and nothing else", async () => {
    const entries = courses.flatMap((each) => each.entries);
    // Another test's meter may run its self-test against the simulation, which listens on Ollama's port.
    const others = () => rig.simulation.otherRequests.filter(({ path }) => path !== "/api/version");
    // The counters are written a moment after the rows.
    const seen = entries.length + others().length;
    const counted = async () => [await rig.meter.counted("metered"), await rig.meter.counted("free")];
    const isComplete = async () => (await counted()).reduce((sum, count) => sum + count, 0) >= seen;
    // If they never match, the assertion shows what was counted instead.
    await waitFor("the counts", isComplete).catch(() => {});
    assert.deepEqual(
      await counted(),
      [entries.length, others().length],
      JSON.stringify([await rig.meter.coverage(), rig.simulation.otherRequests]),
    );
    for (const kind of ["unknown_path", "unreadable", "lost", "dropped", "capture_failed"] as const) {
      assert.equal(await rig.meter.counted(kind), 0, kind);
    }
  });

  it("explains each priced call by lines that sum up to its cost", async () => {
    for (const { rows } of courses) {
      const row = rows.find(({ costSource, tokens }) => costSource === "computed" && tokens.promptTokens);
      if (row === undefined) continue;
      const { stdout, code } = await rig.meter.run(["explain", row.requestId, "--json"]);
      assert.equal(code, 0);
      const { lines, agrees } = JSON.parse(stdout) as {
        lines: { cost_pico_usd: string }[];
        agrees: boolean;
      };
      assert.equal(agrees, true);
      const sum = lines.reduce((total, line) => total + BigInt(line.cost_pico_usd), 0n);
      assert.equal(sum, row.costPicoUsd);
    }
  });

  it("finds nothing to recompute", async () => {
    const { stdout, code } = await rig.meter.run(["recompute-costs", "--dry-run"]);
    assert.equal(code, 0);
    assert.match(stdout, /^The costs of all \d+ requests are unchanged\.\n$/);
  });

  it("contains no prompt, response or key anywhere in the meter home", async () => {
    const { readFileSync, readdirSync } = await import("node:fs");
    for (const file of readdirSync(rig.meter.home, { recursive: true, withFileTypes: true })) {
      if (!file.isFile()) continue;
      const bytes = readFileSync(join(file.parentPath, file.name));
      for (const secret of ["Why is the sky blue", "sk-ant-simulated", "sk-simulated", "Zürich"]) {
        assert.ok(!bytes.includes(secret), `${file.name} holds ${secret}`);
      }
    }
  });
});
