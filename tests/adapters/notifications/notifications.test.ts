import assert from "node:assert/strict";
import process from "node:process";
import { describe, it } from "node:test";
import { desktopCommand } from "../../../adapters/notifications/desktop-command.ts";
import { runProgram } from "../../../adapters/notifications/run-program.ts";

const hostile = `"; rm -rf / & <b>$(id)</b>\n'--x`;

describe("desktopCommand()", () => {
  it("passes the text as an argument or a variable, never as a part of a script", () => {
    const [linux, mac, windows] = ["linux", "darwin", "win32"].map((each) => desktopCommand(each, hostile));
    assert.deepEqual(linux?.args.slice(-3), [
      "--",
      "meter",
      `"; rm -rf / &amp; &lt;b&gt;$(id)&lt;/b&gt; '--x`,
    ]);
    assert.equal(mac?.args.at(-1), `"; rm -rf / & <b>$(id)</b> '--x`);
    assert.ok(windows?.args.every((each) => !each.includes("rm -rf")));
    assert.match(windows?.env.METER_NOTIFICATION ?? "", /rm -rf/);
    assert.equal(desktopCommand("freebsd", "x"), null);
  });
});

describe("runProgram()", () => {
  const run = (...args: string[]) =>
    runProgram({ file: process.execPath, args, env: { METER_BUDGET: hostile } });

  it("runs a program without a shell, with the variables", async () => {
    const script = `process.exit(process.env.METER_BUDGET === ${JSON.stringify(hostile)} ? 0 : 3)`;
    assert.equal(await run("-e", script), null);
  });

  it("says why a program failed", async () => {
    assert.equal(await run("-e", "process.exit(3)"), "exit 3");
    assert.equal(await runProgram({ file: "/nonexistent/program", args: [], env: {} }), "ENOENT");
  });
});
