import type { InstallRecord } from "./step.ts";

/** What starts and stops an installed service, each a list of commands. */
export interface ServiceWords {
  readonly manager: "systemd" | "launchd" | "Task Scheduler";
  readonly start: readonly (readonly string[])[];
  readonly stop: readonly (readonly string[])[];
}

/** The words for the service that `init` recorded; null where it recorded none, or none that could be undone. */
export function serviceWords(record: InstallRecord | null): ServiceWords | null {
  for (const { step, state } of record?.entries ?? []) {
    if (step.kind !== "commands" || state !== "done") continue;
    if (step.id === "systemd-enable") {
      // The last words are `systemctl --user disable --now UNIT…`.
      const units = step.undo.at(-1)?.words.slice(4);
      if (units === undefined) return null;
      return {
        manager: "systemd",
        start: units.map((unit) => ["systemctl", "--user", "start", unit]),
        stop: [["systemctl", "--user", "stop", ...units]],
      };
    }
    if (step.id === "launchd-bootstrap") {
      return {
        manager: "launchd",
        start: step.do.map(({ words }) => words),
        stop: step.undo.map(({ words }) => words),
      };
    }
    if (step.id === "task-create") {
      // The last words are `schtasks /Delete /TN NAME /F`.
      const name = step.undo.at(-1)?.words[3];
      if (name === undefined) return null;
      return {
        manager: "Task Scheduler",
        start: [["schtasks", "/Run", "/TN", name]],
        stop: [["schtasks", "/End", "/TN", name]],
      };
    }
  }
  return null;
}
