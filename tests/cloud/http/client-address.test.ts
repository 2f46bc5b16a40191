import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { addressGroup, clientAddress } from "../../../cloud/http/client-address.ts";

describe("clientAddress()", () => {
  const rows: [peer: string | null, forwarded: string | undefined, hops: number, address: string | null][] = [
    ["192.0.2.1", undefined, 0, "192.0.2.1"],
    ["192.0.2.1", "1.2.3.4", 0, "192.0.2.1"],
    ["10.0.0.1", "198.51.100.7", 1, "198.51.100.7"],
    ["10.0.0.1", "1.2.3.4, 198.51.100.7", 1, "198.51.100.7"],
    ["10.0.0.1", "1.2.3.4, 198.51.100.7, 10.0.0.2", 2, "198.51.100.7"],
    ["10.0.0.1", "2001:db8::1", 1, "2001:db8::1"],
    // Some proxies add the port.
    ["10.0.0.1", "198.51.100.7:50123", 1, "198.51.100.7"],
    ["10.0.0.1", "[2001:db8::1]:50123", 1, "2001:db8::1"],
    ["10.0.0.1", "[2001:db8::1]", 1, "2001:db8::1"],
    ["10.0.0.1", "2001:db8::1:50123", 1, "2001:db8::1:50123"],
    ["10.0.0.1", "198.51.100.7", 2, "10.0.0.1"],
    ["10.0.0.1", "", 1, "10.0.0.1"],
    ["10.0.0.1", "<script>", 1, "10.0.0.1"],
    ["10.0.0.1", undefined, 1, "10.0.0.1"],
    [null, undefined, 0, null],
  ];
  for (const [peer, forwarded, hops, address] of rows) {
    it(`returns ${address} for peer ${peer}, header ${JSON.stringify(forwarded)}, ${hops} trusted`, () => {
      assert.equal(clientAddress(peer, forwarded, hops), address);
    });
  }
});

describe("addressGroup()", () => {
  const rows: [address: string | null, group: string][] = [
    [null, ""],
    ["198.51.100.7", "198.51.100.7"],
    ["::ffff:198.51.100.7", "198.51.100.7"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
    ["2001:db8:1:2::9", "2001:db8:1:2"],
    ["2001:DB8::1", "2001:db8:0:0"],
    ["2001:0db8:0000:0000:0000:0000:0000:0002", "2001:db8:0:0"],
    ["1::4:5:6:7:8", "1:0:0:4"],
    ["::1", "0:0:0:0"],
    ["fe80::1%eth0", "fe80:0:0:0"],
  ];
  for (const [address, group] of rows) {
    it(`puts ${address} into ${JSON.stringify(group)}`, () => {
      assert.equal(addressGroup(address), group);
    });
  }
});
