// Loads a program that is one CommonJS file, with the code that V8 compiled for it before. Node's compile cache has only what V8
// compiles at once. Functions are compiled when they are first called, which is a fifth of the time of `meter report`. Plain
// JavaScript, because it runs before anything else.
const { readFileSync, renameSync, rmSync, writeFileSync } = process.getBuiltinModule("node:fs");
const { createRequire } = process.getBuiltinModule("node:module");
const { basename, dirname, join } = process.getBuiltinModule("node:path");
const { fileURLToPath } = process.getBuiltinModule("node:url");
const { constants, Script } = process.getBuiltinModule("node:vm");
const { crc32 } = process.getBuiltinModule("node:zlib");

/** Bytes before the code: the checksums of the source and of the code. V8 compares only the length of the source. */
const HEADER_BYTES = 8;

/**
 * Runs a bundle and returns what it exports. `saveCode()` stores the functions that have been compiled by then, for the next run, unless
 * they are stored already. Without a folder, or in another runtime, nothing is stored.
 */
export function loadBundle(url, cacheFolder) {
  const path = fileURLToPath(url);
  const require = createRequire(path);
  if (cacheFolder === null || "Deno" in globalThis || "Bun" in globalThis)
    return { program: require(path), saveCode: () => {} };
  const file = join(cacheFolder, `${basename(path)}.code`);
  const source = readFileSync(path);
  const sourceSum = crc32(source);
  const code = readCode(file, sourceSum);
  const script = new Script(`(function (exports, require, module, __filename) {${source}\n})`, {
    filename: path,
    ...(code !== null && { cachedData: code }),
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  const bundle = { exports: {} };
  script.runInThisContext()(bundle.exports, require, bundle, path);
  const isStored = code !== null && script.cachedDataRejected === false;
  return {
    program: bundle.exports,
    saveCode: () => (isStored ? undefined : writeCode(file, sourceSum, script.createCachedData())),
  };
}

/** Returns the code that was compiled from this source, or null if there is none or it is damaged. */
function readCode(file, sourceSum) {
  try {
    const bytes = readFileSync(file);
    const code = bytes.subarray(HEADER_BYTES);
    return bytes.readUInt32LE(0) === sourceSum && bytes.readUInt32LE(4) === crc32(code) ? code : null;
  } catch {
    return null;
  }
}

/** Replaces the stored code in one step, because other processes may be reading it. A start without it is only slower. */
function writeCode(file, sourceSum, code) {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32LE(sourceSum, 0);
  header.writeUInt32LE(crc32(code), 4);
  const draft = join(dirname(file), `${basename(file)}-${process.pid}`);
  try {
    writeFileSync(draft, Buffer.concat([header, code]), { mode: 0o600, flag: "wx" });
    renameSync(draft, file);
  } catch {
    // The disk is full or read-only, or another process writes it.
    rmSync(draft, { force: true });
  }
}
