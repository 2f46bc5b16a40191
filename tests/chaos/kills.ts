import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { type RunningDaemon, readToken, stateFile } from "../../cli/daemon/daemon-process.ts";
import { requestDaemon } from "../../cli/daemon/loopback-client.ts";
import type { BudgetView } from "../../daemon/budgets/budget-views.ts";
import type { LimitView } from "../../daemon/limits/limit-views.ts";
import type { StoredRequest } from "../../daemon/store/port/records.ts";
import type { ReportQuery } from "../../daemon/store/port/reports.ts";
import { naiveReport } from "../daemon/store/naive-report.rig.ts";
import {
  createHome,
  freePort,
  meterWords,
  plainEnvironment,
  readStore,
  removeHome,
  runMeter,
  simulationConfig,
  waitFor,
} from "../end-to-end/meter-process.rig.ts";
import { type RawCall, rawCalls } from "../end-to-end/raw-client.rig.ts";
import { findRelay } from "../end-to-end/relay-process.rig.ts";
import { createParentProxy, createProviderSimulation } from "../simulation/mod.ts";
import { createSeededRandom, type SeededRandom } from "../simulation/seeded-random.ts";
import { createCaller } from "./caller.ts";

/** The age that an answered call without a record may have at the kill, in milliseconds. Source: docs/durability.md. */
export const LOST_AFTER_KILL_MS = 500;

/**
 * How long after a kill the first call on a new connection may take, in milliseconds, with up to 30 processes that want the processor.
 * Source: docs/durability.md.
 */
export const ANSWERED_AGAIN_MS = { daemon: 15_000, relay: 10_000 } as const;

const SIGNALS = ["SIGKILL", "SIGSEGV", "SIGABRT"] as const;

/** Simultaneous clients, and the longest pause of each between two calls, in milliseconds. */
const CLIENTS = 2;
const PAUSE_MS = 20;

/** How long a daemon runs before it is killed, after it announced itself, in milliseconds. */
const RUN_MS = [200, 1_200] as const;

/** One round in so many also begins an import, which is killed too. */
const IMPORT_EVERY = 4;
const CALLS_OF_A_SESSION = 40;

/** Projects of the calls that go through the proxy. All other records come from logs. */
const isLive = ({ project }: Pick<StoredRequest, "project">) => project.startsWith("call-");

/** What is killed: the daemon's main process, or the process of its relay, which it starts again itself. */
export type Victim = "daemon" | "relay";

/** The result of the rounds. */
export interface KillsResult {
  readonly rounds: number;
  readonly seed: string;
  readonly victim: Victim;
  readonly kills: Readonly<Record<(typeof SIGNALS)[number], number>>;
  /** Calls with a complete response, and calls that a kill cut off. */
  readonly answered: number;
  readonly cut: number;
  /** Connections that were refused. Must be 0. */
  readonly refused: number;
  /** Answered calls without a record, and how long before the kill their responses were complete, in milliseconds. */
  readonly lost: number;
  readonly lostBeforeMs: { readonly median: number; readonly longest: number };
  /** Answered calls without a record that no kill explains. Must be none. */
  readonly unexplained: readonly string[];
  readonly doubled: readonly string[];
  /** What the coverage states: calls without a record, and ends of the daemon without a stop. The latter must be the kills of it. */
  readonly unfinished: number;
  readonly interrupted: number;
  /** From the kill until a new call was answered, in milliseconds. */
  readonly answeredAgainMs: { readonly median: number; readonly p95: number; readonly longest: number };
  /** Imports that were killed, and records from logs: stored, and in the logs. */
  readonly imports: { readonly killed: number; readonly stored: number; readonly expected: number };
  /** Reports that differ from the sums of the stored records. Must be none. */
  readonly wrongReports: readonly string[];
  /** What a budget of everything states as spent, and the sum of the records, in pico-USD. */
  readonly budget: { readonly spent: string; readonly stored: string };
  /** What the daemon states about the limits of accounts before a last kill, and after it. */
  readonly limits: { readonly before: readonly string[]; readonly after: readonly string[] };
}

const json = (value: unknown) => `${JSON.stringify(value)}\n`;

