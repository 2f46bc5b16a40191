import { randomBytes } from "node:crypto";
import process from "node:process";
import { createProjectFiles } from "../../../adapters/files/project-files.ts";
import { chooseProject } from "../../../core/metering/attribution/choose-project.ts";
import { DEFAULT_PROJECT } from "../../../core/metering/attribution/default-project.ts";
import type { ProjectOrigin } from "../../../core/metering/attribution/project-origin.ts";
import { formatRunUser } from "../../../core/metering/attribution/run-label.ts";
import { normaliseSlug } from "../../../core/values/slug/normalise-slug.ts";
import { readConfigOrDefaults } from "../../home/read-config.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { findWorkingDirectory } from "../../program/working-directory.ts";

/** Returns the project of a folder with this name as the daemon attributes its calls; null if the daemon does not tell. */
type RequestProject = (folder: {
  readonly name: string;
  readonly origin: ProjectOrigin;
}) => Promise<string | null>;

/**
 * Returns the user name and password with which a run's programs use the proxy. The user name states the project and the run,
 * so that a call has its project even if its process is not found. The password is that of the proxy, else a random one:
 * some clients send no user name without a password (undici's `ProxyAgent`).
 *
 * Decision: without `--project`, the project of the current folder is only a fallback, because the run's programs may work in
 * other folders.
 */
export async function createRunLogin(
  context: CommandContext,
  project: string | null,
  requestProject: RequestProject,
): Promise<{ readonly user: string; readonly password: string }> {
  const { config } = await readConfigOrDefaults(context.home, context.env);
  const runId = randomBytes(6).toString("hex");
  const label =
    project === null
      ? {
          project: await findFolderProject(
            context,
            config.attribution.autoClassifyUnknownProcesses,
            requestProject,
          ),
          isGiven: false,
        }
      : { project: normaliseSlug(project), isGiven: true };
  return {
    user: formatRunUser({ ...label, runId }),
    password: encodeURIComponent(config.proxy.password ?? randomBytes(12).toString("hex")),
  };
}

/** Returns the project that a program in the current folder would have; empty if it is the default project. */
async function findFolderProject(
  context: CommandContext,
  autoClassifyUnknownProcesses: boolean,
  requestProject: RequestProject,
): Promise<string> {
  const cwd = findWorkingDirectory();
  const facts = {
    headerProject: null,
    proxyUser: null,
    process: {
      pid: process.pid,
      processName: null,
      commandLines: [],
      environmentProject: context.env.METER_PROJECT ?? null,
      cwd,
    },
    folders: cwd === null ? null : await createProjectFiles().find(cwd),
  };
  const rules = { defaultProject: DEFAULT_PROJECT, autoClassifyUnknownProcesses };
  // The daemon checks the name when a call states it.
  const { project: name, tier, origin } = chooseProject(facts, rules, () => false);
  if (tier === "default_project") return "";
  return origin === null ? name : ((await requestProject({ name, origin })) ?? name);
}
