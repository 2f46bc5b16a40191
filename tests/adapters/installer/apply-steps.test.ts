import assert from "node:assert/strict";
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { applySteps, findDriftedSteps, InstallStepError } from "../../../adapters/installer/apply-steps.ts";
import { readInstallRecord, writeInstallRecord } from "../../../adapters/installer/install-record.ts";
import { undoEntries } from "../../../adapters/installer/undo-entries.ts";
import { mergePlan } from "../../../core/operations/install/merge-plan.ts";
import { type InstallRecord, type InstallStep, stepKey } from "../../../core/operations/install/step.ts";
import { inFolder, recordedCommands, snapshot } from "./machine.rig.ts";

const emptyRecord: InstallRecord = {
  format: 1,
  meter_version: "0",
  name: "meter",
  apps: false,
  trusted_files: [],
  daemon_environment: {},
  entries: [],
};

const newRun = () => recordedCommands();

/** Applies the steps to a record and returns the new one, with every version that was saved. */
async function take(steps: readonly InstallStep[], record = emptyRecord, { run } = newRun()) {
  const saved: InstallRecord[] = [];
  const plan = mergePlan(steps, record.entries, await findDriftedSteps(run, record.entries));
  const next = await applySteps(plan, record, { run, save: (each) => saved.push(structuredClone(each)) });
  return { record: next, saved };
}

const stepsIn = (folder: string): InstallStep[] => [
  { kind: "commands", id: "before", purpose: "", do: [], undo: [{ words: ["collect"] }] },
  { kind: "file", path: join(folder, "config", "deep", "unit"), text: "unit \u00e9\n", mode: 0o600 },
  { kind: "block", path: join(folder, ".rc"), lines: ["ours \u00e9"] },
  { kind: "block", path: join(folder, "config", "fish", "config.fish"), lines: ["ours"] },
  {
    kind: "commands",
    id: "start",
    purpose: "start it",
    do: [{ words: ["start"] }],
    undo: [{ words: ["stop"] }],
  },
];

