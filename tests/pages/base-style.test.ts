import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { BASE_STYLE } from "../../pages/base-style.ts";

/** Relative luminance of `#rrggbb`. Source: WCAG 2.2, "relative luminance". */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const channel = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

/** What is written on what, and the least contrast: 4.5 for text, 3 for what has a meaning by its shape. Source: WCAG 2.2, 1.4.3 and 1.4.11. */
const PAIRS: readonly (readonly [string, string, number])[] = [
  ["text", "ground", 4.5],
  ["text", "card", 4.5],
  ["quiet", "ground", 4.5],
  ["quiet", "card", 4.5],
  ["accent", "ground", 4.5],
  ["accent", "card", 4.5],
  ["accent-text", "accent", 4.5],
  ["warn", "warn-ground", 4.5],
  ["good", "good-ground", 4.5],
  ["bad", "bad-ground", 4.5],
  ["good", "ground", 4.5],
  ["good", "card", 4.5],
  ["bad", "ground", 4.5],
  ["bad", "card", 4.5],
  ["text", "bar-soft", 4.5],
  ["bar", "card", 3],
];

describe("the styles of all pages", () => {
  const [light = "", dark = ""] = BASE_STYLE.split("prefers-color-scheme: dark");
  for (const [scheme, text] of [
    ["light", light],
    ["dark", dark],
  ] as const) {
    const colours = new Map(
      [...text.matchAll(/--([\w-]+): (#[0-9a-f]{6})/g)].map(([, name, value]) => [name, value]),
    );
    for (const [one, other, least] of PAIRS) {
      it(`has enough contrast between ${one} and ${other} in the ${scheme} scheme`, () => {
        const measured = contrast(colours.get(one) ?? "", colours.get(other) ?? "");
        assert.ok(measured >= least, `${measured.toFixed(2)}, not ${least}`);
      });
    }
  }
});