/** Writes the log of one session of Claude Code. */
function writeSession(user: string, session: number): void {
  const folder = join(user, ".claude", "projects", `p${session % 5}`);
  mkdirSync(folder, { recursive: true });
  const lines = Array.from({ length: CALLS_OF_A_SESSION }, (_, call) =>
    json({
      type: "assistant",
      uuid: `${session}-${call}`,
      requestId: `req_${session}_${call}`,
      sessionId: `s-${session}`,
      cwd: `/w/imported-${session % 5}`,
      version: "2.1.240",
      timestamp: new Date(Date.now() - (session + 2) * 3_600_000 + call * 1_000).toISOString(),
      message: {
        id: `msg_01${session}x${call}`,
        model: "claude-sonnet-4-5",
        content: [{ type: "text", text: "x" }],
        usage: { input_tokens: 3 + call, output_tokens: 10 + session },
      },
    }),
  );
  writeFileSync(join(folder, `s-${session}.jsonl`), lines.join(""));
}

function pickCall(random: SeededRandom): RawCall {
  const [api, scenario] = random.pick([
    ["anthropic", "ok+used-40"],
    ["anthropic", "thinking+cached+used-40"],
    ["chat", "cached+gzip"],
    ["responses", "thinking"],
  ] as const);
  return rawCalls[api]?.(scenario, random.pick([true, false])) as RawCall;
}

interface Answered {
  readonly at: number;
  readonly killsBefore: number;
}

/** What the rounds share. */
interface Rounds {
  readonly home: string;
  /** The folder with the agents' logs. */
  readonly user: string;
  readonly seed: string;
  readonly victim: Victim;
  readonly random: SeededRandom;
  readonly answered: Map<string, Answered>;
  readonly killedAt: number[];
  readonly answeredAgainMs: number[];
  begun: number;
  cut: number;
  refused: number;
  over: boolean;
}

const running = (home: string) => JSON.parse(readFileSync(stateFile(home), "utf8")) as RunningDaemon;

function createClient({ home }: Rounds, random: SeededRandom) {
  const caPem = readFileSync(join(home, "ca", "ca.pem"), "utf8");
  const proxyPort = running(home).proxy_port;
  return createCaller(() => ({ proxyPort, caPem }), random);
}

/** Calls until the rounds are over. */
async function callOn(rounds: Rounds, client: number): Promise<void> {
  const random = createSeededRandom(`${rounds.seed} client ${client}`);
  const caller = createClient(rounds, random);
  while (!rounds.over) {
    const label = `call-${(rounds.begun += 1)}`;
    const killsBefore = rounds.killedAt.length;
    try {
      await caller.call(pickCall(random), label);
      rounds.answered.set(label, { at: performance.now(), killsBefore });
    } catch (cause) {
      rounds.cut += 1;
      if ((cause as NodeJS.ErrnoException).code === "ECONNREFUSED") rounds.refused += 1;
    }
    await delay(random.integer(0, PAUSE_MS));
  }
  caller.close();
}

/** Makes calls on new connections until one is answered. Returns its label. */
async function callAgain(rounds: Rounds): Promise<string> {
  for (;;) {
    const caller = createClient(rounds, rounds.random);
    const label = `call-${(rounds.begun += 1)}`;
    const killsBefore = rounds.killedAt.length;
    try {
      await caller.call(rawCalls.anthropic?.("ok+used-40", false) as RawCall, label);
      rounds.answered.set(label, { at: performance.now(), killsBefore });
      return label;
    } catch (cause) {
      rounds.cut += 1;
      if ((cause as NodeJS.ErrnoException).code === "ECONNREFUSED") rounds.refused += 1;
    } finally {
      caller.close();
    }
  }
}

/** Returns the process to kill; null while there is none. */
function victimOf({ home, victim }: Rounds): number | null {
  if (!existsSync(stateFile(home))) return null;
  const { pid } = running(home);
  return victim === "daemon" ? pid : findRelay(pid);
}

