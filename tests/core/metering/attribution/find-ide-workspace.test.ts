import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { attributeCall } from "../../../../core/metering/attribution/attribute-call.ts";
import { findIdeWorkspace } from "../../../../core/metering/attribution/find-ide-workspace.ts";

const shop = "/home/u/shop";

describe("findIdeWorkspace()", () => {
  const found: readonly [why: string, words: readonly string[], workspace: string][] = [
    ["VS Code's folder flag", ["/usr/share/code/code", "--folder-uri", "file:///home/u/shop"], shop],
    ["the flag with an equals sign", ["cursor", "--folder-uri=file:///home/u/my%20shop"], "/home/u/my shop"],
    ["a remote folder", ["code", "--folder-uri", "vscode-remote://ssh-remote+box/home/u/shop"], shop],
    ["a Windows folder", ["Code.exe", "--folder-uri", "file:///c%3A/Users/u/shop"], "c:/Users/u/shop"],
    ["a workspace file", ["code", "--file-uri", "file:///w/shop.code-workspace"], "/w/shop.code-workspace"],
    ["an agent's workspace", ["node", "/opt/cursor-agent/index.js", "--workspace", shop], shop],
    ["a dev container's folder", ["devcontainer", "exec", "--workspace-folder", shop, "sh"], shop],
    ["VS Code's bare folder", ["/usr/share/code/code", "--unity-launch", shop], shop],
    ["a bare workspace file", ["codium", "/w/shop.code-workspace"], "/w/shop.code-workspace"],
    ["VS Code on Windows", ["C:\\Programs\\Microsoft VS Code\\Code.exe", "C:\\w\\shop"], "C:\\w\\shop"],
    ["VS Code on macOS", ["/Applications/Visual Studio Code.app/Contents/MacOS/Electron", shop], shop],
    ["a folder behind other paths", ["code", "--user-data-dir", "/tmp/d", "-g", "/x/a.ts", shop], shop],
    ["JetBrains' launcher", ["/opt/idea/bin/idea.sh", shop], shop],
    ["JetBrains' 64-bit launcher", ["C:\\JetBrains\\bin\\pycharm64.exe", "C:\\w\\shop"], "C:\\w\\shop"],
    ["JetBrains on macOS", ["/Applications/IntelliJ IDEA CE.app/Contents/MacOS/x", shop], shop],
    ["JetBrains' main class", ["java", "-cp", "/a", "com.intellij.idea.Main", shop], shop],
    ["a folder with a hidden name", ["code", "/home/u/.dotfiles"], "/home/u/.dotfiles"],
  ];
  for (const [why, words, workspace] of found) {
    it(`finds ${why}`, () => assert.equal(findIdeWorkspace([["sh"], words], null, null), workspace));
  }

  const ignored: readonly [why: string, words: readonly string[]][] = [
    ["a program that is no editor", ["vim", shop]],
    ["npm's workspace", ["npm", "test", "--workspace", "core"]],
    ["cargo's workspace switch", ["cargo", "test", "--workspace"]],
    ["a relative path", ["code", "."]],
    ["a file", ["code", "/home/u/shop/a.ts"]],
    ["a helper process", ["code", "--type=renderer", shop]],
    ["a damaged URI", ["code", "--folder-uri", "file:///a%zz"]],
    ["a URI without a path", ["code", "--folder-uri", "file://host"]],
    ["nothing", []],
  ];
  for (const [why, words] of ignored) {
    it(`ignores ${why}`, () => assert.equal(findIdeWorkspace([words], null, null), null));
  }

  it("prefers the nearest process", () => {
    assert.equal(findIdeWorkspace([["sh"], ["code", "/near"], ["code", "/far"]], null, null), "/near");
  });

  it("treats a name with a dot as a folder if the process runs inside it", () => {
    assert.equal(findIdeWorkspace([["code", "/w/shop.io"]], "/w/shop.io/src", "/w/shop.io"), "/w/shop.io");
  });

  it("skips another window's folder if the process runs in a different repository", () => {
    assert.equal(findIdeWorkspace([["code", shop]], "/home/u/other/src", "/home/u/other"), null);
    assert.equal(findIdeWorkspace([["code", shop]], "/home/u/shopping", "/home/u/shopping"), null);
    assert.equal(findIdeWorkspace([["code", shop]], "/tmp", null), shop);
    assert.equal(findIdeWorkspace([["code", shop]], null, "/home/u/other"), shop);
    assert.equal(findIdeWorkspace([["Code.exe", "C:\\w"]], "c:/W/src", "c:/W"), "C:\\w");
    assert.equal(
      findIdeWorkspace([["code", "/w/shop.code-workspace"]], "/w/api", "/w/api"),
      "/w/shop.code-workspace",
    );
  });
});

describe("attributeCall()", () => {
  it("removes the extension of a workspace file from the project name", () => {
    const process = {
      pid: 1,
      processName: "node",
      commandLines: [["code", "/w/My Shop.code-workspace"]],
      environmentProject: null,
      cwd: null,
    };
    const result = attributeCall(
      { headerProject: null, proxyUser: null, process, folders: null },
      { defaultProject: "misc", autoClassifyUnknownProcesses: true },
    );
    assert.deepEqual([result.project, result.tier], ["my-shop", "ide_workspace"]);
  });
});
