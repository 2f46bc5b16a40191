import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { parse, type TomlTable } from "smol-toml";
import { appendTomlTable, editToml, type TomlScalar } from "../../../adapters/files/edit-toml.ts";

function edited(text: string, path: string, value: TomlScalar): string {
  const edit = editToml(text, path.split(" "), value);
  assert.ok(edit.ok, `no place for ${path} in ${JSON.stringify(text)}`);
  return edit.text;
}

describe("editToml()", () => {
  const rows: [name: string, text: string, path: string, value: TomlScalar, expected: string][] = [
    ["makes a file out of nothing", "", "cloud enabled", true, "[cloud]\nenabled = true\n"],
    ["keeps the comment beside a value", "a = 1 # one\n", "a", 2, "a = 2 # one\n"],
    [
      "keeps spaces, tabs and the ends of lines",
      "[ cloud ] # c\r\n\tenabled   =  false\t# off\r\n",
      "cloud enabled",
      true,
      "[ cloud ] # c\r\n\tenabled   =  true\t# off\r\n",
    ],
    [
      "puts a new key below the last one of its table, as far in",
      "[cloud]\n  enabled = true\n\n# about the proxy\n[proxy]\n",
      "cloud base_url",
      "https://x",
      '[cloud]\n  enabled = true\n  base_url = "https://x"\n\n# about the proxy\n[proxy]\n',
    ],
    [
      "makes a table at the end of a file without a last line end",
      "[proxy]\r\nport = 1",
      "pricing auto_pull",
      true,
      "[proxy]\r\nport = 1\r\n\r\n[pricing]\r\nauto_pull = true\r\n",
    ],
    [
      "follows dotted keys",
      "cloud.enabled = true\n",
      "cloud base_url",
      "x",
      'cloud.enabled = true\ncloud.base_url = "x"\n',
    ],
    [
      "goes into an inline table",
      'cloud = { upload = { preset = "full" } } # c\n',
      "cloud upload path",
      false,
      'cloud = { upload = { preset = "full", path = false } } # c\n',
    ],
    [
      "goes into an empty inline table",
      "cloud = {}\n",
      "cloud enabled",
      true,
      "cloud = { enabled = true }\n",
    ],
    [
      "quotes names that need it",
      "",
      "cloud upload per_project a:b/c.d upload",
      false,
      '[cloud.upload.per_project."a:b/c.d"]\nupload = false\n',
    ],
    [
      "finds a key under another spelling",
      "['cloud' . \"upl\\u006fad\"]\n\"preset\" = '''full'''\n",
      "cloud upload preset",
      "minimal",
      '[\'cloud\' . "upl\\u006fad"]\n"preset" = "minimal"\n',
    ],
    [
      "replaces a value over several lines, comments in it and all",
      "a = [\n  1, # ] not the end\n  ']',\n]\nb = 2\n",
      "a",
      3,
      "a = 3\nb = 2\n",
    ],
    [
      "takes no key of a text or an array of tables for its own",
      's = """\n[cloud]\nenabled = false\n"""\n[[cloud-s]]\nenabled = false\n[[pricing.operator]]\nauto_pull = false\n',
      "cloud enabled",
      true,
      's = """\n[cloud]\nenabled = false\n"""\n[[cloud-s]]\nenabled = false\n[[pricing.operator]]\nauto_pull = false\n\n[cloud]\nenabled = true\n',
    ],
    [
      "opens a table that only its own tables have made",
      "[cloud.bodies]\nenabled = true\n",
      "cloud enabled",
      false,
      "[cloud.bodies]\nenabled = true\n\n[cloud]\nenabled = false\n",
    ],
    ["escapes what a text holds", "", "a b", 'q"\\\u007f\n\u0001', '[a]\nb = "q\\"\\\\\\u007F\\n\\u0001"\n'],
  ];
  for (const [name, text, path, value, expected] of rows) {
    it(name, () => assert.equal(edited(text, path, value), expected));
  }

  it("rejects invalid TOML, and a value in the place of a table", () => {
    assert.deepEqual(editToml("a = ", ["a"], 1), { ok: false, reason: "not_toml" });
    assert.deepEqual(editToml("cloud = 3\n", ["cloud", "enabled"], true), { ok: false, reason: "no_place" });
    assert.deepEqual(editToml("[[cloud]]\n", ["cloud", "enabled"], true), { ok: false, reason: "no_place" });
  });

  /** Texts that mix every notation of a table, with few names, so that they collide. */
  const texts = (() => {
    const key = fc.constantFrom("enabled", "preset", "path", '"enabled"', "'preset'");
    const value = fc.constantFrom(
      ...["true", '"full"', "'''x'''", "0x1F", "2026-01-01 07:32:00Z", "1e3", "-0.5", "nan", "{}"],
      ...[
        "[1, 2 , ']']",
        "[\n  1, # ]\n  2,\n]",
        '"""\n[cloud]\nenabled = 1 # "\n"""""',
        "{ a = 1, b.c = 'x}' }",
      ],
    );
    const note = fc.constantFrom("", " # note", "\t# \"quoted\" = 'x' [t]");
    const pair = fc
      .tuple(fc.constantFrom("", "  ", "\t"), key, fc.constantFrom(" = ", "=", "  =\t"), value, note)
      .map((parts) => parts.join(""));
    const blank = fc.constantFrom("", "# comment = 1", "  # [cloud]");
    const dotted = fc.constantFrom(
      "cloud.enabled = false # d",
      'cloud.upload . preset="full"',
      "cloud.upload.per_project.web.upload = true",
      "cloud = { enabled = true, upload = { preset = 'full', per_project = {} } } # i",
      "upload = { preset = 'full' }",
    );
    const header = fc.constantFrom(
      ...["[cloud]", "[cloud.upload]", '[ cloud . "upload" ]', "[cloud.bodies]", "[proxy]", "[pricing]"],
      ...["[[pricing.operator]]", "[pricing.operator.cloud]", "[cloud.upload.per_project]"],
      ...["[cloud.upload.per_project.web]", '[cloud.upload.per_project."a/b"]'],
    );
    const section = fc
      .tuple(header, note, fc.array(fc.oneof(pair, pair, blank, dotted), { maxLength: 4 }))
      .map(([name, behind, lines]) => [name + behind, ...lines]);
    return fc
      .tuple(
        fc.constantFrom("\n", "\r\n"),
        fc.boolean(),
        fc.array(fc.oneof(pair, blank, dotted), { maxLength: 3 }),
        fc.array(section, { maxLength: 5 }),
      )
      .map(([newline, ended, top, sections]) =>
        ([...top, ...sections.flat()].join("\n") + (ended ? "\n" : "")).replaceAll("\n", newline),
      )
      .filter((text) => read(text) !== null);
  })();

  function read(text: string): TomlTable | null {
    try {
      return parse(text);
    } catch {
      return null;
    }
  }

  const change = fc.constantFrom<[string[], TomlScalar]>(
    [["cloud", "enabled"], true],
    [["cloud", "base_url"], "https://x"],
    [["cloud", "upload", "preset"], "minimal"],
    [["cloud", "upload", "path"], false],
    [["cloud", "upload", "per_project", "web", "upload"], false],
    [["cloud", "upload", "per_project", "x:y/z.w", "upload"], false],
    [["cloud", "bodies", "enabled"], true],
    [["pricing", "auto_pull"], true],
    [["enabled"], 7],
  );

  // Seen to fail with each of these bugs planted: new lines that end in LF whatever the file does, a dotted key that
  // loses its first names, comments whose brackets are read.
  it("changes one value or adds one key, and keeps every other byte", () => {
    let placed = 0;
    fc.assert(
      fc.property(texts, change, (text, [path, value]) => {
        const edit = editToml(text, path, value);
        const expected = read(text) as TomlTable;
        let table: Record<string, unknown> | null = expected;
        for (const name of path.slice(0, -1)) {
          const inner: unknown = table[name] ?? Object.create(null);
          if (typeof inner !== "object" || Array.isArray(inner) || inner instanceof Date) {
            assert.deepEqual(edit, { ok: false, reason: "no_place" });
            return;
          }
          table[name] = inner;
          table = inner as Record<string, unknown>;
        }
        const last = path.at(-1) as string;
        const existed = Object.hasOwn(table, last);
        const old = table[last];
        table[last] = value;
        assert.ok(edit.ok, "there is room for it");
        assert.deepEqual(read(edit.text), expected);
        placed += 1;

        if (text.includes("\r\n")) assert.doesNotMatch(edit.text, /(?<!\r)\n/);
        let head = 0;
        while (head < text.length && text[head] === edit.text[head]) head += 1;
        let tail = 0;
        const room = Math.min(text.length, edit.text.length) - head;
        while (tail < room && text.at(-1 - tail) === edit.text.at(-1 - tail)) tail += 1;
        const removed = text.slice(head, text.length - tail);
        if (!existed) assert.equal(removed, "");
        else if (typeof old !== "object" && !/\n/.test(String(old))) assert.doesNotMatch(removed, /[\n#]/);
      }),
      { numRuns: 1000 },
    );
    assert.ok(placed > 500, `only ${placed} edits were placed`);
  });
});

describe("appendTomlTable()", () => {
  const table = { host: 'a"b', port: 1, api: ["x", "y"] };
  const lines = ["[[t]]", 'host = "a\\"b"', "port = 1", 'api = ["x", "y"]', ""];

  it("appends the table with the line ends of the text", () => {
    for (const [text, gap] of [
      ["", ""],
      ["a = 1", "\n\n"],
      ["a = 1 # one\r\n", "\r\n"],
      ["[[t]]\nhost = 'x'\n", "\n"],
      ["[b]\n  c = { t = 1 }\n\n", "\n"],
    ] as const)
      assert.deepEqual(appendTomlTable(text, "t", table), {
        ok: true,
        text: `${text}${gap}${lines.join(text.includes("\r\n") ? "\r\n" : "\n")}`,
      });
  });

  it("rejects a text in which the name has another meaning, or that is not TOML", () => {
    for (const text of ["t = 1", "[t]\n", "t = [{ host = 'x' }]", "[t.b]\n"])
      assert.deepEqual(appendTomlTable(text, "t", table), { ok: false, reason: "no_place" });
    assert.deepEqual(appendTomlTable("a =", "t", table), { ok: false, reason: "not_toml" });
  });
});
