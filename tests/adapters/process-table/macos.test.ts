import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readLsofConnections, readPs, readPsEnvironment } from "../../../adapters/process-table/macos.ts";
import type { RunCommand } from "../../../adapters/process-table/run-command.ts";
import { createMacosProcessTable } from "./platform-tables.rig.ts";

// Written after lsof(8), "Output for other programs", and ps(1) of macOS.
const connections = `p410
f24
n127.0.0.1:8081->127.0.0.1:52514
p2210
f31
n127.0.0.1:52513->127.0.0.1:8081
f33
n127.0.0.1:52514->127.0.0.1:8081
`;
const code = "/Applications/Visual Studio Code.app/Contents/MacOS/Electron";
const commands = `    1     0 /sbin/launchd
  900     1 ${code} /Users/u/shop
  950   900 -zsh
 2210   950 /opt/homebrew/bin/claude -p hello  there
`;
const programs = `    1 /sbin/launchd
  900 ${code}
  950 -zsh
 2210 /opt/homebrew/bin/claude
`;
const command = "/opt/homebrew/bin/claude -p hello  there";

function recorded(answers: Readonly<Record<string, string>>): RunCommand {
  return async (program, words) => {
    const answer = answers[[program, ...words].join(" ")];
    if (answer === undefined) throw new Error("not recorded");
    return answer;
  };
}

const everything = {
  "lsof -nP -iTCP:52514 -sTCP:ESTABLISHED -Fpn": connections,
  "lsof -a -p 2210 -d cwd -Fn": "p2210\nfcwd\nn/Users/u/my shop/api\n",
  "ps -axww -o pid=,ppid=,command=": commands,
  "ps -axww -o pid=,comm=": programs,
  "ps -ww -o pid=,command= -p 2210": ` 2210 ${command}\n`,
  "ps -Eww -o pid=,command= -p 2210": ` 2210 ${command} PATH=/usr/bin\nA METER_PROJECT=My Shop HOME=/Users/u\n`,
};

describe("createMacosProcessTable()", () => {
  it("reads the output of lsof and ps", async () => {
    const table = createMacosProcessTable(recorded(everything));
    assert.deepEqual(await table.lookup({ clientPort: 52_514, proxyPort: 8081 }), {
      pid: 2210,
      processName: "claude",
      commandLines: [
        ["/opt/homebrew/bin/claude", "-p", "hello", "there"],
        ["-zsh"],
        [code, "/Users/u/shop"],
        ["/sbin/launchd"],
      ],
      environmentProject: "My Shop",
      cwd: "/Users/u/my shop/api",
    });
  });

  it("uses the remaining output if a program fails", async () => {
    const only = "lsof -nP -iTCP:52514 -sTCP:ESTABLISHED -Fpn";
    const table = createMacosProcessTable(recorded({ [only]: connections }));
    assert.deepEqual(await table.lookup({ clientPort: 52_514, proxyPort: 8081 }), {
      pid: 2210,
      processName: null,
      commandLines: [],
      environmentProject: null,
      cwd: null,
    });
  });

  it("returns null if lsof fails or prints nothing", async () => {
    assert.equal(
      await createMacosProcessTable(recorded({})).lookup({ clientPort: 1, proxyPort: 8081 }),
      null,
    );
  });

  it("runs each program once for all callers of a batch", async () => {
    const asked: string[] = [];
    const answers: Record<string, string> = {
      "lsof -nP -iTCP:52514,52515 -sTCP:ESTABLISHED -Fpn": `${connections}p2211\nn127.0.0.1:52515->127.0.0.1:8081\n`,
      "lsof -a -p 2210,2211 -d cwd -Fn": "p2210\nfcwd\nn/w/one\np2211\nfcwd\nn/w/two\n",
      "ps -axww -o pid=,ppid=,command=": " 2210 1 node a\n 2211 1 node b\n",
      "ps -axww -o pid=,comm=": " 2210 node\n 2211 node\n",
      "ps -ww -o pid=,command= -p 2210,2211": " 2210 node a\n 2211 node b\n",
      "ps -Eww -o pid=,command= -p 2210,2211":
        " 2210 node a METER_PROJECT=one\n 2211 node b METER_PROJECT=two\n",
    };
    const table = createMacosProcessTable((program, words) => {
      asked.push(program);
      return recorded(answers)(program, words);
    });
    const found = await Promise.all(
      [52_514, 52_515, 52_514].map((clientPort) => table.lookup({ clientPort, proxyPort: 8081 })),
    );
    assert.deepEqual(
      found.map((facts) => [facts?.pid, facts?.cwd, facts?.environmentProject]),
      [
        [2210, "/w/one", "one"],
        [2211, "/w/two", "two"],
        [2210, "/w/one", "one"],
      ],
    );
    assert.equal(asked.length, 6);
  });
});

describe("readLsofConnections()", () => {
  it("returns the client's process, not the proxy's", () => {
    assert.equal(readLsofConnections(connections, 52_514, 8081), 2210);
    assert.equal(readLsofConnections(connections, 52_514, null), 2210);
    assert.equal(readLsofConnections(connections, 52_514, 9), null);
    assert.equal(readLsofConnections("p7\nn[::1]:52514->[::1]:8081\n", 52_514, 8081), 7);
  });
});

describe("readPs()", () => {
  it("splits at spaces if the program is unknown", () => {
    assert.deepEqual(readPs(" 7 1 a b\n", "").get(7), { pid: 7, parent: 1, words: ["a", "b"] });
    assert.deepEqual(readPs(" 7 1 node: worker\n", " 7 /bin/node\n").get(7)?.words, ["node:", "worker"]);
  });
});

describe("readPsEnvironment()", () => {
  const cases: readonly [output: string, project: string | null][] = [
    ["cmd METER_PROJECT=a", "a"],
    ["cmd A=1 METER_PROJECT=\n", ""],
    ["cmd METER_PROJECT=a b c _X=1", "a b c"],
    ["cmd OTHER_METER_PROJECT=a", null],
    ["cmd", null],
  ];
  for (const [output, project] of cases) {
    it(`returns ${project} for ${JSON.stringify(output)}`, () =>
      assert.deepEqual(readPsEnvironment(output, "cmd"), { environmentProject: project }));
  }

  it("does not read an argument as a variable", () => {
    const line = "env METER_PROJECT=argument node";
    const project = (output: string) => readPsEnvironment(output, line).environmentProject;
    assert.equal(project(`${line} METER_PROJECT=variable`), "variable");
    assert.equal(project(`${line} HOME=/`), null);
  });

  it("reads the run of continuous integration", () => {
    const output = "cmd GITHUB_HEAD_REF=feature/x GITHUB_REF=refs/pull/12/merge HOME=/";
    assert.deepEqual(readPsEnvironment(output, "cmd").ciRun, { branch: "feature/x", pullRequest: 12 });
  });
});
