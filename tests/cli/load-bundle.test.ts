import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { crc32 } from "node:zlib";
import { onNodeOnly } from "../end-to-end/meter-process.rig.ts";

const loader = new URL("../../cli/load-bundle.js", import.meta.url).href;
const { loadBundle } = await import(loader);

/** A bundle whose function is compiled when it is called. */
const sourceOf = (word: string) => `exports.main = () => "${word}";`;

describe("loadBundle()", { skip: onNodeOnly }, () => {
  let folder = "";
  let cache = "";
  let bundle = "";
  let stored = "";
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "meter-bundle-"));
    cache = join(folder, "cache");
    mkdirSync(cache);
    bundle = join(folder, "run.cjs");
    stored = join(cache, "run.cjs.code");
    writeFileSync(bundle, sourceOf("one"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** Loads the bundle, runs it and saves its code. */
  function run(cacheFolder: string | null = cache): string {
    const { program, saveCode } = loadBundle(pathToFileURL(bundle), cacheFolder);
    const result = program.main();
    saveCode();
    return result;
  }

  /** Runs the bundle in a process of its own, because V8 remembers what a process has compiled. */
  function runProcess(): string {
    const text = `import { loadBundle } from ${JSON.stringify(loader)};
      const { program, saveCode } = loadBundle(${JSON.stringify(pathToFileURL(bundle).href)}, ${JSON.stringify(cache)});
      process.stdout.write(program.main());
      saveCode();`;
    const words = ["--input-type=module", "--eval", text];
    return spawnSync(process.execPath, words, { encoding: "utf8" }).stdout;
  }

  it("stores the code of a run, which the next run uses", () => {
    writeFileSync(bundle, sourceOf("two"));
    assert.equal(runProcess(), "two");
    const code = readFileSync(stored).subarray(8);
    writeFileSync(bundle, sourceOf("one"));
    assert.equal(runProcess(), "one");
    const header = readFileSync(stored).subarray(0, 8);
    header.writeUInt32LE(crc32(code), 4);
    // With right checksums, the code of another source is used: V8 compares only lengths.
    const planted = Buffer.concat([header, code]);
    writeFileSync(stored, planted);
    assert.equal(runProcess(), "two");
    assert.deepEqual(readFileSync(stored), planted);
  });

  it("does not use the code of another source of the same length", () => {
    assert.equal(run(), "one");
    writeFileSync(bundle, sourceOf("two"));
    assert.equal(run(), "two");
    writeFileSync(bundle, sourceOf("one"));
    assert.equal(run(), "one");
  });

  for (const [title, damage] of [
    ["damaged", (bytes: Buffer) => bytes.fill(1, 60, 70)],
    ["cut short", (bytes: Buffer) => bytes.subarray(0, 40)],
    ["empty", () => Buffer.alloc(0)],
  ] as const)
    it(`replaces code that is ${title}`, () => {
      run();
      const sound = readFileSync(stored);
      writeFileSync(stored, damage(Buffer.from(sound)));
      assert.equal(run(), "one");
      assert.equal(readFileSync(stored).length, sound.length);
    });

  it("stores code that only this user can read, and no draft of it", () => {
    run();
    assert.deepEqual(readdirSync(cache), ["run.cjs.code"]);
    if (process.platform !== "win32") assert.equal(statSync(stored).mode & 0o777, 0o600);
  });

  it("stores nothing without a folder, and runs if it can't write", () => {
    assert.equal(run(null), "one");
    assert.deepEqual(readdirSync(cache), []);
    assert.equal(run(join(folder, "absent")), "one");
  });

  it("loads packages and modules of Node from the place of the bundle", async () => {
    writeFileSync(join(folder, "other.mjs"), "export const word = 'other';");
    writeFileSync(
      bundle,
      'exports.main = async () => [require("node:path").basename(__filename), (await import("./other.mjs")).word];',
    );
    assert.deepEqual(await run(), ["run.cjs", "other"]);
  });
});
