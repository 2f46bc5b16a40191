import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { resolveConfig } from "../../core/operations/config/resolve-config.ts";

/** The tables that `core/operations/config` reads; everything else it reads is a key. */
const TABLES =
  /^(proxy|api|cloud|cloud\.(bodies|upload)|bodies|pricing|attribution|azure|usage|telemetry|telemetry\.export|redaction|budget_warnings|log)$/;
const LISTS = /^(pricing\.operator(\.tiers)?|providers|webhooks|budget|redaction\.rules)$/;

/** Returns the keys that `resolveConfig()` reads, from tables that record each access. */
function keysAskedFor(): string[] {
  const asked = new Set<string>();
  const table = (path: string): object =>
    new Proxy(
      {},
      {
        get(_, key) {
          const name = path === "" ? String(key) : `${path}.${String(key)}`;
          if (TABLES.test(name)) return table(name);
          if (LISTS.test(name)) return [table(name)];
          asked.add(name);
          return undefined;
        },
      },
    );
  resolveConfig(table(""), { today: "2026-11-21" });
  return [...asked].sort();
}

/** The keys in the page: the first column of its tables, below headings such as `[cloud.bodies]`. */
function keysDescribed(): string[] {
  const page = readFileSync(new URL("../../docs/configuration.md", import.meta.url), "utf8");
  const keys: string[] = [];
  let section = "";
  for (const line of page.split("\n")) {
    const heading = /^## (.*)$/.exec(line)?.[1];
    if (heading !== undefined) section = /`\[+([a-z_.]+)\]+`/.exec(heading)?.[1] ?? "";
    const key = /^\| `([a-z0-9_.]+)` /.exec(line)?.[1];
    if (key !== undefined) keys.push(section === "" ? key : `${section}.${key}`);
  }
  return keys.sort();
}

describe("docs/configuration.md", () => {
  it("describes every key that the daemon reads, and none that it does not", () => {
    assert.deepEqual(keysDescribed(), keysAskedFor());
  });
});
