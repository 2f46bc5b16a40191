import assert from "node:assert/strict";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import { openCertificateAuthority } from "../../../../adapters/certificates/certificate-authority.ts";
import { listEstablishedConnections } from "../../../../adapters/process-table/established-connections.ts";
import { findBypassing } from "../../../../cli/commands/doctor/find-bypassing.ts";
import { programsIn } from "../../../../cli/commands/doctor/install-facts.ts";
import type { DiagnosisJson } from "../../../../cli/commands/doctor/render-diagnosis.ts";
import {
  launchAgent,
  scheduledTask,
  systemdService,
} from "../../../../core/operations/install/service-files.ts";
import { specialCharacters } from "../../../core/operations/install/sample-facts.rig.ts";
import {
  createHome,
  type MeterProcess,
  meterWords,
  onNodeOnly,
  removeHome,
  runProgram,
  SUITE_TIMEOUT_MS,
  startMeter,
} from "../../../end-to-end/meter-process.rig.ts";
import { runWords } from "../../run-command.rig.ts";

const skip = onNodeOnly || (process.platform === "win32" ? "makes a PATH of symbolic links" : false);

describe("meter doctor", { skip, timeout: SUITE_TIMEOUT_MS }, () => {
  let home: string;
  let bin: string;
  let meter: MeterProcess;

  /** Runs the doctor on a home. The `PATH` has only the clients that the test chose. */
  const ask = async (words: string[] = [], env: Record<string, string | undefined> = {}) => {
    const own = { HOME: home, PATH: bin };
    const { code, stdout, stderr } = await runWords(home, ["doctor", "--json", ...words], { ...own, ...env });
    assert.equal(stderr, "");
    return { code, ...(JSON.parse(stdout) as DiagnosisJson) };
  };
  const of = (findings: DiagnosisJson["findings"], check: string) =>
    findings.filter((each) => each.check === check);

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

  it("checks that a call is metered and that a client of this machine uses the proxy", async () => {
    const { findings, verdict, code } = await ask();
    assert.deepEqual(
      findings.filter(({ level }) => level === "broken" || level === "inconsistent"),
      [],
    );
    assert.deepEqual([verdict, code], ["HEALTHY", 0]);
    assert.match(
      of(findings, "self-test")[0]?.message ?? "",
      /was metered correctly \(5 tokens\)\.$|was counted\.$/,
    );
    assert.deepEqual(
      of(findings, "client").map(({ message }) => message),
      [`node ${process.versions.node}, under meter run: uses the proxy and trusts its certificate`],
    );
    assert.equal(of(findings, "trust")[0]?.level, "note");
  });

  it("checks what a client does with this shell's variables", async () => {
    const proxy = { HTTPS_PROXY: `http://127.0.0.1:${meter.proxyPort}` };
    const says = async (env: Record<string, string>) =>
      of((await ask([], { ...proxy, ...env })).findings, "client")[0]?.message.replace(/^node \S+ /, "") ??
      "";
    assert.equal(
      await says({}),
      "from this shell: bypasses the proxy, so its calls are not metered: NODE_USE_ENV_PROXY=1 is not set",
    );
    const led = { NODE_USE_ENV_PROXY: "1" };
    assert.match(await says(led), /^from this shell: rejects the meter's certificate, so its calls fail/);
    assert.equal(
      await says({ ...led, NODE_EXTRA_CA_CERTS: join(home, "ca", "ca.pem") }),
      "from this shell: uses the proxy and trusts its certificate",
    );
    const excepted = await ask([], { ...proxy, ...led, NO_PROXY: "*.anthropic.com" });
    assert.match(
      of(excepted.findings, "shell")[0]?.message ?? "",
      /^NO_PROXY excludes these hosts from the meter: api\.anthropic\.com/,
    );
    assert.equal(excepted.verdict, "INCONSISTENT");
  });

  it("draws no conclusion from a client that does not finish in time", async () => {
    const program = `if (process.argv[2] === "--version") console.log("curl 8.1.2"); else setInterval(() => {}, 1e9);`;
    writeFileSync(join(bin, "curl"), `#!${process.execPath}\n${program}\n`, { mode: 0o755 });
    const curl = of((await ask()).findings, "client").find(({ message }) => message.startsWith("curl"));
    rmSync(join(bin, "curl"));
    assert.deepEqual(
      [curl?.level, curl?.message],
      [
        "note",
        "curl 8.1.2, under meter run: did not finish its test call in time, so it is unknown whether its calls are metered",
      ],
    );
  });

  it("judges an agent by its variables, without running it", async () => {
    writeFileSync(join(bin, "codex"), "#!/bin/sh\necho codex-cli 1.2.3\n", { mode: 0o755 });
    const run = async () =>
      of((await ask()).findings, "client").find(({ message }) => message.startsWith("codex"));
    assert.match(
      (await run())?.message ?? "",
      /^codex 1\.2\.3, under meter run: has the variables that it needs/,
    );
    rmSync(join(bin, "codex"));
  });

  it("restricts a key that others can read", async () => {
    const key = join(home, "ca", "key.pem");
    chmodSync(key, 0o644);
    const { fixed, verdict } = await ask(["--fix"]);
    assert.deepEqual(
      [fixed, verdict, statSync(key).mode & 0o777],
      [["Only this user can read the authority's key now."], "HEALTHY", 0o600],
    );
  });

  it("starts a stopped daemon, and leaves a damaged database in place until then", async () => {
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
      assert.equal(of(found.findings, "daemon")[0]?.fix_command, "meter start");
      assert.match(of(found.findings, "database")[0]?.message ?? "", /cannot be read/);
      const { verdict, fixed } = await ask(["--fix"], env);
      assert.deepEqual([verdict, fixed], ["HEALTHY", ["The daemon was restarted."]]);
    } finally {
      await runWords(other, ["stop"]);
      removeHome(other);
    }
  });

  it("prints findings as checks end, and the verdict last", async () => {
    const { stdout } = await runWords(home, ["doctor"], { HOME: home, PATH: bin });
    assert.match(stdout, /^ok {6}daemon {5}The daemon is running\. The proxy responds on port \d+\.\n/);
    assert.match(stdout, /\nHEALTHY\n$/);
  });
});