describe("applySteps() and undoEntries()", () => {
  it("take permissions from a file of an earlier run whose new text is private", () =>
    inFolder(async (folder) => {
      const file = { kind: "file", path: join(folder, "env.sh"), text: "a", mode: 0o644 } as const;
      const { record } = await take([file]);
      await take([{ ...file, text: "a password", mode: 0o600 }], record);
      assert.deepEqual(snapshot(folder), { "env.sh": "600 a password" });
    }));

  it("restore every byte, in the reverse order", () =>
    inFolder(async (folder) => {
      writeFileSync(join(folder, ".rc"), Buffer.from([0x61, 0xe9, 0xff]));
      chmodSync(join(folder, ".rc"), 0o640);
      const before = snapshot(folder);
      const commands = newRun();
      const { record } = await take(stepsIn(folder), emptyRecord, commands);
      assert.deepEqual(commands.ran, ["start"]);
      assert.match(
        snapshot(folder)[".rc"] ?? "",
        /^640 a\u00e9\u00ff\n# >>> meter >>>\nours \u00c3\u00a9\n# <<< meter <<<\n$/,
      );
      const undone = await undoEntries(record.entries, commands.run);
      assert.deepEqual(new Set(undone.map(({ outcome }) => outcome)), new Set(["undone"]));
      assert.deepEqual(commands.ran, ["start", "stop", "collect"]);
      assert.deepEqual(snapshot(folder), before);
    }));

  it("record each step before it is applied, so that every saved state can be undone", () =>
    inFolder(async (folder) => {
      writeFileSync(join(folder, ".rc"), "mine");
      const before = snapshot(folder);
      const steps = stepsIn(folder);
      // One run for each moment at which a process can be killed.
      const whole = await take(steps);
      const moments = whole.saved.length;
      await undoEntries(whole.record.entries, newRun().run);
      for (let moment = 1; moment <= moments; moment += 1) {
        let last = emptyRecord;
        let saves = 0;
        const plan = mergePlan(steps, [], new Set());
        await assert.rejects(
          applySteps(plan, emptyRecord, {
            run: newRun().run,
            save(record) {
              last = structuredClone(record);
              saves += 1;
              if (saves === moment) throw new Error("killed");
            },
          }),
        );
        await undoEntries(last.entries, newRun().run);
        assert.deepEqual(snapshot(folder), before, `killed at ${moment}`);
      }
    }));

  it("do nothing the second time, and refresh what has changed, keeping the first undo state", () =>
    inFolder(async (folder) => {
      writeFileSync(join(folder, ".rc"), "mine");
      const before = snapshot(folder);
      const first = await take(stepsIn(folder));
      const again = await take(stepsIn(folder), first.record);
      assert.deepEqual(again.saved, []);
      const moved = stepsIn(folder).map((step) =>
        step.kind === "file"
          ? { ...step, text: "new\n" }
          : step.kind === "block"
            ? { ...step, lines: ["new"] }
            : step,
      );
      const commands = newRun();
      const refreshed = await take(moved, first.record, commands);
      assert.deepEqual(commands.ran, ["stop", "start"]);
      assert.equal(refreshed.record.entries.length, first.record.entries.length);
      await undoEntries(refreshed.record.entries, newRun().run);
      assert.deepEqual(snapshot(folder), before);
    }));

  it("recognise their own files after a refresh was killed", () =>
    inFolder(async (folder) => {
      const path = join(folder, "unit");
      const { record } = await take([{ kind: "file", path, text: "old", mode: 0o600 }]);
      const steps: InstallStep[] = [{ kind: "file", path, text: "new", mode: 0o600 }];
      let last = record;
      await assert.rejects(
        applySteps(mergePlan(steps, record.entries, new Set()), record, {
          run: newRun().run,
          save(next) {
            last = next;
            throw new Error("killed");
          },
        }),
      );
      assert.deepEqual(
        (await undoEntries(last.entries, newRun().run)).map(({ outcome }) => outcome),
        ["undone"],
      );
      assert.deepEqual(snapshot(folder), {});
    }));

  it("leave and report what was changed", () =>
    inFolder(async (folder) => {
      const { record } = await take(stepsIn(folder));
      const unit = join(folder, "config", "deep", "unit");
      writeFileSync(unit, "theirs");
      writeFileSync(join(folder, ".rc"), readFileSync(join(folder, ".rc"), "utf8").replace("ours", "theirs"));
      const undone = await undoEntries(record.entries, newRun().run);
      assert.deepEqual(
        undone.flatMap(({ problem }) => problem ?? []),
        [
          `the meter's lines in ${join(folder, ".rc")} were changed`,
          `${unit} was changed since the meter wrote it`,
        ],
      );
      assert.equal(readFileSync(unit, "utf8"), "theirs");
    }));

  it("keep text that was written around the block", () =>
    inFolder(async (folder) => {
      const path = join(folder, ".rc");
      const { record } = await take([{ kind: "block", path, lines: ["ours"] }]);
      writeFileSync(path, `${readFileSync(path, "utf8")}export MINE=1\n`);
      await undoEntries(record.entries, newRun().run);
      assert.equal(readFileSync(path, "utf8"), "export MINE=1\n");
    }));

  it("keep a folder that contains other files", () =>
    inFolder(async (folder) => {
      const { record } = await take(stepsIn(folder));
      writeFileSync(join(folder, "config", "deep", "theirs"), "");
      await undoEntries(record.entries, newRun().run);
      assert.ok(existsSync(join(folder, "config", "deep", "theirs")));
      assert.equal(existsSync(join(folder, "config", "fish")), false);
    }));

  it("write through a symbolic link, which stays one", () =>
    inFolder(async (folder) => {
      mkdirSync(join(folder, "dotfiles"));
      writeFileSync(join(folder, "dotfiles", "rc"), "mine\n");
      symlinkSync("dotfiles/rc", join(folder, ".rc"));
      const { record } = await take([{ kind: "block", path: join(folder, ".rc"), lines: ["ours"] }]);
      assert.match(readFileSync(join(folder, "dotfiles", "rc"), "utf8"), /ours/);
      await undoEntries(record.entries, newRun().run);
      assert.ok(lstatSync(join(folder, ".rc")).isSymbolicLink());
      assert.equal(readFileSync(join(folder, "dotfiles", "rc"), "utf8"), "mine\n");
    }));

  it("do not replace a symbolic link whose target does not exist", () =>
    inFolder(async (folder) => {
      symlinkSync("not-mounted/rc", join(folder, ".rc"));
      await assert.rejects(take([{ kind: "block", path: join(folder, ".rc"), lines: ["ours"] }]), {
        name: "InstallStepError",
        message: `${join(folder, ".rc")} is a link to a file that does not exist`,
      });
      assert.ok(lstatSync(join(folder, ".rc")).isSymbolicLink());
    }));

  it("keep a file's owner if root writes it", { skip: process.getuid?.() === 0 ? false : "needs root" }, () =>
    inFolder(async (folder) => {
      const path = join(folder, ".rc");
      writeFileSync(path, "mine\n", { mode: 0o600 });
      chownSync(path, 12_345, 54_321);
      const { record } = await take([{ kind: "block", path, lines: ["ours"] }]);
      const owner = () => {
        const { uid, gid, mode } = lstatSync(path);
        return [uid, gid, mode & 0o777];
      };
      assert.deepEqual(owner(), [12_345, 54_321, 0o600]);
      await undoEntries(record.entries, newRun().run);
      assert.deepEqual(owner(), [12_345, 54_321, 0o600]);
      assert.equal(readFileSync(path, "utf8"), "mine\n");
    }),
  );

  it("reject a file that is not the meter's, and replace one that is", () =>
    inFolder(async (folder) => {
      const path = join(folder, "unit");
      const step: InstallStep = { kind: "file", path, text: "# Written by `meter init`; b\n", mode: 0o600 };
      writeFileSync(path, "theirs");
      await assert.rejects(take([step]), {
        name: "InstallStepError",
        message: `${path} exists and was not written by meter. Move it away, then run: meter init`,
      });
      assert.equal(readFileSync(path, "utf8"), "theirs");
      writeFileSync(path, "# Written by `meter init`; a\n");
      await take([step]);
      assert.equal(readFileSync(path, "utf8"), step.text);
    }));

  it("stop at a failed command, and continue after one that may fail", () =>
    inFolder(async () => {
      const commands = recordedCommands({ "a b": { code: 1, stderr: "no bus\n" } });
      const step = (mayFail: boolean): InstallStep => ({
        kind: "commands",
        id: "x",
        purpose: "",
        do: [{ words: ["a", "b"], mayFail }, { words: ["c"] }],
        undo: [],
      });
      await assert.rejects(take([step(false)], emptyRecord, commands), (error) => {
        assert.ok(error instanceof InstallStepError);
        assert.equal(error.message, "a b: no bus");
        return true;
      });
      await take([step(true)], emptyRecord, commands);
      assert.deepEqual(commands.ran, ["a b", "a b", "c"]);
    }));

  it("keep the entry of a failed undo, and remove that of a command that was only intended", async () => {
    const commands = recordedCommands({ stop: { code: 5, stderr: "in use" } });
    const step: InstallStep = { kind: "commands", id: "x", purpose: "", do: [], undo: [{ words: ["stop"] }] };
    const entries = (["done", "intended"] as const).map((state) => ({
      step,
      state,
      before: { existed: false },
    }));
    const undone = await undoEntries(entries, commands.run);
    assert.deepEqual(
      undone.map(({ outcome, problem }) => [outcome, problem]),
      [
        ["undone", null],
        ["failed", "stop: in use"],
      ],
    );
  });
});

