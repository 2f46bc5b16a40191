import assert from "node:assert/strict";
import { networkInterfaces } from "node:os";
import { describe, it } from "node:test";
import { forbiddenTarget, isLoopbackAddress } from "../../../daemon/proxy/mod.ts";

const own = new Set([8081, 8765]);

describe("forbiddenTarget()", () => {
  const rows: readonly (readonly [address: string, port: number, expected: string | null])[] = [
    ["127.0.0.1", 8081, "own_port"],
    ["127.9.9.9", 8765, "own_port"],
    ["::1", 8081, "own_port"],
    ["::ffff:127.0.0.1", 8081, "own_port"],
    ["::ffff:7f00:1", 8081, "own_port"],
    ["0.0.0.0", 8081, "own_port"],
    ["::", 8081, "own_port"],
    ["127.0.0.1", 11434, null],
    ["::1", 443, null],
    ["192.0.2.1", 8081, null],
    ["0.0.0.0", 80, "unspecified"],
    ["0.1.2.3", 80, "unspecified"],
    ["::", 80, "unspecified"],
    ["169.254.169.254", 80, "link_local"],
    ["::ffff:169.254.169.254", 80, "link_local"],
    ["fe80::1", 80, "link_local"],
    ["fe80::1%eth0", 80, "link_local"],
    ["febf::1", 80, "link_local"],
    ["fec0::1", 80, null],
    ["fd00:ec2::254", 80, "link_local"],
    ["10.0.0.1", 80, null],
    ["localhost", 8081, null], // names are judged by what they resolve to
  ];
  for (const [address, port, expected] of rows) {
    it(`says ${expected ?? "nothing"} of ${address}:${port}`, () => {
      assert.equal(forbiddenTarget(address, port, own), expected);
    });
  }

  it("knows this machine's other addresses", () => {
    for (const each of Object.values(networkInterfaces()).flat()) {
      if (each) assert.equal(forbiddenTarget(each.address, 8081, own), "own_port", each.address);
    }
  });
});

describe("isLoopbackAddress()", () => {
  it("takes addresses alone", () => {
    assert.equal(isLoopbackAddress("127.0.0.2"), true);
    assert.equal(isLoopbackAddress("::ffff:127.0.0.1"), true);
    assert.equal(isLoopbackAddress("localhost"), false);
    assert.equal(isLoopbackAddress("128.0.0.1"), false);
  });
});
