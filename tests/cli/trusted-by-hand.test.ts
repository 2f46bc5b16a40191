import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { trustedByHand } from "../../cli/trusted-by-hand.ts";
import { inFolder } from "../adapters/installer/machine-kit.ts";

describe("trustedByHand()", () => {
  it("finds this authority under the name that was advised, and no other", () =>
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
