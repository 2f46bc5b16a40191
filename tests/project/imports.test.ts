import assert from "node:assert/strict";
import { posix } from "node:path";
import { describe, it } from "node:test";
import { importsOf, readSource, sourceFiles } from "./source-files.rig.ts";

/** What each folder may import: other folders of the tree, and packages. */
const rules: Record<string, { folders: readonly string[]; packages: readonly string[] | "any" }> = {
  core: { folders: ["core"], packages: ["valibot"] },
  adapters: { folders: ["core", "adapters"], packages: "any" },
  pages: { folders: ["core", "pages"], packages: ["hono"] },
  daemon: { folders: ["core", "pages", "daemon"], packages: ["hono", "kysely", "valibot"] },
  cloud: { folders: ["core", "pages", "cloud"], packages: ["hono", "kysely", "valibot"] },
};

/** What each room of the core may import besides itself. The rooms are in order of their floors, so there is no cycle. */
const coreRooms: Record<string, readonly string[]> = {
  values: [],
  wire: ["values"],
  ports: ["values", "wire"],
  pricing: ["values", "wire"],
  privacy: ["values", "wire", "pricing"],
  metering: ["values", "wire", "ports", "pricing", "privacy"],
  budgets: ["values", "pricing", "metering"],
  delivery: ["values", "wire", "ports"],
  operations: ["values", "wire", "pricing", "privacy", "metering", "budgets", "delivery"],
};

/** What each room of the CLI may import besides itself. The rooms are in order of their floors, so there is no cycle. */
const cliRooms: Record<string, readonly string[]> = {
  render: [],
  program: ["render"],
  home: ["program", "render"],
  daemon: ["program", "home"],
  install: ["program", "home", "daemon"],
  cloud: ["program", "home", "daemon"],
  records: ["program", "home", "daemon"],
  commands: ["render", "program", "home", "daemon", "install", "cloud", "records"],
  "meter-cloud": ["render", "program"],
};

