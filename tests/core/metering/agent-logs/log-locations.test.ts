import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LOG_AGENTS } from "../../../../core/metering/agent-logs/log-entry.ts";
import { logLocations, reportLocations } from "../../../../core/metering/agent-logs/log-locations.ts";

const linux = { env: {}, home: "/home/me", platform: "linux" };
const foldersOf = (places: Parameters<typeof logLocations>[0], format: string) =>
  logLocations(places).flatMap((each) => (each.format === format ? [each.folder] : []));

describe("logLocations()", () => {
  it("has a folder for each agent, on each platform", () => {
    for (const platform of ["linux", "darwin", "win32"]) {
      const agents = new Set(logLocations({ ...linux, platform }).map(({ agent }) => agent));
      assert.deepEqual([...agents].sort(), [...LOG_AGENTS].sort());
    }
  });

  it("finds the usual folders on Linux", () => {
    assert.deepEqual(foldersOf(linux, "claude"), [
      "/home/me/.claude/projects",
      "/home/me/.config/claude/projects",
    ]);
    assert.deepEqual(foldersOf(linux, "codex"), [
      "/home/me/.codex/sessions",
      "/home/me/.codex/archived_sessions",
    ]);
    assert.deepEqual(foldersOf(linux, "gemini"), ["/home/me/.gemini/tmp"]);
    assert.deepEqual(foldersOf(linux, "opencode"), ["/home/me/.local/share/opencode"]);
    assert.deepEqual(foldersOf(linux, "goose"), ["/home/me/.local/share/goose/sessions"]);
    assert.ok(
      foldersOf(linux, "roo").includes(
        "/home/me/.config/Code/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
      ),
    );
    assert.ok(
      foldersOf(linux, "cline_tasks").includes(
        "/home/me/.vscode-server/data/User/globalStorage/saoudrizwan.claude-dev/tasks",
      ),
    );
  });

  it("finds the usual folders on macOS and Windows", () => {
    const mac = { env: {}, home: "/Users/me", platform: "darwin" };
    assert.equal(foldersOf(mac, "goose")[0], "/Users/me/Library/Application Support/goose/sessions");
    assert.equal(
      foldersOf(mac, "roo")[0],
      "/Users/me/Library/Application Support/Code/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
    );
    const windows = { env: {}, home: "C:\\Users\\me", platform: "win32" };
    assert.equal(foldersOf(windows, "claude")[0], "C:\\Users\\me\\.claude\\projects");
    assert.equal(
      foldersOf(windows, "goose")[0],
      "C:\\Users\\me\\AppData\\Roaming\\Block\\goose\\data\\sessions",
    );
    const roaming = { ...windows, env: { APPDATA: "D:\\r" } };
    assert.equal(foldersOf(roaming, "goose")[0], "D:\\r\\Block\\goose\\data\\sessions");
    assert.equal(
      foldersOf(roaming, "kilo_tasks")[0],
      "D:\\r\\Code\\User\\globalStorage\\kilocode.kilo-code\\tasks",
    );
    assert.match(foldersOf(windows, "kilo_tasks")[0] as string, /^C:\\Users\\me\\AppData\\Roaming\\Code/);
  });

  it("searches the folder of each variable in addition", () => {
    const cases: [variable: string, value: string, format: string, folder: string][] = [
      ["CLAUDE_CONFIG_DIR", "/c", "claude", "/c/projects"],
      ["CODEX_HOME", "/c", "codex", "/c/sessions"],
      ["GEMINI_CLI_HOME", "/g", "gemini", "/g/.gemini/tmp"],
      ["XDG_DATA_HOME", "/x", "opencode", "/x/opencode"],
      ["XDG_CONFIG_HOME", "/x", "claude", "/x/claude/projects"],
      ["COPILOT_HOME", "/p", "copilot", "/p/session-state"],
      ["GOOSE_PATH_ROOT", "/g", "goose", "/g/data/sessions"],
      ["CLINE_DATA_DIR", "/c", "cline", "/c/sessions"],
      ["KILO_DATA_DIR", "/k", "kilo", "/k"],
      ["PI_CODING_AGENT_DIR", "/p", "pi", "/p/sessions"],
    ];
    for (const [variable, value, format, folder] of cases) {
      const usual = foldersOf(linux, format);
      const found = foldersOf({ ...linux, env: { [variable]: value } }, format);
      assert.ok(found.includes(folder), `${variable}: ${found}`);
      assert.ok(usual.every((each) => found.includes(each)));
      assert.deepEqual(foldersOf({ ...linux, env: { [variable]: "" } }, format), usual);
    }
  });

  it("takes the files of an agent and no others", () => {
    const takes = (format: string, path: string) =>
      logLocations(linux)
        .find((each) => each.format === format)
        ?.files.test(path);
    const cases: [string, string, boolean][] = [
      ["claude", "-w/s.jsonl", true],
      ["claude", "-w/s/subagents/agent-1.jsonl", true],
      ["claude", "-w/notes.md", false],
      ["codex", "2026/09/01/rollout-a.jsonl", true],
      ["codex", "2026/09/01/other.jsonl", false],
      ["gemini", "abc/chats/session-1.jsonl", true],
      ["gemini", "abc/chats/parent/1.jsonl", true],
      ["gemini", "abc/logs.jsonl", false],
      ["gemini_document", "abc/chats/session-1.json", true],
      ["gemini_document", "abc/chats/session-1.jsonl", false],
      ["opencode", "opencode.db", true],
      ["opencode", "opencode-dev.db", true],
      ["opencode", "opencode.db-wal", false],
      ["goose", "sessions.db", true],
      ["amp", "T-1.json", true],
      ["amp", "settings.json", false],
      ["cline", "1/1.messages.json", true],
      ["roo", "t/ui_messages.json", true],
      ["roo", "t/api_conversation_history.json", false],
      ["copilot", "cp/events.jsonl", true],
      ["droid", "-w/1.settings.json", true],
      ["droid", "-w/1.jsonl", false],
    ];
    for (const [format, path, taken] of cases) assert.equal(takes(format, path), taken, `${format} ${path}`);
  });
});

