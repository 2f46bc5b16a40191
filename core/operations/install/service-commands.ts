import type { InstallRecord } from "./step.ts";

/** The commands that start and stop an installed service. */
interface ServiceCommands {
  readonly manager: "systemd" | "launchd" | "Task Scheduler";
  readonly start: readonly (readonly string[])[];
  readonly stop: readonly (readonly string[])[];
}

/** Returns the commands for the service that `init` recorded; null if it recorded none, or none that can be undone. */
export function findServiceCommands(record: InstallRecord | null): ServiceCommands | null {
  for (const { step, state } of record?.entries ?? []) {
    if (step.kind !== "commands" || state !== "done") continue;
    if (step.id === "systemd-enable") {
      // The last command is `systemctl --user disable --now UNIT…`.
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
      // The last command is `schtasks /Delete /TN NAME /F`.
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
