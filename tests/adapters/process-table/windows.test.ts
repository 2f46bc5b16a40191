import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { RunCommand } from "../../../adapters/process-table/run-command.ts";
import { readNetstat, readProcessList, splitCommandLine } from "../../../adapters/process-table/windows.ts";
import { createWindowsProcessTable } from "./platform-tables.rig.ts";

// Written after the formats of netstat -ano (here in German) and of ConvertTo-Json.
const netstat = `
Aktive Verbindungen

  Proto  Lokale Adresse         Remoteadresse          Status           PID
  TCP    0.0.0.0:135            0.0.0.0:0              ABH\u00D6REN         1020
  TCP    127.0.0.1:8081         127.0.0.1:52514        HERGESTELLT     410
  TCP    127.0.0.1:52514        127.0.0.1:8081         HERGESTELLT     2210
  UDP    0.0.0.0:52514          *:*                                    99
`.replaceAll("\n", "\r\n");
const processes = JSON.stringify([
  { ProcessId: 0, ParentProcessId: 0, Name: "System Idle Process", CommandLine: null },
  {
    ProcessId: 900,
    ParentProcessId: 0,
    Name: "Code.exe",
    CommandLine: '"C:\\Programs\\Microsoft VS Code\\Code.exe" "C:\\w\\my shop"',
  },
  { ProcessId: 2210, ParentProcessId: 900, Name: "node.exe", CommandLine: '"C:\\node\\node.exe" agent.js' },
  { ProcessId: "x" },
]);

const answering =
  (list: string): RunCommand =>
  async (program) =>
    program === "netstat" ? netstat : list;

describe("createWindowsProcessTable()", () => {
  it("reads the output of netstat and CIM; directory and environment stay unknown", async () => {
    const table = createWindowsProcessTable(answering(processes));
    assert.deepEqual(await table.lookup({ clientPort: 52_514, proxyPort: 8081 }), {
      pid: 2210,
      processName: "node",
      commandLines: [
        ["C:\\node\\node.exe", "agent.js"],
        ["C:\\Programs\\Microsoft VS Code\\Code.exe", "C:\\w\\my shop"],
        ["System Idle Process"],
      ],
      environmentProject: null,
      cwd: null,
    });
  });

  it("runs each program once for all callers of a batch", async () => {
    const asked: string[] = [];
    const table = createWindowsProcessTable((program, words) => {
      asked.push(program);
      return answering(processes)(program, words);
    });
    const found = await Promise.all(
      [52_514, 1, 52_514].map((clientPort) => table.lookup({ clientPort, proxyPort: 8081 })),
    );
    assert.deepEqual(
      found.map((facts) => facts?.pid),
      [2210, undefined, 2210],
    );
    assert.deepEqual(asked, ["netstat", "powershell"]);
  });

  it("returns null for an unknown port and for invalid output", async () => {
    const table = createWindowsProcessTable(answering("nonsense"));
    assert.equal(await table.lookup({ clientPort: 1, proxyPort: 8081 }), null);
    assert.equal(await table.lookup({ clientPort: 52_514, proxyPort: 8081 }), null);
  });

  it("returns the pid of a process that is not in the list", async () => {
    const facts = await createWindowsProcessTable(answering("[]")).lookup({
      clientPort: 52_514,
      proxyPort: null,
    });
    assert.deepEqual([facts?.pid, facts?.processName, facts?.commandLines], [2210, null, []]);
  });
});

describe("readNetstat()", () => {
  it("returns the client's process, not the proxy's, in any language", () => {
    assert.equal(readNetstat(netstat, 52_514, 8081), 2210);
    assert.equal(readNetstat(netstat, 52_514, null), 2210);
    assert.equal(readNetstat(netstat, 52_514, 9), null);
    assert.equal(readNetstat("  TCP  [::1]:52514  [::1]:8081  ESTABLISHED  5", 52_514, 8081), 5);
  });
});

describe("readProcessList()", () => {
  it("reads a single process, which is printed without a list", () => {
    const rows = readProcessList('{"ProcessId":4,"ParentProcessId":0,"Name":null,"CommandLine":""}');
    assert.deepEqual(rows.get(4), { pid: 4, parent: 0, words: [] });
  });
});

describe("splitCommandLine()", () => {
  // The table of CommandLineToArgvW's documentation, and its edges.
  const cases: readonly [line: string, words: readonly string[]][] = [
    ['"a b c" d e', ["a b c", "d", "e"]],
    ['"ab\\"c" "\\\\" d', ['ab"c', "\\", "d"]],
    ['a\\\\\\b d"e f"g h', ["a\\\\\\b", "de fg", "h"]],
    ['a\\\\\\"b c d', ['a\\"b', "c", "d"]],
    ['a\\\\\\\\"b c" d e', ["a\\\\b c", "d", "e"]],
    ['  a \t "" ', ["a", ""]],
    ["C:\\x\\", ["C:\\x\\"]],
    ["", []],
  ];
  for (const [line, words] of cases) {
    it(`splits ${line}`, () => assert.deepEqual(splitCommandLine(line), words));
  }
});
