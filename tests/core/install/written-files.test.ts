import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import {
  blockText,
  environmentAgent,
  fishFile,
  launchAgent,
  planInstall,
  scheduledTask,
  sessionFile,
  shellFile,
  systemdService,
  systemdSocket,
} from "../../../core/install/mod.ts";
import { awkward, linuxFacts } from "./sample-facts.ts";

/** The reason to skip a test whose parser is not on this machine. */
const without = (program: string): string | false =>
  spawnSync(program, ["--version"]).error === undefined ? false : `there is no ${program} here`;

const program = {
  nodePath: "/opt/my node/bin/node",
  programPath: `/opt/${awkward}/bin.js`,
  meterHome: "/home/u/.meter",
  environment: { HTTPS_PROXY: `http://u:${awkward}@proxy.corp:3128` },
};
const variables = { PLAIN: "http://127.0.0.1:8081", LIST: "localhost,127.0.0.1,::1", AWKWARD: awkward };

let folder: string;
before(() => {
  folder = mkdtempSync(join(tmpdir(), "meter-files-"));
});
after(() => rmSync(folder, { recursive: true, force: true }));

const python = (code: string, input: string): string =>
  execFileSync("python3", ["-c", code], { input, encoding: "utf8" });

describe("property lists", { skip: without("python3") }, () => {
  const parse = (text: string) =>
    JSON.parse(
      python("import plistlib,sys,json; print(json.dumps(plistlib.loads(sys.stdin.buffer.read())))", text),
    );

  it("launchAgent() is one that a parser reads back", () => {
    const agent = parse(launchAgent("dev.llm-meter.meter", program));
    assert.deepEqual(agent.ProgramArguments, [
      program.nodePath,
      program.programPath,
      "start",
      "--foreground",
    ]);
    assert.deepEqual(agent.EnvironmentVariables, { METER_HOME: program.meterHome, ...program.environment });
    assert.deepEqual(
      [agent.Label, agent.RunAtLoad, agent.KeepAlive, agent.Umask],
      ["dev.llm-meter.meter", true, { SuccessfulExit: false }, 0o77],
    );
  });

  it("environmentAgent() hands names and values to the shell as words", () => {
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
  it("is XML of the task schema, with the words quoted for Windows", () => {
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
      '--headless "C:\\Program Files\\nodejs\\node.exe" C:\\m\\bin.js start --foreground --home "C:\\Users\\a b\\\\"',
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
    // It wants the program to be there.
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

describe("start files of shells", () => {
  const shells: readonly (readonly [shell: string, file: string, words: readonly string[]])[] = [
    ["bash", "env.sh", ["--norc", "-c"]],
    ["zsh", "env.sh", ["-f", "-c"]],
    ["sh", "env.sh", ["-c"]],
    ["fish", "env.fish", ["--no-config", "-c"]],
  ];
  for (const [shell, name, words] of shells) {
    it(`${shell} takes the variables as they are, with and without the file`, {
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
      writeFileSync(join(home, name), write(variables));
      assert.deepEqual(run(), Object.values(variables));
    });
  }
});

describe("sessionFile()", () => {
  const generator = "/usr/lib/systemd/user-environment-generators/30-systemd-environment-d-generator";

  it("is read by systemd's own generator as it is", {
    skip: !existsSync(generator) && "systemd is not here",
  }, () => {
    const config = join(folder, "config", "environment.d");
    mkdirSync(config, { recursive: true });
    // A single quote has no way into the generator's own output, so it is left out here.
    const values = { ...variables, AWKWARD: awkward.replace("'", "") };
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
