import { chmodSync } from "node:fs";
import { join } from "node:path";
import { readInstallRecord } from "../../../adapters/installer/install-record.ts";
import { createProgramRunner } from "../../../adapters/installer/run-program.ts";
import type { Diagnosis } from "../../../core/operations/doctor/diagnose.ts";
import type { DoctorFix } from "../../../core/operations/doctor/finding.ts";
import { findDaemon } from "../../daemon/daemon-process.ts";
import { startDaemonOf, stopDaemonOf } from "../../daemon/start-daemon.ts";
import { authorityFiles } from "../../home/prepare-home.ts";
import { install } from "../../install/install.ts";
import { makeInstallPlan } from "../../install/install-plan.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Each fix with the message printed once it is done, in the order in which they are applied. */
const fixes: readonly (readonly [DoctorFix, string, (home: string, env: Environment) => Promise<void>])[] = [
  [
    "close_key",
    "Only this user can read the authority's key now.",
    async (home) => {
      const { caFolder } = authorityFiles(home);
      chmodSync(caFolder, 0o700);
      chmodSync(join(caFolder, "key.pem"), 0o600);
    },
  ],
  [
    "refresh_installation",
    "The installation was restored.",
    async (home, env) => {
      const run = createProgramRunner(env);
      const earlier = await readInstallRecord(home);
      if (earlier === null) return;
      const plan = await makeInstallPlan(home, env, { apps: false, create: true }, earlier, run);
      await install(home, env, plan, earlier, run, () => {});
    },
  ],
  [
    "restart",
    "The daemon was restarted.",
    async (home, env) => {
      await stopDaemonOf(home, await findDaemon(home), env);
      await startDaemonOf(home, env);
    },
  ],
  [
    "start",
    "The daemon was started.",
    async (home, env) => {
      if ((await findDaemon(home)) === null) await startDaemonOf(home, env);
    },
  ],
];

/** Applies the fixes that the findings name and returns one message each. A failed fix does not stop the others. */
export async function applyFixes(home: string, env: Environment, { findings }: Diagnosis): Promise<string[]> {
  const needed = new Set(findings.flatMap(({ automaticFix }) => automaticFix ?? []));
  const done: string[] = [];
  for (const [fix, message, apply] of fixes) {
    // A restart includes the start.
    if (!needed.has(fix) || (fix === "start" && needed.has("restart"))) continue;
    try {
      await apply(home, env);
      done.push(message);
    } catch (cause) {
      done.push(`Not fixed: ${(cause as Error).message}`);
    }
  }
  return done;
}