/** Begins an import, and kills it after a moment. Resolves with whether it was still running. */
async function killImport({ home, user, random }: Rounds): Promise<boolean> {
  const [command = "", ...words] = [...meterWords, "import"];
  const env = plainEnvironment({ METER_HOME: home, HOME: user, USERPROFILE: user });
  const child = spawn(command, words, { env, stdio: "ignore" });
  const ended = new Promise<boolean>((resolve) =>
    child.on("close", (_, signal) => resolve(signal === "SIGKILL")),
  );
  await delay(random.integer(50, 700));
  child.kill("SIGKILL");
  return ended;
}

/** Kills a daemon that `meter start` supervises, under traffic and imports, and compares what is left with what happened. */
export async function runKills(
  { rounds, seed, victim = "daemon" }: { rounds: number; seed: string; victim?: Victim },
  tell: (line: string) => void,
): Promise<KillsResult> {
  const simulation = await createProviderSimulation({ seed });
  const parent = await createParentProxy(simulation);
  const ports = { proxy: await freePort(), api: await freePort() };
  const state: Rounds = {
    home: createHome(simulationConfig(parent, simulation, [], ports)),
    user: mkdtempSync(join(tmpdir(), "meter-user-")),
    ...{ seed, victim, random: createSeededRandom(`${seed} kills`) },
    ...{ answered: new Map(), killedAt: [], answeredAgainMs: [] },
    ...{ begun: 0, cut: 0, refused: 0, over: false },
  };
  const { home, user, random } = state;
  const kills = { SIGKILL: 0, SIGSEGV: 0, SIGABRT: 0 };
  let [sessions, killedImports] = [0, 0];
  try {
    // So that the script does not put a relay in the daemon's place.
    const env = { METER_CRASH_BUDGET: "1000000", HOME: user };
    const started = await runMeter(home, ["start", "--no-import"], { env });
    if (started.code !== 0) throw new Error(started.stderr);
    await runMeter(home, ["budget", "set", "everything", "1000000 USD", "--period", "total"]);
    const traffic = Array.from({ length: CLIENTS }, (_, client) => callOn(state, client));
    for (let round = 1; round <= rounds; round += 1) {
      let importing: Promise<boolean> | null = null;
      if (round % IMPORT_EVERY === 0) {
        writeSession(user, (sessions += 1));
        importing = killImport(state);
      }
      await delay(random.integer(...RUN_MS));
      const signal = random.pick(SIGNALS);
      const pid = await waitFor("a process", () => victimOf(state));
      const killedAt = performance.now();
      state.killedAt.push(killedAt);
      process.kill(pid, signal);
      kills[signal] += 1;
      if (await importing) killedImports += 1;
      await callAgain(state);
      state.answeredAgainMs.push(performance.now() - killedAt);
      await waitFor("another process", () => victimOf(state) !== pid && victimOf(state) !== null);
      if (round % 10 === 0) tell(`${round} kills; ${state.answered.size} calls answered so far`);
    }
    state.over = true;
    await Promise.all(traffic);
    const limits = await compareLimits(state);
    const compared = await compare(state, sessions);
    return {
      rounds,
      seed,
      victim,
      kills,
      limits,
      ...compared,
      imports: { killed: killedImports, ...compared.imports },
    };
  } finally {
    state.over = true;
    await runMeter(home, ["stop"]);
    await parent.close();
    await simulation.close();
    removeHome(home);
    rmSync(user, { recursive: true, force: true });
  }
}

/** Kills the daemon once more, after all calls have their records, and compares the limits of accounts that it states. */
async function compareLimits(rounds: Rounds): Promise<KillsResult["limits"]> {
  const { home } = rounds;
  const last = await callAgain(rounds);
  await waitFor("the last record", () =>
    readStore(home, async ({ records }) => (await records.get(records.latestId() ?? ""))?.project === last),
  );
  const read = async () => {
    const answer = await requestDaemon(running(home).api_port, "/v1/limits", readToken(home));
    const { limits } = JSON.parse(answer.body) as { readonly limits: readonly LimitView[] };
    // Those of requests per minute are left out once they have refilled.
    return limits
      .filter(({ unit }) => unit === "share")
      .map(({ provider, account, window, used_percent, resets_at, status, seen_at }) =>
        [provider, account, window, used_percent, resets_at, status, seen_at].join(" "),
      );
  };
  const before = await read();
  const { pid } = running(home);
  process.kill(pid, "SIGKILL");
  await waitFor("another daemon", () => existsSync(stateFile(home)) && running(home).pid !== pid);
  return { before, after: await read() };
}

