import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { isRecordOf, startRecord, statementSuites } from "../../tools/statement-record.ts";

describe("a record of statements", () => {
  let base = "";
  const at = (name: string) => join(base, name);
  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), "meter-record-"));
    mkdirSync(at("tree"));
    assert.equal(spawnSync("git", ["init", "--quiet"], { cwd: at("tree") }).status, 0);
    writeFileSync(at("tree/.gitignore"), "ignored\n");
    writeFileSync(at("tree/source.ts"), "one");
  });
  afterEach(() => rmSync(base, { recursive: true, force: true }));

  it("is of the tree once it is finished, whatever Git ignores", () => {
    const finish = startRecord(at("record"), at("tree"));
    assert.equal(isRecordOf(at("record"), at("tree")), false);
    finish();
    writeFileSync(at("tree/ignored"), "anything");
    assert.equal(isRecordOf(at("record"), at("tree")), true);
  });

  it("is not of a tree in which a file was changed, added or deleted since", () => {
    startRecord(at("record"), at("tree"))();
    writeFileSync(at("tree/source.ts"), "two");
    assert.equal(isRecordOf(at("record"), at("tree")), false);
    writeFileSync(at("tree/source.ts"), "one");
    writeFileSync(at("tree/added.ts"), "");
    assert.equal(isRecordOf(at("record"), at("tree")), false);
    rmSync(at("tree/added.ts"));
    assert.equal(isRecordOf(at("record"), at("tree")), true);
    rmSync(at("tree/source.ts"));
    assert.equal(isRecordOf(at("record"), at("tree")), false);
  });

  it("is not finished if a file changed while the tests ran", () => {
    const finish = startRecord(at("record"), at("tree"));
    writeFileSync(at("tree/source.ts"), "two");
    finish();
    assert.equal(isRecordOf(at("record"), at("tree")), false);
  });

  it("starts empty", () => {
    startRecord(at("record"), at("tree"))();
    startRecord(at("record"), at("tree"));
    assert.equal(isRecordOf(at("record"), at("tree")), false);
  });

  it("is not finished without Git", () => {
    rmSync(at("tree/.git"), { recursive: true });
    startRecord(at("record"), at("tree"))();
    assert.equal(isRecordOf(at("record"), at("tree")), false);
  });
});

it("statementSuites() lists suites of routes and of the store's jobs", () => {
  const suites = statementSuites();
  assert.ok(
    suites.includes("tests/cloud/matrix.test.ts") && suites.includes("tests/cloud/store/tasks.test.ts"),
  );
});
