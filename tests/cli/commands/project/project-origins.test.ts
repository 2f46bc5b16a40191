import assert from "node:assert/strict";
import { homedir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { createSqliteOpener } from "../../../../adapters/sqlite/open-sqlite.ts";
import { databaseFile } from "../../../../cli/home/database-file.ts";
import { openStore } from "../../../../daemon/store/open-store.ts";
import { sampleRecord } from "../../../daemon/store/sample-records.rig.ts";
import { createSampleHome, runWords } from "../../run-command.rig.ts";

const folder = join(homedir(), "work", "api");
const ownFolder = join(homedir(), "c", "api");
const remote = "github.com/acme/api";

const config = `[cloud.upload.per_project.private]
upload = false
[cloud.bodies.per_project]
quiet = false
`;

describe("projects with origins", () => {
  let sample: Awaited<ReturnType<typeof createSampleHome>>;
  beforeEach(async () => {
    sample = await createSampleHome((store) => {
      store.records.insert(
        ["api", "api", "api-acme", "named", "private", "quiet"].map((project) => sampleRecord({ project })),
      );
      const assign = (origin: string, at: string, slug: string) =>
        store.origins.assign({ name: "api", origin, folder: at, slug }, []);
      assign(folder, folder, "api");
      assign("h/ann/api", folder, "api");
      assign(remote, "/b/api", "api-acme");
      assign(ownFolder, ownFolder, "api-c");
    }, config);
  });
  afterEach(() => sample.remove());
  const meter = (...words: string[]) => runWords(sample.home, words, { COLUMNS: "160" });
  const list = async () =>
    JSON.parse((await meter("project", "list", "--json")).stdout).flatMap(
      ({ project, requests, origins }: { project: string; requests: number; origins: unknown[] }) =>
        /^(?:api|named)/.test(project) ? [[project, requests, origins]] : [],
    );
  const merges = async () => {
    const store = await openStore(createSqliteOpener(), databaseFile(sample.home), { readOnly: true });
    const all = [...store.origins.listMerges()].filter(([project, into]) => project !== into);
    store.close();
    return all.sort();
  };

  const api = { remote: "h/ann/api", folder };
  const acme = { remote, folder: "/b/api" };

  it("are listed with their origins", async () => {
    assert.deepEqual(await list(), [
      ["api", 2, [api]],
      ["api-acme", 1, [acme]],
      ["named", 1, []],
    ]);
    const { stdout } = await meter("project", "list");
    assert.match(stdout, /^project .* bodies +origin\n/);
    assert.match(stdout, /\napi +2 .* h\/ann\/api\n/);
    assert.match(stdout, /\nnamed +1 .* –\n/);
  });

  it("are told apart by meter explain where folders share a name", async () => {
    const { stdout: listed } = await meter("requests", "--project", "api-acme", "--json");
    const { stdout } = await meter("explain", JSON.parse(listed).items[0].request_id);
    assert.match(stdout, /^project +api-acme .*\norigin +github\.com\/acme\/api$/m);
    const other = JSON.parse((await meter("requests", "--project", "named", "--json")).stdout);
    assert.doesNotMatch((await meter("explain", other.items[0].request_id)).stdout, /^origin/m);
  });

  it("are merged with the origins of later requests, until that is undone", async () => {
    const words = ["project", "merge", "api-acme", "Api"];
    assert.equal(
      (await meter(...words, "--dry-run")).stdout,
      `Would move 1 request to api.\nFuture requests from here would belong to api too:\n  ${remote}\n`,
    );
    assert.deepEqual(await merges(), []);
    assert.equal(
      (await meter(...words)).stdout,
      `Moved 1 request to api.\nFuture requests from here belong to api too:\n  ${remote}\nUndo: meter project reassign --undo\n`,
    );
    assert.deepEqual(await list(), [
      ["api", 3, [api, acme]],
      ["named", 1, []],
    ]);
    assert.match((await meter("project", "list")).stdout, / h\/ann\/api and 1 more\n/);
    assert.deepEqual(await merges(), [["api-acme", "api"]]);
    assert.equal((await meter("project", "reassign", "--undo")).stdout, "Moved 1 request back.\n");
    assert.deepEqual([(await list()).length, await merges()], [3, []]);
  });

  it("are merged into the project that the target was merged into", async () => {
    await meter("project", "merge", "api", "named");
    assert.match(
      (await meter("project", "merge", "api-acme", "api")).stdout,
      /^Moved 1 request to named\.\n/,
    );
    assert.deepEqual(await merges(), [
      ["api", "named"],
      ["api-acme", "named"],
    ]);
    assert.match((await meter("project", "merge", "named", "api")).stdout, /^Moved 4 requests to api\.\n/);
    assert.deepEqual(await merges(), [
      ["api-acme", "named"],
      ["named", "api"],
    ]);
  });

  it("are merged without requests if their folder is known, with ~ for the home directory", async () => {
    const { stdout } = await meter("project", "merge", "api-c", "api");
    assert.match(stdout, /^Moved 0 requests to api\.\n.*\n {2}~.c.api\n/);
    await meter("project", "merge", "api", "named");
    assert.match((await meter("project", "list")).stdout, / h\/ann\/api and 1 more\n/);
    const unknown = await meter("project", "merge", "nobody", "api");
    assert.equal(unknown.code, 4);
    assert.match(unknown.stderr, /Project nobody has no requests and no folder\./);
    assert.equal((await meter("project", "merge", "api")).code, 2);
  });

  for (const [project, key, what] of [
    ["private", "upload", "requests"],
    ["quiet", "bodies.upload", "bodies"],
  ])
    it(`are not merged if the ${what} of only one of them stay on this machine`, async () => {
      const { code, stderr } = await meter("project", "merge", project as string, "api");
      assert.equal(code, 1);
      assert.ok(
        stderr.includes(`The ${what} of ${project} stay on this machine, and those of api do not.`),
        stderr,
      );
      assert.ok(stderr.includes(`meter cloud privacy set ${key} false --project api`), stderr);
      assert.equal((await meter("project", "merge", "api", project as string)).code, 0);
    });
});
