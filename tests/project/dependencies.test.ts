import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createSbom } from "../../tools/sbom.ts";
import { readSource, root, sourceFiles } from "./source-files.rig.ts";

const manifest = JSON.parse(readSource("package.json"));

/** The packages that tools/build.ts copies into the package. */
const vendored: string[] = JSON.parse(
  /const VENDORED = (\[.*?\])/.exec(readSource("tools/build.ts"))?.[1] ?? "null",
);

const lockfiles = [
  "package-lock.json",
  "tools/build/package-lock.json",
  "tools/checks/package-lock.json",
  "tools/deploy/package-lock.json",
  "tools/formats/package-lock.json",
  "examples/demo/package-lock.json",
];

interface Locked {
  readonly license?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly hasInstallScript?: boolean;
}

const locked = (file: string): [string, Locked][] =>
  Object.entries<Locked>(JSON.parse(readSource(file)).packages).filter(([path]) =>
    path.includes("node_modules/"),
  );

/** The rows of docs/dependencies.md: package, licence, and how many packages it brings. */
const rows = [
  ...readSource("docs/dependencies.md").matchAll(/^\| (\S+) \| (\S+) \| [\d.]+ [kM]B \| (\d+) \| \S.* \|$/gm),
].map(([, name, licence, brings]) => [name as string, licence as string, Number(brings)] as const);

/** The rows of its table of packages that one file imports. */
const singleFiles = [...readSource("docs/dependencies.md").matchAll(/^\| (\S+) \| `(\S+\.ts)` \|$/gm)].map(
  ([, name, file]) => [name as string, file as string] as const,
);

describe("docs/dependencies.md", () => {
  it("has each package that the meter may load, with the licence of the lockfile", () => {
    const names = [
      ...Object.keys(manifest.dependencies),
      ...Object.keys(manifest.peerDependencies),
      ...vendored,
    ];
    assert.ok(vendored.length > 0);
    assert.deepEqual(rows.map(([name]) => name).toSorted(), names.toSorted());
    const licences = new Map(locked("package-lock.json").map(([path, { license }]) => [path, license]));
    for (const [name, licence] of rows) assert.equal(licence, licences.get(`node_modules/${name}`), name);
  });

  it("says how many packages each of them brings", () => {
    const { components, dependencies } = JSON.parse(createSbom({ root, vendored }));
    const needs = new Map<string, string[]>(
      dependencies.map((each: { ref: string; dependsOn: string[] }) => [each.ref, each.dependsOn]),
    );
    const reach = (ref: string, found: Set<string>): Set<string> => {
      for (const needed of needs.get(ref) ?? []) if (!found.has(needed)) reach(needed, found.add(needed));
      return found;
    };
    const refs = new Map<string, string>(
      components.map((each: { name: string; purl: string }) => [each.name, each.purl]),
    );
    const brought = (name: string) => reach(refs.get(name) as string, new Set()).size;
    assert.deepEqual(
      rows.map(([name, , brings]) => [name, brings]),
      rows.map(([name]) => [name, brought(name)]),
    );
  });

  it("names the file of each package that only one file imports", () => {
    const sources = ["core", "adapters", "daemon", "cloud", "pages", "cli"].flatMap(sourceFiles);
    assert.ok(singleFiles.length > 0);
    for (const [name, file] of singleFiles) {
      const imported = new RegExp(`(?:from|import\\() ?"${name}["/]`);
      assert.deepEqual(
        sources.filter((each) => imported.test(readSource(each))),
        [file],
        name,
      );
    }
  });
});

describe("the lockfiles", () => {
  it("hold the hash of each package", () => {
    for (const file of lockfiles)
      for (const [path, { integrity, link }] of locked(file))
        assert.ok(link === true || integrity?.startsWith("sha512-"), `${file}: ${path}`);
  });

  it("are installed without a script of our own: npm would ask people to review it", () => {
    const { scripts } = JSON.parse(readSource("package.json"));
    const installing = ["preinstall", "install", "postinstall", "preprepare", "prepare", "postprepare"];
    assert.deepEqual(
      installing.filter((name) => name in scripts),
      [],
    );
  });

  it("have no package that runs a script at installation, except one of the demo, which is installed without scripts", () => {
    const scripts = lockfiles.flatMap((file) =>
      locked(file).flatMap(([path, { hasInstallScript }]) => (hasInstallScript ? [`${file}: ${path}`] : [])),
    );
    assert.deepEqual(scripts, ["examples/demo/package-lock.json: node_modules/protobufjs"]);
    assert.match(readSource("tools/packages.ts"), /"ci", "--ignore-scripts"/);
  });
});

describe("createSbom()", () => {
  const text = createSbom({ root, vendored });
  const sbom = JSON.parse(text);

  it("has each package that an installation may load once, with its licence and the hash of its archive", () => {
    const refs: string[] = sbom.components.map((each: { purl: string }) => each.purl);
    assert.deepEqual(refs, [...new Set(refs)].toSorted());
    for (const [name] of rows)
      assert.ok(
        sbom.components.some((each: { name: string }) => each.name === name),
        name,
      );
    const scopes = new Map(
      sbom.components.map((each: { name: string; scope: string }) => [each.name, each.scope]),
    );
    assert.deepEqual(
      ["valibot", "typanion", "gpt-tokenizer", "better-auth", "zod"].map((name) => scopes.get(name)),
      ["required", "required", "required", "optional", "optional"],
    );
    for (const { hashes, licenses } of sbom.components) {
      assert.match(hashes[0].content, /^[0-9a-f]{128}$/);
      assert.ok(
        ["MIT", "MIT-0", "Apache-2.0", "BSD-3-Clause", "Unlicense", "0BSD"].includes(licenses[0].license.id),
      );
    }
  });

  it("names only components as dependencies, and is the same each time", () => {
    const refs = new Set(sbom.components.map((each: { purl: string }) => each.purl));
    for (const { dependsOn } of sbom.dependencies) for (const ref of dependsOn) assert.ok(refs.has(ref), ref);
    assert.equal(sbom.dependencies.length, sbom.components.length + 1);
    assert.match(
      sbom.serialNumber,
      /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
    assert.equal(createSbom({ root, vendored }), text);
  });
});