/** Exceptions, each with its reason. One that is no longer used fails the test. */
const allowances: readonly { files: RegExp; module: string; reason: string }[] = [
  ...[
    "node:net",
    "node:tls",
    "node:dns",
    "node:os",
    "node:worker_threads",
    "node:crypto",
    "node:process",
  ].map((module) => ({
    files: /^daemon\/proxy\//,
    module,
    reason: "the relay is sockets, TLS and a thread or process: a port in between would only cost time",
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
  {
    files: /^daemon\/proxy\/proxy-worker\.ts$/,
    module: "adapters/content-decoder",
    reason: "a worker thread gets plain data, so it composes itself",
  },
  {
    files: /^daemon\/proxy\/proxy-worker\.ts$/,
    module: "adapters/process-table",
    reason: "a worker thread gets plain data, so it composes itself",
  },
  {
    files: /^daemon\/proxy\/proxy-worker\.ts$/,
    module: "adapters/threads",
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

/** The files that a file imports by a relative path, from the root of the checkout. */
const relativeImportsOf = (file: string) =>
  importsOf(readSource(file))
    .filter((specifier) => specifier.startsWith("."))
    .map((specifier) => posix.join(posix.dirname(file), specifier));

/** Which room of a folder imports which, as `from -> to`. Files at the folder's root may import every room. */
function arrowsIn(folder: string): string[] {
  const roomOf = (path: string) => path.split("/")[1] as string;
  const arrows = new Set<string>();
  for (const file of sourceFiles(folder).filter((each) => each.split("/").length > 2)) {
    for (const target of relativeImportsOf(file).filter((each) => each.startsWith(`${folder}/`)))
      if (roomOf(target) !== roomOf(file)) arrows.add(`${roomOf(file)} -> ${roomOf(target)}`);
  }
  return [...arrows].sort();
}

/** Finds the groups of files that import each other, directly or through other files: Tarjan's strongly connected components. */
function circlesIn(files: readonly string[]): string[][] {
  const imports = new Map(files.map((file) => [file, relativeImportsOf(file)]));
  const order = new Map<string, number>();
  const stack: string[] = [];
  const circles: string[][] = [];
  /** Returns the earliest file on the stack that a file leads to, by its number. */
  const visit = (file: string): number => {
    const number = order.size;
    order.set(file, number);
    stack.push(file);
    let earliest = number;
    for (const target of imports.get(file) ?? []) {
      if (target === file) circles.push([file]);
      if (!order.has(target) && imports.has(target)) earliest = Math.min(earliest, visit(target));
      else if (stack.includes(target)) earliest = Math.min(earliest, order.get(target) as number);
    }
    if (earliest === number) {
      const circle = stack.splice(stack.indexOf(file));
      if (circle.length > 1) circles.push(circle.sort());
    }
    return earliest;
  };
  for (const file of files) if (!order.has(file)) visit(file);
  return circles;
}

describe("imports", () => {
  const { wrong, used } = offences();

  it("go only in the allowed direction", () => {
    assert.deepEqual(wrong, []);
  });

  for (const [folder, rooms] of Object.entries({ core: coreRooms, cli: cliRooms })) {
    it(`of ${folder}/ lead from each room to the floors below it`, () => {
      assert.deepEqual(
        arrowsIn(folder),
        Object.entries(rooms)
          .flatMap(([room, below]) => below.map((each) => `${room} -> ${each}`))
          .sort(),
      );
      const floors = Object.keys(rooms);
      for (const [at, below] of Object.values(rooms).entries())
        assert.ok(below.every((room) => floors.indexOf(room) < at));
    });
  }

  it("of a command's folder come from that folder or the table of commands", () => {
    const commandOf = (path: string) => /^cli\/commands\/(?:cloud\/)?[^/]+\//.exec(path)?.[0];
    // `run-import.ts` runs a command as a part of others.
    const tables = [
      "cli/commands/commands-for.ts",
      "cli/commands/cloud/mod.ts",
      "cli/commands/run-import.ts",
    ];
    const wrong = sourceFiles("cli")
      .filter((file) => !tables.includes(file))
      .flatMap((file) =>
        relativeImportsOf(file)
          .filter((target) => commandOf(target) !== undefined && commandOf(target) !== commandOf(file))
          .map((target) => `${file} imports ${target}`),
      );
    assert.deepEqual(wrong, []);
  });

  it("of the API's routes and client reach no handler, store or server", () => {
    const outside = sourceFiles("cloud/api").flatMap((file) =>
      importsOf(readSource(file))
        .filter((specifier) => specifier.startsWith("."))
        .map((specifier) => posix.join(posix.dirname(file), specifier))
        .filter((target) => !/^(?:cloud\/api|core)\//.test(target)),
    );
    assert.deepEqual(outside, []);
  });

  it("of the store's port reach no SQLite code", () => {
    const outside = sourceFiles("daemon/store/port").flatMap((file) =>
      relativeImportsOf(file).filter((target) => !/^(?:core|daemon\/store\/port)\//.test(target)),
    );
    assert.deepEqual(outside, []);
  });

  it("within the product name the declaring file, not a public entry", () => {
    const throughEntries = [...Object.keys(rules), "cli"]
      .flatMap(sourceFiles)
      .filter(
        (file) =>
          !file.endsWith("/mod.ts") &&
          /^import [^;]* from "(?!\.\/commands\/)\.[^"]*\/mod\.ts";/m.test(readSource(file)),
      );
    assert.deepEqual(throughEntries, []);
  });

  it("lead from no file back to itself, types included", () => {
    assert.deepEqual(circlesIn([...Object.keys(rules), "cli", "tools"].flatMap(sourceFiles)), []);
  });

  it("use every allowance", () => {
    assert.deepEqual(
      allowances.filter((_, index) => !used.has(index)),
      [],
    );
  });

  it("of relative modules end in .ts", () => {
    const bare = ["core", "adapters", "daemon", "cloud", "pages", "cli"].flatMap((folder) =>
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
