import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { formatAuthority, parseAuthority } from "../../../daemon/proxy/authority.ts";

describe("parseAuthority()", () => {
  const rows: readonly (readonly [text: string, expected: string | null])[] = [
    ["api.openai.com:443", "api.openai.com 443"],
    ["API.openai.com:0443", "api.openai.com 443"],
    ["[::1]:80", "::1 80"],
    ["[2001:DB8::1]:65535", "2001:db8::1 65535"],
    ["localhost.:1", "localhost. 1"],
    ["2130706433:80", "2130706433 80"],
    ["under_score:80", "under_score 80"],
    ["host", null],
    ["host:", null],
    [":443", null],
    ["host:0", null],
    ["host:65536", null],
    ["host:-1", null],
    ["host:4 3", null],
    ["host:443/", null],
    ["user@host:443", null],
    ["ho st:443", null],
    ["ho\u00e9st:443", null],
    ["host%00:443", null],
    ["[::1%lo]:443", null],
    ["[127.0.0.1]:443", null],
    ["[::1:443", null],
    ["::1:443", null],
    [`${"a".repeat(255)}:443`, null],
  ];
  for (const [text, expected] of rows) {
    it(`reads ${JSON.stringify(text.slice(0, 40))} as ${expected ?? "nothing"}`, () => {
      const authority = parseAuthority(text);
      assert.equal(authority && `${authority.host} ${authority.port}`, expected);
    });
  }

  it("uses the default port if one is given", () => {
    assert.deepEqual(parseAuthority("host", 80), { host: "host", port: 80 });
  });
});

describe("formatAuthority()", () => {
  it("puts IPv6 addresses in brackets and omits the default port", () => {
    assert.equal(formatAuthority({ host: "::1", port: 443 }), "[::1]:443");
    assert.equal(formatAuthority({ host: "a", port: 80 }, 80), "a");
    assert.equal(formatAuthority({ host: "a", port: 80 }, 443), "a:80");
  });
});
