import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { fishFile, sessionFile, shellFile } from "../../../../core/operations/install/environment-files.ts";
import { blockText } from "../../../../core/operations/install/managed-block.ts";
import { memoryLimits } from "../../../../core/operations/install/memory-limits.ts";
import { planInstall } from "../../../../core/operations/install/plan-install.ts";
import {
  environmentAgent,
  launchAgent,
  scheduledTask,
  systemdService,
  systemdSocket,
} from "../../../../core/operations/install/service-files.ts";
import { linuxFacts, specialCharacters } from "./sample-facts.rig.ts";

/** The reason to skip a test whose parser is not installed. */
const without = (program: string): string | false =>
  spawnSync(program, ["--version"]).error === undefined ? false : `there is no ${program} here`;

const program = {
  nodePath: "/opt/my node/bin/node",
  programPath: `/opt/${specialCharacters}/bin.js`,
  supervisorPath: "/opt/supervise.sh",
  meterHome: "/home/u/.meter",
  environment: { HTTPS_PROXY: `http://u:${specialCharacters}@proxy.corp:3128` },
};
const variables = {
  PLAIN: "http://127.0.0.1:8081",
  LIST: "localhost,127.0.0.1,::1",
  AWKWARD: specialCharacters,
};

let folder: string;
before(() => {
  folder = mkdtempSync(join(tmpdir(), "meter-files-"));
});
after(() => rmSync(folder, { recursive: true, force: true }));

const python = (code: string, input: string): string =>
  execFileSync("python3", ["-c", code], { input, encoding: "utf8" });

describe("a service's environment", () => {
  it("limits the allocator, unless the user's variables set a limit", () => {
    const unit = systemdService({ ...program, environment: { MALLOC_ARENA_MAX: "7" } });
    assert.match(unit, /Environment="?MALLOC_ARENA_MAX=7"?\n/);
    assert.match(unit, /Environment="?MALLOC_TRIM_THRESHOLD_=\d+"?\n/);
    assert.match(unit, /Environment="?MALLOC_MMAP_THRESHOLD_=\d+"?\n/);
  });
});

describe("property lists", { skip: without("python3") }, () => {
  const parse = (text: string) =>
    JSON.parse(
      python("import plistlib,sys,json; print(json.dumps(plistlib.loads(sys.stdin.buffer.read())))", text),
    );

  it("launchAgent() is read back by a parser", () => {
    const agent = parse(launchAgent("dev.llm-meter.meter", program));
    assert.deepEqual(agent.ProgramArguments, [
      "/bin/sh",
      program.supervisorPath,
      program.nodePath,
      program.programPath,
    ]);
    assert.deepEqual(agent.EnvironmentVariables, {
      METER_HOME: program.meterHome,
      ...memoryLimits,
      ...program.environment,
    });
    assert.deepEqual(
      [agent.Label, agent.RunAtLoad, agent.KeepAlive, agent.Umask],
      ["dev.llm-meter.meter", true, { SuccessfulExit: false }, 0o77],
    );
  });

  it("environmentAgent() passes names and values to the shell as arguments", () => {
    const [shell, flag, script, ...words] = parse(environmentAgent("l", variables)).ProgramArguments;
    assert.equal(shell, "/bin/sh");
    const said = execFileSync("sh", [flag, `launchctl() { printf '%s|' "$@"; }; ${script}`, ...words], {
      encoding: "utf8",
    });
    const expected = Object.entries(variables).map(([name, value]) => `setenv|${name}|${value}|`);
    assert.equal(said, expected.join(""));
  });
});

