import { inflateSync } from "node:zlib";

/** A page of a PDF: its size in points, and its text without white space. */
export interface PdfPage {
  readonly width: number;
  readonly height: number;
  readonly text: string;
}

/** Reads the pages of a PDF as Chromium writes it: objects in the clear, streams compressed, text as glyphs of embedded fonts. */
export function readPdf(bytes: Buffer): readonly PdfPage[] {
  const source = bytes.toString("latin1");
  const objects = new Map<string, string>();
  for (const [, id = "", body = ""] of source.matchAll(/(?:^|\n)(\d+) 0 obj\n?([\s\S]*?)\nendobj/g))
    objects.set(id, body);
  const pages = [...objects.values()].filter((body) => /\/Type\s*\/Page\b/.test(body));
  return pages.map((body) => {
    const [, width = "0", height = "0"] = /\/MediaBox\s*\[0 0 ([\d.]+) ([\d.]+)\]/.exec(body) ?? [];
    const contents = referenceOf(body, "Contents");
    return {
      width: Number(width),
      height: Number(height),
      text: textOf(streamOf(objects.get(contents) ?? ""), fontsOf(body, objects)),
    };
  });
}

const referenceOf = (body: string, name: string): string =>
  new RegExp(`/${name}\\s+(\\d+) 0 R`).exec(body)?.[1] ?? "";

function streamOf(body: string): string {
  const start = /stream\r?\n/.exec(body);
  if (start === null) return "";
  const data = Buffer.from(
    body.slice(start.index + start[0].length, body.lastIndexOf("\nendstream")),
    "latin1",
  );
  return (body.includes("/FlateDecode") ? inflateSync(data) : data).toString("latin1");
}

type Glyphs = ReadonlyMap<number, string>;

/** Returns the characters of the glyphs of each font that a page names. */
function fontsOf(page: string, objects: ReadonlyMap<string, string>): ReadonlyMap<string, Glyphs> {
  const [, fonts = ""] = /\/Font\s*<<([^>]*)>>/.exec(page) ?? [];
  return new Map(
    [...fonts.matchAll(/\/(\w+)\s+(\d+) 0 R/g)].map(([, name = "", id = ""]) => [
      name,
      readGlyphs(streamOf(objects.get(referenceOf(objects.get(id) ?? "", "ToUnicode")) ?? "")),
    ]),
  );
}

/** Reads a ToUnicode map. Source: ISO 32000-1, section 9.10.3. */
function readGlyphs(map: string): Glyphs {
  const glyphs = new Map<number, string>();
  const toText = (hex: string) =>
    (hex.match(/.{4}/g) ?? []).map((unit) => String.fromCharCode(Number.parseInt(unit, 16))).join("");
  for (const [, block = ""] of map.matchAll(/beginbfchar([\s\S]*?)endbfchar/g))
    for (const [, glyph = "", text = ""] of block.matchAll(/<(\w+)>\s*<(\w+)>/g))
      glyphs.set(Number.parseInt(glyph, 16), toText(text));
  for (const [, block = ""] of map.matchAll(/beginbfrange([\s\S]*?)endbfrange/g))
    for (const [, from = "", to = "", text = ""] of block.matchAll(/<(\w+)>\s*<(\w+)>\s*<(\w+)>/g)) {
      const [first, last] = [Number.parseInt(from, 16), Number.parseInt(to, 16)];
      for (let glyph = first; glyph <= last; glyph += 1)
        glyphs.set(glyph, String.fromCharCode(Number.parseInt(text, 16) + glyph - first));
    }
  return glyphs;
}

function textOf(content: string, fonts: ReadonlyMap<string, Glyphs>): string {
  let glyphs: Glyphs = new Map();
  let text = "";
  for (const [, font, hex] of content.matchAll(/\/(\w+) [\d.]+ Tf|<([0-9A-Fa-f]+)>/g)) {
    if (font !== undefined) glyphs = fonts.get(font) ?? new Map();
    else for (const glyph of hex?.match(/.{4}/g) ?? []) text += glyphs.get(Number.parseInt(glyph, 16)) ?? "";
  }
  return text.replaceAll(/\s/g, "");
}
