import assert from "node:assert/strict";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createOutbox } from "../../../adapters/outbox/create-outbox.ts";
import { noon, sampleRecord } from "../../daemon/store/sample-records.rig.ts";
import { createSampleHome, runWords } from "../run-command.rig.ts";

const day = 86_400_000;

describe("meter prune, wipe, project and bodies sweep", () => {
  let sample: Awaited<ReturnType<typeof createSampleHome>>;
  before(async () => {
    const old = sampleRecord({ requestedAt: noon - 10 * day, project: "misc" });
    sample = await createSampleHome((store) => {
      store.records.insert([
        old,
        sampleRecord({ requestedAt: noon, project: "misc" }),
        sampleRecord({ requestedAt: noon + day, project: "web" }),
      ]);
      store.bodies.insert([
        {
          requestId: old.requestId,
          direction: "request",
          capturedAt: noon - 10 * day,
          contentType: null,
          content: new Uint8Array(4),
          originalSizeBytes: 4,
          truncated: false,
          redactionApplied: false,
          redactionSummary: [],
        },
      ]);
    });
  });
  after(() => sample?.remove());
  const meter = (...words: string[]) => runWords(sample.home, words);
  const projects = async (): Promise<[string, number][]> =>
    JSON.parse((await meter("project", "list", "--json")).stdout).map(
      ({ project, requests }: { project: string; requests: number }) => [project, requests],
    );

  it("lists the projects with their costs", async () => {
    const { code, stdout } = await meter("project", "list");
    assert.equal(code, 0);
    assert.match(stdout, /^project +requests +spent +unpriced +bodies\n[─ ]+\nmisc +2 /);
  });

  it("moves a project's requests of a period, with a dry run before and an undo after", async () => {
    const words = ["project", "reassign", "misc", "Web Shop", "--to", "2026-05-03", "--utc"];
    assert.equal((await meter(...words, "--dry-run")).stdout, "Would move 1 request to web-shop.\n");
    assert.deepEqual(await projects(), [
      ["misc", 2],
      ["web", 1],
    ]);
    assert.match((await meter(...words)).stdout, /^Moved 1 request to web-shop\.\n/);
    assert.deepEqual((await projects()).toSorted(), [
      ["misc", 1],
      ["web", 1],
      ["web-shop", 1],
    ]);
    assert.equal((await meter("project", "reassign", "--undo")).stdout, "Moved 1 request back.\n");
    assert.deepEqual(await projects(), [
      ["misc", 2],
      ["web", 1],
    ]);
    assert.equal((await meter("project", "reassign", "--undo")).code, 4);
    assert.equal((await meter("project", "reassign", "nobody", "web")).code, 4);
    assert.equal((await meter("project", "reassign", "misc")).code, 2);
    assert.equal((await meter("project", "reassign", "misc", "misc")).code, 2);
  });

  it("undoes moves one by one, the last first", async () => {
    await meter("project", "reassign", "misc", "a");
    await meter("project", "reassign", "web", "b");
    await meter("project", "reassign", "--undo");
    assert.deepEqual((await projects()).toSorted(), [
      ["a", 2],
      ["web", 1],
    ]);
    await meter("project", "reassign", "--undo");
    assert.deepEqual((await projects()).toSorted(), [
      ["misc", 2],
      ["web", 1],
    ]);
  });

  it("prunes only what it was asked to, and without a terminal only with --yes", async () => {
    const words = ["prune", "--before", "2026-05-12", "--utc"];
    assert.equal(
      (await meter(...words, "--dry-run")).stdout,
      "Would delete 1 request and 1 captured body.\n",
    );
    const unasked = await meter(...words);
    assert.equal(unasked.code, 2);
    assert.match(unasked.stderr, /Use --yes to confirm/);
    assert.deepEqual(await projects(), [
      ["misc", 2],
      ["web", 1],
    ]);
    const outbox = createOutbox(sample.home);
    for (const at of [noon - 9 * day, noon + 2 * day]) {
      const what = { kind: "metadata", origin: "https://cloud", projects: ["misc"], requestIds: [] } as const;
      await outbox.append({ ...what, at, fields: [], payload: "{}" });
    }
    const { code, stdout } = await meter(...words, "--yes");
    assert.equal(code, 0);
    assert.deepEqual(await outbox.verify(), { ok: true, entries: 1, firstSeq: 2, lastSeq: 2 });
    assert.match(
      stdout,
      /^Deleted 1 request and 1 captured body\.( The database is \d+\.\d MiB smaller\.)?\n$/,
    );
    assert.deepEqual((await projects()).toSorted(), [
      ["misc", 1],
      ["web", 1],
    ]);
  });

  it("does not ask if nothing would be deleted", async () => {
    for (const option of [[], ["--yes"], ["--dry-run"]])
      assert.deepEqual(await meter("prune", "--before", "1970-01-01", ...option), {
        code: 0,
        stdout: "There are no records from before that date.\n",
        stderr: "",
      });
  });

  it("rejects a date in the future, or no date", async () => {
    assert.equal((await meter("prune", "--before", "2999-01-01", "--yes")).code, 2);
    assert.equal((await meter("prune", "--yes")).code, 2);
  });

  it("deletes expired bodies on request", async () => {
    assert.equal(
      (await meter("bodies", "sweep", "--dry-run")).stdout,
      "Would delete 0 bodies older than 90 days.\n",
    );
    assert.equal((await meter("bodies", "sweep")).stdout, "Deleted 0 bodies older than 90 days.\n");
  });

  it("deletes no body while the retention is invalid", async () => {
    const file = join(sample.home, "config.toml");
    writeFileSync(file, "[bodies]\nretention_days = 0\n");
    const { code, stderr } = await meter("bodies", "sweep");
    rmSync(file);
    assert.deepEqual(
      [code, stderr],
      [
        1,
        `meter: Nothing was deleted. bodies.retention_days: 0 is outside 1 to 36500; 90 is used. Fix line 2 of ${file}.\n`,
      ],
    );
  });

  it("wipes everything", async () => {
    // A file that the daemon moved aside as damaged contains captured data too; other files belong to the user.
    const aside = ["meter.db.corrupt", "meter.db.corrupt-2-wal", "meter.db-wal.corrupt"];
    for (const name of [...aside, "meter.db.mine"]) writeFileSync(join(sample.home, name), "");
    const { stdout } = await meter("wipe", "--yes", "--json");
    assert.deepEqual(
      [...aside, "meter.db.mine"].filter((name) => existsSync(join(sample.home, name))),
      ["meter.db.mine"],
    );
    assert.partialDeepStrictEqual(JSON.parse(stdout), { dry_run: false, requests: 2, bodies: 0 });
    assert.deepEqual(await projects(), []);
    assert.equal((await meter("project", "list")).stdout, "No projects yet.\n");
  });
});