describe("scheduledTask()", { skip: without("python3") }, () => {
  it("is XML of the task schema, with arguments quoted for Windows", () => {
    const text = scheduledTask("PC\\u & co", {
      ...program,
      nodePath: "C:\\Program Files\\nodejs\\node.exe",
      programPath: "C:\\m\\bin.js",
      meterHome: "C:\\Users\\a b\\",
    });
    const code = `
import sys, json, xml.etree.ElementTree as E
n = "{http://schemas.microsoft.com/windows/2004/02/mit/task}"
r = E.fromstring(sys.stdin.buffer.read())
get = lambda p: r.find("/".join(n + x for x in p.split("/"))).text
print(json.dumps([get("Actions/Exec/Command"), get("Actions/Exec/Arguments"), get("Principals/Principal/UserId"),
  get("Settings/RestartOnFailure/Interval"), get("Settings/ExecutionTimeLimit")]))`;
    assert.deepEqual(JSON.parse(python(code, text)), [
      "conhost.exe",
      '--headless "C:\\Program Files\\nodejs\\node.exe" C:\\m\\bin.js start --foreground --or-relay --home "C:\\Users\\a b\\\\"',
      "PC\\u & co",
      "PT1M",
      "PT0S",
    ]);
  });
});

describe("systemd units", { skip: without("systemd-analyze") }, () => {
  it("are approved by systemd-analyze verify", () => {
    const units = join(folder, "units");
    mkdirSync(units);
    // The parser checks that the program exists.
    const real = { ...program, nodePath: process.execPath };
    writeFileSync(join(units, "meter.service"), systemdService(real));
    writeFileSync(join(units, "meter.socket"), systemdSocket({ host: "127.0.0.1", port: 8081 }));
    writeFileSync(
      join(units, "six.socket"),
      systemdSocket({ host: "::1", port: 8081 }).replace("[Socket]", "[Socket]\nService=meter.service"),
    );
    const runtime = join(folder, "run");
    mkdirSync(runtime, { mode: 0o700 });
    const files = ["meter.service", "meter.socket", "six.socket"].map((name) => join(units, name));
    const { status, stderr } = spawnSync("systemd-analyze", ["verify", "--user", "--man=no", ...files], {
      encoding: "utf8",
      env: { PATH: process.env.PATH, HOME: folder, XDG_RUNTIME_DIR: runtime },
    });
    assert.deepEqual([status, stderr], [0, ""]);
  });
});

/** What a daemon writes about itself, as in `cli/commands/start/run-daemon.ts`. */
const stateOf = (pid: number, start: number | null = null) => {
  const began = start === null ? {} : { process_start: start };
  return `${JSON.stringify({ pid, ...began, version: "0.4.0", proxy_port: 8081 }, null, 2)}\n`;
};

/** The fields of `/proc/<pid>/stat` from the state onwards. */
const statOf = (pid: number): string[] =>
  readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];

