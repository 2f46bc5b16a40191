import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  describeStep,
  describeUndo,
  type InstallCommand,
  type InstallRecord,
  type InstallStep,
  isAuthorityTrusted,
  isTrustRecorded,
  stepKey,
} from "../../../../core/operations/install/step.ts";

const commands = (fields: Partial<Extract<InstallStep, { kind: "commands" }>>): InstallStep => ({
  kind: "commands",
  id: "service",
  purpose: "start the service",
  do: [],
  undo: [],
  ...fields,
});
const variable = (scope: "launchd" | "registry"): InstallStep => ({
  kind: "variable",
  name: "HTTPS_PROXY",
  value: "http://127.0.0.1:8081",
  scope,
});
const enable: InstallCommand = { words: ["systemctl", "--user", "enable", "meter.service"] };
const reload: InstallCommand = { words: ["systemctl", "--user", "daemon-reload"], mayFail: true };
const file: InstallStep = { kind: "file", path: "/h/unit", text: "x", mode: 0o644 };
const member: InstallStep = { kind: "member", path: "/h/s.json", name: "statusLine", value: "1" };
const block: InstallStep = { kind: "block", path: "/h/.bashrc", lines: ["one"] };

describe("describeStep(), describeUndo() and stepKey() of a step", () => {
  it("name an earlier proxy without its login", () => {
    for (const [value, shown] of [
      ["http://ann:s3cret@corp.example:3128", "http://…@corp.example:3128"],
      ["ann:s3/cret@corp.example:3128", "…@corp.example:3128"],
    ] as const)
      assert.equal(
        describeUndo({ step: variable("registry"), before: { existed: true, value }, state: "done" }),
        `restore HTTPS_PROXY to ${shown}`,
      );
  });

  it("name a member of a JSON file, unless the user had it before", () => {
    assert.equal(stepKey(member), "member:/h/s.json:statusLine");
    assert.equal(describeStep(member), "set statusLine in /h/s.json");
    const undo = (inserted: string) =>
      describeUndo({ step: member, before: { existed: true, inserted }, state: "done" });
    assert.equal(undo("x"), "remove statusLine from /h/s.json");
    assert.equal(undo(""), null);
  });

  const rows: [step: InstallStep, before: string | null, key: string, does: string, undoes: string | null][] =
    [
      [file, null, "file:/h/unit", "write /h/unit", "remove /h/unit"],
      [
        block,
        null,
        "block:/h/.bashrc",
        "add 3 marked lines to /h/.bashrc",
        "remove the marked lines from /h/.bashrc",
      ],
      [
        variable("launchd"),
        null,
        "variable:launchd:HTTPS_PROXY",
        "set HTTPS_PROXY for this session",
        "unset HTTPS_PROXY",
      ],
      [
        variable("registry"),
        "http://old",
        "variable:registry:HTTPS_PROXY",
        "set HTTPS_PROXY for this user",
        "restore HTTPS_PROXY to http://old",
      ],
      [commands({}), null, "commands:service", "start the service", null],
      [
        commands({ do: [reload, enable], undo: [reload] }),
        null,
        "commands:service",
        "start the service: systemctl --user daemon-reload && systemctl --user enable meter.service",
        "systemctl --user daemon-reload",
      ],
    ];
  for (const [step, value, key, does, undoes] of rows) {
    it(does, () => {
      const before = value === null ? { existed: false } : { existed: true, value };
      assert.equal(stepKey(step), key);
      assert.equal(describeStep(step), does);
      assert.equal(describeUndo({ step, before, state: "done" }), undoes);
    });
  }
});

describe("isTrustRecorded()", () => {
  const record = (step: InstallStep, state: "done" | "intended" = "done") =>
    ({ entries: [{ step, state, before: null }] }) as unknown as InstallRecord;

  it("is true only once the system was made to trust the authority", () => {
    const trust = commands({ id: "ca-p11-kit" });
    assert.equal(isTrustRecorded(record(trust)), true);
    assert.equal(isTrustRecorded(record(trust, "intended")), false);
    // Firefox's own store, and programs that only collect bundles.
    for (const id of ["ca-nss", "ca-collect-after", "service"])
      assert.equal(isTrustRecorded(record(commands({ id }))), false, id);
    assert.equal(isTrustRecorded(null), false);
  });
});

describe("isAuthorityTrusted()", () => {
  const record = (apps: boolean, ...entries: [id: string, state: "done" | "intended"][]) =>
    ({
      apps,
      entries: [
        { step: file, state: "done" },
        ...entries.map(([id, state]) => ({ step: commands({ id }), state })),
      ],
    }) as unknown as InstallRecord;

  it("is true once the system, a browser or new shells trust it", () => {
    assert.equal(isAuthorityTrusted(record(true)), true);
    assert.equal(isAuthorityTrusted(record(false, ["ca-keychain", "done"])), true);
    assert.equal(isAuthorityTrusted(record(false, ["ca-nss:/home/u/.pki/nssdb", "done"])), true);
    for (const id of ["ca-keychain", "ca-nss:/home/u/.pki/nssdb"])
      assert.equal(isAuthorityTrusted(record(false, [id, "intended"])), false, id);
    assert.equal(isAuthorityTrusted(record(false, ["systemd-enable", "done"])), false);
  });
});
