import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import { readInstallRecord } from "../../../../adapters/installer/install-record.ts";
import { stateFile } from "../../../../cli/daemon/daemon-process.ts";
import { describeStep } from "../../../../core/operations/install/step.ts";
import { snapshot } from "../../../adapters/installer/machine.rig.ts";
import {
  type Finished,
  meterWords,
  onNodeOnly,
  readStore,
  removeHome,
  runProgram,
  SUITE_TIMEOUT_MS,
} from "../../../end-to-end/meter-process.rig.ts";
import { runWords, type Said } from "../../run-command.rig.ts";

/** Returns a port that is free at the moment. Programs are configured with a fixed one. */
function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}

/**
 * A user with a home, and a `PATH` without programs of the system that `init` could use for changes: it has shells and a
 * service manager of the test, which records its commands and starts the daemon.
 */
class User {
  readonly folder: string = mkdtempSync(join(tmpdir(), "meter-user-"));
  readonly home: string = join(this.folder, "home");
  readonly bin: string = join(this.folder, "bin");
  readonly told: string = join(this.folder, "told");
  readonly meterHome: string = join(this.home, ".meter");

  apiPort = 0;

  constructor() {
    mkdirSync(this.home);
    mkdirSync(this.bin);
    writeFileSync(join(this.home, ".bashrc"), "# mine\nexport EDITOR=vi");
    chmodSync(join(this.home, ".bashrc"), 0o600);
    writeFileSync(join(this.home, ".profile"), "# mine\n");
    mkdirSync(join(this.home, ".config"));
    writeFileSync(this.told, "");
  }

  get env(): Record<string, string> {
    return {
      HOME: this.home,
      PATH: `${this.bin}:${dirname(process.execPath)}`,
      SHELL: "/bin/bash",
      METER_HOME: "",
    };
  }