describe("meter doctor, of a proxy that hangs", { skip, timeout: SUITE_TIMEOUT_MS }, () => {
  /** A home whose daemon responds while its proxy accepts connections and sends nothing. */
  async function withHungProxy(work: (home: string) => Promise<void>) {
    const startedAt = "2026-11-21T10:00:00.000Z";
    const api = createHttpServer((request, response) => {
      const status = {
        ...{ status: "ok", started_at: startedAt },
        store: { capturing: "ok", set_aside: null },
        proxy: { watchdog: "healthy", counters: { endedUnused: 0 } },
        last_24_hours: { coverage: [] },
      };
      response.writeHead(request.url === "/health" || request.url === "/v1/status" ? 200 : 404);
      response.end(JSON.stringify(status));
    });
    const sockets = new Set<Socket>();
    const proxy = createServer((socket) => {
      sockets.add(socket.on("error", () => {}));
      socket.resume();
    });
    const portOf = async (server: Server) => {
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      return (server.address() as { port: number }).port;
    };
    const hung = createHome(["[proxy]", "port = 0", "[api]", "port = 0"]);
    try {
      const running = {
        ...{ pid: process.pid, version: "0.4.0", started_at: startedAt },
        ...{ proxy_port: await portOf(proxy), api_port: await portOf(api) },
      };
      writeFileSync(join(hung, "daemon.json"), JSON.stringify(running), { mode: 0o600 });
      writeFileSync(join(hung, "loopback-token"), "secret", { mode: 0o600 });
      openCertificateAuthority({
        directory: join(hung, "ca"),
        hosts: ["api.anthropic.com"],
        now: Date.now(),
      });
      await work(hung);
    } finally {
      for (const socket of sockets) socket.destroy();
      proxy.close();
      api.closeAllConnections();
      api.close();
      removeHome(hung);
    }
  }

  it("prints what it knows before the self-test ends after 5 s, or after less if the checks before it were slow", () =>
    withHungProxy(async (hung) => {
      const { code, stdout } = await runProgram([...meterWords, "doctor"], {
        env: { METER_HOME: hung, HOME: hung, PATH: "" },
      });
      const at = (line: RegExp) => {
        const found = stdout.search(line);
        assert.notEqual(found, -1, `${line} in ${stdout}`);
        return found;
      };
      const selfTest = at(/^BROKEN {2}self-test {2}The proxy did not answer a call within [1-5] s\.$/m);
      assert.ok(at(/^ok {6}daemon /m) < selfTest);
      assert.ok(at(/^note {4}service /m) < selfTest);
      assert.ok(selfTest < at(/^BROKEN: 1 check failed/m));
      assert.equal(code, 1);
    }));

  it("reports a daemon that hangs, with a command that ends it", {
    skip: process.platform === "win32" && "has no SIGSTOP",
  }, async () => {
    const stopped = await startMeter(createHome(["[proxy]", "port = 0", "[api]", "port = 0"]));
    try {
      process.kill(stopped.pid, "SIGSTOP");
      const { code, stdout } = await runWords(stopped.home, ["doctor", "--json"]);
      const { verdict, findings } = JSON.parse(stdout) as DiagnosisJson;
      const [daemon] = findings.filter(({ check }) => check === "daemon");
      assert.deepEqual(
        [code, verdict, daemon?.fix_command],
        [1, "BROKEN", `kill -KILL ${stopped.pid} && meter start`],
      );
      assert.match(daemon?.message ?? "", /The daemon hangs/);
    } finally {
      process.kill(stopped.pid, "SIGCONT");
      await stopped.stop();
      removeHome(stopped.home);
    }
  });

  it("continues with an unreadable configuration, and names the line", async () => {
    const broken = createHome(["[proxy]", "port = = 0"]);
    try {
      const { code, stdout } = await runWords(broken, ["doctor", "--json"]);
      const { findings } = JSON.parse(stdout) as DiagnosisJson;
      const config = findings.find(({ check }) => check === "config");
      assert.equal(code, 1);
      assert.match(config?.message ?? "", /config\.toml.*line 2, column 8/);
      assert.ok(findings.some(({ check }) => check === "disk"));
    } finally {
      removeHome(broken);
    }
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
    nodePath: `/opt/${specialCharacters}/node`,
    programPath: "/opt/b in.js",
    supervisorPath: "/opt/s h/supervise.sh",
    meterHome: "/h",
    environment: {},
  };
  it("finds the programs in a service definition of each kind", () => {
    const both = ["/bin/sh", program.supervisorPath, program.nodePath, program.programPath];
    assert.deepEqual(programsIn(systemdService(program)), both);
    assert.deepEqual(programsIn(launchAgent("l", program)), both);
    const earlier = 'ExecStart="/opt/node" "/opt/bin.js" "start" "--foreground"\n';
    assert.deepEqual(programsIn(earlier), ["/opt/node", "/opt/bin.js"]);
    const windows = { ...program, nodePath: "C:\\Program Files\\node.exe", programPath: "C:\\m\\bin.js" };
    assert.deepEqual(programsIn(scheduledTask("u", windows)), [windows.nodePath, windows.programPath]);
  });
});
