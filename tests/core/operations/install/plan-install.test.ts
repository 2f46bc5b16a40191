import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { mergePlan, putEntry } from "../../../../core/operations/install/merge-plan.ts";
import { planInstall, trustCommandForUser } from "../../../../core/operations/install/plan-install.ts";
import { findServiceCommands } from "../../../../core/operations/install/service-commands.ts";
import {
  describeStep,
  describeUndo,
  type InstallEntry,
  type InstallStep,
  stepKey,
} from "../../../../core/operations/install/step.ts";
import { linuxFacts } from "./sample-facts.rig.ts";

const entryOf = (step: InstallStep): InstallEntry => ({ step, before: { existed: false }, state: "done" });
const keys = (steps: readonly InstallStep[]) => steps.map(stepKey);
const apps = {
  variables: { HTTPS_PROXY: "http://127.0.0.1:8081" },
  hasPassword: false,
  startFiles: [
    { path: "/home/u/.bashrc", shell: "posix" },
    { path: "/home/u/.config/fish/config.fish", shell: "fish" },
  ],
  sessionFolder: "/home/u/.config/environment.d",
} as const;

describe("planInstall()", () => {
  it("sets the status line last", () => {
    const statusline = { settingsPath: "/home/u/.claude/settings.json", command: "meter statusline" };
    assert.deepEqual(planInstall(linuxFacts({ statusline })).at(-1), {
      kind: "member",
      path: statusline.settingsPath,
      name: "statusLine",
      value: '{"type":"command","command":"meter statusline"}',
    });
  });

  it("starts the daemon before trusting it, and trusts it before configuring programs", () => {
    const steps = planInstall(
      linuxFacts({
        trustStores: [
          { kind: "update_ca_certificates", anchorFolder: "/anchors", words: ["update-ca-certificates"] },
          { kind: "nss", folder: "/home/u/.pki/nssdb" },
        ],
        apps,
      }),
    );
    assert.deepEqual(keys(steps), [
      "commands:systemd-forget",
      "file:/home/u/.config/systemd/user/meter.service",
      "file:/home/u/.config/systemd/user/meter.socket",
      "commands:systemd-enable",
      "commands:ca-collect-after",
      "file:/anchors/meter-local-ca.crt",
      "commands:ca-collect",
      "file:/home/u/.meter/trusted-01234567.pem",
      "commands:ca-nss:/home/u/.pki/nssdb",
      "file:/home/u/.meter/env.sh",
      "file:/home/u/.meter/env.fish",
      "block:/home/u/.bashrc",
      "block:/home/u/.config/fish/config.fish",
      "file:/home/u/.config/environment.d/60-meter.conf",
    ]);
  });

  it("adds a copy of the authority with p11-kit, and removes the same copy", () => {
    const steps = planInstall(linuxFacts({ service: null, trustStores: [{ kind: "p11_kit" }] }));
    assert.deepEqual(keys(steps), ["file:/home/u/.meter/trusted-01234567.pem", "commands:ca-p11-kit"]);
    const store = steps[1];
    assert.ok(store?.kind === "commands");
    const words = (verb: string) => [
      { words: ["trust", "anchor", verb, "/home/u/.meter/trusted-01234567.pem"] },
    ];
    assert.deepEqual([store.do, store.undo], [words("--store"), words("--remove")]);
  });

  it("updates the system's certificates after adding the file, and after removing it", () => {
    const store = { kind: "update_ca_certificates", anchorFolder: "/a", words: ["collect"] } as const;
    const steps = planInstall(linuxFacts({ service: null, trustStores: [store] }));
    const there = steps.flatMap((step) => (step.kind === "commands" ? step.do : []));
    const back = steps.toReversed().map((step) => (step.kind === "commands" ? step.undo.length : step.kind));
    assert.deepEqual([there, back], [[{ words: ["collect"] }], [0, "file", 1]]);
  });

  it("writes files that contain the proxy's password for this user alone", () => {
    const modes = (hasPassword: boolean) =>
      planInstall(linuxFacts({ service: null, trustStores: [], apps: { ...apps, hasPassword } })).flatMap(
        (step) => (step.kind === "file" ? [step.mode] : []),
      );
    assert.deepEqual(modes(true), [0o600, 0o600, 0o600]);
    assert.deepEqual(modes(false), [0o644, 0o644, 0o644]);
  });

  it("reserves no socket for port 0", () => {
    const steps = planInstall(linuxFacts({ proxy: { host: "127.0.0.1", port: 0 } }));
    assert.equal(
      keys(steps).some((key) => key.endsWith(".socket")),
      false,
    );
  });

  it("sets up macOS with launchd and the keychain", () => {
    const steps = planInstall(
      linuxFacts({
        service: { kind: "launchd", agentFolder: "/Users/u/Library/LaunchAgents", uid: 501 },
        trustStores: [{ kind: "macos_keychain", keychain: "/k.keychain-db" }],
        apps: { ...apps, sessionFolder: null },
      }),
    );
    assert.deepEqual(steps.slice(1, 4).map(describeStep), [
      "keep the daemon running, now and after each login: launchctl bootstrap gui/501 /Users/u/Library/LaunchAgents/dev.llm-meter.meter.plist",
      "write /home/u/.meter/trusted-01234567.pem",
      "trust the meter's authority for this user (macOS asks for the password): security add-trusted-cert -r trustRoot -p ssl -k /k.keychain-db /home/u/.meter/trusted-01234567.pem",
    ]);
    assert.ok(keys(steps).includes("variable:launchd:HTTPS_PROXY"));
    assert.ok(keys(steps).at(-1)?.endsWith("dev.llm-meter.meter.environment.plist"));
  });

  it("sets up Windows with the Task Scheduler and the user's store", () => {
    const home = "C:\\Users\\u\\.meter";
    const base = linuxFacts();
    const steps = planInstall({
      ...base,
      program: { ...base.program, meterHome: home },
      service: { kind: "task_scheduler", user: "PC\\u" },
      trustStores: [{ kind: "windows_user" }],
      apps: { ...apps, startFiles: [], sessionFolder: null },
    });
    assert.deepEqual(keys(steps), [
      `file:${home}\\service.xml`,
      "commands:task-create",
      `file:${home}\\trusted-01234567.pem`,
      "commands:ca-windows",
      "variable:registry:HTTPS_PROXY",
    ]);
  });
});

