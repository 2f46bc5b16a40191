import { attributeCall } from "../../core/metering/attribution/attribute-call.ts";
import type { AttributionRules } from "../../core/metering/attribution/choose-project.ts";
import { type GitState, toGitState } from "../../core/metering/attribution/git-state.ts";
import { isInterpreter, readProgramName } from "../../core/metering/attribution/program-name.ts";
import { readRunUser } from "../../core/metering/attribution/run-label.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Log } from "../../core/ports/log.ts";
import type { ProcessFacts, ProcessTable } from "../../core/ports/process-table.ts";
import type { Checkout, ProjectFacts, ProjectFiles } from "../../core/ports/project-files.ts";
import { errorMessage, errorName } from "../../core/values/text/describe-error.ts";
import type { Millis } from "../../core/values/time.ts";
import type { CallAttribution, CallingProgram, ConnectionAttribution } from "./ports.ts";
import type { ProjectOrigins } from "./project-origins.ts";

/** How long the lookup of a process may take, in milliseconds. After that, the call is attributed without it. */
export const ATTRIBUTION_TIMEOUT_MS = 5_000;

/** How long the facts of a folder are cached, in milliseconds. */
export const FOLDERS_MAX_AGE_MS = 5_000;

/** How long what a working tree has checked out is cached, in milliseconds. */
export const CHECKOUT_MAX_AGE_MS = 1_000;

/** The age at which it is read again ahead of need, in milliseconds, so that calls at a steady rate never wait for it. */
export const CHECKOUT_REFRESH_AGE_MS = 600;

/** How long reading that may take, in milliseconds. After that, it is unknown. */
export const CHECKOUT_TIMEOUT_MS = 1_000;

/** The maximum number of folders whose facts are cached. */
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
  /** The cached facts of working directories. */
  readonly folders: FactCache<ProjectFacts>;
  /** What working trees have checked out. */
  readonly checkouts: FactCache<Checkout | null>;
}

/** The facts of folders and when they were read, oldest first. */
type FactCache<Facts> = Map<string, CachedFacts<Facts>>;

interface CachedFacts<Facts> {
  readonly at: Millis;
  readonly facts: Promise<Facts>;
  /** What `facts` has resolved with. */
  read?: Facts;
  /** Whether they are being read again. */
  isRefreshing?: true;
}

/** A connection to attribute. */
interface OpenedConnection {
  readonly clientPort: number;
  readonly proxyUser: string | null;
  /** The process at the client end, if it is known already. It is looked up otherwise. */
  readonly caller?: ProcessFacts | undefined;
}

/** The state of one connection. */
interface CallerState {
  readonly attributor: Attributor;
  readonly proxyUser: string | null;
  /** The facts of the process that opened the connection. */
  readonly facts: Promise<CallerFacts>;
  /** What `facts` has resolved with; null before. */
  known: CallerFacts | null;
  /** The last attribution. Nearly all calls of a connection name the same project in their header, or none. */
  latest: LatestAttribution | null;
  /** The last provisional attribution. */
  early: { readonly headerProject: string | null; readonly attribution: CallAttribution } | null;
}

interface LatestAttribution {
  readonly headerProject: string | null;
  readonly attribution: Promise<CallAttribution>;
  /** What `attribution` has resolved with; null before. */
  known: CallAttribution | null;
}

/**
 * Creates a function that attributes connections. It looks up the caller once, when a connection opens, because the process
 * may have exited when the response ends. The result applies to all calls of the connection. An attribution never rejects,
 * and takes at most `ATTRIBUTION_TIMEOUT_MS`. Without the caller, the next tier decides.
 */
export function createAttributor(
  ports: AttributorPorts,
  config: AttributorConfig,
): (opened: OpenedConnection) => ConnectionAttribution {
  const attributor: Attributor = { ports, config, folders: new Map(), checkouts: new Map() };
  return ({ clientPort, proxyUser, caller: process = null }) => {
    const facts = lookUpCaller(attributor, clientPort, process);
    const caller: CallerState = { attributor, proxyUser, facts, known: null, latest: null, early: null };
    void facts.then((known) => {
      caller.known = known;
    });
    return {
      attribute: (headerProject) => attribute(caller, headerProject).attribution,
      known: (headerProject) => attribute(caller, headerProject).known,
      provisional: (headerProject) => attributeProvisionally(caller, headerProject),
      program: async () => readProgram((await facts).process),
      git: () =>
        caller.known === null
          ? facts.then((known) => readGit(attributor, known))
          : readGit(attributor, caller.known),
    };
  };
}

