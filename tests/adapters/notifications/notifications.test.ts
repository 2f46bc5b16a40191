import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { desktopCommand, type ProgramCall } from "../../../adapters/notifications/desktop-command.ts";
import { runProgram } from "../../../adapters/notifications/run-program.ts";

const hostile = `"; rm -rf / & <b>$(id)</b>\n'--x`;

/** Texts that would be code or markup in AppleScript, PowerShell or a notification server. */
const HOSTILE_TEXTS = [
  hostile,
  `" & (do shell script "touch /tmp/x") & "`,
  "'; Start-Process calc; '$(Get-Date) `n \u2019; iex x #",
  "-e",
  "--help",
  "@C:\\file %PATH% ^& | > x",
  "<img src=x><a href='y'>&amp;",
  "\u0000\u001b]0;x\u0007",
];

describe("desktopCommand()", () => {
  const textOf = (text: string) => text.replaceAll(/\p{Cc}+/gu, " ");
  /** Returns what a platform starts for a text, and for a harmless one. */
  const pairOf = (platform: string, text: string) =>
    [text, "harmless"].map((each) => desktopCommand(platform, each)) as [ProgramCall, ProgramCall];

  for (const text of HOSTILE_TEXTS)
    it(`passes ${JSON.stringify(text)} as an argument or a variable, never as a part of a script`, () => {
      const escaped = textOf(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
      assert.deepEqual(desktopCommand("linux", text), {
        file: "notify-send",
        args: ["--app-name=meter", "--", "meter", escaped],
        env: {},
      });
      // After `--`, osascript passes each argument to the script's `run` handler.
      assert.deepEqual(desktopCommand("darwin", text), {
        file: "/usr/bin/osascript",
        args: [
          ...["-e", "on run argv", "-e", 'display notification (item 1 of argv) with title "meter"'],
          ...["-e", "end run", "--", textOf(text)],
        ],
        env: {},
      });
      const [windows, harmless] = pairOf("win32", text);
      assert.deepEqual({ ...windows, env: {} }, { ...harmless, env: {} });
      assert.deepEqual(windows.env, { METER_NOTIFICATION: textOf(text) });
    });

  it("starts the PowerShell of Windows with a script that its command line does not change", () => {
    const { file, args } = desktopCommand("win32", "x", { SystemRoot: "D:\\Win" }) as ProgramCall;
    assert.equal(file, "D:\\Win\\System32\\WindowsPowerShell\\v1.0\\powershell.exe");
    assert.deepEqual(args.slice(0, -1), ["-NoProfile", "-NonInteractive", "-Command"]);
    const script = args.at(-1) ?? "";
    assert.match(script, /CreateTextNode\(\$env:METER_NOTIFICATION\)/);
    // Quotes would be taken away on the way, and a backslash before one would keep it.
    assert.doesNotMatch(script, /"/);
  });

  it("is nothing on other platforms", () => {
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

  it("states why a program failed", async () => {
    assert.equal(await run("-e", "process.exit(3)"), "exit 3");
    const absent = join(process.execPath, "../no-such-program");
    assert.equal(await runProgram({ file: absent, args: [], env: {} }), "ENOENT");
    assert.equal(await runProgram({ file: join(process.execPath, "program"), args: [], env: {} }), "ENOTDIR");
  });

  it("ends a program that ignores SIGTERM", { skip: process.platform === "win32" }, async (context) => {
    const folder = mkdtempSync(join(tmpdir(), "meter-program-"));
    context.after(() => rmSync(folder, { recursive: true }));
    const ready = join(folder, "ready");
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const args = ["-c", `trap '' TERM; : > "$1"; exec sleep 600`, "sh", ready];
    const ended = runProgram({ file: "/bin/sh", args, env: {} });
    while (!existsSync(ready)) await setImmediate();
    context.mock.timers.tick(30_000);
    context.mock.timers.tick(5_000);
    assert.equal(await ended, "exit SIGKILL");
  });

  it("keeps no process alive: neither a program that runs, nor one that does not exist", () => {
    const module = new URL("../../../adapters/notifications/run-program.ts", import.meta.url).href;
    const script = `
      const { runProgram } = await import(${JSON.stringify(module)});
      const args = ["-e", "setTimeout(() => {}, 20_000)"];
      for (const file of ["/nonexistent/program", ${JSON.stringify(process.execPath)}])
        void runProgram({ file, args, env: {} });`;
    const { status, signal } = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
      timeout: 15_000,
    });
    assert.deepEqual([status, signal], [0, null]);
  });
});
