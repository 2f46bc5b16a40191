import process from "node:process";
import { findMachine } from "../../../adapters/installer/find-machine.ts";
import { createProgramRunner, type RunProgram } from "../../../adapters/installer/run-program.ts";
import { trustCommandForUser } from "../../../core/operations/install/plan-install.ts";
import { installName } from "../../install/install-plan.ts";
import { PROGRAM_TIMEOUT_MS } from "./limits.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Whether the system trusts the authority; null if that can't be found out. Asks another process, because this one's list
 * of authorities includes those that the shell's variables name.
 */
export async function isTrustedBySystem(env: Environment, caFile: string): Promise<boolean | null> {
  const script = `const t=require("tls");if(!t.getCACertificates)process.exit(2);
    const own=require("fs").readFileSync(process.argv[1],"utf8").trim();
    process.exit(t.getCACertificates("system").some((each)=>each.trim()===own)?0:1)`;
  const plain = Object.fromEntries(Object.entries(env).filter(([name]) => !/^SSL_CERT_|^NODE_/.test(name)));
  const { code } = await createProgramRunner(plain)([process.execPath, "-e", script, caFile], {
    timeoutMs: PROGRAM_TIMEOUT_MS,
  });
  return code === 0 ? true : code === 1 ? false : null;
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