/** Looks up the process behind a client port and its folders. Never rejects. On a timeout, resolves with what is known. */
function lookUpCaller(
  attributor: Attributor,
  clientPort: number,
  process: ProcessFacts | null,
): Promise<CallerFacts> {
  const { clock, log } = attributor.ports;
  return new Promise((resolve) => {
    let known: CallerFacts = { process, folders: null };
    const cancel = clock.setTimer(ATTRIBUTION_TIMEOUT_MS, () => {
      log.warn("attribution.failed", { error: "timeout" });
      resolve(known);
    });
    const onProcess = (process: ProcessFacts | null) => {
      known = { process, folders: null };
    };
    findCaller(attributor, clientPort, process, onProcess)
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
  caller: ProcessFacts | null,
  onProcess: (process: ProcessFacts | null) => void,
): Promise<CallerFacts> {
  const { ports, config } = attributor;
  const proxyPort = config.proxyPort();
  const process = caller ?? (await ports.processTable.lookup({ clientPort, proxyPort }));
  onProcess(process);
  return { process, folders: process?.cwd == null ? null : await findFolders(attributor, process.cwd) };
}

const findFolders = ({ ports, folders }: Attributor, cwd: string): Promise<ProjectFacts> =>
  readCached(folders, cwd, FOLDERS_MAX_AGE_MS, ports.clock.now(), () => ports.projectFiles.find(cwd)).facts;

/** Returns the state of the caller's working tree. */
function readGit(attributor: Attributor, caller: CallerFacts): GitState | null | Promise<GitState | null> {
  const gitFolder = caller.folders?.gitFolder ?? null;
  if (gitFolder === null) return null;
  const { facts, read } = findCheckout(attributor, gitFolder);
  return read === undefined
    ? facts.then((checkout) => describeGit(caller, checkout))
    : describeGit(caller, read);
}

function describeGit({ process, folders }: CallerFacts, checkout: Checkout | null): GitState | null {
  return folders === null || checkout === null
    ? null
    : toGitState(checkout, folders.gitRemote, process?.ciRun);
}

/** Reads what is checked out. Null if that fails, or takes too long, as on a file system that does not answer. */
function findCheckout({ ports, checkouts }: Attributor, gitFolder: string): CachedFacts<Checkout | null> {
  const { clock, projectFiles } = ports;
  const now = clock.now();
  const read = () => {
    const { promise, resolve } = Promise.withResolvers<Checkout | null>();
    const cancel = clock.setTimer(CHECKOUT_TIMEOUT_MS, () => resolve(null));
    projectFiles
      .checkout(gitFolder)
      .then(resolve, () => resolve(null))
      .finally(cancel);
    return promise;
  };
  const cached = readCached(checkouts, gitFolder, CHECKOUT_MAX_AGE_MS, now, read);
  if (now - cached.at >= CHECKOUT_REFRESH_AGE_MS) refreshAhead(checkouts, gitFolder, now, cached, read);
  return cached;
}

/** Reads the facts again, once, and replaces the cached ones when they are read. */
function refreshAhead<Facts>(
  cache: FactCache<Facts>,
  folder: string,
  now: Millis,
  cached: CachedFacts<Facts>,
  read: () => Promise<Facts>,
): void {
  if (cached.isRefreshing) return;
  cached.isRefreshing = true;
  const facts = read();
  facts.then(
    (fresh) => {
      if (cache.get(folder) === cached) cache.set(folder, { at: now, facts, read: fresh });
    },
    () => {}, // the next call reads them again
  );
}

function readCached<Facts>(
  cache: FactCache<Facts>,
  folder: string,
  maxAgeMs: number,
  now: Millis,
  read: () => Promise<Facts>,
): CachedFacts<Facts> {
  const known = cache.get(folder);
  if (known !== undefined && now >= known.at && now - known.at < maxAgeMs) return known;
  cache.delete(folder);
  const cached: CachedFacts<Facts> = { at: now, facts: read() };
  cached.facts.then(
    (facts) => {
      cached.read = facts;
    },
    () => {}, // reported by those who wait for it
  );
  cache.set(folder, cached);
  const [oldest] = cache.keys();
  if (cache.size > MAX_FOLDERS && oldest !== undefined) cache.delete(oldest);
  return cached;
}

const findProject = (
  { attributor, proxyUser }: CallerState,
  headerProject: string | null,
  { process, folders }: CallerFacts,
) => attributeCall({ headerProject, proxyUser, process, folders }, attributor.config);

function attribute(caller: CallerState, headerProject: string | null): LatestAttribution {
  if (caller.latest === null || caller.latest.headerProject !== headerProject) {
    const attribution = attributeByCaller(caller, headerProject);
    const latest: LatestAttribution = { headerProject, attribution, known: null };
    attribution.then(
      (known) => {
        latest.known = known;
      },
      () => {}, // reported by those who wait for it
    );
    caller.latest = latest;
  }
  return caller.latest;
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
    ...(process === null ? { isCallerMissing: true as const } : { processId: process.pid }),
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
  if (caller.known !== null) {
    caller.early = null;
    return null;
  }
  if (caller.early === null || caller.early.headerProject !== headerProject) {
    const { project, tier } = findProject(caller, headerProject, UNKNOWN);
    const attribution = { project, tier, client: null, workdir: null, bodyCaptureRefused: true };
    caller.early = { headerProject, attribution };
  }
  return caller.early.attribution;
}
