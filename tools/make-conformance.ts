/**
 * Writes the case files of the conformance suite from `tests/conformance/sources/`, one per API: `npm run
 * conformance:make`. A file whose API has no source is deleted.
 */
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { CaseFile, PackedCase } from "../tests/conformance/case-format.ts";
import { packBytes } from "../tests/conformance/packed-bytes.ts";
import { ALL_CASES } from "../tests/conformance/sources/all.ts";

const folder = fileURLToPath(new URL("../tests/conformance/cases/", import.meta.url));
/** Inputs found by the fuzzer. They have no source. */
const FUZZ_FILE = "fuzz.json";

const files = new Map<string, PackedCase[]>();
for (const { folder: api, name, request, response, expected } of ALL_CASES) {
  const cases = files.get(`${api}.json`) ?? [];
  if (cases.some((other) => other.name === name))
    throw new RangeError(`two cases have the same name: ${api}/${name}`);
  cases.push({ name, expected, request: packBytes(request), response: packBytes(response) });
  files.set(`${api}.json`, cases);
}

for (const [file, cases] of files) {
  const content: CaseFile = { cases: cases.toSorted((a, b) => (a.name < b.name ? -1 : 1)) };
  writeFileSync(`${folder}${file}`, `${JSON.stringify(content, null, 2)}\n`);
}
for (const file of readdirSync(folder))
  if (file !== FUZZ_FILE && !files.has(file)) rmSync(`${folder}${file}`, { recursive: true });

console.log(`${ALL_CASES.length} cases in ${files.size} files of ${folder}`);