/** Compares the stored records with the clients' calls, the logs, the reports and the budget. */
async function compare(rounds: Rounds, sessions: number) {
  const { home, user, answered, killedAt } = rounds;
  const env = { HOME: user, USERPROFILE: user };
  const imported = await runMeter(home, ["import", "--json"], { env });
  if (imported.code !== 0) throw new Error(imported.stderr);
  const { budgets } = JSON.parse((await runMeter(home, ["budget", "list", "--json"])).stdout);
  await runMeter(home, ["stop"]);
  const everything: Pick<ReportQuery, "from" | "to"> = { from: null, to: null };
  const { rows, coverage, wrongReports } = await readStore(home, async (store) => {
    const records = await store.records.read({ ...everything, afterSeq: 0, limit: 1e7 });
    const wrong: string[] = [];
    for (const by of ["total", "project", "model", "day", "hour"] as const) {
      const read = await store.reports.read({ ...everything, by });
      if (!sameRows(read, naiveReport(records, { ...everything, by }))) wrong.push(by);
    }
    return { rows: records, coverage: store.coverage.read(everything), wrongReports: wrong };
  });
  const live = rows.filter(isLive);
  const recorded = new Set(live.map(({ project }) => project));
  const lost = [...answered].filter(([label]) => !recorded.has(label));
  const age = ({ at, killsBefore }: Answered) => Math.max(0, (killedAt[killsBefore] ?? Number.NaN) - at);
  const ages = lost.map(([, call]) => Math.round(age(call))).sort((one, other) => one - other);
  const count = (kind: string) =>
    coverage.filter((each) => each.kind === kind).reduce((sum, { count: n }) => sum + n, 0);
  const again = rounds.answeredAgainMs.map(Math.round).sort((one, other) => one - other);
  const at = (share: number) => again[Math.min(again.length - 1, Math.floor(again.length * share))] ?? 0;
  return {
    ...{ answered: answered.size, cut: rounds.cut, refused: rounds.refused, lost: lost.length },
    lostBeforeMs: { median: ages[ages.length >> 1] ?? 0, longest: ages.at(-1) ?? 0 },
    unexplained: lost.filter(([, call]) => Number.isNaN(age(call))).map(([label]) => label),
    doubled: live.length === recorded.size ? [] : live.map(({ project }) => project),
    ...{ unfinished: count("unfinished"), interrupted: count("interrupted") },
    answeredAgainMs: { median: at(0.5), p95: at(0.95), longest: again.at(-1) ?? 0 },
    imports: { stored: rows.length - live.length, expected: sessions * CALLS_OF_A_SESSION },
    wrongReports,
    budget: {
      spent: (budgets as BudgetView[])[0]?.spent ?? "",
      stored: `${live.reduce((sum, { costPicoUsd }) => sum + (costPicoUsd ?? 0n), 0n)}`,
    },
  };
}

const sameRows = (read: readonly { readonly key: string | null }[], naive: typeof read): boolean => {
  const sorted = (rows: typeof read) =>
    [...rows].sort((one, other) => (one.key ?? "").localeCompare(other.key ?? ""));
  return isDeepStrictEqual(sorted(read), sorted(naive));
};

/** Whether nothing that must be kept was lost, stated wrongly or counted twice. */
export const isKept = (result: KillsResult): boolean =>
  result.answered > 0 &&
  (result.victim === "daemon" || result.lost === 0) &&
  result.refused + result.unexplained.length + result.doubled.length + result.wrongReports.length === 0 &&
  // The last kill, for the limits, is one of the daemon.
  result.interrupted === (result.victim === "daemon" ? result.rounds : 0) + 1 &&
  result.imports.stored === result.imports.expected &&
  result.budget.spent === result.budget.stored &&
  result.limits.before.length > 0 &&
  isDeepStrictEqual(result.limits.before, result.limits.after);
