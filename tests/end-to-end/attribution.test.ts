import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import {
  createParentProxy,
  createProjectFolder,
  createProviderSimulation,
  type ParentProxy,
  type ProviderSimulation,
} from "../simulation/mod.ts";
import {
  createHome,
  type MeterProcess,
  meterWords,
  onNodeOnly,
  plainEnvironment,
  removeHome,
  SUITE_TIMEOUT_MS,
  simulationConfig,
  startMeter,
  waitFor,
} from "./meter-process.rig.ts";

/** Makes one call and stays, with its connection, until its standard input ends. */
const client = `
const [base, marker, label] = process.argv.slice(1);
const answer = await fetch(base + "/v1/messages", {
  method: "POST",
  headers: { "content-type": "application/json", ...(label ? { "x-meter-project": label } : {}) },
  body: JSON.stringify({ model: "claude-haiku-4-5", max_tokens: 9, messages: [{ role: "user", content: marker }] }),
});
await answer.text();
process.stdin.resume();
`;

describe("the project of a call, for real processes", {
  timeout: SUITE_TIMEOUT_MS,
  skip: onNodeOnly || (process.platform === "linux" ? false : "looks processes up in Linux's /proc"),
}, () => {
  let simulation: ProviderSimulation;
  let parent: ParentProxy;
  let meter: MeterProcess;
  let folder: string;

  before(async () => {
    simulation = await createProviderSimulation({ seed: "attribution" });
    parent = await createParentProxy(simulation);
    meter = await startMeter(createHome(simulationConfig(parent, simulation)));
    folder = mkdtempSync(join(tmpdir(), "whose-"));
  });
  after(async () => {
    await meter?.stop();
    await parent?.close();
    await simulation?.close();
    if (meter !== undefined) removeHome(meter.home);
    rmSync(folder, { recursive: true, force: true });
  });

  interface Caller {
    cwd: string;
    /** Words of `meter run`; none where the client is started without it. */
    run?: readonly string[];
    env?: Record<string, string>;
    base?: string;
    label?: string;
  }

  async function book({ cwd, run, env, base, label }: Caller): Promise<string> {
    const marker = `call ${Math.random()}`;
    const started = [process.execPath, "--input-type=module", "-e", client];
    const words = [...(run === undefined ? [] : [...meterWords, "run", ...run, "--"]), ...started];
    const [program = "", ...rest] = [...words, base ?? "https://api.anthropic.com", marker, label ?? ""];
    const child = spawn(program, rest, {
      cwd,
      env: plainEnvironment({ METER_HOME: meter.home, ...env }),
      stdio: ["pipe", "ignore", "pipe"],
    });
    const ended = new Promise((resolve) => child.once("close", resolve));
    let complaints = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => (complaints += text));
    try {
      const entry = await waitFor(`the call of ${cwd} (${complaints})`, () =>
        simulation.calls.find((each) => each.requestBody.includes(marker)),
      );
      const row = await waitFor("its row, with its caller", async () =>
        (await meter.rows()).find(
          ({ providerResponseId, attributionDueAt }) =>
            providerResponseId === entry.responseId && attributionDueAt === undefined,
        ),
      );
      return `${row.project} by ${row.attributionTier}, from ${row.client}`;
    } finally {
      child.stdin.end();
      await ended;
    }
  }

  const inFolder = (...names: string[]) => {
    const path = join(folder, ...names);
    mkdirSync(path, { recursive: true });
    return path;
  };

  it("is the git repository of the working directory", async () => {
    createProjectFolder(folder, "Apollo 11");
    const cwd = inFolder("Apollo 11", "src", "deep");
    assert.equal(await book({ cwd, run: [] }), "apollo-11 by git_root, from node");
  });

  it("is the one in .meter.toml in the working directory or above", async () => {
    createProjectFolder(folder, "filed");
    writeFileSync(join(folder, "filed", ".meter.toml"), 'project = "From The File"\n');
    const cwd = inFolder("filed", "src");
    assert.equal(await book({ cwd, run: [] }), "from-the-file by project_file, from node");
  });

  it("is the name of the working directory if nothing else is known", async () => {
    assert.equal(
      await book({ cwd: inFolder("Loose Folder"), run: [] }),
      "loose-folder by working_directory, from node",
    );
  });

  it("is METER_PROJECT, or the project of meter run --project", async () => {
    const cwd = inFolder("elsewhere");
    const [own, words] = await Promise.all([
      book({ cwd, run: [], env: { METER_PROJECT: "Own Words" } }),
      book({ cwd, run: ["--project", "billing"] }),
    ]);
    assert.equal(own, "own-words by environment, from node");
    assert.equal(words, "billing by proxy_user, from node");
  });

  it("is the one in the request header, which takes precedence", async () => {
    const label = "Labelled";
    const found = await book({ cwd: inFolder("any"), run: ["--project", "billing"], label });
    assert.equal(found, "labelled by header, from node");
  });

  it("is the proxy user name, if the client sends one", async () => {
    const proxy = `http://webshop:any@127.0.0.1:${meter.proxyPort}`;
    const caFile = join(meter.home, "ca", "ca.pem");
    const env = { HTTPS_PROXY: proxy, NODE_USE_ENV_PROXY: "1", NODE_EXTRA_CA_CERTS: caFile };
    assert.equal(await book({ cwd: inFolder("any"), env }), "webshop by proxy_user, from node");
  });

  it("is also found for the gateway", async () => {
    const base = `http://127.0.0.1:${meter.proxyPort}/anthropic`;
    const cwd = createProjectFolder(folder, "hermes");
    assert.equal(await book({ cwd, base }), "hermes by git_root, from node");
    assert.equal(await book({ cwd, base, label: "Side" }), "side by header, from node");
  });
});
