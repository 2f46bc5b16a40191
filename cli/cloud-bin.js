#!/usr/bin/env node
// Starts the server's program: from the sources in a checkout, from `dist/` in an installed package.
import { existsSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";

const [major, minor] = process.versions.node.split(".").map(Number);
const isTooOld = major < 22 || (major === 22 && minor < 19);
// A checkout brings a Node of its own.
const ownNode = new URL("../tools/own-node.js", import.meta.url);
const goesOn =
  isTooOld &&
  existsSync(ownNode) &&
  (await import(ownNode.href)).runOnOwnNode(fileURLToPath(import.meta.url));

if (isTooOld && !goesOn) {
  process.stderr.write(
    `meter-cloud needs Node 22.19 or newer, and this is ${process.version}. In a checkout, "npm ci" brings one.\n`,
  );
  process.exitCode = 1;
} else if (!goesOn) {
  const source = new URL("./meter-cloud/main.ts", import.meta.url);
  const { main } = await import(existsSync(source) ? source.href : "../dist/cli/meter-cloud/main.js");
  process.exitCode = await main(process.argv.slice(2));
}
