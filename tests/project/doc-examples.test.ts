import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { publicEntries } from "../../tools/public-entries.ts";
import { readSource, root } from "./source-files.rig.ts";

/** The examples in a file's doc comments, as programs whose relative imports resolve in the tree. */
function examplesOf(file: string): string[] {
  const comments = readSource(file).match(/\/\*\*[\s\S]*?\*\//g) ?? [];
  return comments.flatMap((comment) =>
    [...comment.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, example]) =>
      (example as string).replaceAll(/^ *\* ?/gm, "").replaceAll(/from "(\.[^"]+)"/g, (_, path: string) => {
        const beside = new URL(path, pathToFileURL(root + file));
        const url = existsSync(fileURLToPath(beside)) ? beside : new URL(path, pathToFileURL(root));
        return `from ${JSON.stringify(url.href)}`;
      }),
    ),
  );
}

const folder = mkdtempSync(join(tmpdir(), "meter-examples-"));
after(() => rmSync(folder, { recursive: true, force: true }));

describe("the example in README.md", () => {
  it("runs, and prints what it states", async () => {
    const [, example = ""] = /```ts\n([\s\S]*?)```/.exec(readSource("README.md")) ?? [];
    const local = example.replaceAll(/"@llm-meter\/(core\/[^"]+)"/g, (_, entry: string) =>
      JSON.stringify(new URL(publicEntries()[`./${entry}`] as string, pathToFileURL(root)).href),
    );
    const path = join(folder, "readme.ts");
    writeFileSync(path, local);
    const { log } = console;
    const said: unknown[][] = [];
    console.log = (...words) => said.push(words);
    try {
      await import(pathToFileURL(path).href);
    } finally {
      console.log = log;
    }
    assert.deepEqual(said, [[200, "$0.000675"]]);
    assert.match(example, /\/\/ 200 \$0\.000675\n$/);
  });
});

const modules = Object.values(publicEntries()).map((source) => source.slice(2));

describe("the example in the docs of", () => {
  for (const [number, file] of modules.entries()) {
    it(`${file} runs`, async () => {
      const examples = examplesOf(file);
      assert.ok(examples.length > 0, "there is none");
      const { log } = console;
      console.log = () => {};
      try {
        for (const [index, example] of examples.entries()) {
          const path = join(folder, `${number}-${index}.ts`);
          writeFileSync(path, example);
          await import(pathToFileURL(path).href);
        }
      } finally {
        console.log = log;
      }
    });
  }
});
