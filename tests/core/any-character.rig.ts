import fc from "fast-check";

const FIRST_SURROGATE = 0xd800;
const SURROGATES = 0x800;

/**
 * A character of any code point except surrogates, for `fc.string({ unit: anyCharacter })`. The unit `binary` is the same, but first builds
 * a table of all of them, which takes a second and a half.
 */
export const anyCharacter: fc.Arbitrary<string> = fc.nat(0x10ffff - SURROGATES).map(
  (index) => String.fromCodePoint(index < FIRST_SURROGATE ? index : index + SURROGATES),
  (text) => {
    const [character = "", ...more] = typeof text === "string" ? text : "";
    const point = character.codePointAt(0) ?? FIRST_SURROGATE;
    const isSurrogate = point >= FIRST_SURROGATE && point < FIRST_SURROGATE + SURROGATES;
    if (more.length > 0 || isSurrogate) return -1;
    return point < FIRST_SURROGATE ? point : point - SURROGATES;
  },
);
