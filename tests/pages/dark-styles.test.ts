import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FORM_STYLE, KIT_SCRIPT, KIT_STYLE } from "../../pages/client-files.data.ts";

const STYLES = `${KIT_STYLE.text}\n${FORM_STYLE.text}`;

/** What takes a colour, alone or beside a width and a style. */
const TAKES_COLOUR =
  /^(?:accent-color|background|border(?:-(?:block|inline)-(?:start|end))?|border-color|color|fill|outline|stroke)$/;

const COLOUR = /^#(?:[0-9a-f]{3}|[0-9a-f]{6})$/;

function declarationsIn(block: string): (readonly [property: string, value: string])[] {
  return [...block.matchAll(/([\w-]+):\s*([^;{}]+?)\s*(?:;|\})/g)].map(
    ([, property = "", value = ""]) => [property, value] as const,
  );
}

// The browser tests check the layout of a page in light only, because of these.
describe("the dark colour scheme", () => {
  const [block = ""] = /@media \(prefers-color-scheme: dark\) \{\s*:root \{[^{}]*\}\s*\}/.exec(STYLES) ?? [];
  const dark = declarationsIn(block);

  it("is chosen in one place, which sets variables to colours", () => {
    assert.equal(STYLES.split(/prefers-color-scheme|light-dark\(/).length, 2);
    assert.doesNotMatch(KIT_SCRIPT.text, /color-scheme/);
    assert.ok(dark.length > 10);
    for (const [property, value] of dark) {
      assert.match(property, /^--\w/);
      assert.match(value, COLOUR, property);
    }
  });

  it("replaces only colours of the light scheme, and they are used only where CSS takes a colour", () => {
    const light = declarationsIn(STYLES.replace(block, ""));
    for (const [name] of dark) {
      const values = light.filter(([property]) => property === name).map(([, value]) => value);
      assert.equal(values.length, 1, name);
      assert.match(values[0] ?? "", COLOUR, name);
      const uses = light.filter(([, value]) => value.includes(`var(${name})`));
      const count = (text: string) => text.split(`var(${name})`).length - 1;
      assert.ok(uses.length > 0, name);
      assert.equal(
        uses.reduce((sum, [, value]) => sum + count(value), 0),
        count(STYLES),
        `${name} in a form that this test does not read`,
      );
      for (const [property, value] of uses) assert.match(property, TAKES_COLOUR, `${property}: ${value}`);
    }
  });
});
