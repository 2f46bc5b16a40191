import { type AttributionRules, attributeCall } from "../../core/metering/attribution/attribute-call.ts";
import { isInterpreter, readProgramName } from "../../core/metering/attribution/program-name.ts";
import { readRunUser } from "../../core/metering/attribution/run-label.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Log } from "../../core/ports/log.ts";
import type { ProcessFacts, ProcessTable } from "../../core/ports/process-table.ts";
import type { ProjectFacts, ProjectFiles } from "../../core/ports/project-files.ts";
import { errorMessage, errorName } from "../../core/values/text/describe-error.ts";
import type { Millis } from "../../core/values/time.ts";
import type { CallAttribution, CallingProgram, ConnectionAttribution } from "./ports.ts";
import type { ProjectOrigins } from "./project-origins.ts";

/** How long the lookup of a process may take, in milliseconds. After that, the call is attributed without it. */
export const ATTRIBUTION_TIMEOUT_MS = 5_000;

/** How long the facts of a folder are cached, in milliseconds. */
export const FOLDERS_MAX_AGE_MS = 5_000;

/** The maximum number of working directories whose facts are cached. */
const MAX_FOLDERS = 256;

/** The ports of the attributor. */
export interface AttributorPorts {
  readonly processTable: ProcessTable;
  readonly projectFiles: ProjectFiles;
  readonly clock: Clock;
  readonly log: Log;
  /** Keeps folders of the same name apart. Without it, they are one project. */
  readonly origins?: Pick<ProjectOrigins, "find">;
}

/** The configuration of the attributor. */
export interface AttributorConfig extends AttributionRules {
  /** Returns the port that the proxy listens on, or null before it listens. */
  proxyPort(): number | null;
}

interface CallerFacts {
  readonly process: ProcessFacts | null;
  readonly folders: ProjectFacts | null;
}

const UNKNOWN: CallerFacts = { process: null, folders: null };

interface Attributor {
  readonly ports: AttributorPorts;
  readonly config: AttributorConfig;
  /** The cached facts of working directories, oldest first. */
  readonly folders: Map<string, { readonly at: Millis; readonly facts: Promise<ProjectFacts> }>;
}

/** The state of one connection. */
interface CallerState {
  readonly attributor: Attributor;
  readonly proxyUser: string | null;
  /** The facts of the process that opened the connection. */
  readonly facts: Promise<CallerFacts>;
  isKnown: boolean;
  /** The last attribution. Nearly all calls of a connection name the same project in their header, or none. */
  latest: { readonly headerProject: string | null; readonly attribution: Promise<CallAttribution> } | null;
}

/**
 * Creates a function that attributes connections. It looks up the caller once, when a connection opens, because the process
 * may have exited when the response ends. The result applies to all calls of the connection. An attribution never rejects,
 * and takes at most `ATTRIBUTION_TIMEOUT_MS`. Without the caller, the next tier decides.
 */
export function createAttributor(
  ports: AttributorPorts,
  config: AttributorConfig,
): (opened: { readonly clientPort: number; readonly proxyUser: string | null }) => ConnectionAttribution {
  const attributor: Attributor = { ports, config, folders: new Map() };
  return ({ clientPort, proxyUser }) => {
    const facts = lookUpCaller(attributor, clientPort);
    const caller: CallerState = { attributor, proxyUser, facts, isKnown: false, latest: null };
    void facts.then(() => {
      caller.isKnown = true;
    });
    return {
      attribute: (headerProject) => attribute(caller, headerProject),
      provisional: (headerProject) => attributeProvisionally(caller, headerProject),
      program: async () => readProgram((await facts).process),
    };
  };
}

