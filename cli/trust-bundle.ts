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
  const roots = new Set(loadRootCertificates(null));
  for (const file of [...trustedFiles, caFile]) {
    if (existsSync(file)) for (const root of readPemBundle(readFileSync(file, "utf8"), file)) roots.add(root);
  }
  const text = `${[...roots].map((root) => root.trim()).join("\n")}\n`;
  const name = createHash("sha256").update(text).digest("hex").slice(0, 12);
  const path = join(folder, `bundle-${name}.pem`);
  if (write && !existsSync(path)) writeFileAtomic(path, text, { mode: 0o644 });
  return path;
}
