import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, realpathSync, statSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { createServer, type Server } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import { resolveListenAddress } from "../../../cli/commands/start/proxy-settings.ts";
import { isAlive, type RunningDaemon, stateFile } from "../../../cli/daemon/daemon-process.ts";
import { NonLoopbackHostError } from "../../../daemon/proxy/listen-host.ts";
import {
  createHome,
  type MeterProcess,
  meterWords,
  onNodeOnly,
  plainEnvironment,
  removeHome,
  runMeter,
  runProgram,
  SUITE_TIMEOUT_MS,
  startMeter,
  waitFor,
} from "../../end-to-end/meter-process.rig.ts";
import { runWords } from "../run-command.rig.ts";

const freePorts = ["[proxy]", "port = 0", "[api]", "port = 0"];

describe("meter start, status and stop", { skip: onNodeOnly, timeout: SUITE_TIMEOUT_MS }, () => {
  const homes: string[] = [];
  const newHome = (config: readonly string[] = freePorts) => {
    const home = createHome(config);
    homes.push(home);
    return home;
  };
  after(async () => {
    for (const home of homes) {
      await runWords(home, ["stop"]);
      removeHome(home);
    }
  });

  it("starts one daemon, shows it, and stops it", async () => {
    const home = newHome();
    // A home without logs of agents, so that it offers no import.
    const started = await runMeter(home, ["start"], { env: { HOME: home } });
    assert.deepEqual([started.code, started.stderr], [0, ""]);
    const state = JSON.parse(readFileSync(stateFile(home), "utf8")) as RunningDaemon;
    assert.equal(
      started.stdout,
      `Metering. Proxy: http://127.0.0.1:${state.proxy_port}  Home: ${home}\nRun a program through it: meter run -- <command>\n`,
    );
    const again = await runWords(home, ["start"]);
    assert.deepEqual(
      [again.code, again.stdout],
      [0, `The daemon is already running: process ${state.pid}, proxy on port ${state.proxy_port}.\n`],
    );
    // The daemon may write its file again before the command reads it.
    const outdated = await waitFor("the version to be read", async () => {
      writeFileSync(stateFile(home), JSON.stringify({ ...state, version: "0.3.9" }));
      const { stdout } = await runWords(home, ["start"]);
      return stdout !== again.stdout && stdout;
    });
    assert.match(
      outdated,
      /^The daemon is already running: .*\.\nThe installed version is \S+\. Restart the daemon: meter stop && meter start\n$/,
    );
    writeFileSync(stateFile(home), JSON.stringify(state));
    const second = await runWords(home, ["start", "--foreground"]);
    assert.deepEqual([second.code, second.stderr], [1, `meter: Another daemon runs in ${home}.\n`]);

    const status = await runWords(home, ["status"]);
    assert.equal(status.code, 0);
    assert.match(
      status.stdout,
      /^Metering\.\nproxy {5}http:\/\/127\.0\.0\.1:\d+ {2}\(0 connections to providers open\)\n/,
    );
    const json = JSON.parse((await runWords(home, ["status", "--json"])).stdout);
    assert.deepEqual([json.running, json.home, json.daemon.store.capturing], [true, home, "ok"]);

    const test = async () => (await runWords(home, ["provider", "test", "gate.corp.test"])).stdout;
    assert.match(await test(), /\nThe daemon uses these settings\.\n$/);
    assert.equal((await runWords(home, ["provider", "add", "gate.corp.test"])).code, 0);
    assert.match(await test(), /\nThe daemon started with other \[\[providers\]\]\. Restart it:\n/);

    for (const [path, mode] of [
      [home, 0o700],
      [join(home, "logs"), 0o700],
      [stateFile(home), 0o600],
      [join(home, "loopback-token"), 0o600],
      [join(home, "meter.db"), 0o600],
      [join(home, "ca"), 0o700],
    ] as const) {
      if (process.platform !== "win32") assert.equal(statSync(path).mode & 0o777, mode, path);
    }

    const stopped = await runMeter(home, ["stop"]);
    assert.deepEqual([stopped.code, stopped.stdout], [0, "Stopped.\n"]);
    assert.equal(isAlive(state.pid), false);
    assert.equal(existsSync(stateFile(home)), false);
  });

  it("says which settings are invalid when it has started", async () => {
    const home = newHome([...freePorts, "[bodies]", "retention_days = 0"]);
    const { code, stderr } = await runMeter(home, ["start", "--no-import"]);
    assert.deepEqual(
      [code, stderr],
      [
        0,
        `meter: bodies.retention_days: 0 is outside 1 to 36500; 90 is used. Fix line 6 of ${join(home, "config.toml")}.\n`,
      ],
    );
    await runWords(home, ["stop"]);
  });

  it("starts one daemon if several shells start it at the same time, and tells each of them", async () => {
    const home = newHome();
    const said = await Promise.all(Array.from({ length: 4 }, () => runMeter(home, ["start"])));
    const state: RunningDaemon = JSON.parse(readFileSync(stateFile(home), "utf8"));
    try {
      for (const { code, stdout, stderr } of said) {
        assert.deepEqual([code, stderr], [0, ""]);
        assert.ok(stdout.includes(`${state.proxy_port}`), stdout);
      }
    } finally {
      assert.equal((await runWords(home, ["stop"])).stdout, "Stopped.\n");
    }
  });

  it("reports that no daemon is running", async () => {
    const home = newHome();
    const status = await runWords(home, ["status"]);
    assert.deepEqual(
      [status.code, status.stdout],
      [
        3,
        `Not metering: the daemon is not running. Start it: meter start\nhome      ${home}\nservice   none. Install one: meter init\n`,
      ],
    );
    const json = await runWords(home, ["status", "--json"]);
    assert.deepEqual([json.code, JSON.parse(json.stdout).running], [3, false]);
    const stopped = await runWords(home, ["stop"]);
    assert.deepEqual([stopped.code, stopped.stdout], [0, "The daemon is not running.\n"]);
    const run = await runWords(home, ["run", "--", "true"]);
    assert.deepEqual(
      [run.code, run.stderr],
      [3, "meter: The daemon is not running.\nStart it: meter start\n"],
    );
  });

  it("reports what is wrong with the config.toml that the daemon would read", async () => {
    const home = newHome();
    const file = join(home, "config.toml");
    const reports: readonly [text: string, warning: string][] = [
      [
        '[bodies]\nretention_days = "x"\n',
        `bodies.retention_days: must be a whole number; 90 is used. Fix line 2 of ${file}.`,
      ],
      ["[proxy]\nport = 1\nport = 2\n", `${file} is not valid TOML. Fix line 3, column 1.`],
    ];
    for (const [text, warning] of reports) {
      writeFileSync(file, text);
      const { code, stdout } = await runWords(home, ["status"]);
      assert.deepEqual(
        [code, stdout.replaceAll(/\s+/g, " ").includes(` warning ${warning} `)],
        [3, true],
        stdout,
      );
      const json = JSON.parse((await runWords(home, ["status", "--json"])).stdout);
      assert.deepEqual(json.config_warnings, [warning]);
    }
  });

  it("starts again after a daemon was killed, despite the files that it left, and ends on each termination signal", async () => {
    const home = newHome();
    const first = await startMeter(home);
    process.kill(first.pid, "SIGKILL");
    await first.ended;
    assert.equal(existsSync(stateFile(home)), true);
    assert.equal((await runWords(home, ["status"])).code, 3);
    assert.equal((await runWords(home, ["stop"])).stdout, "The daemon is not running.\n");
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
      const earlier = first.log().length;
      const next = await startMeter(home);
      assert.equal(next.caPem, first.caPem, "the same authority");
      process.kill(next.pid, signal);
      assert.equal((await next.ended).code, 0, signal);
      assert.deepEqual(
        next
          .log()
          .slice(earlier)
          .map(({ event }) => event)
          .filter((event) => event !== "cloud.supervisor.skip"),
        ["daemon.started", "daemon.stopped"],
      );
    }
  });

  describe("if it can't start", () => {
    let taken: Server;
    let port = 0;
    before(async () => {
      taken = createServer();
      taken.listen(0, "127.0.0.1");
      await once(taken, "listening");
      port = (taken.address() as { port: number }).port;
    });
    after(() => taken?.close());

    /** The message if a port is taken. It names the process, this one, and ends with the lines that set another one. */
    const portInUse = (section: string) =>
      new RegExp(
        `^meter: Port ${port} is already in use by node \\(process ${process.pid}\\)\\. Set another one in /.*/config\\.toml:\n\n\\[${section}\\]\nport = ${port === 65_535 ? port - 1 : port + 1}\n$`,
      );
    const obstacles: [name: string, config: () => string[], message: () => RegExp][] = [
      [
        "the proxy's port is taken",
        () => ["[proxy]", `port = ${port}`, "[api]", "port = 0"],
        () => portInUse("proxy"),
      ],
      [
        "the API's port is taken",
        () => ["[proxy]", "port = 0", "[api]", `port = ${port}`],
        () => portInUse("api"),
      ],
      [
        "the proxy would listen beyond this machine",
        () => ["[proxy]", 'host = "0.0.0.0"', "port = 0", "[api]", "port = 0"],
        () => /^meter: .*0\.0\.0\.0.*\nAllow it: HALTON_METER_ALLOW_NON_LOOPBACK=1 meter start\n$/,
      ],
      [
        "the API would listen beyond this machine",
        () => ["[proxy]", "port = 0", "[api]", 'host = "0.0.0.0"', "port = 0"],
        () => /^meter: .*0\.0\.0\.0.*\nAllow it: HALTON_METER_ALLOW_NON_LOOPBACK=1 meter start\n$/,
      ],
      [
        "the configuration is no TOML",
        () => ["[proxy", "port = 0"],
        () => /config\.toml is not valid TOML\. Fix line 1, column \d+\.\n$/,
      ],
      [
        "the extra authority is not there",
        () => ["[proxy]", "port = 0", 'extra_ca = "/no/such/file.pem"', "[api]", "port = 0"],
        () => /^meter: proxy\.extra_ca: ENOENT: .*\/no\/such\/file\.pem'\. Fix it in \/.*\/config\.toml\.\n$/,
      ],
    ];
    for (const [name, config, message] of obstacles) {
      it(`exits with 1 and a reason: ${name}`, async () => {
        const home = newHome(config());
        const { code, stdout, stderr } = await runWords(home, ["start", "--foreground"]);
        assert.deepEqual([code, stdout], [1, ""]);
        assert.match(stderr, message());
        assert.equal(existsSync(stateFile(home)), false);
      });
    }

    it("serves the API to other machines if that is allowed, with a warning", async () => {
      const home = newHome(["[proxy]", "port = 0", "[api]", 'host = "0.0.0.0"', "port = 0"]);
      const meter = await startMeter(home, { env: { HALTON_METER_ALLOW_NON_LOOPBACK: "1" } });
      const ask = async (name: string) => {
        const headers = { host: `${name}:${meter.apiPort}`, connection: "close" };
        const asking = request({ host: "127.0.0.1", port: meter.apiPort, path: "/health", headers });
        const [answer] = await once(asking.end(), "response");
        answer.resume();
        return answer.statusCode;
      };
      assert.deepEqual(
        [await ask("0.0.0.0"), await ask("127.0.0.1"), await ask("evil.test")],
        [200, 200, 403],
      );
      const { stderr } = await meter.stop();
      assert.match(stderr, /^meter: Listening beyond this machine, on 0\.0\.0\.0/m);
    });

    it("prints the same error in the background as in the foreground", async () => {
      const { code, stdout, stderr } = await runMeter(newHome(["[proxy"]), ["start"]);
      assert.deepEqual([code, stdout], [1, ""]);
      assert.match(
        stderr,
        /^meter: The daemon did not start\. Its output:\nmeter: .*config\.toml is not valid TOML\. Fix line 1, column \d+\.\n$/,
      );
    });

    it("names the taken port of the proxy in the background too", async () => {
      const home = newHome(["[proxy]", `port = ${port}`, "[api]", "port = 0"]);
      const { code, stderr } = await runMeter(home, ["start"]);
      assert.equal(code, 1);
      assert.match(
        stderr,
        new RegExp(
          `^meter: The daemon did not start\\. Its output:\nmeter: Port ${port} is already in use by node \\(process ${process.pid}\\)\\. `,
        ),
      );
    });

    it("serves the proxy to other machines if that is allowed, with a warning, and requires a login", async () => {
      const beyond = (more: string[]) => [
        "[proxy]",
        'host = "0.0.0.0"',
        "port = 0",
        ...more,
        "[api]",
        "port = 0",
      ];
      for (const HALTON_METER_ALLOW_NON_LOOPBACK of ["0", "true", ""]) {
        const env = { HALTON_METER_ALLOW_NON_LOOPBACK };
        await assert.rejects(resolveListenAddress("0.0.0.0", env, []), NonLoopbackHostError);
      }
      const env = { HALTON_METER_ALLOW_NON_LOOPBACK: "1" };
      const generated = await runMeter(newHome(beyond([])), ["start"], { env });
      assert.equal(generated.code, 0);
      assert.match(
        generated.stdout,
        /^Programs on other machines log in with the password in .*[/\\]proxy-password\.$/m,
      );
      const home = newHome(beyond(['password = "let me in"']));
      const meter = await startMeter(home, { env });
      const status = await runWords(home, ["status"]);
      assert.match(status.stdout, /\nwarning {3}Listening beyond this machine, on 0\.0\.0\.0/);
      const { stderr } = await meter.stop();
      assert.match(stderr, /^meter: Listening beyond this machine/);
      assert.ok(meter.log().some(({ event, level }) => event === "daemon.warning" && level === "warn"));
    });

    it("accepts the API's configured name, and requires no login on another loopback address", async () => {
      const name = hostname();
      const config = ["[proxy]", 'host = "127.0.0.2"', "port = 0", "[api]", `host = "${name}"`, "port = 0"];
      const meter = await startMeter(newHome(config), { env: { HALTON_METER_ALLOW_NON_LOOPBACK: "1" } });
      const { address } = await lookup(name, { family: 4 });
      const health = async (host: string) => {
        const asked = request({
          host: address,
          port: meter.apiPort,
          path: "/health",
          headers: { host },
        }).end();
        const [answer] = await once(asked, "response");
        answer.resume();
        return answer.statusCode;
      };
      const port = meter.apiPort;
      assert.equal(await health(`${name.toUpperCase()}:${port}`), 200);
      assert.equal(await health(`${address}:${port}`), 200);
      assert.equal(await health(`elsewhere.dev:${port}`), 403);
      await meter.stop();
    });
  });
});

