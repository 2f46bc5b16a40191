import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { trustedByHand } from "../../../../cli/commands/uninstall/trusted-by-hand.ts";
import { inFolder } from "../../../adapters/installer/machine.rig.ts";

describe("trustedByHand()", () => {
  it("finds only this authority, under the recommended name", () =>
    inFolder((folder) => {
      const caFile = join(folder, "ca.pem");
      const anchor = join(folder, "meter-local-ca.crt");
      assert.equal(trustedByHand("meter", caFile, folder), null);
      writeFileSync(caFile, "ours");
      assert.equal(trustedByHand("meter", caFile, folder), null);
      writeFileSync(anchor, "somebody's");
      assert.equal(trustedByHand("meter", caFile, folder), null);
      writeFileSync(anchor, "ours");
      assert.equal(trustedByHand("meter", caFile, folder), anchor);
    }));
});
