import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { ExpectedCase } from "./case-format.ts";

const folder = fileURLToPath(new URL("./cases/", import.meta.url));

/** A case as it lies on disk. */
export interface ConformanceCase {
  /** `api/case`. */
  name: string;
  request: Uint8Array;
  response: Uint8Array;
  expected: ExpectedCase;
}

/** Reads every case, in the order of their names. */
export function loadCases(): ConformanceCase[] {
  return readdirSync(folder)
    .sort()
    .flatMap((api) =>
      readdirSync(`${folder}${api}`)
        .sort()
        .map((name) => loadCase(`${api}/${name}`)),
    );
}

function loadCase(name: string): ConformanceCase {
  const bytes = (file: string) => new Uint8Array(readFileSync(`${folder}${name}/${file}`));
  return {
    name,
    request: bytes("request.http"),
    response: bytes("response.http"),
    expected: JSON.parse(readFileSync(`${folder}${name}/expected.json`, "utf8")) as ExpectedCase,
  };
}
