// This file must run on old versions of Node.
const [major, minor] = process.versions.node.split(".").map(Number);

/**
 * Whether this Node is new enough for the program. If it is not, runs the program on the Node in the checkout's
 * `node_modules`, or prints which version is needed.
 */
export async function isNodeNewEnough(name, programUrl) {
  if (major > 22 || (major === 22 && minor >= 19)) return true;
  const { existsSync } = await import("node:fs");
  const { fileURLToPath } = await import("node:url");
  const ownNode = new URL("../tools/own-node.js", import.meta.url);
  if (existsSync(ownNode) && (await import(ownNode.href)).runOnOwnNode(fileURLToPath(programUrl)))
    return false;
  process.stderr.write(
    `${name} needs Node 22.19 or newer, and this is ${process.version}.\nIn a checkout, install one: npm ci\n`,
  );
  process.exitCode = 1;
  return false;
}
