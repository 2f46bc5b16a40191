/**
 * `npm run check:formats`: validates what other systems read (the task of Windows' Task Scheduler, the PowerShell scripts, and the SBOM)
 * with the schemas and parsers of those systems. Each validator must also refuse an invalid text.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import process from "node:process";
import { Spec, Validation } from "@cyclonedx/cyclonedx-library";
import type { Node as TreeNode, Parser as TreeParser } from "@vscode/tree-sitter-wasm";
import { validateXML } from "xmllint-wasm";
import { desktopCommand } from "../../adapters/notifications/desktop-command.ts";
import { answerOnWindows } from "../../adapters/process-table/windows.ts";
import { scheduledTask } from "../../core/operations/install/service-files.ts";
import { createSbom } from "../sbom.ts";

const root = join(import.meta.dirname, "../..");

/** Windows paths and names with characters that XML, command lines or both escape. */
const TASKS = [
  ["PC\\u", "C:\\m\\bin.js", "C:\\Users\\u\\.meter"],
  ["PC\\Jörg & <co>", "C:\\Program Files (x86)\\m & 'n'\\bin.js", 'C:\\Users\\a "b"\\'],
  ["S-1-5-21-1-2-3-1001", "\\\\server\\share\\bin.js", "C:\\Users\\日本 %TEMP%\\.meter"],
] as const;

/** Validates the tasks with the part of the task schema that they use. */
async function checkTasks(): Promise<string> {
  const schema = [readFileSync(join(import.meta.dirname, "task-scheduler.xsd"), "utf8")];
  const validate = async (contents: string) =>
    (await validateXML({ xml: [{ fileName: "task.xml", contents }], schema })).errors.map(
      (error) => error.message,
    );
  for (const [user, programPath, meterHome] of TASKS) {
    const program = { nodePath: "C:\\Program Files\\nodejs\\node.exe", supervisorPath: "", environment: {} };
    const task = scheduledTask(user, { ...program, programPath, meterHome });
    assert.deepEqual(await validate(task), []);
    for (const [valid, invalid] of [
      ["PT1M", "PT1S"],
      ["<Count>255</Count>", "<Count>999</Count>"],
      ["IgnoreNew", "Ignore"],
      ["<Hidden>true</Hidden>", "<Unknown>true</Unknown>"],
      ["</Exec>", ""],
    ] as const)
      assert.notDeepEqual(await validate(task.replace(valid, invalid)), [], invalid);
  }
  return `${TASKS.length} tasks`;
}

/** Parses the PowerShell scripts, and compares the commands that they call with the expected ones. */
async function checkPowershell(): Promise<string> {
  const require = createRequire(import.meta.url);
  const { Parser, Language } =
    require("@vscode/tree-sitter-wasm") as typeof import("@vscode/tree-sitter-wasm");
  await Parser.init();
  const grammar = require.resolve("@vscode/tree-sitter-wasm/wasm/tree-sitter-powershell.wasm");
  const parser: TreeParser = new Parser();
  parser.setLanguage(await Language.load(readFileSync(grammar)));
  const parse = (script: string) => {
    // The grammar does not know the names of Windows Runtime types, which every toast notification needs.
    const tree = parser.parse(script.replaceAll(/, [\w.]+, ContentType = WindowsRuntime\]/g, "]"));
    assert.ok(tree);
    return {
      isValid: !hasError(tree.rootNode),
      commands: tree.rootNode.descendantsOfType("command_name").map((node) => node?.text),
    };
  };
  const scripts: readonly (readonly [script: string, commands: readonly string[]])[] = [
    [await processQuery(), ["Get-CimInstance", "Select-Object", "ConvertTo-Json"]],
    [desktopCommand("win32", "text")?.args.at(-1) ?? "", []],
  ];
  for (const [script, commands] of scripts) {
    assert.deepEqual(parse(script), { isValid: true, commands });
    assert.equal(parse(`${script} | (`).isValid, false);
  }
  return `${scripts.length} scripts`;
}

/** Whether the parser found an error. It also reports a missing space in a list such as `a,b`, which PowerShell accepts. */
function hasError(node: TreeNode): boolean {
  if (node.isError || (node.isMissing && node.type !== " ")) return true;
  return node.children.some((child) => child !== null && hasError(child));
}

/** The script that lists the processes. */
async function processQuery(): Promise<string> {
  let query = "";
  const answer = answerOnWindows(async (program, words) => {
    if (program === "netstat") return "  TCP    127.0.0.1:1    127.0.0.1:2    ESTABLISHED    4";
    query = words.at(-1) ?? "";
    return "[]";
  });
  await answer([{ clientPort: 1, serverPort: 2 }] as unknown as Parameters<typeof answer>[0]);
  return query;
}

/** Validates the SBOM with CycloneDX's strict schema. */
async function checkSbom(): Promise<string> {
  const build = readFileSync(join(root, "tools/build.ts"), "utf8");
  const vendored: string[] = JSON.parse(/const VENDORED = (\[.*?\])/.exec(build)?.[1] ?? "null");
  const sbom = createSbom({ root, vendored });
  const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot6);
  assert.equal(await validator.validate(sbom), null);
  assert.notEqual(await validator.validate(sbom.replace('"SHA-512"', '"SHA-513"')), null);
  assert.notEqual(await validator.validate(sbom.replace('"components"', '"parts"')), null);
  return `${JSON.parse(sbom).components.length} components`;
}

for (const [name, check] of [
  ["tasks of Task Scheduler", checkTasks],
  ["PowerShell", checkPowershell],
  ["SBOM", checkSbom],
] as const)
  process.stdout.write(`ok  ${name}: ${await check()}\n`);