describe("session variables", () => {
  const step = (scope: "launchd" | "registry"): InstallStep => ({
    kind: "variable",
    name: "HTTPS_PROXY",
    value: "http://127.0.0.1:8081",
    scope,
  });

  /** The registry or the session as `reg`, `setx` and `launchctl` print it. Written after their documented output. */
  function system(values: Map<string, string>) {
    const { run, ran } = recordedCommands();
    const answer: typeof run = async (words) => {
      await run(words);
      const [program, verb] = words;
      const ok = (stdout = "") => ({ code: 0, isTimedOut: false, stdout, stderr: "" });
      if (program === "launchctl" && verb === "getenv")
        return ok(values.has(words[2]!) ? `${values.get(words[2]!)}\n` : "");
      if (program === "launchctl" && verb === "setenv") values.set(words[2]!, words[3]!);
      if (program === "launchctl" && verb === "unsetenv") values.delete(words[2]!);
      if (program === "setx") values.set(words[1]!, words[2]!);
      if (program === "reg" && verb === "delete") values.delete(words[4]!);
      if (program === "reg" && verb === "query") {
        const value = values.get(words[4]!);
        if (value === undefined)
          return { code: 1, isTimedOut: false, stdout: "", stderr: "ERROR: The system was unable to find" };
        return ok(`\r\nHKEY_CURRENT_USER\\Environment\r\n    ${words[4]}    REG_SZ    ${value}\r\n\r\n`);
      }
      return ok();
    };
    return { run: answer, ran };
  }

  for (const scope of ["launchd", "registry"] as const) {
    it(`of ${scope} are restored to their value, or unset`, async () => {
      for (const start of [[], [["HTTPS_PROXY", "http://corp:3128"]]] as [string, string][][]) {
        const values = new Map(start);
        const machine = system(values);
        const { record } = await take([step(scope)], emptyRecord, machine);
        assert.equal(values.get("HTTPS_PROXY"), "http://127.0.0.1:8081");
        assert.equal((await take([step(scope)], record, machine)).saved.length, 0);
        await undoEntries(record.entries, machine.run);
        assert.deepEqual([...values], start);
      }
    });

    it(`of ${scope} are left if they were changed since`, async () => {
      const values = new Map<string, string>();
      const machine = system(values);
      const { record } = await take([step(scope)], emptyRecord, machine);
      values.set("HTTPS_PROXY", "http://other:1");
      const [undone] = await undoEntries(record.entries, machine.run);
      assert.deepEqual(
        [undone?.outcome, undone?.problem],
        ["left", "HTTPS_PROXY was changed since the meter set it"],
      );
      assert.equal(values.get("HTTPS_PROXY"), "http://other:1");
    });
  }
});

