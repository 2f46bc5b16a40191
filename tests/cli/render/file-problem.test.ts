import assert from "node:assert/strict";
import { open, readFile, rename } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { describeFileProblem } from "../../../cli/render/file-problem.ts";

const absent = join(tmpdir(), "meter-absent-folder", "it's, absent");

async function causeOf(work: () => Promise<unknown>): Promise<unknown> {
  try {
    await work();
  } catch (cause) {
    return cause;
  }
  throw new TypeError("The call did not fail");
}

describe("describeFileProblem()", () => {
  const calls: [name: string, call: () => Promise<unknown>, problem: string][] = [
    ["open", () => open(absent), "no such file or directory"],
    ["rename", () => rename(absent, `${absent} 2`), "no such file or directory"],
    ["read of a folder", () => readFile(tmpdir()), "illegal operation on a directory"],
  ];
  for (const [name, call, problem] of calls)
    it(`leaves out the code, the call and the path: ${name}`, async () => {
      assert.equal(describeFileProblem(await causeOf(call)), problem);
    });

  it("returns any other message as it is", () => {
    assert.equal(describeFileProblem(new Error("E1: no")), "E1: no");
    assert.equal(describeFileProblem("line 3 is not CSV"), "line 3 is not CSV");
  });
});