  /** Puts a script on the `PATH`. */
  program(name: string, script: string): void {
    writeFileSync(join(this.bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }

  /** Adds a `systemctl` that starts the unit's command, as systemd would. */
  withSystemd(): this {
    const unit = join(this.home, ".config/systemd/user/meter.service");
    this.program(
      "systemctl",
      `PATH=/usr/bin:/bin
       echo "$@" >> '${this.told}'
       case "$*" in
         "--user start meter.service")
           line=$(sed -n 's/^ExecStart=//p' '${unit}')
           eval "METER_HOME='${this.meterHome}' setsid $line >/dev/null 2>&1 &" ;;
         *stop*|*disable*)
           pid=$(sed -n 's/.*"pid": \\([0-9]*\\).*/\\1/p' '${stateFile(this.meterHome)}' 2>/dev/null)
           [ -z "$pid" ] || kill "$pid"
           while [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null; do sleep 0.05; done ;;
       esac
       exit 0`,
    );
    return this;
  }

  async withConfig(): Promise<this> {
    const [proxy, api] = [await freePort(), await freePort()];
    this.apiPort = api;
    mkdirSync(this.meterHome, { mode: 0o700 });
    writeFileSync(join(this.meterHome, "config.toml"), `[proxy]\nport = ${proxy}\n[api]\nport = ${api}\n`, {
      mode: 0o600,
    });
    return this;
  }

  meter(...words: string[]): Promise<Finished> {
    return runProgram([...meterWords, ...words], { env: this.env });
  }

  /** Runs a command in this process, which has another user's home. */
  runHere(...words: string[]): Promise<Said> {
    return runWords(this.meterHome, words, { ...this.env, METER_HOME: this.meterHome });
  }

  async leave(): Promise<void> {
    await this.runHere("stop");
    removeHome(this.folder);
  }
}

/** Returns the steps that `init` lists, except those of every run. */
const stepLines = (stdout: string) =>
  stdout
    .split("\n")
    .filter((line) => line.startsWith("  ") && !line.startsWith("  create its folder"))
    .map((line) => line.trim());

const skip =
  onNodeOnly || (process.platform !== "linux" ? "the machine that is set up here is a Linux" : false);

describe("meter init and uninstall", { skip, timeout: SUITE_TIMEOUT_MS }, () => {
  const users: User[] = [];
  const newUser = async (): Promise<User> => {
    const user = await new User().withConfig();
    users.push(user);
    return user;
  };
  after(async () => {
    for (const user of users) await user.leave();
  });

  it("leave no trace; a call in between is metered", async () => {
    const user = (await newUser()).withSystemd();
    const untouched = snapshot(user.home);
    const inShell = (script: string) =>
      execFileSync("/bin/bash", ["--norc", "-c", script], {
        encoding: "utf8",
        env: { ...user.env, PATH: "/usr/bin:/bin" },
      });
    const shell = () => inShell(`. ${user.home}/.bashrc; . ${user.home}/.profile; env | sort`);
    const environment = shell();

    const planned = await user.meter("init", "--apps", "--dry-run");
    assert.equal(planned.code, 0, planned.stderr);
    assert.match(planned.stdout, /\n {2}add 4 marked lines to .*\.bashrc\n/);
    assert.deepEqual(snapshot(user.home), untouched, "a dry run changes nothing");

    const asked = await user.meter("init");
    assert.deepEqual([asked.code, asked.stderr.startsWith("meter: Can't ask for confirmation")], [2, true]);
    assert.deepEqual(snapshot(user.home), untouched, "nor does a question that nobody answers");

    const done = await user.meter("init", "--apps", "--yes");
    assert.equal(done.code, 0, done.stdout + done.stderr);
    assert.match(done.stdout, /\nSelf-test: .* (was metered correctly \(5 tokens\)|was counted)\.\n/);
    assert.deepEqual(
      await readStore(user.meterHome, (store) => [
        store.records.count({ from: null, to: null }),
        store.coverage.read({ from: null, to: null }).filter(({ kind }) => kind === "metered"),
      ]),
      [0, []],
      "the self-test leaves no record, and counts as nobody's call",
    );
    const recorded = await readInstallRecord(user.meterHome);
    const taken = recorded?.entries.map(({ step }) => step) ?? [];
    assert.deepEqual(
      stepLines(planned.stdout),
      taken.filter((step) => step.kind !== "commands" || step.do.length > 0).map(describeStep),
      "a dry run shows exactly what is then done",
    );
    const nothingToDo = await user.meter("init", "--apps", "--dry-run");
    assert.deepEqual(stepLines(nothingToDo.stdout), []);
    const told = readFileSync(user.told, "utf8");
    assert.match(
      told,
      /--user daemon-reload\n--user enable meter\.socket meter\.service\n--user start meter\.socket\n--user start meter\.service\n/,
    );
    const status = await user.runHere("status");
    assert.match(status.stdout, /\nservice {3}systemd/);

    // A new shell sends a program to the proxy: the proxy counts it.
    const seen = inShell(`. ${user.home}/.bashrc; echo "$HTTPS_PROXY $EDITOR"; test -r "$SSL_CERT_FILE"`);
    assert.match(seen, /^http:\/\/127\.0\.0\.1:\d+ vi\n$/);

    const refreshed = await user.meter("init", "--yes");
    assert.equal(refreshed.code, 0, refreshed.stderr);
    assert.equal(readFileSync(user.told, "utf8").match(/start meter\.service/g)?.length, 1, "still running");

    const gone = await user.meter("uninstall", "--yes", "--include-logs");
    assert.equal(gone.code, 0, gone.stdout + gone.stderr);
    assert.match(gone.stdout, /Kept in .*: config\.toml, id-key, meter\.db\n/);
    for (const name of ["meter.db", "id-key"]) rmSync(join(user.meterHome, name));
    assert.deepEqual(snapshot(user.home), untouched);
    assert.equal(shell(), environment);
  });

  it("delete the records with --purge, and only files of the meter", async () => {
    const user = await newUser();
    assert.equal((await user.meter("init", "--yes")).code, 0);
    writeFileSync(join(user.meterHome, "mine.txt"), "mine");
    writeFileSync(join(user.meterHome, "logs", "mine.log"), "mine");
    const gone = await user.meter("uninstall", "--yes", "--purge", "--include-logs");
    assert.match(gone.stdout, /Kept in .*: mine\.txt\n/);
    assert.deepEqual(Object.keys(snapshot(user.meterHome)), ["logs", "logs/mine.log", "mine.txt"]);
    rmSync(join(user.meterHome, "mine.txt"));
    rmSync(join(user.meterHome, "logs"), { recursive: true });
    mkdirSync(join(user.meterHome, "logs"));
    await user.meter("uninstall", "--yes", "--purge", "--include-logs");
    assert.equal(existsSync(user.meterHome), false, "an empty home goes");
    assert.match((await user.meter("uninstall", "--yes")).stdout, /^Nothing is installed in /);
  });

  it("undo everything if any of the service's commands fails", async () => {
    const user = (await newUser()).withSystemd();
    const untouched = snapshot(user.home);
    const outside = (files: Record<string, string>) =>
      Object.entries(files).filter(([path]) => !path.startsWith(".meter/"));
    const working = readFileSync(join(user.bin, "systemctl"), "utf8");
    const seen: string[] = [];
    for (const words of ["daemon-reload", "enable", "start meter.socket", "start meter.service"]) {
      // It fails only while installing, because the undo must work.
      user.program(
        "systemctl",
        `case "$*" in "--user ${words}"*) echo "no ${words}" >&2; exit 1;; esac\n${working}`,
      );
      const failed = await user.meter("init", "--apps", "--yes");
      seen.push(failed.stderr.replace(/^meter: systemctl --user .*: no /, "").trim());
      assert.equal(failed.code, 1, words);
      assert.deepEqual(outside(snapshot(user.home)), outside(untouched), words);
      const isRunning = (await user.runHere("status")).code !== 3;
      assert.equal(isRunning, false, `no daemon stays where ${words} failed`);
    }
    assert.deepEqual(seen, ["daemon-reload", "enable", "start meter.socket", "start meter.service"]);
  });

  it("undo everything if the service does not start", async () => {
    const user = await newUser();
    user.program(
      "systemctl",
      `echo "$@" >> '${user.told}'; case "$*" in *"start meter.service") echo "no bus" >&2; exit 1;; esac`,
    );
    const untouched = snapshot(user.home);
    const failed = await user.meter("init", "--apps", "--yes");
    assert.deepEqual(
      [failed.code, failed.stderr],
      [1, "meter: systemctl --user start meter.service: no bus\n"],
    );
    assert.match(failed.stdout, /The installation failed\. Undoing its steps\.\n$/);
    const left = snapshot(user.home);
    for (const path of Object.keys(left)) if (path.startsWith(".meter/")) delete left[path];
    for (const path of Object.keys(untouched)) if (path.startsWith(".meter/")) delete untouched[path];
    assert.deepEqual(left, untouched);
    assert.equal(existsSync(join(user.meterHome, "installed.json")), false);
  });

  it("undo everything if the daemon does not start", async () => {
    const user = await newUser();
    const somebody = createServer();
    await new Promise((resolve) => somebody.listen(user.apiPort, "127.0.0.1", () => resolve(null)));
    const failed = await user.meter("init", "--apps", "--yes");
    somebody.close();
    assert.equal(failed.code, 1);
    assert.match(
      failed.stderr,
      /^meter: The daemon did not start\. Its output:\n.*Port \d+ is already in use/,
    );
    assert.equal(readFileSync(join(user.home, ".bashrc"), "utf8"), "# mine\nexport EDITOR=vi");
  });

  it("refuse --apps if the proxy's port is not fixed", async () => {
    const user = await newUser();
    writeFileSync(join(user.meterHome, "config.toml"), "[proxy]\nport = 0\n");
    const { code, stderr } = await user.meter("init", "--apps", "--yes");
    assert.deepEqual(
      [code, stderr],
      [
        1,
        "meter: --apps needs a fixed proxy port, and config.toml sets port 0. In its section [proxy], set port to another value.\n",
      ],
    );
  });
});

const asRoot =
  process.getuid?.() === 0 && spawnSync("useradd", ["--help"]).error === undefined
    ? skip
    : "makes a user, which only root may";

describe("init and uninstall of a separate user", { skip: asRoot, timeout: SUITE_TIMEOUT_MS }, () => {
  const name = `meter-${process.pid}`;
  let home: string;
  before(() => {
    home = join(mkdtempSync(join(tmpdir(), "meter-people-")), name);
    chmodSync(dirname(home), 0o755);
    execFileSync("useradd", ["--create-home", "--home-dir", home, "--shell", "/bin/bash", name]);
  });
  after(() => {
    spawnSync("userdel", [name]);
    rmSync(dirname(home), { recursive: true, force: true });
  });

  it("have the same home and login shell as before", async (t) => {
    const as = (...words: string[]) =>
      runProgram(["setpriv", `--reuid=${name}`, `--regid=${name}`, "--init-groups", ...words], {
        env: { HOME: home, SHELL: "/bin/bash", PATH: `${dirname(process.execPath)}:/usr/bin:/bin` },
      });
    if ((await as(...meterWords, "--version")).code !== 0) return t.skip("this checkout is root's alone");
    const [proxy, api] = [await freePort(), await freePort()];
    mkdirSync(join(home, ".meter"), { mode: 0o700 });
    writeFileSync(join(home, ".meter/config.toml"), `[proxy]\nport = ${proxy}\n[api]\nport = ${api}\n`);
    execFileSync("chown", ["-R", name, join(home, ".meter")]);
    const untouched = snapshot(home);
    const login = async () => (await as("bash", "--login", "-ic", "env | grep -v ^_= | sort")).stdout;
    const environment = await login();
    const done = await as(...meterWords, "init", "--apps", "--yes");
    assert.equal(done.code, 0, done.stdout + done.stderr);
    assert.match(await login(), new RegExp(`^HTTPS_PROXY=http://127\\.0\\.0\\.1:${proxy}$`, "m"));
    const gone = await as(...meterWords, "uninstall", "--yes", "--include-logs");
    assert.equal(gone.code, 0, gone.stdout + gone.stderr);
    for (const name of ["meter.db", "id-key"]) rmSync(join(home, ".meter", name));
    assert.deepEqual(snapshot(home), untouched);
    assert.equal(await login(), environment);
  });
});
