import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import { onNodeOnly } from "../end-to-end/meter-process.rig.ts";

describe("runOnOwnNode()", { skip: onNodeOnly }, () => {
  let folder = "";
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "meter-own-node-"));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));
  /** The words of a process that runs such a program as `cli/bin.js` would on an old Node. */
  const started = (name: string, program: string, ...words: string[]) => {
    const file = join(folder, name);
    writeFileSync(file, program);
    const own = new URL("../../tools/own-node.js", import.meta.url).href;
    const start = join(folder, `start-${name}`);
    writeFileSync(
      start,
      `import { runOnOwnNode } from ${JSON.stringify(own)};\nconsole.log(runOnOwnNode(${JSON.stringify(file)}));`,
    );
    return [start, ...words];
  };

  it("passes arguments and output through, and exits with the program's code", () => {
    const words = started(
      "words.mjs",
      "console.log(JSON.stringify(process.argv.slice(2)), process.versions.node); process.exitCode = 7;",
      ...["--a", "b c"],
    );
    const { status, stdout } = spawnSync(process.execPath, words, { encoding: "utf8" });
    assert.equal(status, 7);
    assert.match(stdout, /^true\n\["--a","b c"\] 2[2-9]\.\d+\.\d+\n$/);
  });

  it("passes a signal on, and exits when the program has exited", async () => {
    const words = started(
      "signal.mjs",
      "process.on('SIGTERM', () => { console.log('asked to stop'); process.exit(3); }); setInterval(() => {}, 1e6); console.log('ready');",
    );
    const child = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "inherit"] });
    let said = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      said += text;
      if (said === "true\nready\n") child.kill("SIGTERM");
    });
    const code = await new Promise((resolve) => child.on("close", resolve));
    assert.deepEqual([code, said], [3, "true\nready\nasked to stop\n"]);
  });
});
