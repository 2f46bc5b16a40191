import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { NonLoopbackHostError, resolveListenHost } from "../../../daemon/proxy/listen-host.ts";

describe("resolveListenHost()", () => {
  const rows: readonly (readonly [addresses: readonly string[], address: string | null])[] = [
    [["127.0.0.1"], "127.0.0.1"],
    [["::1", "127.0.0.1"], "127.0.0.1"],
    [["::1"], "::1"],
    [["127.0.0.1", "10.0.0.1"], null],
    [["0.0.0.0"], null],
    [["::"], null],
    [["192.168.1.5"], null],
    [[], null],
  ];
  for (const [addresses, address] of rows) {
    it(`${address === null ? "refuses" : `takes ${address} of`} a host that resolves to ${addresses.join(" and ") || "nothing"}`, async () => {
      const resolved = resolveListenHost("meter.test", false, async () => addresses);
      if (address === null) await assert.rejects(resolved, NonLoopbackHostError);
      else assert.deepEqual(await resolved, { address, loopback: true });
    });
  }

  it("accepts other hosts under the override, with loopback false", async () => {
    assert.deepEqual(await resolveListenHost("h", true, async () => ["10.0.0.1"]), {
      address: "10.0.0.1",
      loopback: false,
    });
    assert.deepEqual(await resolveListenHost("h", true, async () => ["::1"]), {
      address: "::1",
      loopback: true,
    });
  });

  it("rejects a name that does not resolve, also under the override", async () => {
    const fail = async () => {
      throw new Error("ENOTFOUND");
    };
    await assert.rejects(resolveListenHost("h", true, fail), NonLoopbackHostError);
  });

  it("uses the system's resolver by default", async () => {
    assert.deepEqual(await resolveListenHost("127.0.0.1", false), { address: "127.0.0.1", loopback: true });
    await assert.rejects(resolveListenHost("0.0.0.0", false), /is not loopback: it resolves to 0\.0\.0\.0/);
  });
});
