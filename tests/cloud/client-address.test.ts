import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { clientAddress } from "../../cloud/client-address.ts";

describe("clientAddress()", () => {
  const rows: [peer: string | null, forwarded: string | undefined, hops: number, address: string | null][] = [
    ["192.0.2.1", undefined, 0, "192.0.2.1"],
    ["192.0.2.1", "1.2.3.4", 0, "192.0.2.1"],
    ["10.0.0.1", "198.51.100.7", 1, "198.51.100.7"],
    ["10.0.0.1", "1.2.3.4, 198.51.100.7", 1, "198.51.100.7"],
    ["10.0.0.1", "1.2.3.4, 198.51.100.7, 10.0.0.2", 2, "198.51.100.7"],
    ["10.0.0.1", "2001:db8::1", 1, "2001:db8::1"],
    ["10.0.0.1", "198.51.100.7", 2, "10.0.0.1"],
    ["10.0.0.1", "", 1, "10.0.0.1"],
    ["10.0.0.1", "<script>", 1, "10.0.0.1"],
    ["10.0.0.1", undefined, 1, "10.0.0.1"],
    [null, undefined, 0, null],
  ];
  for (const [peer, forwarded, hops, address] of rows) {
    it(`takes ${address} from peer ${peer}, header ${JSON.stringify(forwarded)}, ${hops} trusted`, () => {
      assert.equal(clientAddress(peer, forwarded, hops), address);
    });
  }
});
