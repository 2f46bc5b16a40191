import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createLineOfKey } from "../../../adapters/files/toml-lines.ts";

const text = `auto = true
[proxy]
# The port.
port = "x"

[cloud.upload]
preset = "minimal"
per_project = { web = false, "my.site" = 1 }

[[providers]]
host = "a"
[[providers]]
provider = "b"
"api" = "c"
rules = [{ x = 1 },
  { x = 2 }]

[[pricing.operator]]
input = """
3"""
[[pricing.operator.tiers]]
input = 1
[[pricing.operator.tiers]]
above_tokens = 2
[[pricing.operator]]
[[pricing.operator.tiers]]
input = 9
[odd."]"]
`;

describe("createLineOfKey()", () => {
  const rows: readonly (readonly [key: string, line: number | null])[] = [
    ["auto", 1],
    ["proxy", 2],
    ["proxy.port", 4],
    ["cloud.upload.preset", 7],
    ["cloud.upload.per_project.web", 8],
    ["cloud.upload.per_project.my.site", 8],
    ["providers[0].host", 11],
    ["providers[1].provider", 13],
    ["providers[1].api", 14],
    ["providers[1].rules[0].x", 15],
    ["providers[1].rules[1].x", 16],
    ["pricing.operator[0].input", 19],
    ["pricing.operator[0].tiers[1].above_tokens", 24],
    ["pricing.operator[1].tiers[0].input", 27],
  ];
  for (const [key, line] of rows)
    it(`finds ${key}`, () => {
      assert.equal(createLineOfKey(text)(key), line);
    });

  const missing: readonly (readonly [key: string, line: number | null, where: string])[] = [
    ["proxy.host", 2, "its table"],
    ["providers[1].host", 12, "its element"],
    ["providers[1].rules[1].y", 16, "its element"],
    ["providers[1].rules[2].x", 15, "the list that contains it"],
    ["log.level", null, "no line"],
    ["", null, "no line"],
    ["odd.]", 28, "its line"],
    ["none.]x[0]", null, "no line"],
  ];
  for (const [key, line, where] of missing)
    it(`returns ${where} for ${JSON.stringify(key)}`, () => {
      assert.equal(createLineOfKey(text)(key), line);
    });

  const lists: readonly (readonly [key: string, line: number])[] = [
    ["hosts", 1],
    ["hosts[0].name", 2],
    ["hosts[1].name", 4],
    ["hosts[1].host", 4],
    ["hosts[1].ports[1].a.b", 5],
    ["hosts[2]", 1],
    ["last.names[0]", 7],
  ];
  for (const [key, line] of lists)
    it(`finds ${key} in a list over several lines`, () => {
      const list = `hosts = [ # { name = "no" },
  { name = "[{" },

  { name = 2, ports = [{ a = 1 },
    { a.b = 1 }] },
]
last.names = [
  "x", 3 ]
`;
      assert.equal(createLineOfKey(list)(key), line);
    });

  it("returns null for every key of an empty text", () => {
    assert.equal(createLineOfKey("")("proxy.port"), null);
  });
});
