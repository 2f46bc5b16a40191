import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import { createProjectFolder } from "../simulation/mod.ts";
import {
  meterWords,
  onNodeOnly,
  plainEnvironment,
  runProgram,
  SUITE_TIMEOUT_MS,
  waitFor,
} from "./meter-process.rig.ts";
import { useSimulatedMeter } from "./simulated-meter.rig.ts";

/** Makes one call and keeps its connection open until its standard input ends. Without `fetch`, it starts in half the CPU time. */
const client = `
const [base, marker, label] = process.argv.slice(1);
const { request } = require(base.startsWith("https:") ? "node:https" : "node:http");
const body = { model: "claude-haiku-4-5", max_tokens: 9, messages: [{ role: "user", content: marker }] };
const headers = { "content-type": "application/json", ...(label ? { "x-meter-project": label } : {}) };
request(base + "/v1/messages", { method: "POST", headers }, (answer) => answer.resume()).end(JSON.stringify(body));
process.stdin.resume();
`;

describe("the project of a call, for real processes", {
  timeout: SUITE_TIMEOUT_MS,
  skip: onNodeOnly || (process.platform === "linux" ? false : "looks processes up in Linux's /proc"),
}, () => {
  const rig = useSimulatedMeter("attribution");
  let folder: string;
  before(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "whose-")));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  interface Caller {
    cwd: string;
    /** Arguments of `meter run`; none if the client is started without it. */
    run?: readonly string[];
    env?: Record<string, string>;
    base?: string;
    label?: string;
  }

  async function book(caller: Caller): Promise<string> {
    const { project, attributionTier, client: program } = await call(caller);
    return `${project} by ${attributionTier}, from ${program}`;
  }

  /** Makes a call and returns its record, once its caller is known. */
  async function call({ cwd, run, env, base, label }: Caller) {
    const marker = `call ${Math.random()}`;
    const started = [process.execPath, "-e", client];
    const words = [...(run === undefined ? [] : [...meterWords, "run", ...run, "--"]), ...started];
    const [program = "", ...rest] = [...words, base ?? "https://api.anthropic.com", marker, label ?? ""];
    const child = spawn(program, rest, {
      cwd,
      env: plainEnvironment({ METER_HOME: rig.meter.home, ...env }),
      stdio: ["pipe", "ignore", "pipe"],
    });
    const ended = new Promise((resolve) => child.once("close", resolve));
    let complaints = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => (complaints += text));
    try {
      const entry = await waitFor(`the call of ${cwd} (${complaints})`, () =>
        rig.simulation.calls.find((each) => each.requestBody.includes(marker)),
      );
      return await rig.meter.waitInRows("its row, with its caller", (rows) =>
        rows.find(
          ({ providerResponseId, attributionDueAt }) =>
            providerResponseId === entry.responseId && attributionDueAt === undefined,
        ),
      );
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
    const proxy = `http://webshop:any@127.0.0.1:${rig.meter.proxyPort}`;
    const caFile = join(rig.meter.home, "ca", "ca.pem");
    const env = { HTTPS_PROXY: proxy, NODE_USE_ENV_PROXY: "1", NODE_EXTRA_CA_CERTS: caFile };
    assert.equal(await book({ cwd: inFolder("any"), env }), "webshop by proxy_user, from node");
  });

  it("is also found for the gateway", async () => {
    const base = `http://127.0.0.1:${rig.meter.proxyPort}/anthropic`;
    const cwd = createProjectFolder(folder, "hermes");
    assert.equal(await book({ cwd, base }), "hermes by git_root, from node");
    assert.equal(await book({ cwd, base, label: "Side" }), "side by header, from node");
  });

  /** A folder with a repository, and with a remote if one is given. */
  const createRepository = (names: readonly string[], url?: string) => {
    const path = inFolder(...names);
    mkdirSync(join(path, ".git"), { recursive: true });
    const remote = url === undefined ? "" : `[remote "origin"]\n\turl = ${url}\n`;
    writeFileSync(join(path, ".git", "config"), `[core]\n\tbare = false\n${remote}`);
    return path;
  };

  it("is a different one for a folder of the same name, with a remote or without", async () => {
    const plain = inFolder("work", "twin");
    const base = `http://127.0.0.1:${rig.meter.proxyPort}/anthropic`;
    assert.equal(await book({ cwd: plain, base }), "twin by working_directory, from node");
    const other = inFolder("other", "twin");
    const repository = createRepository(["acme", "twin"], "git@github.com:acme/twin.git");
    const sources = createRepository(["sources", "twin"]);
    assert.deepEqual(await Promise.all([other, repository, sources].map((cwd) => book({ cwd, base }))), [
      "twin-other by working_directory, from node",
      "twin-acme by git_root, from node",
      "twin-sources by git_root, from node",
    ]);
    const clone = createRepository(["clone", "twin"], "https://ann:secret@github.com/acme/twin");
    await rig.restart();
    const all = [plain, other, repository, sources, clone];
    assert.deepEqual(await Promise.all(all.map((cwd) => book({ cwd, run: [] }))), [
      "twin by working_directory, from node",
      "twin-other by working_directory, from node",
      "twin-acme by git_root, from node",
      "twin-sources by git_root, from node",
      "twin-acme by git_root, from node",
    ]);
    const listed = JSON.parse((await rig.meter.run(["project", "list", "--json"])).stdout) as {
      project: string;
      origins: { remote: string | null; folder: string }[];
    }[];
    assert.deepEqual(
      listed
        .flatMap(({ project, origins }) =>
          project.startsWith("twin")
            ? origins.map(({ remote, folder }) => `${project} ${remote ?? folder}`)
            : [],
        )
        .sort(),
      [`twin ${plain}`, "twin-acme github.com/acme/twin", `twin-other ${other}`, `twin-sources ${sources}`],
    );
    // meter run states the project of its folder for calls whose process is not found.
    const words = ["run", "--", process.execPath, "-p", "process.env.HTTPS_PROXY"];
    assert.match((await rig.meter.run(words, { cwd: other })).stdout, /^http:\/\/twin-other\.~f/);
    // The origins are in the database only.
    const log = JSON.stringify(rig.meter.log());
    assert.ok(!log.includes(plain) && !log.includes("github.com/acme") && !log.includes("secret"));
  });

  it("is unknown in a deleted working directory, where meter run still runs the program", async () => {
    const cwd = mkdtempSync(join(tmpdir(), "deleted-"));
    const inDeleted = (...words: string[]) =>
      runProgram(["sh", "-c", 'rmdir "$PWD" && exec "$@"', "sh", ...meterWords, ...words], {
        cwd,
        env: { METER_HOME: rig.meter.home },
      });
    const run = await inDeleted("run", "--", "printenv", "HTTPS_PROXY");
    assert.deepEqual([run.code, run.stderr], [0, ""]);
    assert.match(run.stdout, /^http:\/\/\.~f/);
    mkdirSync(cwd);
    const cost = await inDeleted("cost");
    assert.deepEqual([cost.code, cost.stdout], [2, ""]);
    assert.match(cost.stderr, /^meter: The working directory is in no Git repository\./);
  });

  it("comes with the branch, the commit, the remote and the pull request", async () => {
    const commit = "01234567".repeat(5);
    const cwd = createRepository(["pulls", "shop"], "git@github.com:acme/shop.git");
    const write = (name: string, text: string) => {
      mkdirSync(dirname(join(cwd, ".git", name)), { recursive: true });
      writeFileSync(join(cwd, ".git", name), text);
    };
    write("HEAD", "ref: refs/heads/feature/login\n");
    write("refs/heads/feature/login", `${commit}\n`);
    const base = `http://127.0.0.1:${rig.meter.proxyPort}/anthropic`;
    const known = { gitBranch: "feature/login", gitCommit: commit, gitRemote: "github.com/acme/shop" };
    for (const caller of [
      { cwd, base },
      { cwd, run: ["--project", "billing"] },
    ])
      assert.partialDeepStrictEqual(await call(caller), { ...known, pullRequest: null });
    // CI checks out the commit of a pull request.
    const ci = createRepository(["ci", "shop"], "https://github.com/acme/shop");
    writeFileSync(join(ci, ".git", "HEAD"), `${commit}\n`);
    const env = { GITHUB_REF: "refs/pull/12/merge", GITHUB_HEAD_REF: "feature/login" };
    assert.partialDeepStrictEqual(await call({ cwd: ci, run: [], env }), { ...known, pullRequest: 12 });
    const branchCost = (await rig.meter.run(["cost"], { cwd })).stdout;
    // The calls have no credentials, so it is unknown who pays.
    assert.match(branchCost, /^Spent \$0\.0000 · \$0\.\d{4} with unknown billing: branch /);
    assert.match(branchCost, /: branch feature\/login of github\.com\/acme\/shop, 3 requests\.\n$/);
    assert.match(
      (await rig.meter.run(["trailers"], { cwd })).stdout,
      /^LLM-Unknown-Billing: <?\$0\.\d\d \(meter\)\n$/,
    );
    const comment = (await rig.meter.run(["pr-comment", "--pr", "12"], { cwd: ci })).stdout;
    assert.match(comment, /pull request \\#12 of github\.com\/acme\/shop, 1 request\./);
    assert.match((await rig.meter.run(["cost", "--commit", commit.slice(0, 7)])).stdout, /, 3 requests\.\n$/);
    const byBranch = (await rig.meter.run(["report", "--by", "branch,pr", "--csv"])).stdout;
    assert.match(byBranch, /^feature\/login,,2,/m);
    assert.match(byBranch, /^feature\/login,12,1,/m);
    assert.partialDeepStrictEqual(await call({ cwd: inFolder("no", "repository"), run: [] }), {
      gitBranch: null,
      gitCommit: null,
      gitRemote: null,
      pullRequest: null,
    });
  });

  it("is not changed if the name was given", async () => {
    const cwd = inFolder("given", "twin");
    writeFileSync(join(cwd, ".meter.toml"), 'project = "twin"\n');
    assert.equal(await book({ cwd, run: [] }), "twin by project_file, from node");
    assert.equal(await book({ cwd, run: ["--project", "twin"] }), "twin by proxy_user, from node");
    assert.equal(await book({ cwd, run: [], label: "twin" }), "twin by header, from node");
  });

  it("is that of two first calls at the same time", async () => {
    const folders = ["one", "two"].map((name) => inFolder(name, "pair"));
    const base = `http://127.0.0.1:${rig.meter.proxyPort}/anthropic`;
    const found = await Promise.all(folders.map((cwd) => book({ cwd, base })));
    assert.deepEqual(
      found.map((each) => each.split(" ")[0]?.replace(/-(one|two)$/, "")),
      ["pair", "pair"],
    );
    assert.notEqual(found[0], found[1]);
  });

  it("moves with its folder, and is that of a repository that gets a remote", async () => {
    const path = createRepository(["from", "mover"]);
    assert.equal(await book({ cwd: path, run: [] }), "mover by git_root, from node");
    const target = join(inFolder("to"), "mover");
    renameSync(path, target);
    assert.equal(await book({ cwd: target, run: [] }), "mover by git_root, from node");
    createRepository(["to", "mover"], "https://github.com/acme/mover.git");
    await rig.restart();
    assert.equal(await book({ cwd: target, run: [] }), "mover by git_root, from node");
    const clone = createRepository(["clone", "mover"], "https://github.com/acme/mover.git");
    assert.equal(await book({ cwd: clone, run: [] }), "mover by git_root, from node");
  });

  it("is the one that its project was merged into, without a restart", async () => {
    const [first, second] = [inFolder("left", "merged"), inFolder("right", "merged")];
    assert.equal(await book({ cwd: first, run: [] }), "merged by working_directory, from node");
    assert.equal(await book({ cwd: second, run: [] }), "merged-right by working_directory, from node");
    const { stdout } = await rig.meter.run(["project", "merge", "merged-right", "merged"]);
    assert.match(stdout, /^Moved 1 request to merged\./);
    assert.equal(await book({ cwd: second, run: [] }), "merged by working_directory, from node");
    assert.match((await rig.meter.run(["project", "reassign", "--undo"])).stdout, /^Moved 1 request back/);
    assert.equal(await book({ cwd: second, run: [] }), "merged-right by working_directory, from node");
  });
});
