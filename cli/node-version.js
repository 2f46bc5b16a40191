// No syntax here that an old Node lacks.
import { existsSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";

const [major, minor] = process.versions.node.split(".").map(Number);

/**
 * Whether the program can run on this Node. On one too old a checkout's goes on, on the Node that the checkout brings;
 * elsewhere it is told what is needed.
 */
export async function isNodeNewEnough(name, programUrl) {
  if (major > 22 || (major === 22 && minor >= 19)) return true;
  const ownNode = new URL("../tools/own-node.js", import.meta.url);
  if (existsSync(ownNode) && (await import(ownNode.href)).runOnOwnNode(fileURLToPath(programUrl)))
    return false;
  process.stderr.write(
    `${name} needs Node 22.19 or newer, and this is ${process.version}. In a checkout, "npm ci" brings one.\n`,
  );
  process.exitCode = 1;
  return false;
}
