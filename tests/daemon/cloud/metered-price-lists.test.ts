import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { meteredPriceLists } from "../../../daemon/cloud/metered-price-lists.ts";

const configured = (provider: string, prices?: string) =>
  meteredPriceLists({
    providers: [{ host: "llm.example", provider, api: "openai", ...(prices !== undefined && { prices }) }],
  });

describe("meteredPriceLists()", () => {
  it("has the list of a configured provider, or the one that it names, with its fallbacks", () => {
    assert.equal(configured("acme").has("acme"), true);
    const named = configured("acme", "azure");
    assert.deepEqual([named.has("acme"), named.has("azure"), named.has("openai")], [false, true, true]);
  });

  it("takes a provider with the name of an inherited member like any other", () => {
    for (const name of ["constructor", "__proto__"]) assert.equal(configured(name).has(name), true, name);
  });
});
