import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createProjectFiles } from "../../../adapters/files/project-files.ts";
import type { RunCommand } from "../../../adapters/process-table/run-command.ts";
import { attributeCall } from "../../../core/metering/attribution/attribute-call.ts";
import type { ProcessTable } from "../../../core/ports/process-table.ts";
import { createMacosProcessTable, createWindowsProcessTable } from "./platform-tables.rig.ts";

/** From the output of the system's programs to the project of a call, as in the daemon. */
async function attribute(table: ProcessTable, autoClassifyUnknownProcesses = true) {
  const process = await table.lookup({ clientPort: 52_514, proxyPort: 8081 });
  const folders = process?.cwd == null ? null : await createProjectFiles().find(process.cwd);
  const { project, tier } = attributeCall(
    { headerProject: null, proxyUser: null, process, folders },
    { defaultProject: "misc", autoClassifyUnknownProcesses },
  );
  return [project, tier];
}

describe("the project of a call on macOS", () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "meter-mac-"));
    for (const name of ["Shop/api", "repository/.git", "repository/src", "Loose Ends"])
      mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, "Shop", ".meter.toml"), 'project = "Web Shop"\n');
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  // Written after lsof(8), "Output for other programs", and ps(1) of macOS.
  const machine = (cwd: string, { parent = "-zsh", variables = "" } = {}): ProcessTable => {
    const run: RunCommand = async (program, words) => {
      const asked = [program, ...words].join(" ");
      if (asked.includes("-iTCP:52514")) return "p2210\nf31\nn127.0.0.1:52514->127.0.0.1:8081\n";
      if (asked.includes("-d cwd")) return `p2210\nfcwd\nn${cwd}\n`;
      if (asked.includes("ppid="))
        return `  900     1 ${parent}\n 2210   900 /opt/homebrew/bin/node agent.js\n`;
      if (asked.includes("comm=")) return " 2210 /opt/homebrew/bin/node\n";
      if (asked.includes("-Eww")) return `2210 /opt/homebrew/bin/node agent.js PATH=/bin ${variables}\n`;
      return "2210 /opt/homebrew/bin/node agent.js\n";
    };
    return createMacosProcessTable(run);
  };

  it("comes from the environment, then the project file, the editor, the repository and the folder", async () => {
    const shop = join(folder, "Shop/api");
    assert.deepEqual(await attribute(machine(shop, { variables: "METER_PROJECT=Billing" })), [
      "billing",
      "environment",
    ]);
    assert.deepEqual(await attribute(machine(shop)), ["web-shop", "project_file"]);
    const loose = join(folder, "Loose Ends");
    const parent = `/Applications/Cursor.app/Contents/MacOS/Cursor --folder-uri file://${encodeURI(folder)}`;
    const name = folder.split("/").pop()?.toLowerCase();
    assert.deepEqual(await attribute(machine(loose, { parent })), [name, "ide_workspace"]);
    assert.deepEqual(await attribute(machine(join(folder, "repository/src"))), ["repository", "git_root"]);
    assert.deepEqual(await attribute(machine(loose)), ["loose-ends", "working_directory"]);
  });

  it("is the default project if only the folder has a name and that is disabled", async () => {
    assert.deepEqual(await attribute(machine(join(folder, "Loose Ends")), false), [
      "misc",
      "default_project",
    ]);
    assert.deepEqual(await attribute(machine(join(folder, "Shop/api")), false), ["web-shop", "project_file"]);
  });
});

describe("the project of a call on Windows", () => {
  // Written after the formats of netstat -ano and of ConvertTo-Json.
  const machine = (parentLine: string | null): ProcessTable => {
    const run: RunCommand = async (program) =>
      program === "netstat"
        ? "  TCP    127.0.0.1:52514        127.0.0.1:8081         ESTABLISHED     2210\r\n"
        : JSON.stringify([
            { ProcessId: 900, ParentProcessId: 4, Name: "Code.exe", CommandLine: parentLine },
            {
              ProcessId: 2210,
              ParentProcessId: 900,
              Name: "node.exe",
              CommandLine: '"C:\\node\\node.exe" agent.js',
            },
          ]);
    return createWindowsProcessTable(run);
  };
  const editors: [line: string, project: string][] = [
    ['"C:\\Programs\\Microsoft VS Code\\Code.exe" "C:\\w\\My Shop"', "my-shop"],
    ['"C:\\Programs\\cursor\\Cursor.exe" --folder-uri file:///c%3A/w/My%20Shop', "my-shop"],
    ['"C:\\Programs\\JetBrains\\bin\\idea64.exe" C:\\w\\billing', "billing"],
    ['"C:\\Programs\\Microsoft VS Code\\Code.exe" C:\\w\\team.code-workspace', "team"],
  ];
  for (const [line, project] of editors) {
    it(`comes from the editor: ${line}`, async () => {
      assert.deepEqual(await attribute(machine(line)), [project, "ide_workspace"]);
      assert.deepEqual(await attribute(machine(line), false), [project, "ide_workspace"]);
    });
  }

  it("is the default project without an editor, because Windows does not expose folder or environment", async () => {
    for (const auto of [true, false])
      assert.deepEqual(await attribute(machine(null), auto), ["misc", "default_project"]);
  });
});