describe("reportLocations()", () => {
  const takes = (places: Parameters<typeof reportLocations>[0], folder: string, path: string) =>
    reportLocations(places).some((each) => each.folder === folder && each.files.test(path));

  it("finds the folder of Copilot CLI, and the one that a variable names", () => {
    assert.ok(takes(linux, "/home/me/.copilot/otel", "a.jsonl"));
    assert.ok(!takes(linux, "/home/me/.copilot/otel", "a.json"));
    const moved = { ...linux, env: { COPILOT_HOME: "/c" } };
    assert.ok(takes(moved, "/c/otel", "a.jsonl") && takes(moved, "/home/me/.copilot/otel", "a.jsonl"));
    const windows = { env: {}, home: "C:\\Users\\me", platform: "win32" };
    assert.ok(takes(windows, "C:\\Users\\me\\.copilot\\otel", "a.jsonl"));
  });

  it("takes exactly the file that a variable names", () => {
    const stated = (platform: string, path: string) => ({
      ...{ ...linux, platform, env: { COPILOT_OTEL_FILE_EXPORTER_PATH: path } },
    });
    assert.ok(takes(stated("linux", "/t/a+b.log"), "/t", "a+b.log"));
    assert.ok(!takes(stated("linux", "/t/a+b.log"), "/t", "aab.log"));
    assert.ok(!takes(stated("linux", "/t/a+b.log"), "/t", "x/a+b.log"));
    assert.ok(takes(stated("win32", "D:\\t\\a.jsonl"), "D:\\t", "a.jsonl"));
    assert.equal(reportLocations(stated("linux", "a.jsonl")).length, 1);
  });
});
