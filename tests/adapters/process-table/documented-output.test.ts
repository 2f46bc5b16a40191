import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createMachineIdentity } from "../../../adapters/cloud-credentials/machine-identity.ts";
import { readVariable } from "../../../adapters/installer/session-variable.ts";
import {
  readLsofEstablished,
  readNetstatEstablished,
} from "../../../adapters/process-table/established-connections.ts";
import { readLsofConnections, readPs } from "../../../adapters/process-table/macos.ts";
import { readNetstat, readProcessList } from "../../../adapters/process-table/windows.ts";

// Output of several versions of macOS and Windows: from documentation, not recorded. Windows prints CRLF, and text in the console's
// code page, whose letters may be unreadable as UTF-8.

const windows = (text: string) => text.replaceAll("\n", "\r\n");

/** `netstat -ano -p TCP`, by the language and version of Windows. */
const netstats: readonly (readonly [version: string, output: string])[] = [
  [
    "Windows 11, English",
    `
Active Connections

  Proto  Local Address          Foreign Address        State           PID
  TCP    0.0.0.0:135            0.0.0.0:0              LISTENING       1020
  TCP    127.0.0.1:8081         127.0.0.1:52514        ESTABLISHED     410
  TCP    127.0.0.1:52514        127.0.0.1:8081         ESTABLISHED     2210
  TCP    127.0.0.1:52515        127.0.0.1:8081         TIME_WAIT       0
`,
  ],
  [
    "Windows 10, French, in another code page",
    `
Connexions actives

  Proto  Adresse locale         Adresse distante       \ufffdtat
  TCP    0.0.0.0:135            0.0.0.0:0              LISTENING       1020
  TCP    127.0.0.1:8081         127.0.0.1:52514        ESTABLISHED     410
  TCP    127.0.0.1:52514        127.0.0.1:8081         ESTABLISHED     2210
`,
  ],
  [
    "Windows Server 2022, Japanese",
    `
\u30a2\u30af\u30c6\u30a3\u30d6\u306a\u63a5\u7d9a

  \u30d7\u30ed\u30c8\u30b3\u30eb  \u30ed\u30fc\u30ab\u30eb \u30a2\u30c9\u30ec\u30b9          \u5916\u90e8\u30a2\u30c9\u30ec\u30b9        \u72b6\u614b           PID
  TCP         0.0.0.0:135            0.0.0.0:0              LISTENING       1020
  TCP         127.0.0.1:8081         127.0.0.1:52514        ESTABLISHED     410
  TCP         127.0.0.1:52514        127.0.0.1:8081         ESTABLISHED     2210
`,
  ],
  [
    "Windows 10, Polish, IPv6",
    `
Aktywne po\u0142\u0105czenia

  Protok\u00f3\u0142  Adres lokalny          Obcy adres             Stan            PID
  TCP    [::]:135               [::]:0                 NAS\u0141UCHIWANIE    1020
  TCP    [::1]:8081             [::1]:52514            USTANOWIONO     410
  TCP    [::1]:52514            [::1]:8081             USTANOWIONO     2210
`,
  ],
];

describe("output of netstat", () => {
  for (const [version, text] of netstats) {
    it(version, () => {
      const output = windows(text);
      assert.equal(readNetstat(output, 52_514, 8081), 2210);
      assert.equal(readNetstat(output, 8081, 52_514), 410);
      assert.equal(readNetstat(output, 135, null), 1020);
      const clients = readNetstatEstablished(output, '"node.exe","2210","Console","1","70,144 K"\r\n');
      assert.deepEqual(
        clients.filter(({ pid }) => pid === 2210).map(({ remotePort, program }) => [remotePort, program]),
        [[8081, "node"]],
      );
    });
  }

  it("tasklist prints in several languages, and may have a comma in a name", () => {
    const connection = "  TCP    127.0.0.1:1    192.0.2.1:443    ESTABLISHED    77\r\n";
    for (const size of ["70,144 K", "70.144 K", "70\u00a0144 Ko", "70\ufffd144 \u041a"]) {
      const tasks = `"System","4","Services","0","144 K"\r\n"a, b.exe","77","Console","1","${size}"\r\n`;
      assert.equal(readNetstatEstablished(connection, tasks)[0]?.program, "a, b");
    }
    const none = "INFO: No tasks are running which match the specified criteria.\r\n";
    assert.equal(readNetstatEstablished(connection, none)[0]?.program, null);
  });
});

