import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  ATTRIBUTION_TIERS,
  type AttributionFacts,
  type AttributionRules,
  attributeCall,
} from "../../../core/attribution/mod.ts";
import { normaliseSlug } from "../../../core/slug/mod.ts";

const rules: AttributionRules = { defaultProject: "house", autoClassifyUnknownProcesses: true };

/** Facts in which each tier up to the working directory's name has something to say. */
const full: AttributionFacts = {
  headerProject: "Header",
  proxyUser: "Proxy",
  process: {
    pid: 7,
    processName: "node",
    commandLines: [["node"], ["code", "--folder-uri", "file:///home/u/ide"]],
    environmentProject: "Environment",
    cwd: "/home/u/ide/repo/cwd",
  },
  folders: {
    projectFile: { path: "/home/u/ide/repo/.meter.toml", project: "File" },
    bodyCaptureRefused: false,
    gitRoot: "/home/u/ide/repo",
  },
};

/** The same facts with the tiers before `tier` silent. */
function silentBefore(
  tier: string,
  facts: AttributionFacts = full,
  silence: string | null = null,
): AttributionFacts {
  const is = (name: string): boolean =>
    ATTRIBUTION_TIERS.indexOf(tier as never) > ATTRIBUTION_TIERS.indexOf(name as never);
  const process = facts.process;
  const folders = facts.folders;
  assert.ok(process !== null && folders !== null);
  return {
    headerProject: is("header") ? silence : facts.headerProject,
    proxyUser: is("proxy_user") ? silence : facts.proxyUser,
    process: {
      ...process,
      environmentProject: is("environment") ? silence : process.environmentProject,
      commandLines: is("ide_workspace") ? [["node"]] : process.commandLines,
      cwd: is("working_directory") ? null : process.cwd,
    },
    folders: {
      ...folders,
      projectFile: is("project_file") ? null : folders.projectFile,
      gitRoot: is("git_root") ? null : folders.gitRoot,
    },
  };
}

describe("attributeCall()", () => {
  const table: readonly [tier: string, project: string, runnerUp: string | null][] = [
    ["header", "header", "proxy_user"],
    ["proxy_user", "proxy", "environment"],
    ["environment", "environment", "project_file"],
    ["project_file", "file", "ide_workspace"],
    ["ide_workspace", "ide", "git_root"],
    ["git_root", "repo", "working_directory"],
    ["working_directory", "cwd", "default_project"],
    ["default_project", "house", null],
  ];
  for (const [tier, project, runnerUp] of table) {
    it(`gives ${tier} its turn when the tiers before it are silent`, () => {
      const result = attributeCall(silentBefore(tier), rules);
      assert.deepEqual(
        [result.tier, result.project, result.runnerUp?.tier ?? null],
        [tier, project, runnerUp],
      );
    });
  }

  it("lets a name of which nothing is left fall through", () => {
    for (const silence of ["", "---", "日本"]) {
      assert.equal(attributeCall(silentBefore("project_file", full, silence), rules).tier, "project_file");
    }
  });

  it("sends what it can't name to the default project when unknown processes are not classified", () => {
    const strict = { ...rules, autoClassifyUnknownProcesses: false };
    assert.deepEqual(attributeCall(silentBefore("working_directory"), strict), {
      project: "house",
      tier: "default_project",
      runnerUp: null,
    });
    assert.equal(attributeCall(silentBefore("git_root"), strict).tier, "git_root");
  });

  it("knows a default when nothing at all is known, and when the default is no name", () => {
    const facts: AttributionFacts = { headerProject: null, proxyUser: null, process: null, folders: null };
    assert.equal(attributeCall(facts, rules).project, "house");
    assert.equal(attributeCall(facts, { ...rules, defaultProject: "!!" }).project, "misc");
  });

  it("takes no name from a root directory", () => {
    for (const cwd of ["/", "C:\\", "C:/"]) {
      const process = { pid: 1, processName: null, commandLines: [], environmentProject: null, cwd };
      assert.equal(
        attributeCall({ headerProject: null, proxyUser: null, process, folders: null }, rules).tier,
        "default_project",
      );
    }
  });

  // Seen to fail with the empty name taken, and with environment and project file exchanged.
  it("always gives the slug of the strongest tier that has one, and of the next as runner-up", () => {
    const name = fc.constantFrom(null, "", "-", "Shop", "a b", "é");
    fc.assert(
      fc.property(
        name,
        name,
        name,
        name,
        name,
        fc.boolean(),
        (header, user, environment, file, folder, auto) => {
          const cwd = folder === null ? null : `/${folder}`;
          const result = attributeCall(
            {
              headerProject: header,
              proxyUser: user,
              process: { pid: 1, processName: null, commandLines: [], environmentProject: environment, cwd },
              folders: {
                projectFile: file === null ? null : { path: "/.meter.toml", project: file },
                bodyCaptureRefused: false,
                gitRoot: null,
              },
            },
            { defaultProject: "house", autoClassifyUnknownProcesses: auto },
          );
          const names = [header, user, environment, file, auto ? folder : null].map((text) =>
            normaliseSlug(text ?? ""),
          );
          const wanted = [...names.filter((slug) => slug !== ""), "house"];
          assert.equal(result.project, wanted[0]);
          assert.equal(result.runnerUp?.project, wanted[1]);
          assert.equal(normaliseSlug(result.project), result.project);
        },
      ),
    );
  });
});
