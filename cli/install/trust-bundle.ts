import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { loadSystemRoots, readPemBundle } from "../../adapters/certificates/root-certificates.ts";
import { writeFileAtomic } from "../../adapters/files/write-file-atomic.ts";

/**
 * Writes the roots that a metered program needs into one file and returns its path: the system's, those in the files that
 * the caller's variables name, and ours. The file name is a hash of the content, so programs that use an earlier bundle keep
 * it. With `write` unset, only returns the path.
 */
export function bundleFor(
  folder: string,
  caFile: string,
  trustedFiles: readonly string[],
  { write = true }: { readonly write?: boolean } = {},
): string {
  const inFile = (file: string) =>
    existsSync(file) ? readPemBundle(readFileSync(file, "utf8"), file).map((root) => root.trim()) : [];
  const own = inFile(caFile);
  const roots = new Set(loadSystemRoots().map((root) => root.trim()));
  // Several variables often name one file, and each certificate is parsed.
  for (const root of [...new Set(trustedFiles)].flatMap(inFile)) roots.add(root);
  // Ours come last whether or not the system's list contains them, so that the name does not change.
  for (const root of own) roots.delete(root);
  const text = `${[...roots, ...own].join("\n")}\n`;
  const name = createHash("sha256").update(text).digest("hex").slice(0, 12);
  const path = join(folder, `bundle-${name}.pem`);
  if (write && !existsSync(path)) writeFileAtomic(path, text, { mode: 0o644 });
  return path;
}
