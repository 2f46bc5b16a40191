import { systemClock } from "../../../adapters/clock/system-clock.ts";
import { sha256Hex } from "../../../adapters/crypto/node-crypto.ts";
import { createProjectFiles, isFolderGone } from "../../../adapters/files/project-files.ts";
import { chooseProject } from "../../../core/metering/attribution/choose-project.ts";
import type { ProjectOrigin } from "../../../core/metering/attribution/project-origin.ts";
import type { Config } from "../../../core/operations/config/config.ts";
import { createNameCheck } from "../../../core/privacy/redaction/name-check.ts";
import { createProjectOrigins } from "../../../daemon/capture/project-origins.ts";
import { mergeBodyRules } from "../../../daemon/cloud/merge-body-rules.ts";
import type { Store } from "../../../daemon/store/port/store.ts";
import { findDaemon } from "../../daemon/daemon-process.ts";
import { requestProject } from "../../daemon/daemon-projects.ts";

/** A project, and the tier that found it. */
export interface FolderProject {
  readonly project: string;
  readonly tier: string;
}

/**
 * Creates a function that finds the project of a folder, as the daemon finds that of a caller without an environment and a command
 * line. Each folder is looked up once. If a daemon is running, it names the project, because it knows which folders have which project.
 */
export async function createFolderProjects(
  home: string,
  config: Config,
  store: Store,
  dryRun: boolean,
): Promise<(cwd: string | null) => Promise<FolderProject>> {
  const isSecret = createNameCheck(config.redactionRules);
  const files = createProjectFiles();
  const find = dryRun ? async () => null : await createOriginFinder(home, config, store, isSecret);
  const known = new Map<string | null, Promise<FolderProject>>();
  const look = async (cwd: string | null): Promise<FolderProject> => {
    const facts = { pid: 0, processName: null, commandLines: [], environmentProject: null };
    const { project, tier, origin } = chooseProject(
      {
        headerProject: null,
        proxyUser: null,
        process: cwd === null ? null : { ...facts, cwd },
        folders: cwd === null ? null : await files.find(cwd),
      },
      config.attribution,
      isSecret,
    );
    return { tier, project: origin === null ? project : ((await find(project, origin)) ?? project) };
  };
  return (cwd) => {
    const found = known.get(cwd) ?? look(cwd);
    known.set(cwd, found);
    return found;
  };
}

const nothing = () => {};
const SILENT = { debug: nothing, info: nothing, warn: nothing, error: nothing };

type FindOrigin = (name: string, origin: ProjectOrigin) => Promise<string | null>;

async function createOriginFinder(
  home: string,
  config: Config,
  store: Store,
  isSecret: (name: string) => boolean,
): Promise<FindOrigin> {
  const daemon = await findDaemon(home);
  if (daemon !== null) return (name, origin) => requestProject(home, daemon, { name, origin });
  const isSent = mergeBodyRules(config.cloud);
  const origins = createProjectOrigins({
    ...{ store, isFolderGone, sha256Hex, isSecret },
    clock: systemClock,
    log: SILENT,
    isShared: (name) => Object.hasOwn(isSent, name) && !isSent[name],
  });
  return (name, origin) => origins.find(name, origin);
}
