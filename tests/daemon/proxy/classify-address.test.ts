import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { type AddressClass, classifyAddress } from "../../../daemon/proxy/classify-address.ts";

const classes: readonly (readonly [address: string, expected: AddressClass | null])[] = [
  ["127.0.0.1", "loopback"],
  ["127.255.255.254", "loopback"],
  ["::1", "loopback"],
  ["0.0.0.0", "unspecified"],
  ["0.1.2.3", "unspecified"],
  ["::", "unspecified"],
  ["169.254.1.1", "link_local"],
  ["fe80::1", "link_local"],
  ["fe80::1%eth0", "link_local"],
  ["febf::1", "link_local"],
  ["169.254.169.254", "metadata"],
  ["169.254.170.2", "metadata"],
  ["169.254.170.23", "metadata"],
  ["169.254.42.42", "metadata"],
  ["100.100.100.200", "metadata"],
  ["168.63.129.16", "metadata"],
  ["192.0.0.192", "metadata"],
  ["fd00:ec2::254", "metadata"],
  ["fd00:ec2:0:0:0:0:0:23", "metadata"],
  ["fd20:ce::254", "metadata"],
  ["fd00:42::42", "metadata"],
  ["10.0.0.1", "private"],
  ["172.16.0.1", "private"],
  ["172.31.255.255", "private"],
  ["172.32.0.0", "public"],
  ["192.168.1.5", "private"],
  ["100.64.0.1", "private"],
  ["100.127.255.255", "private"],
  ["100.128.0.0", "public"],
  ["198.18.0.1", "private"],
  ["240.0.0.1", "private"],
  ["255.255.255.255", "private"],
  ["224.0.0.1", "private"],
  ["fc00::1", "private"],
  ["fdff::1", "private"],
  ["fec0::1", "private"],
  ["ff02::1", "private"],
  ["8.8.8.8", "public"],
  ["2606:4700::1111", "public"],
  ["169.253.255.255", "public"],
  ["localhost", null],
  ["", null],
];

/** Every form that embeds an IPv4 address in an IPv6 address. */
const embeddings: readonly (readonly [name: string, (hex: readonly [string, string]) => string])[] = [
  ["IPv4-mapped", ([high, low]) => `::ffff:${high}:${low}`],
  ["IPv4-compatible", ([high, low]) => `::${high}:${low}`],
  ["IPv4-translated", ([high, low]) => `::ffff:0:${high}:${low}`],
  ["NAT64", ([high, low]) => `64:ff9b::${high}:${low}`],
  ["local-use NAT64 with a prefix of 96 bits", ([high, low]) => `64:ff9b:1:7::${high}:${low}`],
  [
    "local-use NAT64 with a prefix of 48 bits",
    ([high, low]) => `64:ff9b:1:${high}:${low.padStart(4, "0").slice(0, 2)}:${low.slice(-2)}00::`,
  ],
  [
    "local-use NAT64 with a prefix of 64 bits",
    ([high, low]) => {
      const digits = `${high.padStart(4, "0")}${low.padStart(4, "0")}`;
      return `64:ff9b:1:7:${digits.slice(0, 2)}:${digits.slice(2, 6)}:${digits.slice(6)}00:0`;
    },
  ],
  ["6to4", ([high, low]) => `2002:${high}:${low}::1`],
  ["ISATAP", ([high, low]) => `2001:db8::5efe:${high}:${low}`],
  ["the server of Teredo", ([high, low]) => `2001:0:${high}:${low}:0:0:f7f7:f7f7`],
  [
    "the client of Teredo",
    ([high, low]) => {
      const inverted = (group: string) => (Number.parseInt(group, 16) ^ 0xffff).toString(16);
      return `2001:0:808:808:0:0:${inverted(high)}:${inverted(low)}`;
    },
  ],
];

