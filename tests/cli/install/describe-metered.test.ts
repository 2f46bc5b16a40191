import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { describeMetered } from "../../../cli/install/install.ts";
import type { InstallRecord } from "../../../core/operations/install/step.ts";

const entry = (step: InstallRecord["entries"][number]["step"]): InstallRecord["entries"][number] => ({
  step,
  before: { existed: false },
  state: "done",
});

const session = entry({
  kind: "file",
  path: "/h/.config/environment.d/60-meter.conf",
  text: "",
  mode: 0o644,
});

describe("describeMetered()", () => {
  it("says that new shells are metered only if one of them was set up", () => {
    const block = entry({ kind: "block", path: "/h/.bashrc", lines: [] });
    const variable = entry({ kind: "variable", name: "HTTPS_PROXY", value: "", scope: "registry" });
    for (const entries of [[session, block], [variable]])
      assert.deepEqual(describeMetered({ apps: true, entries }), [
        "New shells and sessions are metered. Open ones are not.",
      ]);
    assert.deepEqual(describeMetered({ apps: true, entries: [session] }), [
      "No start file of a shell was found, so new shells are not metered.",
      "Name your shell: SHELL=/bin/bash meter init --apps",
    ]);
  });

  it("names the next commands if only the service was installed", () => {
    assert.equal(describeMetered({ apps: false, entries: [] }).length, 2);
  });
});