describe("start files of shells", () => {
  const shells: readonly (readonly [shell: string, file: string, words: readonly string[]])[] = [
    ["bash", "env.sh", ["--norc", "-c"]],
    ["zsh", "env.sh", ["-f", "-c"]],
    ["sh", "env.sh", ["-c"]],
    ["fish", "env.fish", ["--no-config", "-c"]],
  ];
  for (const [shell, name, words] of shells) {
    it(`${shell} sets the variables unchanged, with and without the file`, {
      skip: shell !== "sh" && without(shell),
    }, () => {
      const home = join(folder, `it's ${shell}`);
      mkdirSync(home);
      const write = shell === "fish" ? fishFile : shellFile;
      const facts = linuxFacts({ program: { ...program, meterHome: home } });
      const steps = planInstall({
        ...facts,
        service: null,
        apps: {
          variables,
          hasPassword: false,
          startFiles: [{ path: join(home, "rc"), shell: shell === "fish" ? "fish" : "posix" }],
          sessionFolder: null,
        },
      });
      const block = steps.find(({ kind }) => kind === "block");
      assert.ok(block?.kind === "block");
      const rc = join(home, "rc");
      writeFileSync(rc, blockText(block.lines));
      if (shell !== "sh") execFileSync(shell, ["-n", rc]);
      const quoted = rc.replaceAll("'", shell === "fish" ? "\\'" : "'\\''");
      const run = () => {
        const said = execFileSync(shell, [...words, `. '${quoted}'; env -0`], {
          encoding: "utf8",
          env: { PATH: process.env.PATH, HOME: home },
        });
        const pairs = said.split("\0").map((line) => line.split(/=(.*)/s));
        const seen = new Map(pairs.map(([key = "", value = ""]) => [key, value]));
        return Object.keys(variables).map((key) => seen.get(key) ?? null);
      };
      assert.deepEqual(run(), [null, null, null]);
      writeFileSync(join(home, name), write(variables, join(home, "daemon.json")));
      assert.deepEqual(run(), [null, null, null], "there is no daemon");
      writeFileSync(join(home, "daemon.json"), stateOf(process.pid));
      assert.deepEqual(run(), Object.values(variables));
    });

    it(`${shell} restores the previous variables after the daemon was killed`, {
      skip: shell !== "sh" && without(shell),
    }, () => {
      const home = join(folder, `left by ${shell}`);
      mkdirSync(home);
      const state = join(home, "daemon.json");
      const file = join(home, name);
      writeFileSync(file, (shell === "fish" ? fishFile : shellFile)({ LED: "here", ALSO: "here" }, state));
      // A process that has ended stands for a killed daemon: its file still exists.
      const ended = spawnSync(process.execPath, ["-e", "console.log(process.pid)"], { encoding: "utf8" });
      const dead = join(home, "dead.json");
      writeFileSync(dead, stateOf(Number(ended.stdout)));
      writeFileSync(state, stateOf(process.pid));
      const strict = shell === "fish" ? "" : "set -eu; ";
      const set = shell === "fish" ? "set -gx ALSO mine" : "ALSO=mine";
      const say = `printf '%s,%s\\n' "$LED" "$ALSO"`;
      const sayNow = shell === "fish" ? say : `printf '%s,%s\\n' "\${LED-}" "\${ALSO-}"`;
      const script = [
        `. '${file}'`,
        sayNow,
        // A user's setting stays if nothing changes.
        `${set}; __meter_update; ${sayNow}`,
        `cp '${dead}' '${state}'; __meter_update; ${sayNow}`,
        `rm '${state}'; __meter_update; ${sayNow}`,
      ].join("\n");
      const said = execFileSync(shell, [...words, strict + script], {
        encoding: "utf8",
        env: { PATH: process.env.PATH, HOME: home, LED: "company" },
      });
      assert.deepEqual(said.trimEnd().split("\n"), [
        "here,here",
        "here,mine",
        "company,mine",
        "company,mine",
      ]);
    });

    it(`${shell} restores them if the daemon is a zombie, is stopped, or its id belongs to another process`, {
      skip: process.platform !== "linux" ? "only Linux tells" : shell !== "sh" && without(shell),
    }, async () => {
      const home = join(folder, `tells for ${shell}`);
      mkdirSync(home);
      const state = join(home, "daemon.json");
      const file = join(home, name);
      writeFileSync(file, (shell === "fish" ? fishFile : shellFile)({ LED: "here" }, state));
      const said = (pid: number, start: number | null) => {
        writeFileSync(state, stateOf(pid, start));
        return execFileSync(shell, [...words, `. '${file}'; env`], {
          encoding: "utf8",
          env: { PATH: process.env.PATH, HOME: home },
        }).includes("LED=here\n");
      };
      const began = Number(statOf(process.pid)[19]);
      assert.equal(said(process.pid, began), true);
      assert.equal(said(process.pid, null), true, "a daemon of a version that does not tell");
      assert.equal(said(process.pid, began - 1), false, "another process");
      // A zombie is a child that has ended while its parent, by then a `sleep`, does not wait for it.
      const parent = spawn("sh", ["-c", "exec 3<&0; { read _ <&3; } & echo $!; exec sleep 600"], {
        stdio: ["pipe", "pipe", "ignore"],
      });
      const parentId = parent.pid as number;
      try {
        const [line] = await once(parent.stdout, "data");
        const zombie = Number(String(line));
        while (readFileSync(`/proc/${parentId}/comm`, "utf8") !== "sleep\n") await setImmediate();
        parent.stdin.end();
        while (statOf(zombie)[0] !== "Z") await setImmediate();
        assert.equal(said(zombie, null), false, "a zombie");
        parent.kill("SIGSTOP");
        while (statOf(parentId)[0] !== "T") await setImmediate();
        assert.equal(said(parentId, null), false, "stopped");
      } finally {
        parent.kill("SIGKILL");
      }
    });

    it(`${shell} removes inherited variables of the meter if no daemon runs`, {
      skip: shell !== "sh" && without(shell),
    }, () => {
      const home = join(folder, `inherits ${shell}`);
      mkdirSync(home);
      const file = join(home, name);
      writeFileSync(
        file,
        (shell === "fish" ? fishFile : shellFile)({ LED: "here" }, join(home, "daemon.json")),
      );
      const said = execFileSync(shell, [...words, `. '${file}'; env`], {
        encoding: "utf8",
        env: { PATH: process.env.PATH, HOME: home, LED: "here", ALSO: "kept" },
      });
      assert.doesNotMatch(said, /^LED=/m);
      assert.match(said, /^ALSO=kept$/m);
    });
  }
});