describe("meter run", { skip: onNodeOnly, timeout: SUITE_TIMEOUT_MS }, () => {
  let home: string;
  let meter: MeterProcess;
  before(async () => {
    home = createHome(freePorts);
    meter = await startMeter(home);
  });
  after(async () => {
    await meter.stop();
    removeHome(home);
  });
  const node = process.execPath;
  const run = (words: string[], env = {}) => runMeter(home, ["run", ...words], { env });

  it("sets the variables for the proxy and its certificates", async () => {
    const print = "console.log(JSON.stringify(process.env))";
    const { code, stdout, stderr } = await run(["--project", "web", "--", node, "-e", print], {
      NO_PROXY: "intranet",
    });
    assert.deepEqual([code, stderr], [0, ""]);
    const env = JSON.parse(stdout);
    const { proxy_port: port } = JSON.parse(readFileSync(stateFile(home), "utf8")) as RunningDaemon;
    for (const name of ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"]) {
      assert.match(
        env[name],
        new RegExp(`^http://web\\.~p[0-9a-f]{12}:[0-9a-f]{24}@127\\.0\\.0\\.1:${port}$`),
      );
    }
    assert.equal(env.NO_PROXY, "intranet,localhost,127.0.0.1,::1");
    assert.equal(env.METER_PROJECT, "web");
    assert.equal(env.NODE_USE_ENV_PROXY, "1");
    const own = readFileSync(join(home, "ca", "ca.pem"), "utf8").trim();
    assert.equal(readFileSync(env.NODE_EXTRA_CA_CERTS, "utf8").trim(), own);
    const bundle = readFileSync(env.SSL_CERT_FILE, "utf8");
    assert.ok(bundle.includes(own));
    assert.ok(bundle.split("BEGIN CERTIFICATE").length > 2, "the system's roots beside it");
  });

  it("also trusts the certificates that the caller's variables name", async () => {
    const [extra] = readFileSync(join(home, "ca", "ca.pem"), "utf8").split("\n\n");
    const folder = join(home, "own");
    mkdirSync(folder, { recursive: true });
    const file = join(folder, "roots.pem");
    writeFileSync(file, extra!);
    const print = "console.log(process.env.NODE_EXTRA_CA_CERTS)";
    const { stdout } = await run(["--", node, "-e", print], { NODE_EXTRA_CA_CERTS: file });
    assert.match(stdout, /bundle-[0-9a-f]{12}\.pem\n$/);
  });

  it("exits with the program's exit code", async () => {
    const run = (words: string[]) => runWords(home, ["run", ...words], { PATH: process.env.PATH });
    assert.equal((await run(["--", node, "-e", "process.exit(42)"])).code, 42);
    assert.equal((await run([node, "-e", "process.exit(7)"])).code, 7);
    assert.equal((await run(["--", node, "-e", "process.kill(process.pid, 'SIGTERM')"])).code, 143);
    const missing = await run(["--", "no-such-program-here"]);
    assert.deepEqual(
      [missing.code, missing.stderr],
      [127, "meter: The program no-such-program-here was not found.\n"],
    );
    const folder = await run(["--", home]);
    assert.deepEqual(
      [folder.code, folder.stderr],
      [126, `meter: The program ${home} could not be started: permission denied.\n`],
    );
  });

  it("forwards signals", async () => {
    const child = spawn(
      meterWords[0]!,
      [
        ...meterWords.slice(1),
        "run",
        "--",
        node,
        "-e",
        "process.on('SIGTERM', () => process.exit(9)); console.log('ready'); setInterval(() => {}, 1000)",
      ],
      {
        env: plainEnvironment({ METER_HOME: home }),
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    const ended = once(child, "close");
    await once(child.stdout, "data");
    child.kill("SIGTERM");
    assert.deepEqual(await ended, [9, null]);
  });

  it("warns if the program is known to ignore proxies", async () => {
    const { stderr } = await runWords(home, ["run", "--", "java", "-version"], { PATH: "" });
    assert.match(stderr, /^meter: This program will not be metered: Java reads its proxy from /);
  });

  it("refuses a relative path as home, and names the absolute one", async () => {
    for (const words of [
      ["status"],
      ["stop"],
      ["report"],
      ["prune", "--before", "2026-01-01"],
      ["pricing", "status"],
    ]) {
      const { code, stdout, stderr } = await runProgram([...meterWords, ...words], {
        env: { METER_HOME: "." },
        cwd: home,
      });
      assert.deepEqual(
        [code, stdout, stderr],
        [
          1,
          "",
          `meter: METER_HOME is a relative path, ".", and so another folder in each working directory.\nSet an absolute one: export METER_HOME='${realpathSync(home)}'\n`,
        ],
        words.join(" "),
      );
    }
  });
});
