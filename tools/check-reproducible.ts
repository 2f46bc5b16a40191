// `npm run check:reproducible`: builds and packs the tracked files in two folders with different names, and compares the archives.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { installPackages } from "./packages.ts";

const root = fileURLToPath(new URL("../", import.meta.url));

/** Builds and packs a copy of the checkout below `folder`. Returns the SHA-256 of each archive. */
function packCopy(folder: string): Record<string, string> {
  const files = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
    encoding: "utf8",
  }).split("\0");
  for (const file of files.filter((each) => each !== "")) cpSync(join(root, file), join(folder, file));
  for (const modules of ["node_modules", "tools/build/node_modules"])
    symlinkSync(join(root, modules), join(folder, modules));
  const run = (command: string, words: string[]) =>
    execFileSync(command, words, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
  run(process.execPath, ["tools/build.ts"]);
  const pack = (source: string) => {
    const archive = run("npm", ["pack", "--silent", "--ignore-scripts", source]).trim();
    return [
      archive,
      createHash("sha256")
        .update(readFileSync(join(folder, archive)))
        .digest("hex"),
    ];
  };
  return Object.fromEntries([pack("."), pack("./dist/core")]);
}

await installPackages("tools/build");
const folders = ["meter-a-", "meter-second-"].map((prefix) => mkdtempSync(join(tmpdir(), prefix)));
try {
  const [first, second] = folders.map(packCopy);
  for (const [archive, hash] of Object.entries(first ?? {})) {
    const isSame = second?.[archive] === hash;
    process.stdout.write(`${isSame ? "same" : "DIFFERENT"}  ${hash}  ${archive}\n`);
    if (!isSame) process.exitCode = 1;
  }
} finally {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
}