describe("prompts of shells", () => {
  const prompts: readonly (readonly [shell: string, words: readonly string[]])[] = [
    ["bash", ["--norc", "-i"]],
    ["zsh", ["-f", "-i"]],
  ];
  for (const [shell, words] of prompts) {
    it(`${shell} checks for the daemon once before each prompt, and keeps the command's status`, {
      skip: without(shell),
    }, () => {
      const home = join(folder, `prompts of ${shell}`);
      mkdirSync(home);
      const state = join(home, "daemon.json");
      const file = join(home, "env.sh");
      writeFileSync(file, shellFile({ LED: "here" }, state));
      writeFileSync(state, stateOf(process.pid));
      const input = [
        `. '${file}'; . '${file}'`,
        `echo "one:\${LED-}"`,
        `rm '${state}'`,
        "(exit 7)",
        `echo "two:$?:\${LED-}"`,
        shell === "bash" ? 'echo "hooks:$PROMPT_COMMAND"' : `echo "hooks:\${precmd_functions[*]}"`,
        "exit",
        "",
      ].join("\n");
      const said = spawnSync(shell, words, {
        input,
        encoding: "utf8",
        env: { PATH: process.env.PATH, HOME: home, PS1: "", PS2: "" },
      }).stdout;
      assert.deepEqual(
        said.split("\n").filter((line) => /^(one|two|hooks):/.test(line)),
        ["one:here", "two:7:", "hooks:__meter_update"],
      );
    });
  }
});

describe("sessionFile()", () => {
  const generator = "/usr/lib/systemd/user-environment-generators/30-systemd-environment-d-generator";

  it("is read unchanged by systemd's generator", {
    skip: !existsSync(generator) && "systemd is not here",
  }, () => {
    const config = join(folder, "config", "environment.d");
    mkdirSync(config, { recursive: true });
    // The generator's own output cannot contain a single quote, so it is left out here.
    const values = { ...variables, AWKWARD: specialCharacters.replace("'", "") };
    writeFileSync(join(config, "60-meter.conf"), sessionFile(values));
    assert.deepEqual(readdirSync(config), ["60-meter.conf"]);
    const said = execFileSync(generator, {
      encoding: "utf8",
      env: { XDG_CONFIG_HOME: join(folder, "config"), HOME: folder, PATH: process.env.PATH },
    });
    const seen = execFileSync("bash", ["-c", `set -a; ${said}\nprintf '%s\\n' "$PLAIN" "$LIST" "$AWKWARD"`], {
      encoding: "utf8",
    });
    assert.deepEqual(seen.trimEnd().split("\n"), Object.values(values));
  });
});
