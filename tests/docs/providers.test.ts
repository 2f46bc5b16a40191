import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { PROVIDERS } from "../../core/metering/usage/providers.ts";

const page = readFileSync(new URL("../../docs/providers.md", import.meta.url), "utf8");
const rows = [...page.matchAll(/^\| `([a-z0-9-]+)` \| (.*) \|$/gm)];

describe("docs/providers.md", () => {
  it("has a row for every provider, and no other", () => {
    const named = rows.map(([, provider]) => provider);
    assert.deepEqual(
      [...new Set(named)].sort(),
      [...new Set(PROVIDERS.map(({ provider }) => provider))].sort(),
    );
    assert.equal(new Set(named).size, named.length);
  });

  it("has every host whose name contains no region", () => {
    for (const { hosts } of PROVIDERS)
      for (const host of hosts.filter((each) => !/-[a-z]+\d|-\d\.|\.ml\./.test(each)))
        assert.ok(page.includes(`\`${host}`), host);
  });
});
