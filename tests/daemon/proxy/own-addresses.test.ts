import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readOwnAddresses } from "../../../daemon/proxy/own-addresses.ts";

describe("readOwnAddresses()", () => {
  it("returns the addresses of all network interfaces", () => {
    assert.ok(readOwnAddresses()?.some(({ address }) => address === "127.0.0.1"));
    assert.deepEqual(
      readOwnAddresses(() => ({ lo: undefined })),
      [],
    );
  });

  it("returns null if they can't be read", () => {
    const read = () => {
      throw new Error("uv_interface_addresses returned Unknown system error 24");
    };
    assert.equal(readOwnAddresses(read), null);
  });
});
