import assert from "node:assert/strict";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import { listEstablishedConnections } from "../../../adapters/process-table/mod.ts";
import { findBypassing } from "../../../cli/doctor/find-bypassing.ts";
import { programsIn } from "../../../cli/doctor/gather-facts.ts";
import type { Diagnosis, Finding } from "../../../core/doctor/mod.ts";
import { launchAgent, scheduledTask, systemdService } from "../../../core/install/mod.ts";
import { awkward } from "../../core/install/sample-facts.ts";
import {
  createHome,
  type MeterProcess,
  meterWords,
  onNodeOnly,
  removeHome,
  runMeter,
  runProgram,
  SUITE_TIMEOUT_MS,
  startMeter,
} from "../../end-to-end/meter-process.ts";

const skip = onNodeOnly || (process.platform === "win32" ? "makes a PATH of symbolic links" : false);

describe("meter doctor", { skip, timeout: SUITE_TIMEOUT_MS }, () => {
  let home: string;
  let bin: string;
  let meter: MeterProcess;

  /** What the doctor says of a home, with nothing on the `PATH` but the clients that the test chose. */
  const ask = async (words: string[] = [], env: Record<string, string | undefined> = {}) => {
    const { code, stdout, stderr } = await runProgram([...meterWords, "doctor", "--json", ...words], {
      env: { METER_HOME: home, HOME: home, PATH: bin, SSL_CERT_FILE: undefined, ...env },
    });
    assert.equal(stderr, "");
    return { code, ...(JSON.parse(stdout) as Diagnosis & { fixed: string[] }) };
  };
  const of = (findings: readonly Finding[], check: string) => findings.filter((each) => each.check === check);

  before(async () => {
    home = createHome(["[proxy]", "port = 0", "[api]", "port = 0"]);
    bin = mkdtempSync(join(tmpdir(), "meter-bin-"));
    symlinkSync(process.execPath, join(bin, "node"));
    meter = await startMeter(home);
  });
  after(async () => {
    await meter.stop();
    removeHome(home);
    rmSync(bin, { recursive: true, force: true });
  });

  it("sees a call metered, and a client of this machine come through the proxy", async () => {
    const { findings, verdict, code } = await ask();
    assert.deepEqual(
      findings.filter(({ level }) => level === "broken" || level === "inconsistent"),
      [],
    );
    assert.deepEqual([verdict, code], ["HEALTHY", 0]);
    assert.match(of(findings, "self-test")[0]?.says ?? "", /was metered$|was counted$/);
    assert.deepEqual(
      of(findings, "client").map(({ says }) => says),
      [`node ${process.versions.node}, under meter run: comes through the proxy and trusts it`],
    );
    assert.equal(of(findings, "trust")[0]?.level, "note");
  });

  it("sees what a client does with the variables of this very shell", async () => {
    const proxy = { HTTPS_PROXY: `http://127.0.0.1:${meter.proxyPort}` };
    const says = async (env: Record<string, string>) =>
      of((await ask([], { ...proxy, ...env })).findings, "client")[0]?.says.replace(/^node \S+ /, "") ?? "";
    assert.equal(
      await says({}),
      "from this shell: goes past the proxy, unmetered: NODE_USE_ENV_PROXY=1 is not set",
    );
    const led = { NODE_USE_ENV_PROXY: "1" };
    assert.match(await says(led), /^from this shell: refuses the meter's certificate, so its calls fail/);
    assert.equal(
      await says({ ...led, NODE_EXTRA_CA_CERTS: join(home, "ca", "ca.pem") }),
      "from this shell: comes through the proxy and trusts it",
    );
    const excepted = await ask([], { ...proxy, ...led, NO_PROXY: "*.anthropic.com" });
    assert.match(
      of(excepted.findings, "shell")[0]?.says ?? "",
      /^NO_PROXY keeps these from the meter: api\.anthropic\.com/,
    );
    assert.equal(excepted.verdict, "INCONSISTENT");
  });

  it("expects of an agent what its variables promise, without running it", async () => {
    writeFileSync(join(bin, "codex"), "#!/bin/sh\necho codex-cli 1.2.3\n", { mode: 0o755 });
    const run = async () => of((await ask()).findings, "client").find(({ says }) => says.startsWith("codex"));
    assert.match((await run())?.says ?? "", /^codex 1\.2\.3, under meter run: finds what it needs/);
    rmSync(join(bin, "codex"));
  });

  it("closes a key that others may read", async () => {
    const key = join(home, "ca", "key.pem");
    chmodSync(key, 0o644);
    const { fixed, verdict } = await ask(["--fix"]);
    assert.deepEqual(
      [fixed, verdict, statSync(key).mode & 0o777],
      [["the authority's key is its owner's alone"], "HEALTHY", 0o600],
    );
  });

  it("starts a daemon that does not run, and leaves a damaged database where it is until then", async () => {
    const other = createHome(["[proxy]", "port = 0", "[api]", "port = 0"]);
    try {
      writeFileSync(
        join(other, "meter.db"),
        "no database, but longer than a header of one hundred bytes ".repeat(9),
        { mode: 0o600 },
      );
      const env = { METER_HOME: other, HOME: other };
      const found = await ask([], env);
      assert.deepEqual([found.code, found.verdict], [1, "BROKEN"]);
      assert.equal(of(found.findings, "daemon")[0]?.cure, "meter start");
      assert.match(of(found.findings, "database")[0]?.says ?? "", /can't be read/);
      const { verdict, fixed } = await ask(["--fix"], env);
      assert.deepEqual([verdict, fixed], ["HEALTHY", ["the daemon was started again"]]);
    } finally {
      await runMeter(other, ["stop"]);
      removeHome(other);
    }
  });

  it("begins with the verdict for people", async () => {
    const { stdout } = await runProgram([...meterWords, "doctor"], {
      env: { METER_HOME: home, HOME: home, PATH: bin },
    });
    assert.match(stdout, /^HEALTHY\nnote {4}\w+ /);
    assert.match(stdout, /\nok {6}daemon {5}it runs; the proxy answers on port \d+\n/);
  });
});

describe("findBypassing()", () => {
  it("finds a real connection of this process", { skip }, async () => {
    const server = createServer((socket) => socket.on("error", () => {}));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as { port: number };
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    try {
      const all = await listEstablishedConnections();
      if (process.platform === "linux")
        assert.ok(all.some(({ remotePort, pid }) => remotePort === port && pid === process.pid));
      const list = async () =>
        all.filter(({ remotePort }) => remotePort === port).map((each) => ({ ...each, remotePort: 443 }));
      const addressesOf = async (host: string) => (host === "api.x.ai" ? ["127.0.0.1"] : []);
      const ports = { addressesOf, list };
      const hosts = ["api.openai.com", "api.x.ai"];
      const [found] = await findBypassing(hosts, new Set(), ports);
      assert.deepEqual(
        [found?.host, found?.pid],
        ["api.x.ai", process.platform === "linux" ? process.pid : found?.pid],
      );
      assert.deepEqual(await findBypassing(hosts, new Set([process.pid]), ports), []);
      assert.deepEqual(
        await findBypassing(["x.googleapis.com"], new Set(), {
          ...ports,
          addressesOf: async () => ["127.0.0.1"],
        }),
        [],
      );
    } finally {
      socket.destroy();
      server.close();
    }
  });
});

describe("programsIn()", () => {
  const program = {
    nodePath: `/opt/${awkward}/node`,
    programPath: "/opt/b in.js",
    meterHome: "/h",
    environment: {},
  };
  it("reads the programs back out of a unit of each kind", () => {
    const both = [program.nodePath, program.programPath];
    assert.deepEqual(programsIn(systemdService(program)), both);
    assert.deepEqual(programsIn(launchAgent("l", program)), both);
    const windows = { ...program, nodePath: "C:\\Program Files\\node.exe", programPath: "C:\\m\\bin.js" };
    assert.deepEqual(programsIn(scheduledTask("u", windows)), [windows.nodePath, windows.programPath]);
  });
});
