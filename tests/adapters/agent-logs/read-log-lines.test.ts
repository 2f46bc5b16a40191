import assert from "node:assert/strict";
import { appendFileSync, writeFileSync } from "node:fs";
import { describe, it } from "node:test";
import {
  type LinePosition,
  readLogDocument,
  readLogLines,
} from "../../../adapters/agent-logs/read-log-lines.ts";
import { inFolder } from "./in-folder.rig.ts";

interface Read {
  readonly isContinued: boolean;
  readonly lines: readonly string[];
  readonly end: LinePosition;
}

async function read(
  path: string,
  from: LinePosition | null = null,
  options: { needles?: string[]; maxLineBytes?: number } = {},
): Promise<Read> {
  const lines: string[] = [];
  let isContinued = false;
  const end = await readLogLines(path, { needles: [], from, ...options }, (continued) => {
    isContinued = continued;
    return {
      onLine: (text, line, isEnded) => void lines.push(`${line} ${text}${isEnded ? "" : " (open)"}`),
      onTooLong: (line) => void lines.push(`${line} too long`),
    };
  });
  return { isContinued, lines, end };
}

describe("readLogLines()", () => {
  it("reads lines that contain a needle, and counts all", async () => {
    await inFolder(async (folder) => {
      const path = folder.write("a.jsonl", '{"usage":1}\n{"text":"ü"}\n\n{"usage":2}\n');
      const { lines, end } = await read(path, null, { needles: ['"usage"', "other"] });
      assert.deepEqual(lines, ['1 {"usage":1}', '4 {"usage":2}']);
      assert.deepEqual([end.offset, end.line], [39, 4]);
    });
  });

  it("continues where it ended, and reads a last line again once it is complete", async () => {
    await inFolder(async (folder) => {
      const path = folder.write("a.jsonl", "one\ntw");
      const first = await read(path);
      assert.deepEqual(first.lines, ["1 one", "2 tw (open)"]);
      assert.deepEqual([first.end.offset, first.end.line], [4, 1]);
      appendFileSync(path, "o\nthree\n");
      const second = await read(path, first.end);
      assert.deepEqual([second.isContinued, second.lines], [true, ["2 two", "3 three"]]);
      assert.deepEqual((await read(path, second.end)).lines, []);
    });
  });

  it("starts again if the file is shorter, or has other bytes before the position", async () => {
    await inFolder(async (folder) => {
      const path = folder.write("a.jsonl", "one\ntwo\n");
      const { end } = await read(path);
      for (const text of ["one\n", "ONE\nTWO\nthree\n", "one\ntw0\nthree\n"]) {
        writeFileSync(path, text);
        const again = await read(path, end);
        assert.equal(again.isContinued, false);
        assert.equal(again.lines.length, text.split("\n").length - 1);
      }
    });
  });

  it("gives the same lines however long they are, and skips those beyond the bound", async () => {
    await inFolder(async (folder) => {
      const long = "x".repeat(700_000);
      const path = folder.write("a.jsonl", `a\n${long}\nb\n${"y".repeat(1_000_001)}\nc\n`);
      const { lines, end } = await read(path, null, { maxLineBytes: 1_000_000 });
      assert.deepEqual(lines, ["1 a", `2 ${long}`, "3 b", "4 too long", "5 c"]);
      assert.equal(end.line, 5);
    });
  });

  it("reads an empty file, and rejects for one that is missing or is a folder", async () => {
    await inFolder(async (folder) => {
      const { end, lines } = await read(folder.write("a.jsonl", ""));
      assert.deepEqual([end.offset, end.line, lines], [0, 0, []]);
      await assert.rejects(read(`${folder.path}/missing`), { code: "ENOENT" });
      await assert.rejects(read(folder.path), { code: "EISDIR" });
    });
  });
});

describe("readLogDocument()", () => {
  it("reads JSON, and reports a file that is not JSON or is too long", async () => {
    await inFolder(async (folder) => {
      const path = folder.write("a.json", '{"a":[1]}');
      assert.deepEqual(await readLogDocument(path), { value: { a: [1] } });
      assert.equal(await readLogDocument(path, 8), "too_long");
      assert.equal(await readLogDocument(folder.write("b.json", "{")), "unreadable");
      await assert.rejects(readLogDocument(`${folder.path}/missing`), { code: "ENOENT" });
    });
  });
});
