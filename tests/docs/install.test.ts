import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { clientVariables } from "../../cli/commands/run/client-variables.ts";
import { runEnvironment } from "../../cli/install/run-environment.ts";

const page = readFileSync(new URL("../../docs/install.md", import.meta.url), "utf8");

describe("docs/install.md", () => {
  const set = runEnvironment({}, { proxyPort: 1, caFile: "/ca", bundleFile: "/bundle", project: null });

  it("names no variable that meter run does not set", () => {
    const home = mkdtempSync(join(tmpdir(), "install-page-"));
    const context = { home, env: { HOME: home } };
    const forClients = clientVariables(
      context,
      { program: "node", words: [] },
      { HTTPS_PROXY: "http://127.0.0.1:1" },
    );
    rmSync(home, { recursive: true });
    const section = page.split("## Which programs use the proxy")[1]?.split("\n## ")[0] ?? "";
    const named = [...section.matchAll(/`([A-Z][A-Z0-9_]{4,})(?:=1)?`/g)].map(([, name]) => name as string);
    assert.ok(named.length > 8);
    for (const name of named) assert.ok(name in set || name in forClients, name);
  });
});