const classesBySeverity = ["metadata", "link_local", "unspecified", "loopback", "private", "public"];
const isAtLeastAsSevere = (found: AddressClass | null, least: AddressClass | null) =>
  found !== null && classesBySeverity.indexOf(found) <= classesBySeverity.indexOf(least ?? "public");

const hexOf = (address: string): [string, string] => {
  const [a = 0, b = 0, c = 0, d = 0] = address.split(".").map(Number);
  return [((a << 8) | b).toString(16), ((c << 8) | d).toString(16).padStart(4, "0")];
};

describe("classifyAddress()", () => {
  for (const [address, expected] of classes) {
    it(`classifies ${JSON.stringify(address)} as ${expected ?? "no address"}`, () => {
      assert.equal(classifyAddress(address), expected);
    });
  }

  // Planted bugs that this found: each form removed from `embeddedIpv4Addresses()`.
  for (const [name, embed] of embeddings) {
    it(`finds an IPv4 address inside ${name}`, () => {
      const inner = classes.flatMap(([address, expected]) =>
        /^\d+\.\d+\.\d+\.\d+$/.test(address) && expected !== "public" && expected !== "unspecified"
          ? [{ address, expected }]
          : [],
      );
      for (const { address, expected } of inner) {
        const found = classifyAddress(embed(hexOf(address)));
        // The length of a local-use prefix is unknown. If two readings differ, the more dangerous class applies.
        if (name.startsWith("local-use"))
          assert.ok(isAtLeastAsSevere(found, expected), embed(hexOf(address)));
        else assert.equal(found, expected, embed(hexOf(address)));
      }
    });

    it(`never classifies an address inside ${name} as public that is not`, () => {
      const octet = fc.integer({ min: 0, max: 255 });
      const first = fc.constantFrom(0, 10, 100, 127, 169, 172, 192, 198, 168, 224, 240, 8);
      const second = fc.oneof(fc.constantFrom(0, 16, 18, 63, 64, 100, 168, 254), octet);
      fc.assert(
        fc.property(first, second, octet, octet, (...octets) => {
          const address = octets.join(".");
          const plain = classifyAddress(address);
          const found = classifyAddress(embed(hexOf(address)));
          if (plain === "unspecified" || plain === "public") return;
          assert.notEqual(found, "public", `${address} as ${embed(hexOf(address))}`);
        }),
        { numRuns: 500 },
      );
    });
  }

  it("classifies public IPv4 addresses as public, also if embedded in well-known IPv6 forms", () => {
    for (const address of ["8.8.8.8", "1.1.1.1", "203.0.113.7"]) {
      for (const name of ["IPv4-mapped", "NAT64", "6to4", "local-use NAT64 with a prefix of 96 bits"]) {
        const embed = embeddings.find(([each]) => each === name)?.[1];
        assert.equal(classifyAddress(embed?.(hexOf(address)) ?? ""), "public", `${address} ${name}`);
      }
    }
  });

  it("classifies every notation of an address alike", () => {
    const group = fc.integer({ min: 0, max: 0xffff });
    const special = fc.constantFrom(
      0,
      1,
      0x64,
      0xff9b,
      0x2002,
      0xa9fe,
      0x7f00,
      0xffff,
      0x5efe,
      0xfe80,
      0xfd00,
    );
    const groups = fc.array(fc.oneof(group, special, special), { minLength: 8, maxLength: 8 });
    fc.assert(
      fc.property(groups, (all) => {
        const full = all.map((each) => each.toString(16).padStart(4, "0")).join(":");
        const short = new URL(`http://[${full}]/`).hostname.slice(1, -1);
        const [a = 0, b = 0] = all.slice(6);
        const dotted = `${full.split(":").slice(0, 6).join(":")}:${a >> 8}.${a & 255}.${b >> 8}.${b & 255}`;
        assert.equal(classifyAddress(short), classifyAddress(full), full);
        assert.equal(classifyAddress(dotted.toUpperCase()), classifyAddress(full), dotted);
      }),
    );
  });
});
