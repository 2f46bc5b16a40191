/**
 * Writes the bytes and expectations of the conformance suite from `tests/conformance/sources/`:
 * `node tools/make-conformance.ts`. What the sources no longer have is removed.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { ALL_CASES } from "../tests/conformance/sources/all.ts";

const folder = fileURLToPath(new URL("../tests/conformance/cases/", import.meta.url));

const wanted = new Set<string>();
for (const { folder: api, name, request, response, expected } of ALL_CASES) {
  const path = `${api}/${name}`;
  if (wanted.has(path)) throw new RangeError(`two cases have the same name: ${path}`);
  wanted.add(path);
  mkdirSync(`${folder}${path}`, { recursive: true });
  write(`${path}/request.http`, request);
  write(`${path}/response.http`, response);
  write(`${path}/expected.json`, new TextEncoder().encode(`${JSON.stringify(expected, null, 2)}\n`));
}
for (const api of readdirSync(folder)) {
  for (const name of readdirSync(`${folder}${api}`)) {
    // The fuzzer's findings are kept as they were found.
    if (api !== "fuzz" && !wanted.has(`${api}/${name}`))
      rmSync(`${folder}${api}/${name}`, { recursive: true });
  }
}
console.log(`${wanted.size} cases in ${folder}`);

/** Touches a file only where its bytes change. */
function write(path: string, bytes: Uint8Array): void {
  const file = `${folder}${path}`;
  if (existsSync(file) && Buffer.compare(readFileSync(file), bytes) === 0) return;
  writeFileSync(file, bytes);
}
