import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** An entry of `packages` in package-lock.json. */
interface LockedPackage {
  readonly version?: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** What `createSbom()` reads. */
export interface SbomInput {
  /** The folder of the checkout. */
  readonly root: string;
  /** Packages whose files are copied into the package, so that npm does not install them. */
  readonly vendored: readonly string[];
}

/** A component of the SBOM: https://cyclonedx.org/docs/1.6/json/ */
interface Component {
  readonly type: "library";
  readonly "bom-ref": string;
  readonly name: string;
  readonly version: string;
  readonly scope: "required" | "optional";
  readonly purl: string;
  readonly licenses: readonly { readonly license: { readonly id: string } }[];
  readonly hashes: readonly { readonly alg: "SHA-512"; readonly content: string }[];
}

/**
 * Returns the software bill of materials of the package in CycloneDX 1.6: every package that an installation may load, with the
 * hash of its archive from package-lock.json. Optional peers and what they need have the scope `optional`. The text has
 * no time and no random number, so two builds are the same.
 */
export function createSbom({ root, vendored }: SbomInput): string {
  const read = (file: string) => JSON.parse(readFileSync(join(root, file), "utf8"));
  const manifest = read("package.json");
  const locked: Readonly<Record<string, LockedPackage>> = read("package-lock.json").packages;
  const required = reachable(locked, [...Object.keys(manifest.dependencies), ...vendored], vendored);
  const optional = reachable(locked, Object.keys(manifest.peerDependencies), vendored);
  const components = [...new Set([...required, ...optional])]
    .map((path) => toComponent(path, locked, required.has(path)))
    .sort((a, b) => (a.purl < b.purl ? -1 : 1));
  const own = `pkg:npm/${encodeURIComponent(manifest.name).replace("%2F", "/")}@${manifest.version}`;
  const direct = [
    ...Object.keys(manifest.dependencies),
    ...Object.keys(manifest.peerDependencies),
    ...vendored,
  ];
  const dependencies = [
    { ref: own, dependsOn: refsOf(locked, "", direct) },
    ...[...required, ...optional].map((path) => ({
      ref: refOf(path, locked),
      dependsOn: vendored.some((name) => path === `node_modules/${name}`)
        ? []
        : refsOf(locked, path, needs(locked[path])),
    })),
  ];
  const body = {
    metadata: {
      component: {
        type: "application",
        "bom-ref": own,
        name: manifest.name,
        version: manifest.version,
        purl: own,
        licenses: [{ license: { id: manifest.license } }],
      },
    },
    components,
    dependencies: [...new Map(dependencies.map((each) => [each.ref, each])).values()],
  };
  const id = createHash("sha256").update(JSON.stringify(body)).digest("hex");
  const sbom = {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    serialNumber: `urn:uuid:${toUuid(id)}`,
    version: 1,
    ...body,
  };
  return `${JSON.stringify(sbom, null, 2)}\n`;
}

/** Returns the paths in the lockfile of these packages and of all that they need. Only a vendored package itself counts, not its dependencies. */
function reachable(
  locked: Readonly<Record<string, LockedPackage>>,
  names: readonly string[],
  vendored: readonly string[],
): Set<string> {
  const found = new Set<string>();
  const visit = (from: string, name: string) => {
    const path = resolve(locked, from, name);
    if (path === null || found.has(path)) return;
    found.add(path);
    if (vendored.includes(name)) return;
    for (const needed of needs(locked[path])) visit(path, needed);
  };
  for (const name of names) visit("", name);
  return found;
}

function needs(entry: LockedPackage | undefined): string[] {
  return Object.keys({ ...entry?.dependencies, ...entry?.optionalDependencies });
}

/** Finds a package as Node does: in the folder of the package that needs it, else in each folder above. */
function resolve(locked: Readonly<Record<string, LockedPackage>>, from: string, name: string): string | null {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/node_modules/")))) {
    const path = `${folder === "" ? "" : `${folder}/`}node_modules/${name}`;
    if (path in locked) return path;
    if (folder === "") return null;
  }
}

function refsOf(
  locked: Readonly<Record<string, LockedPackage>>,
  from: string,
  names: readonly string[],
): string[] {
  const paths = names.map((name) => resolve(locked, from, name)).filter((path) => path !== null);
  return [...new Set(paths.map((path) => refOf(path, locked)))].sort();
}

function refOf(path: string, locked: Readonly<Record<string, LockedPackage>>): string {
  const name = path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
  return `pkg:npm/${name.replace("@", "%40")}@${locked[path]?.version}`;
}

function toComponent(
  path: string,
  locked: Readonly<Record<string, LockedPackage>>,
  isRequired: boolean,
): Component {
  const { version, license, integrity } = locked[path] as LockedPackage;
  if (version === undefined || license === undefined || !integrity?.startsWith("sha512-"))
    throw new Error(`${path} in package-lock.json has no version, no licence or no SHA-512 hash`);
  const purl = refOf(path, locked);
  return {
    type: "library",
    "bom-ref": purl,
    name: path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length),
    version,
    scope: isRequired ? "required" : "optional",
    purl,
    licenses: [{ license: { id: license } }],
    hashes: [{ alg: "SHA-512", content: Buffer.from(integrity.slice(7), "base64").toString("hex") }],
  };
}

/** Returns a hash as a UUID of version 8 (RFC 9562, section 5.8). */
function toUuid(hex: string): string {
  const variant = ((Number.parseInt(hex.slice(16, 18), 16) & 0x3f) | 0x80).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(18, 20)}-${hex.slice(20, 32)}`;
}