/** Looks up the process behind a client port and its folders. Never rejects. On a timeout, resolves with what is known. */
function lookUpCaller(attributor: Attributor, clientPort: number): Promise<CallerFacts> {
  const { clock, log } = attributor.ports;
  return new Promise((resolve) => {
    let known = UNKNOWN;
    const cancel = clock.setTimer(ATTRIBUTION_TIMEOUT_MS, () => {
      log.warn("attribution.failed", { error: "timeout" });
      resolve(known);
    });
    const onProcess = (process: ProcessFacts | null) => {
      known = { process, folders: null };
    };
    findCaller(attributor, clientPort, onProcess)
      .catch((cause: unknown) => {
        log.warn("attribution.failed", { error: errorName(cause), message: errorMessage(cause) });
        return known;
      })
      .then(resolve)
      .finally(cancel);
  });
}

async function findCaller(
  attributor: Attributor,
  clientPort: number,
  onProcess: (process: ProcessFacts | null) => void,
): Promise<CallerFacts> {
  const { ports, config } = attributor;
  const process = await ports.processTable.lookup({ clientPort, proxyPort: config.proxyPort() });
  onProcess(process);
  return { process, folders: process?.cwd == null ? null : await findFolders(attributor, process.cwd) };
}

function findFolders({ ports, folders }: Attributor, cwd: string): Promise<ProjectFacts> {
  const known = folders.get(cwd);
  const now = ports.clock.now();
  if (known !== undefined && now >= known.at && now - known.at < FOLDERS_MAX_AGE_MS) return known.facts;
  folders.delete(cwd);
  const facts = ports.projectFiles.find(cwd);
  folders.set(cwd, { at: now, facts });
  const [oldest] = folders.keys();
  if (folders.size > MAX_FOLDERS && oldest !== undefined) folders.delete(oldest);
  return facts;
}

const findProject = (
  { attributor, proxyUser }: CallerState,
  headerProject: string | null,
  { process, folders }: CallerFacts,
) => attributeCall({ headerProject, proxyUser, process, folders }, attributor.config);

function attribute(caller: CallerState, headerProject: string | null): Promise<CallAttribution> {
  if (caller.latest === null || caller.latest.headerProject !== headerProject) {
    caller.latest = { headerProject, attribution: attributeByCaller(caller, headerProject) };
  }
  return caller.latest.attribution;
}

async function attributeByCaller(
  caller: CallerState,
  headerProject: string | null,
): Promise<CallAttribution> {
  const facts = await caller.facts;
  const { process, folders } = facts;
  const { log, origins } = caller.attributor.ports;
  const { project: name, tier, runnerUp, origin } = findProject(caller, headerProject, facts);
  const isFolder = origin !== null || tier === "run_folder";
  const project = isFolder && origins !== undefined ? await origins.find(name, origin) : name;
  const client = process === null ? null : nameProgram(process);
  const run = caller.proxyUser === null ? null : (readRunUser(caller.proxyUser)?.runId ?? null);
  const fields = { tier, project, runner_up: runnerUp?.project ?? null, client };
  log.info("attribution.tier_hit", run === null ? fields : { ...fields, run });
  return {
    project,
    tier,
    client,
    workdir: process?.cwd ?? null,
    ...(process === null && { isCallerMissing: true as const }),
    // A folder that could not be read may have a `.meter.toml` that refuses body capture.
    bodyCaptureRefused: folders?.bodyCaptureRefused ?? process?.cwd != null,
  };
}

function readProgram(process: ProcessFacts | null): CallingProgram | null {
  const name = process === null ? null : nameProgram(process);
  return process === null || name === null ? null : { name, runtime: process.processName ?? name };
}

/** Returns the program's name. An interpreter's own command line names the program that it runs. */
function nameProgram({ processName, commandLines }: ProcessFacts): string | null {
  if (processName !== null && !isInterpreter(processName)) return processName;
  return readProgramName(commandLines[0] ?? []) ?? processName;
}

function attributeProvisionally(caller: CallerState, headerProject: string | null): CallAttribution | null {
  if (caller.isKnown) return null;
  const { project, tier } = findProject(caller, headerProject, UNKNOWN);
  return { project, tier, client: null, workdir: null, bodyCaptureRefused: true };
}
