import { chmodSync } from "node:fs";
import { join } from "node:path";
import { createRunWords, readInstallRecord } from "../../adapters/installer/mod.ts";
import type { Diagnosis, DoctorFix } from "../../core/doctor/mod.ts";
import { findDaemon } from "../daemon-process.ts";
import { authorityFiles } from "../home.ts";
import { install } from "../install.ts";
import { makeInstallPlan } from "../install-plan.ts";
import { startDaemonOf, stopDaemonOf } from "../start-daemon.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Each fix, and what it says when it is done. They are applied in this order. */
const fixes: readonly (readonly [DoctorFix, string, (home: string, env: Environment) => Promise<void>])[] = [
  [
    "close_key",
    "the authority's key is its owner's alone",
    async (home) => {
      const { caFolder } = authorityFiles(home);
      chmodSync(caFolder, 0o700);
      chmodSync(join(caFolder, "key.pem"), 0o600);
    },
  ],
  [
    "refresh_installation",
    "what init made is as it made it",
    async (home, env) => {
      const run = createRunWords(env);
      const earlier = await readInstallRecord(home);
      if (earlier === null) return;
      const plan = await makeInstallPlan(home, env, { apps: false, make: true }, earlier, run);
      await install(home, env, plan, earlier, run, () => {});
    },
  ],
  [
    "restart",
    "the daemon was started again",
    async (home, env) => {
      await stopDaemonOf(home, await findDaemon(home), env);
      await startDaemonOf(home, env);
    },
  ],
  [
    "start",
    "the daemon was started",
    async (home, env) => {
      if ((await findDaemon(home)) === null) await startDaemonOf(home, env);
    },
  ],
];

/** Applies what the findings ask for and gives what was done, in words; a fix that fails says so, and the next is tried. */
export async function applyFixes(home: string, env: Environment, { findings }: Diagnosis): Promise<string[]> {
  const asked = new Set(findings.flatMap(({ fix }) => fix ?? []));
  const done: string[] = [];
  for (const [fix, says, apply] of fixes) {
    // What is started again need not be started.
    if (!asked.has(fix) || (fix === "start" && asked.has("restart"))) continue;
    try {
      await apply(home, env);
      done.push(says);
    } catch (cause) {
      done.push(`not fixed: ${(cause as Error).message}`);
    }
  }
  return done;
}
