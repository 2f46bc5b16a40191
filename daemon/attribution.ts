import { type AttributionRules, attributeCall } from "../core/attribution/mod.ts";
import type { Clock } from "../core/ports/clock.ts";
import type { Log } from "../core/ports/log.ts";
import type { ProcessFacts, ProcessTable } from "../core/ports/process-table.ts";
import type { ProjectFacts, ProjectFiles } from "../core/ports/project-files.ts";
import type { CallAttribution, ConnectionAttribution } from "./capture/ports.ts";
import { errorName } from "./error-name.ts";

/** Longest wait for what is known of a process, in milliseconds; after that the call goes without. */
export const ATTRIBUTION_TIMEOUT_MS = 5_000;

/** How long what the folders say is taken for still true, in milliseconds. */
export const FOLDERS_FRESH_MS = 5_000;

/** Working directories of which the folders are kept. */
const MAX_FOLDERS = 256;

export interface AttributorPorts {
  readonly processTable: ProcessTable;
  readonly projectFiles: ProjectFiles;
  readonly clock: Clock;
  readonly log: Log;
}

export interface AttributorConfig extends AttributionRules {
  /** The port at which the proxy listens; null while it is not known. */
  proxyPort(): number | null;
}

interface CallerFacts {
  readonly process: ProcessFacts | null;
  readonly folders: ProjectFacts | null;
}

const UNKNOWN: CallerFacts = { process: null, folders: null };

/**
 * Makes the attribution of connections. The caller is looked up once, when its connection opens, since it may be gone
 * when the answer ends; the result serves all calls of that connection. Neither throws nor takes longer than
 * `ATTRIBUTION_TIMEOUT_MS`: what is not known by then is left out, and the next tier decides.
 */
export function createAttributor(
  { processTable, projectFiles, clock, log }: AttributorPorts,
  config: AttributorConfig,
): (opened: { readonly clientPort: number; readonly proxyUser: string | null }) => ConnectionAttribution {
  const folders = new Map<string, { at: number; facts: Promise<ProjectFacts> }>();

  function foldersOf(cwd: string): Promise<ProjectFacts> {
    const known = folders.get(cwd);
    const now = clock.now();
    if (known !== undefined && now >= known.at && now - known.at < FOLDERS_FRESH_MS) return known.facts;
    folders.delete(cwd);
    const facts = projectFiles.find(cwd);
    folders.set(cwd, { at: now, facts });
    const [oldest] = folders.keys();
    if (folders.size > MAX_FOLDERS && oldest !== undefined) folders.delete(oldest);
    return facts;
  }

  /** A process that is known but whose folders are not may be one that refuses body capture: so it does. */
  function lookUp(clientPort: number): Promise<CallerFacts> {
    return new Promise((resolve) => {
      let known = UNKNOWN;
      const cancel = clock.setTimer(ATTRIBUTION_TIMEOUT_MS, () => {
        log.warn("attribution.failed", { error: "timeout" });
        resolve(known);
      });
      const find = async (): Promise<CallerFacts> => {
        const process = await processTable.lookup({ clientPort, proxyPort: config.proxyPort() });
        known = { process, folders: null };
        return process?.cwd == null ? known : { process, folders: await foldersOf(process.cwd) };
      };
      find()
        .catch((cause: unknown) => {
          log.warn("attribution.failed", { error: errorName(cause) });
          return known;
        })
        .then(resolve)
        .finally(cancel);
    });
  }

  return ({ clientPort, proxyUser }) => {
    const facts = lookUp(clientPort);
    /** The last answer: a connection's calls nearly always say the same, or nothing, about their project. */
    let latest: { headerProject: string | null; attribution: Promise<CallAttribution> } | null = null;
    const attribute = async (headerProject: string | null): Promise<CallAttribution> => {
      const { process, folders: found } = await facts;
      const { project, tier, runnerUp } = attributeCall(
        { headerProject, proxyUser, process, folders: found },
        config,
      );
      const client = process?.processName ?? null;
      log.info("attribution.tier_hit", { tier, project, runner_up: runnerUp?.project ?? null, client });
      return {
        project,
        tier,
        client,
        workdir: process?.cwd ?? null,
        bodyCaptureRefused: found?.bodyCaptureRefused ?? process?.cwd != null,
      };
    };
    return {
      attribute(headerProject) {
        if (latest === null || latest.headerProject !== headerProject) {
          latest = { headerProject, attribution: attribute(headerProject) };
        }
        return latest.attribution;
      },
    };
  };
}
