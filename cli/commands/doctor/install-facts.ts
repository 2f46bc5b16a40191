import { existsSync } from "node:fs";
import { findDriftedSteps } from "../../../adapters/installer/apply-steps.ts";
import { readInstallRecord } from "../../../adapters/installer/install-record.ts";
import type { RunProgram } from "../../../adapters/installer/run-program.ts";
import type { DoctorFacts } from "../../../core/operations/doctor/doctor-facts.ts";
import { findServiceCommands } from "../../../core/operations/install/service-commands.ts";
import type { InstallRecord } from "../../../core/operations/install/step.ts";

/** The facts where nothing is installed. */
export const noInstall: DoctorFacts["install"] = {
  ...{ record: "absent", manager: null, apps: false },
  ...{ changed: [], missingProgram: null, unfinished: 0 },
};

/** Reads the install record and returns what it says about this machine, and the record; null if there is none. */
export async function gatherInstallFacts(
  home: string,
  run: RunProgram,
): Promise<[DoctorFacts["install"], InstallRecord | null]> {
  let record: InstallRecord | null;
  try {
    record = await readInstallRecord(home);
  } catch {
    return [{ ...noInstall, record: "unreadable" }, null];
  }
  if (record === null) return [noInstall, null];
  const stale = await findDriftedSteps(run, record.entries);
  const unit = record.entries.find(
    ({ step }) => step.kind === "file" && /\.service$|service\.xml$|\.plist$/.test(step.path),
  )?.step;
  // The two programs of the unit: quoted words, strings of a list, or words of a command line.
  const programs = unit?.kind === "file" ? programsIn(unit.text) : [];
  return [
    {
      record: "present",
      manager: findServiceCommands(record)?.manager ?? null,
      apps: record.apps,
      changed: [...stale].map((key) => key.replace(/^[a-z]+:/, "")),
      missingProgram: programs.find((path) => !existsSync(path)) ?? null,
      unfinished: record.entries.filter(({ state }) => state === "intended").length,
    },
    record,
  ];
}

/** Returns the files that a service definition of ours starts: shell, script, runtime and program, or the last two. */
export function programsIn(unit: string): string[] {
  const words = wordsIn(unit);
  const start = words.indexOf("start");
  return start === -1 ? words : words.slice(0, start);
}

function wordsIn(unit: string): string[] {
  const systemd = /^ExecStart=(.*)$/m.exec(unit)?.[1];
  if (systemd !== undefined)
    return [...systemd.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, word = ""]) =>
      word.replaceAll("$$", "$").replaceAll("%%", "%").replaceAll(/\\(.)/g, "$1"),
    );
  const plain = (text: string) =>
    text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&amp;", "&");
  const launchd = /<key>ProgramArguments<\/key>\s*<array>(.*?)<\/array>/s.exec(unit)?.[1];
  if (launchd !== undefined)
    return [...launchd.matchAll(/<string>(.*?)<\/string>/gs)].map(([, word = ""]) => plain(word));
  const task = plain(/<Arguments>--headless (.*?)<\/Arguments>/.exec(unit)?.[1] ?? "");
  return [...task.matchAll(/"([^"]*)"|(\S+)/g)].map((word) => (word[1] ?? word[2]) as string);
}