describe("output of ConvertTo-Json", () => {
  const row = [
    { ProcessId: 7, ParentProcessId: 4, Name: "a.exe", CommandLine: "\"C:\\a & b\\a.exe\" 'x' <y>" },
  ];
  const words = ["C:\\a & b\\a.exe", "'x'", "<y>"];

  it("Windows PowerShell 5.1 escapes characters that are special in HTML", () => {
    const text = JSON.stringify(row).replaceAll(
      /[&'<>]/g,
      (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`,
    );
    assert.deepEqual(readProcessList(`${text}\r\n`).get(7)?.words, words);
  });

  it("PowerShell 7 does not escape them, and may begin with a byte order mark", () => {
    assert.deepEqual(readProcessList(`${JSON.stringify(row)}\n`).get(7)?.words, words);
    assert.deepEqual(readProcessList(`\ufeff${JSON.stringify(row)}\r\n`).get(7)?.words, words);
  });
});

describe("output of lsof and ps", () => {
  it("lsof 4.91 of macOS 12 to 15 prints a descriptor before each name, and a space in a program's name in hexadecimal", () => {
    const output =
      "p410\nf24\nn127.0.0.1:8081->127.0.0.1:52514\np2210\nf31\nPTCP\nn127.0.0.1:52514->127.0.0.1:8081\n";
    assert.equal(readLsofConnections(output, 52_514, 8081), 2210);
    const six = "p2210\ncGoogle\\x20Chrome\nf31\nn[fe80:1::1]:52514->[fe80:1::2]:443\n";
    assert.deepEqual(readLsofEstablished(six), [
      { remoteAddress: "fe80:1:0:0:0:0:0:2", remotePort: 443, pid: 2210, program: "Google Chrome" },
    ]);
  });

  it("ps of macOS 14 pads pids to the widest, and lists programs below /System/Cryptexes", () => {
    const program = "/System/Cryptexes/App/System/Applications/Safari.app/Contents/MacOS/Safari";
    const rows = readPs(
      `    1     0 /sbin/launchd\n99999     1 ${program} -x\n`,
      `    1 /sbin/launchd\n99999 ${program}\n`,
    );
    assert.deepEqual(rows.get(99_999), { pid: 99_999, parent: 1, words: [program, "-x"] });
  });
});

describe("output of ioreg, reg and launchctl", () => {
  const identities: readonly (readonly [version: string, platform: NodeJS.Platform, output: string])[] = [
    [
      "ioreg of an Intel Mac",
      "darwin",
      `+-o Root  <class IORegistryEntry, id 0x100000100, retain 31>
  +-o MacBookPro16,1  <class IOPlatformExpertDevice, id 0x100000110, registered, matched, active, busy 0 (9 ms), retain 39>
      {
        "IOPlatformSerialNumber" = "C02XXXXXXXXX"
        "IOPlatformUUID" = "4F2E2A1B-0000-1111-2222-333344445555"
        "model" = <"MacBookPro16,1">
      }
`,
    ],
    [
      "ioreg of a Mac with Apple silicon",
      "darwin",
      `+-o J314sAP  <class IOPlatformExpertDevice, id 0x10000024f, registered, matched, active, busy 0 (0 ms), retain 42>
    {
      "manufacturer" = <"Apple Inc.">
      "IOPlatformUUID" = "4F2E2A1B-0000-1111-2222-333344445555"
      "target-sub-type" = <"J314sAP">
    }
`,
    ],
    [
      "reg query of Windows 10 and 11",
      "win32",
      windows(
        "\nHKEY_LOCAL_MACHINE\\SOFTWARE\\Microsoft\\Cryptography\n    MachineGuid    REG_SZ    4F2E2A1B-0000-1111-2222-333344445555\n\n",
      ),
    ],
  ];

  it("state the same id of a machine in each form", async () => {
    const found = [];
    for (const [, platform, output] of identities) {
      const home = mkdtempSync(join(tmpdir(), "meter-identity-"));
      found.push(await createMachineIdentity(home, { platform, run: async () => output }).fingerprint());
      rmSync(home, { recursive: true });
    }
    const home = mkdtempSync(join(tmpdir(), "meter-identity-"));
    const without = await createMachineIdentity(home, {
      platform: "win32",
      run: async () => "",
    }).fingerprint();
    rmSync(home, { recursive: true });
    assert.equal(new Set(found).size, 1);
    assert.notEqual(found[0], without);
  });

  it("give a variable's value, even an expanded one with spaces, and null if there is none", async () => {
    const read = (stdout: string, code = 0, scope: "registry" | "launchd" = "registry") =>
      readVariable(async () => ({ code, isTimedOut: false, stdout, stderr: "" }), scope, "HTTPS_PROXY");
    const key = "\nHKEY_CURRENT_USER\\Environment\n    HTTPS_PROXY    ";
    assert.equal(await read(windows(`${key}REG_SZ    http://u:p w@corp:3128\n\n`)), "http://u:p w@corp:3128");
    assert.equal(await read(windows(`${key}REG_EXPAND_SZ    %CORP%\n\n`)), "%CORP%");
    assert.equal(await read(windows(`${key}REG_SZ    \n\n`)), "");
    assert.equal(await read("", 1), null);
    assert.equal(await read("http://corp:3128\n", 0, "launchd"), "http://corp:3128");
    assert.equal(await read("", 0, "launchd"), null);
    assert.equal(await read("", 1, "launchd"), null);
  });
});
