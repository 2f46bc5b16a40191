import assert from "node:assert/strict";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { describe, it } from "node:test";
import { meterHome } from "../../../adapters/files/meter-home.ts";

describe("meterHome()", () => {
  const cases: readonly [home: string | undefined, path: string][] = [
    [undefined, join(homedir(), ".meter")],
    ["", join(homedir(), ".meter")],
    ["/tmp/meter", resolve("/tmp/meter")],
    ["relative/meter", resolve("relative/meter")],
  ];
  for (const [home, path] of cases) {
    it(`returns ${path} for METER_HOME=${home}`, () => assert.equal(meterHome({ METER_HOME: home }), path));
  }
});
