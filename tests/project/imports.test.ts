import assert from "node:assert/strict";
import { posix } from "node:path";
import { describe, it } from "node:test";
import { importsOf, readSource, sourceFiles } from "./source-files.ts";

/** What each folder may import: other folders of the tree, and packages. */
const rules: Record<string, { folders: readonly string[]; packages: readonly string[] | "any" }> = {
  core: { folders: ["core"], packages: ["valibot"] },
  adapters: { folders: ["core", "adapters"], packages: "any" },
  daemon: { folders: ["core", "daemon"], packages: ["hono", "kysely", "valibot"] },
  cloud: { folders: ["core", "cloud"], packages: ["hono", "kysely", "valibot"] },
};

/** Exceptions, each with its reason. One that is no longer used fails the test. */
const allowances: readonly { files: RegExp; module: string; reason: string }[] = [
  ...["node:net", "node:tls", "node:dns", "node:os", "node:worker_threads", "node:crypto"].map((module) => ({
    files: /^daemon\/proxy\//,
    module,
    reason: "the relay is sockets, TLS and a thread: a port in between would only cost time",
  })),
  {
    files: /^cloud\/api\/open-api\.ts$/,
    module: "@valibot/to-json-schema",
    reason: "the OpenAPI document is made of the wire's own schemas",
  },
  {
    files: /^daemon\/proxy\/proxy-worker\.ts$/,
    module: "adapters/certificates",
    reason: "a worker thread gets plain data, so it composes itself",
  },
];

function packageName(specifier: string): string {
  if (specifier.startsWith("node:")) return specifier;
  const parts = specifier.split("/");
  return specifier.startsWith("@") ? `${parts[0]}/${parts[1]}` : (parts[0] as string);
}

function offences(): { wrong: string[]; used: Set<number> } {
  const wrong: string[] = [];
  const used = new Set<number>();
  for (const [folder, rule] of Object.entries(rules)) {
    for (const file of sourceFiles(folder)) {
      for (const specifier of importsOf(readSource(file))) {
        const relative = specifier.startsWith(".");
        const target = relative ? posix.join(posix.dirname(file), specifier) : packageName(specifier);
        const fine = relative
          ? rule.folders.includes(target.split("/")[0] as string)
          : rule.packages === "any" || rule.packages.includes(target);
        if (fine) continue;
        const allowance = allowances.findIndex(
          (candidate) => candidate.files.test(file) && target.startsWith(candidate.module),
        );
        if (allowance === -1) wrong.push(`${file} imports ${specifier}`);
        else used.add(allowance);
      }
    }
  }
  return { wrong, used };
}

describe("imports", () => {
  const { wrong, used } = offences();

  it("go only in the allowed direction", () => {
    assert.deepEqual(wrong, []);
  });

  it("use every allowance", () => {
    assert.deepEqual(
      allowances.filter((_, index) => !used.has(index)),
      [],
    );
  });

  it("of relative modules end in .ts", () => {
    const bare = ["core", "adapters", "daemon", "cloud", "cli"].flatMap((folder) =>
      sourceFiles(folder).flatMap((file) =>
        importsOf(readSource(file))
          .filter((specifier) => specifier.startsWith(".") && !specifier.endsWith(".ts"))
          .map((specifier) => `${file} imports ${specifier}`),
      ),
    );
    assert.deepEqual(bare, []);
  });
});

describe("importsOf()", () => {
  it("sees static, type-only, side-effect, re-exported and dynamic imports, and no comments", () => {
    const source = [
      'import a from "one";',
      'import type { B } from "./two.ts";',
      'import "three";',
      'export { c } from "./four.ts";',
      'export * from "./five.ts";',
      'const d = await import("six");',
      'import {\n  e,\n  f,\n} from "seven";',
      '// import g from "eight";',
      '/* import h from "nine"; */',
    ].join("\n");
    assert.deepEqual(importsOf(source), [
      "one",
      "./two.ts",
      "three",
      "./four.ts",
      "./five.ts",
      "six",
      "seven",
    ]);
  });
});