describe("mergePlan()", () => {
  const steps = planInstall(linuxFacts());
  const entries = steps.map(entryOf);
  const how = (next: readonly InstallStep[], known = entries, stale: string[] = []) =>
    mergePlan(next, known, new Set(stale)).map((each) => each.how);

  it("does everything the first time and nothing the second", () => {
    assert.deepEqual(new Set(how(steps, [])), new Set(["do"]));
    assert.deepEqual(new Set(how(steps)), new Set(["keep"]));
  });

  it("restarts the service after its file was changed or deleted", () => {
    const moved = planInstall(
      linuxFacts({ program: { ...linuxFacts().program, nodePath: "/opt/node26/bin/node" } }),
    );
    assert.deepEqual(how(moved), ["keep", "do", "keep", "redo"]);
    assert.deepEqual(how(steps, entries, [stepKey(steps[2] as InstallStep)]), ["keep", "keep", "do", "redo"]);
  });

  it("repeats what a killed run only intended", () => {
    const cut = entries.map((entry, index) =>
      index === 3 ? ({ ...entry, state: "intended" } as const) : entry,
    );
    assert.deepEqual(how(steps, cut), ["keep", "keep", "keep", "redo"]);
  });
});

describe("putEntry()", () => {
  it("replaces the entry of the same step and adds others at the end", () => {
    const [first, second] = planInstall(linuxFacts()).map(entryOf) as [InstallEntry, InstallEntry];
    const again: InstallEntry = { ...first, state: "intended" };
    assert.deepEqual(putEntry([first, second], again), [again, second]);
    assert.deepEqual(putEntry([first], second), [first, second]);
  });
});

describe("findServiceCommands()", () => {
  const recordOf = (facts = linuxFacts()) => ({
    format: 1 as const,
    meter_version: "0",
    name: "meter",
    apps: false,
    trusted_files: [],
    daemon_environment: {},
    entries: planInstall(facts).map(entryOf),
  });

  it("starts the socket before the daemon, and stops both at once", () => {
    assert.deepEqual(findServiceCommands(recordOf()), {
      manager: "systemd",
      start: [
        ["systemctl", "--user", "start", "meter.socket"],
        ["systemctl", "--user", "start", "meter.service"],
      ],
      stop: [["systemctl", "--user", "stop", "meter.socket", "meter.service"]],
    });
  });

  it("returns the commands of launchd and the Task Scheduler", () => {
    const mac = recordOf(linuxFacts({ service: { kind: "launchd", agentFolder: "/A", uid: 5 } }));
    assert.deepEqual(findServiceCommands(mac)?.stop, [["launchctl", "bootout", "gui/5/dev.llm-meter.meter"]]);
    const windows = recordOf(linuxFacts({ service: { kind: "task_scheduler", user: "u" } }));
    assert.deepEqual(findServiceCommands(windows)?.start, [["schtasks", "/Run", "/TN", "meter"]]);
  });

  it("returns null if no service was installed", () => {
    assert.equal(findServiceCommands(null), null);
    assert.equal(findServiceCommands(recordOf(linuxFacts({ service: null }))), null);
  });

  it("returns null if the record does not say how to undo the service", () => {
    for (const service of [
      { kind: "systemd", unitFolder: "/units" },
      { kind: "task_scheduler", user: "u" },
    ] as const) {
      const record = recordOf(linuxFacts({ service }));
      const entries = record.entries.map((entry) =>
        entry.step.kind === "commands" ? { ...entry, step: { ...entry.step, undo: [] } } : entry,
      );
      assert.equal(findServiceCommands({ ...record, entries }), null);
    }
  });
});

describe("describeUndo()", () => {
  it("describes what is removed and what is restored", () => {
    const variable: InstallStep = { kind: "variable", name: "A", value: "1", scope: "registry" };
    assert.equal(describeUndo(entryOf(variable)), "unset A");
    const set = { ...entryOf(variable), before: { existed: true, value: "0" } };
    assert.equal(describeUndo(set), "restore A to 0");
  });
});

describe("trustCommandForUser()", () => {
  it("returns the system's command, or null", () => {
    const facts = linuxFacts();
    assert.match(
      trustCommandForUser(facts, new Set(["update-ca-certificates"])) ?? "",
      /^sudo install -m 644 '\/home/,
    );
    assert.match(trustCommandForUser(facts, new Set(["trust"])) ?? "", /^sudo trust anchor --store '/);
    assert.equal(trustCommandForUser(facts, new Set()), null);
  });
});