describe("readInstallRecord()", () => {
  it("reads a written record, returns null without one, and rejects an invalid one", () =>
    inFolder(async (folder) => {
      assert.equal(await readInstallRecord(folder), null);
      const { record } = await take(stepsIn(folder));
      writeInstallRecord(folder, record);
      assert.deepEqual(await readInstallRecord(folder), record);
      assert.deepEqual(await findDriftedSteps(newRun().run, record.entries), new Set());
      writeFileSync(join(folder, ".rc"), "");
      assert.deepEqual(
        [...(await findDriftedSteps(newRun().run, record.entries))],
        [stepKey(stepsIn(folder)[2] as InstallStep)],
      );
      for (const text of ["{", "[]", '{"format":2}']) {
        writeFileSync(join(folder, "installed.json"), text);
        await assert.rejects(readInstallRecord(folder), { name: "InstallRecordError" });
      }
      writeInstallRecord(folder, null);
      assert.equal(await readInstallRecord(folder), null);
    }));
});

describe("a member in another program's settings", () => {
  const stepIn = (folder: string, command = "mètre"): InstallStep => ({
    kind: "member",
    path: join(folder, ".claude", "settings.json"),
    name: "statusLine",
    value: JSON.stringify({ type: "command", command }),
  });
  const write = (folder: string, text: string) => {
    mkdirSync(join(folder, ".claude"));
    writeFileSync(join(folder, ".claude", "settings.json"), text, { mode: 0o640 });
  };
  const read = (folder: string) => readFileSync(join(folder, ".claude", "settings.json"), "utf8");
  const undo = async (record: InstallRecord) =>
    (await undoEntries(record.entries, newRun().run)).map(({ outcome }) => outcome);

  for (const [what, text] of [
    ["no file", null],
    ["an empty file", ""],
    ["an empty object", "{ }\n"],
    ["settings", '{\r\n\t"model" : "ö",\n  "a": {"statusLine": 1}\n}'],
  ] as const)
    it(`is inserted and removed byte for byte: ${what}`, () =>
      inFolder(async (folder) => {
        if (text !== null) write(folder, text);
        const before = snapshot(folder);
        const { record } = await take([stepIn(folder)]);
        assert.deepEqual(JSON.parse(read(folder)).statusLine, { type: "command", command: "mètre" });
        assert.deepEqual(await findDriftedSteps(newRun().run, record.entries), new Set());
        assert.deepEqual(await undo(record), ["undone"]);
        assert.deepEqual(snapshot(folder), before);
      }));

  it("is replaced by a later run", () =>
    inFolder(async (folder) => {
      write(folder, '{"a":1}');
      const before = snapshot(folder);
      const first = await take([stepIn(folder)]);
      const second = await take([stepIn(folder, "new")], first.record);
      assert.equal(second.record.entries.length, 1);
      assert.equal(JSON.parse(read(folder)).statusLine.command, "new");
      assert.deepEqual(await undo(second.record), ["undone"]);
      assert.deepEqual(snapshot(folder), before);
    }));

  it("replaces no value and no file that is not its own, and leaves one that was changed", () =>
    inFolder(async (folder) => {
      write(folder, '{"statusLine":null}');
      await assert.rejects(
        take([stepIn(folder)]),
        /sets statusLine to something else\. Remove that, then run this command again$/,
      );
      writeFileSync(join(folder, ".claude", "settings.json"), "[]");
      await assert.rejects(
        take([stepIn(folder)]),
        /is not a JSON object\. Correct it, then run this command again$/,
      );
      writeFileSync(join(folder, ".claude", "settings.json"), "{}");
      const { record } = await take([stepIn(folder)]);
      const changed = read(folder).replace("command", "other");
      writeFileSync(join(folder, ".claude", "settings.json"), changed);
      assert.deepEqual(
        [...(await findDriftedSteps(newRun().run, record.entries))],
        record.entries.map(({ step }) => stepKey(step)),
      );
      assert.deepEqual(await undo(record), ["left"]);
      assert.equal(read(folder), changed);
    }));

  it("keeps what the user set before in the same words", () =>
    inFolder(async (folder) => {
      write(folder, `{"statusLine":${(stepIn(folder) as { value: string }).value}}`);
      const before = snapshot(folder);
      const { record } = await take([stepIn(folder)]);
      assert.deepEqual(await undo(record), ["undone"]);
      assert.deepEqual(snapshot(folder), before);
    }));

  it("is undone in every state that a killed process can leave", () =>
    inFolder(async (folder) => {
      write(folder, '{"a":1}');
      const before = snapshot(folder);
      const { saved } = await take([stepIn(folder)]);
      for (const record of saved) {
        await undo(record);
        assert.deepEqual(snapshot(folder), before);
        assert.deepEqual(await undo(record), ["undone"]);
      }
    }));
});
