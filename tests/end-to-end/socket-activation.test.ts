import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import { type RunningDaemon, stateFile } from "../../cli/daemon/daemon-process.ts";
import {
  createHome,
  daemonWords,
  onNodeOnly,
  plainEnvironment,
  removeHome,
  SUITE_TIMEOUT_MS,
  waitFor,
} from "./meter-process.rig.ts";

/**
 * A minimal service manager: holds the port, passes it on as in sd_listen_fds(3), and restarts the program when it
 * fails. systemd itself must be the first process of the machine.
 */
const manager = `
import os, signal, socket, sys
held = socket.create_server(("127.0.0.1", 0), backlog=511)
print(held.getsockname()[1], flush=True)
child = 0
stopping = False
def stop(*_):
    global stopping
    stopping = True
    if child:
        os.kill(child, signal.SIGTERM)
signal.signal(signal.SIGTERM, stop)
while not stopping:
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.dup2(held.fileno(), 3)
        os.set_inheritable(3, True)
        os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
        os.execv(sys.argv[1], sys.argv[1:])
    if stopping:
        os.kill(child, signal.SIGTERM)
    status = os.waitpid(child, 0)[1]
    child = 0
    if status == 0:
        break
`;

const skip =
  onNodeOnly ||
  (process.platform !== "linux" ? "socket activation is systemd's" : false) ||
  (spawnSync("python3", ["--version"]).error === undefined ? false : "the service manager here is Python");

describe("a port that a service manager holds", { skip, timeout: SUITE_TIMEOUT_MS }, () => {
  let home: string;
  let service: ChildProcess;
  let port: number;
  const running = (): RunningDaemon | null => {
    try {
      return JSON.parse(readFileSync(stateFile(home), "utf8")) as RunningDaemon;
    } catch {
      return null;
    }
  };
  /** The first line of the proxy's response to a request that it always answers with 400. */
  const ask = (): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect(port, "127.0.0.1").on("error", reject);
      let answer = "";
      socket.setEncoding("utf8").on("data", (text: string) => {
        answer += text;
      });
      socket.on("close", () => resolve(answer.split("\r\n")[0] ?? ""));
      socket.end("GET / HTTP/1.1\r\nHost: nowhere\r\n\r\n");
    });

  before(async () => {
    home = createHome(["[proxy]", "port = 1", "[api]", "port = 0"]);
    service = spawn("python3", ["-c", manager, ...daemonWords], {
      env: plainEnvironment({ METER_HOME: home }),
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line] = (await once(service.stdout!, "data")) as [Buffer];
    port = Number(line.toString());
  });
  after(async () => {
    const ended = once(service, "close");
    service.kill("SIGTERM");
    await ended;
    removeHome(home);
  });

  it("is used from the first connection on, whatever the configured port", async () => {
    // The daemon may not have started when this connection is made: it waits in the kernel's queue.
    assert.match(await ask(), /^HTTP\/1\.1 400 /);
    await waitFor("the daemon to say where it is", () => running()?.proxy_port === port);
  });

  it("refuses no connection while a killed daemon restarts", async () => {
    const first = running();
    assert.ok(first !== null);
    process.kill(first.pid, "SIGKILL");
    const answers = await Promise.allSettled(Array.from({ length: 20 }, ask));
    const statuses = answers.map((each) =>
      each.status === "fulfilled"
        ? each.value.slice(0, 12)
        : String((each.reason as NodeJS.ErrnoException).code),
    );
    // The relay of the killed daemon notices it by the connection that it accepts, which ends with it.
    const unanswered = statuses.filter((status) => status !== "HTTP/1.1 400");
    assert.ok(unanswered.length <= 1 && !unanswered.includes("ECONNREFUSED"), `unanswered: ${unanswered}`);
    await waitFor("another daemon", () => running()?.pid !== first.pid);
  });
});

describe("startProxy() with a socket from a service manager", { skip, timeout: SUITE_TIMEOUT_MS }, () => {
  const start = (host: string) => `
    import { noParentProxies } from ${JSON.stringify(new URL("../../daemon/proxy/parent-proxy.ts", import.meta.url).href)};
    import { startProxy } from ${JSON.stringify(new URL("../../daemon/proxy/start-proxy.ts", import.meta.url).href)};
    import { openCertificateAuthority } from ${JSON.stringify(new URL("../../adapters/certificates/certificate-authority.ts", import.meta.url).href)};
    const authority = openCertificateAuthority({ directory: process.env.CA, hosts: [], now: Date.now() });
    const proxy = await startProxy(
      { host: ${JSON.stringify(host)}, port: 0, ownPorts: [], providerHosts: [], gatewayRoutes: [], authority, roots: [],
        parentProxies: noParentProxies, proxyPassword: null, listenFd: 3 },
      { frames() {}, async event({ kind }) {
        console.log(kind);
        await proxy.stop(1_000);
        console.log("stopped");
      } },
    ).catch((error) => { console.log(error.message); process.exit(0); });
    proxy.restart();`;

  const run = async (host: string): Promise<string[]> => {
    const home = createHome([]);
    try {
      // In a file, because the worker would inherit the flags of a script on the command line.
      const script = join(home, "start.mjs");
      writeFileSync(script, start(host));
      const words = [process.execPath, script];
      const child = spawn("python3", ["-c", manager, ...words], {
        env: plainEnvironment({ CA: join(home, "ca") }),
        stdio: ["ignore", "pipe", "inherit"],
      });
      let said = "";
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        said += text;
      });
      await once(child, "close");
      return said.trimEnd().split("\n").slice(1);
    } finally {
      removeHome(home);
    }
  };

  it("does not restart a lost thread, since its socket is lost too", async () => {
    assert.deepEqual(await run("127.0.0.1"), ["port_lost", "stopped"]);
  });

  it("refuses a socket at another address than the configured one", async () => {
    assert.deepEqual(await run("::1"), [
      "the service manager listens on 127.0.0.1, but the configured host is ::1",
    ]);
  });
});
