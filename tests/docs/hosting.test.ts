import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { it } from "node:test";
import { PERSONAL_REQUEST_COLUMNS } from "../../cloud/store/request-columns.ts";

it("docs/hosting.md names all fields of a request that are erased with an account", () => {
  const text = readFileSync("docs/hosting.md", "utf8");
  const fields =
    /^The fields of a request that are erased with an account,[\s\S]*?\.$/m.exec(text)?.[0] ?? "";
  const named = [...fields.matchAll(/`(\w+)`/g)].map(([, name]) => name);
  assert.deepEqual(named.sort(), [...PERSONAL_REQUEST_COLUMNS].sort());
});
