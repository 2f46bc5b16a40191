import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { CaseFile, ExpectedCase } from "./case-format.ts";
import { unpackBytes } from "./packed-bytes.ts";

const folder = fileURLToPath(new URL("./cases/", import.meta.url));

/** A case with its bytes. */
export interface ConformanceCase {
  /** `api/case`. */
  name: string;
  request: Uint8Array;
  response: Uint8Array;
  expected: ExpectedCase;
}

/** Reads every case, sorted by name within each API. */
export function loadCases(): ConformanceCase[] {
  return readdirSync(folder).sort().flatMap(loadFile);
}

function loadFile(file: string): ConformanceCase[] {
  const { cases } = JSON.parse(readFileSync(`${folder}${file}`, "utf8")) as CaseFile;
  return cases.map(({ name, expected, request, response }) => ({
    name: `${file.replace(/\.json$/, "")}/${name}`,
    request: unpackBytes(request),
    response: unpackBytes(response),
    expected,
  }));
}
