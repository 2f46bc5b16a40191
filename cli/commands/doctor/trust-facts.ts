import { readFileSync } from "node:fs";
import { findMachine } from "../../../adapters/installer/find-machine.ts";
import type { RunProgram } from "../../../adapters/installer/run-program.ts";
import { trustCommandForUser } from "../../../core/operations/install/plan-install.ts";
import { installName } from "../../install/install-plan.ts";
import { findInSystemList } from "../../install/system-trust.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Whether the system trusts the authority; null if that can't be found out. */
export async function isTrustedBySystem(env: Environment, caFile: string): Promise<boolean | null> {
  const trusted = await findInSystemList(env, caFile);
  const own = readFileSync(caFile, "utf8").trim();
  return trusted?.some((each) => each.trim() === own) ?? null;
}

/** Returns the command that makes the system trust the authority: `meter init` if this user may, otherwise a line for root. */
export async function findTrustCommand(
  env: Environment,
  path: string,
  home: string,
  run: RunProgram,
): Promise<string | null> {
  const { platform, trustStores, userHome, tools } = await findMachine({ env, run });
  if (platform !== "linux" || trustStores.some(({ kind }) => kind !== "nss")) return "meter init";
  return trustCommandForUser({ ca: { path, pem: "", sha1: "" }, name: installName(home, userHome) }, tools);
}
