import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { createSocketDiagnosis, MAX_DIAGNOSED_PORTS } from "../../../adapters/process-table/socket-diag.ts";
import { isAlive } from "../../../cli/daemon/daemon-process.ts";
import { onNodeOnly, runProgram, waitFor } from "../../end-to-end/meter-process.rig.ts";

const onLinux = process.platform === "linux" ? false : "only Linux has ss";
const ports: ReadonlySet<number> = new Set([52_514, 52_515]);

describe("ss", { skip: onLinux, timeout: 60_000 }, () => {
  let folder: string;
  let program: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "meter-ss-"));
    program = join(folder, "ss");
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const install = (script: string) => writeFileSync(program, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  /** Ignores the signal that asks to end, and makes a file that is named after its process id. */
  const installHanging = () =>
    install(`trap '' TERM; PATH=/usr/bin:/bin; : > '${folder}'/pid-$$; exec sleep 1000`);
  const pids = () =>
    readdirSync(folder)
      .filter((name) => name.startsWith("pid-"))
      .map((name) => Number(name.slice("pid-".length)));

  it("gets the ports as a filter for the kernel, and no environment variables", async () => {
    install('echo "$@"; echo "$HOME"');
    process.env.HOME ??= "/home/u";
    assert.equal(
      await createSocketDiagnosis({ program })(ports),
      "-tanHe sport = :52514 or sport = :52515\n\n",
    );
  });

  it("is not used if there are too many ports", async () => {
    install("echo never");
    const many = new Set(Array.from({ length: MAX_DIAGNOSED_PORTS + 1 }, (_, port) => port));
    assert.equal(await createSocketDiagnosis({ program })(many), null);
  });

  it("is killed if it hangs, and not used for a minute", async () => {
    installHanging();
    let now = 0;
    const diagnose = createSocketDiagnosis({ program, timeoutMs: 100, monotonicMs: () => now });
    // On a busy machine, the script may be killed before it has made its file.
    assert.equal(await diagnose(ports), null);
    install("echo works");
    now = 59_999;
    assert.equal(await diagnose(ports), null);
    now = 60_000;
    assert.equal(await diagnose(ports), "works\n");
  });

  it("is not used for a minute if it fails or is missing", async () => {
    let now = 0;
    const diagnose = createSocketDiagnosis({ program, monotonicMs: () => now });
    assert.equal(await diagnose(ports), null, "it is missing");
    install("echo partial; exit 1");
    assert.equal(await diagnose(ports), null, "it is not looked for yet");
    now = 60_000;
    assert.equal(await diagnose(ports), null, "it fails");
    now = 120_000;
    install("echo works");
    assert.equal(await diagnose(ports), "works\n");
  });

  it("is killed by the signal, even if it ignores SIGTERM", async () => {
    installHanging();
    const stopped = new AbortController();
    const diagnose = createSocketDiagnosis({ program, timeoutMs: 1_000_000, signal: stopped.signal });
    const output = diagnose(ports);
    const pid = await waitFor("ss to run", () => pids()[0]);
    stopped.abort();
    assert.equal(await output, null);
    await waitFor("ss to end", () => !isAlive(pid));
  });

  it("ends the process when its lookup is closed", { skip: onNodeOnly }, async () => {
    installHanging();
    const table = join(folder, "proc", "net");
    mkdirSync(table, { recursive: true });
    // Without a row of the client; larger than a table that is read although it is slow.
    writeFileSync(join(table, "tcp"), `${" ".repeat(149)}\n`.repeat(2_000));
    const rig = fileURLToPath(new URL("./hanging-lookup.rig.ts", import.meta.url));
    const { code, stdout, stderr } = await runProgram([process.execPath, rig, folder]);
    assert.deepEqual([code, stdout, stderr], [0, "closed\n", ""]);
    assert.equal(pids().length, 1);
    for (const pid of pids()) await waitFor("ss to end", () => !isAlive(pid));
  });
});
