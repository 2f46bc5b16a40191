import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, before, beforeEach, describe, it } from "node:test";
import { crc32 } from "node:zlib";
import { prepareHome } from "../../cli/home/prepare-home.ts";
import { onNodeOnly, removeHome, sourceWords, startMeter } from "../end-to-end/meter-process.rig.ts";

const { findCompileCacheFolder } = await import(new URL("../../cli/compile-cache.js", import.meta.url).href);

const onPosixOnly = process.platform === "win32" ? "Windows has no owners and modes" : onNodeOnly;
const asRootOnly = process.getuid?.() === 0 ? onPosixOnly : "only root can make files of another user";
const NOBODY = 65_534;

/** Printed by planted code when it runs. */
const MARK = "planted code ran";

/** A cache entry's five 32-bit fields before its content. Source: Node's src/compile_cache.cc. */
const [HEADER_BYTES, SIZE_AT, HASH_AT] = [20, 8, 16];

/** Appends code to the TypeScript that Node stripped and cached. Node accepts the entry, since its checksum is right. */
function plantCode(cacheFolder: string): number {
  let planted = 0;
  for (const entry of readdirSync(cacheFolder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const bytes = readFileSync(path);
    if (!bytes.subarray(HEADER_BYTES).includes("export async function main(")) continue;
    const content = Buffer.concat([
      bytes.subarray(HEADER_BYTES),
      Buffer.from(`\nprocess.stderr.write(${JSON.stringify(MARK)});`),
    ]);
    const header = Buffer.from(bytes.subarray(0, HEADER_BYTES));
    header.writeUInt32LE(content.length, SIZE_AT);
    header.writeUInt32LE(crc32(content), HASH_AT);
    writeFileSync(path, Buffer.concat([header, content]), { mode: 0o644 });
    planted += 1;
  }
  return planted;
}

/** Runs `meter --version` with only these variables. */
function runVersion(env: Record<string, string>): { stdout: string; stderr: string } {
  const [node = "", ...program] = sourceWords;
  return spawnSync(node, [...program, "--version"], { env, encoding: "utf8" });
}

describe("the compile cache", { skip: onPosixOnly }, () => {
  let folder = "";
  let shared = "";
  let home = "";
  before(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "meter-cache-")));
    chmodSync(folder, 0o755);
    // Another user filled Node's default cache folder.
    shared = join(folder, "shared");
    mkdirSync(shared);
    runVersion({ NODE_COMPILE_CACHE: join(shared, "node-compile-cache") });
    assert.equal(plantCode(shared), 1);
    for (const each of ["", ...readdirSync(shared, { recursive: true, encoding: "utf8" })]) {
      if (asRootOnly === false) chownSync(join(shared, each), NOBODY, NOBODY);
      chmodSync(join(shared, each), 0o777);
    }
  });
  beforeEach(() => {
    home = join(folder, "home");
    rmSync(home, { recursive: true, force: true });
    prepareHome(home);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it("in a shared folder runs code that another user planted", () => {
    const { stderr } = runVersion({ NODE_COMPILE_CACHE: join(shared, "node-compile-cache") });
    assert.equal(stderr, MARK);
  });

  it("is never in the system's temporary folder: code planted there does not run, and nothing is written to it", () => {
    for (const METER_HOME of [home, join(folder, "absent")]) {
      const before = readdirSync(shared, { recursive: true });
      const { stdout, stderr } = runVersion({ TMPDIR: shared, METER_HOME });
      assert.match(stdout, /^\d+\.\d+\.\d+\n$/);
      assert.equal(stderr, "");
      assert.deepEqual(readdirSync(shared, { recursive: true }), before);
    }
  });

  it("is a folder in the meter's home, which a daemon creates", () => {
    runVersion({ METER_HOME: home });
    assert.equal(readdirSync(join(home, "compile-cache")).length, 1);
  });

  it("of a daemon is the same folder, also for its child processes", async () => {
    writeFileSync(join(home, "config.toml"), "[proxy]\nport = 0\n[api]\nport = 0\n");
    const before = readdirSync(shared, { recursive: true });
    const meter = await startMeter(home, {
      words: [...sourceWords, "start", "--foreground"],
      env: { TMPDIR: shared, NODE_COMPILE_CACHE: undefined },
    });
    const { stderr } = await meter.stop();
    assert.doesNotMatch(stderr, new RegExp(MARK));
    assert.deepEqual(readdirSync(shared, { recursive: true }), before);
    assert.equal(readdirSync(join(home, "compile-cache")).length, 1);
    removeHome(home);
  });

  it("is neither used nor made private if others could have written to it", () => {
    rmSync(join(home, "compile-cache"), { recursive: true });
    renameSync(join(shared, "node-compile-cache"), join(home, "compile-cache"));
    try {
      prepareHome(home);
      assert.equal(runVersion({ METER_HOME: home }).stderr, "");
    } finally {
      renameSync(join(home, "compile-cache"), join(shared, "node-compile-cache"));
    }
  });
});

