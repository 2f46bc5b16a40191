import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { nodePreloadScript, writeNodePreload } from "../../../cli/install/node-preload.ts";
import { createNoProxyMatcher } from "../../../core/values/text/no-proxy.ts";
import { noProxyCases } from "../../core/values/text/no-proxy-cases.rig.ts";

/** The Node versions on this machine, oldest first if one of them does not support proxy variables. */
const nodes = ["/usr/bin/node", "/usr/local/bin/node", process.execPath].filter(
  (path) => spawnSync(path, ["--version"]).status === 0,
);

describe("writeNodePreload()", () => {
  it("adds the script to the caller's options, and leaves an equal one in place", (context) => {
    const home = mkdtempSync(join(tmpdir(), "meter-preload-"));
    context.after(() => rmSync(home, { recursive: true }));
    const path = join(home, "node-preload.cjs");
    assert.equal(writeNodePreload(home, "--no-warnings"), `--no-warnings --require="${path}"`);
    const { ino } = statSync(path);
    writeNodePreload(home, undefined);
    assert.equal(statSync(path).ino, ino);
    writeFileSync(path, "an earlier version");
    writeNodePreload(home, undefined);
    assert.equal(readFileSync(path, "utf8"), nodePreloadScript());
  });
});

describe("nodePreloadScript()", () => {
  it("does nothing without a proxy", () => {
    for (const node of nodes)
      assert.equal(execFileSync(node, ["-e", nodePreloadScript()], { env: {}, encoding: "utf8" }), "");
  });

  // The last argument of the script is the function that reads NO_PROXY. Any name that it lacks would be an error here.
  const matcher = /\}\)(\(\(\(\) => \{[\s\S]*\}\)\(\)\));\n$/.exec(nodePreloadScript())?.[1];
  for (const node of nodes) {
    it(`reads NO_PROXY as the proxy does, in ${node}`, () => {
      const cases = noProxyCases.filter(([, , port]) => port !== null);
      const script = `const create = ${matcher};
        const cases = JSON.parse(process.argv[1]);
        console.log(JSON.stringify(cases.map(([entry, host, port]) => create({ NO_PROXY: entry })(host, port))));`;
      const said = execFileSync(node, ["-e", script, JSON.stringify(cases)], { env: {}, encoding: "utf8" });
      assert.deepEqual(
        JSON.parse(said),
        cases.map(([entry, host, port]) => createNoProxyMatcher({ NO_PROXY: entry })(host, port as number)),
      );
    });
  }
});
