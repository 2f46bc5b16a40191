import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { isUrlAuthority } from "../../../../core/values/text/url-authority.ts";

describe("isUrlAuthority()", () => {
  it("accepts names and addresses, with and without a port", () => {
    for (const text of [
      "localhost",
      "hooks.example.com",
      "hooks.example.com.:443",
      "my_host-1",
      "müller.example",
      "10.0.0.1:65535",
      "[::1]:8080",
      "[::]",
      "[2001:db8::192.0.2.1]",
      "[1:2:3:4:5:6:7:8]",
    ])
      assert.equal(isUrlAuthority(text), true, text);
  });

  it("refuses what is no host or port", () => {
    for (const text of [
      "",
      ".",
      "a..b",
      "a:",
      "a:65536",
      "a:b",
      "user@a",
      "a b",
      "10.0.0.256",
      "10.0.0",
      "host.1",
      "0x7f",
      "[::1",
      "[1:2:3:4:5:6:7]",
      "[1::2::3]",
      "[::1.2.3.999]",
      "[1.2.3.4::]",
    ])
      assert.equal(isUrlAuthority(text), false, text);
  });

  it("accepts nothing that a URL parser refuses", () => {
    const label = fc.constantFrom("", "a", "-", "_", "ab%1", "[", "0", "01", "7", "256", "0x", "0xf", "0xg");
    const name = fc.array(label, { maxLength: 5 }).map((labels) => labels.join("."));
    const groups = fc.array(fc.constantFrom("", "0", "1", "ffff", "12345", "1.2.3.4", "256.1.1.1"), {
      maxLength: 10,
    });
    const address = groups.map((parts) => `[${parts.join(":")}]`);
    const port = fc.constantFrom("", ":0", ":443", ":65535", ":65536", ":99999", ":");
    fc.assert(
      fc.property(fc.oneof(name, address), port, (host, end) => {
        const text = host + end;
        if (isUrlAuthority(text)) assert.equal(URL.canParse(`https://${text}/`), true, text);
      }),
    );
  });
});