describe("findCompileCacheFolder()", { skip: onPosixOnly }, () => {
  let folder = "";
  let home = "";
  let cache = "";
  beforeEach(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "meter-cache-")));
    home = join(folder, "above", "home");
    cache = join(home, "compile-cache");
    mkdirSync(cache, { recursive: true, mode: 0o700 });
    chmodSync(cache, 0o700);
  });
  const found = () => findCompileCacheFolder({ METER_HOME: home });
  const clean = () => rmSync(folder, { recursive: true, force: true });

  it("returns the folder in the meter's home, with links to the home resolved", (t) => {
    t.after(clean);
    assert.equal(found(), cache);
    symlinkSync(home, join(folder, "link"));
    assert.equal(findCompileCacheFolder({ METER_HOME: join(folder, "link") }), cache);
  });

  it("returns null if the user has turned compile caches off", (t) => {
    t.after(clean);
    assert.equal(findCompileCacheFolder({ METER_HOME: home, NODE_DISABLE_COMPILE_CACHE: "1" }), null);
  });

  it("returns null if the disk is nearly full, which leaves the space to records", (t) => {
    t.after(clean);
    const find = (bavail: number) =>
      findCompileCacheFolder({ METER_HOME: home }, undefined, () => ({ bavail, bsize: 4_096 }));
    assert.equal(find(16_383), null);
    assert.equal(find(16_384), cache);
  });

  it("creates nothing, and returns null if there is no home", (t) => {
    t.after(clean);
    rmSync(home, { recursive: true });
    assert.equal(found(), null);
    assert.deepEqual(readdirSync(join(folder, "above")), []);
  });

  it("returns a folder in a sticky folder, where no other user can rename it", (t) => {
    t.after(clean);
    chmodSync(join(folder, "above"), 0o1777);
    assert.equal(found(), cache);
  });

  const unsafe: readonly [what: string, make: () => void][] = [
    ["that its group can write", () => chmodSync(cache, 0o770)],
    ["that others can read", () => chmodSync(cache, 0o704)],
    ["in a home that others can write", () => chmodSync(home, 0o722)],
    ["below a folder that others can write", () => chmodSync(join(folder, "above"), 0o777)],
    [
      "that is a symbolic link",
      () => {
        renameSync(cache, join(folder, "elsewhere"));
        symlinkSync(join(folder, "elsewhere"), cache);
      },
    ],
    [
      "that is a file",
      () => {
        rmSync(cache, { recursive: true });
        writeFileSync(cache, "", { mode: 0o700 });
      },
    ],
  ];
  for (const [what, make] of unsafe) {
    it(`returns null ${what}`, (t) => {
      t.after(clean);
      make();
      assert.equal(found(), null);
    });
  }

  const foreign: readonly [what: string, path: () => string][] = [
    ["the folder", () => cache],
    ["the home", () => home],
    ["a folder above the home", () => join(folder, "above")],
  ];
  for (const [what, path] of foreign) {
    it(`returns null if ${what} belongs to another user`, { skip: asRootOnly }, (t) => {
      t.after(clean);
      chownSync(path(), NOBODY, NOBODY);
      assert.equal(found(), null);
    });
  }

  it("returns null for root in a user's home, as under sudo", { skip: asRootOnly }, (t) => {
    t.after(clean);
    for (const each of [cache, home]) chownSync(each, NOBODY, NOBODY);
    assert.equal(findCompileCacheFolder({ METER_HOME: home }, 0), null);
    assert.equal(findCompileCacheFolder({ METER_HOME: home }, NOBODY), cache);
  });

  // On Windows, a process has no user ID.
  it("returns only a folder in the user's profile on a system without owners", (t) => {
    const { HOME } = process.env;
    t.after(() => {
      process.env.HOME = HOME;
      clean();
    });
    assert.equal(findCompileCacheFolder({ METER_HOME: home }, null), null);
    process.env.HOME = folder;
    assert.equal(findCompileCacheFolder({ METER_HOME: home }, null), cache);
  });
});
