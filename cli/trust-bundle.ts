import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { loadRootCertificates, readPemBundle } from "../adapters/certificates/mod.ts";
import { writeFileAtomic } from "../adapters/files/mod.ts";

/**
 * Writes the roots that a program behind the meter needs into one file and returns its path: the system's, those of
 * the files that the caller's variables named, and ours. The name follows the content, so that a program which holds
 * an earlier bundle keeps it. Without `write` it says the path alone.
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
  const roots = new Set(loadRootCertificates(null).map((root) => root.trim()));
  for (const root of trustedFiles.flatMap(inFile)) roots.add(root);
  // Ours stand last, whether the system's list has come to hold them or not: the name stays the same then.
  for (const root of own) roots.delete(root);
  const text = `${[...roots, ...own].join("\n")}\n`;
  const name = createHash("sha256").update(text).digest("hex").slice(0, 12);
  const path = join(folder, `bundle-${name}.pem`);
  if (write && !existsSync(path)) writeFileAtomic(path, text, { mode: 0o644 });
  return path;
}
