import assert from "node:assert/strict";
import { networkInterfaces } from "node:os";
import { describe, it } from "node:test";
import { checkTarget, isLoopbackAddress } from "../../../daemon/proxy/forbidden-targets.ts";

const own = new Set([8081, 8765]);

describe("checkTarget()", () => {
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
    ["169.254.169.254", 80, "metadata"],
    ["::ffff:169.254.169.254", 80, "metadata"],
    ["64:ff9b::169.254.169.254", 80, "metadata"],
    ["2002:a9fe:a9fe::1", 80, "metadata"],
    ["::169.254.169.254", 80, "metadata"],
    ["100.100.100.200", 80, "metadata"],
    ["168.63.129.16", 32526, "metadata"],
    ["169.254.1.1", 80, "link_local"],
    ["64:ff9b::127.0.0.1", 8081, "own_port"],
    ["fe80::1", 80, "link_local"],
    ["fe80::1%eth0", 80, "link_local"],
    ["febf::1", 80, "link_local"],
    ["fec0::1", 80, null],
    ["fd00:ec2::254", 80, "metadata"],
    ["10.0.0.1", 80, null],
    ["192.168.1.5", 11434, null],
    ["localhost", 8081, null], // names are checked after they were resolved
  ];
  for (const [address, port, expected] of rows) {
    it(`returns ${expected ?? "null"} for ${address}:${port}`, () => {
      assert.equal(checkTarget(address, port, own), expected);
    });
  }

  const remoteRows: readonly (readonly [address: string, port: number, expected: string | null])[] = [
    ["127.0.0.1", 11434, "loopback"],
    ["::1", 11434, "loopback"],
    ["::ffff:127.0.0.1", 11434, "loopback"],
    ["64:ff9b::127.0.0.1", 11434, "loopback"],
    ["127.0.0.1", 8081, "own_port"],
    ["10.0.0.1", 443, "private"],
    ["192.168.1.5", 443, "private"],
    ["100.64.0.1", 443, "private"],
    ["fd12:3456::1", 443, "private"],
    ["2002:c0a8:105::1", 443, "private"],
    ["169.254.169.254", 80, "metadata"],
    ["0.0.0.0", 80, "unspecified"],
    ["8.8.8.8", 443, null],
    ["2606:4700::1111", 443, null],
  ];
  for (const [address, port, expected] of remoteRows) {
    it(`returns ${expected ?? "null"} for ${address}:${port} and a client on another machine`, () => {
      assert.equal(checkTarget(address, port, own, true), expected);
    });
  }

  it("refuses this machine's addresses to clients on other machines", () => {
    for (const each of Object.values(networkInterfaces()).flat()) {
      if (each) assert.notEqual(checkTarget(each.address, 11434, own, true), null, each.address);
    }
  });

  it("recognises the addresses of this machine's interfaces", () => {
    for (const each of Object.values(networkInterfaces()).flat()) {
      if (each) assert.equal(checkTarget(each.address, 8081, own), "own_port", each.address);
    }
  });
});

describe("isLoopbackAddress()", () => {
  it("accepts only addresses", () => {
    assert.equal(isLoopbackAddress("127.0.0.2"), true);
    assert.equal(isLoopbackAddress("::ffff:127.0.0.1"), true);
    assert.equal(isLoopbackAddress("localhost"), false);
    assert.equal(isLoopbackAddress("128.0.0.1"), false);
    // These may belong to another machine.
    assert.equal(isLoopbackAddress("2002:7f00:1::1"), false);
    assert.equal(isLoopbackAddress("64:ff9b::127.0.0.1"), false);
  });
});
