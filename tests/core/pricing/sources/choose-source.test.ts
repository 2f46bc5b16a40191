import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { chooseSource } from "../../../../core/pricing/sources/choose-source.ts";
import { PRICE_SOURCES } from "../../../../core/pricing/sources/price-sources.ts";

describe("chooseSource()", () => {
  const mirror = "https://mirror.dev/prices.json";
  const address = (source: string | null, pullUrl: string | null, requested: string | null = null) => {
    const chosen = chooseSource({ source, pullUrl }, requested);
    return chosen === null ? null : "url" in chosen ? `${chosen.kind} ${chosen.url}` : chosen.kind;
  };
  const url = (name: string) => `list ${PRICE_SOURCES.find((each) => each.name === name)?.url}`;

  it("prefers the request, then the configured source, then pull_url, then the cloud", () => {
    assert.equal(address(null, null), "cloud");
    assert.equal(address(null, mirror), `pull_url ${mirror}`);
    assert.equal(address("cloud", mirror), "cloud");
    assert.equal(address("litellm", null), url("litellm"));
    assert.equal(address("litellm", null, "openrouter"), url("openrouter"));
    assert.equal(address("litellm", null, "cloud"), "cloud");
  });

  it("takes pull_url as the address of a copy of the configured list, and of no other", () => {
    assert.equal(address("litellm", mirror), `list ${mirror}`);
    assert.equal(address("litellm", mirror, "models.dev"), url("models.dev"));
  });

  it("returns null for an unknown name", () => {
    assert.equal(address(null, null, "acme"), null);
    assert.equal(address(null, null, "pull_url"), null);
  });
});
