import { readFileSync } from "node:fs";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { tokenFile } from "../../cli/daemon/daemon-process.ts";
import { requestDaemon } from "../../cli/daemon/loopback-client.ts";
import type { BudgetView } from "../../daemon/budgets/budget-views.ts";
import type { StoredRequest } from "../../daemon/store/port/records.ts";
import {
  createHome,
  type MeterProcess,
  PATIENCE_MS,
  removeHome,
  simulationConfig,
  startMeter,
} from "../end-to-end/meter-process.rig.ts";
import { type RawCall, rawCalls } from "../end-to-end/raw-client.rig.ts";
import { createParentProxy, createProviderSimulation } from "../simulation/mod.ts";
import { createSeededRandom } from "../simulation/seeded-random.ts";
import { createCaller } from "./caller.ts";

/** The result of the rounds. */
interface BudgetChaosResult {
  readonly rounds: number;
  readonly seed: string;
  /** How often the daemon was killed, and how often all calls were left to end instead. */
  readonly kills: number;
  readonly calms: number;
  readonly answered: number;
  readonly cut: number;
  readonly records: number;
  readonly costPicoUsd: string;
  /** Sums that were not those of the records, and calls that stayed in flight. Must be empty. */
  readonly differences: readonly string[];
}

/** Simultaneous calls, and the longest time between two kills in milliseconds. */
const CLIENTS = 4;
const CALM_MS = 1_200;

const CALLS: readonly (readonly [api: string, scenario: string])[] = [
  ["anthropic", "ok"],
  ["anthropic", "thinking+cached"],
  ["anthropic", "drip"],
  ["anthropic", "overloaded"],
  ["chat", "cached+gzip"],
  ["responses", "thinking"],
];

/** Amounts that are not used up: a budget that refuses calls would end the traffic. */
const BUDGETS: readonly string[] = [
  ...["[[budget]]", 'name = "usd"', 'amount = "1000000 USD"', 'period = "total"', 'at_limit = "block"'],
  ...["[[budget]]", 'name = "calls"', 'amount = "100M requests"', 'period = "total"', 'at_limit = "block"'],
  ...[
    "[[budget]]",
    'name = "claude"',
    'amount = "1000000 USD"',
    'period = "total"',
    'provider = "anthropic"',
  ],
];

/** With this budget, every call is held and reserves its bound. */
const RESERVING = ["held", "1000000 USD", "--period", "total", "--block", "--reserve"];

/**
 * Kills the daemon at random points while calls go through the proxy, or lets all calls end. After each round, what each budget states
 * must be the sum of the stored records, to the last pico-USD, and no call may be in flight. From half of the rounds on, a budget
 * reserves for every call; before, calls pass without a decision.
 */
export async function runBudgetChaos(
  { rounds, seed }: { rounds: number; seed: string },
  tell: (line: string) => void,
): Promise<BudgetChaosResult> {
  const simulation = await createProviderSimulation({ seed });
  const parent = await createParentProxy(simulation);
  const home = createHome(simulationConfig(parent, simulation, BUDGETS));
  const random = createSeededRandom(`${seed} kills`);
  let meter = await startMeter(home);
  const traffic = createTraffic(() => meter, seed);
  const differences: string[] = [];
  let [kills, records, cost] = [0, 0, 0n];
  try {
    for (let round = 1; round <= rounds; round += 1) {
      if (round === Math.floor(rounds / 2) + 1) {
        const { code, stderr } = await meter.run(["budget", "set", ...RESERVING]);
        if (code !== 0) throw new Error(stderr);
      }
      const running = traffic.run();
      await delay(random.integer(200, CALM_MS));
      const isKill = random.integer(0, 2) > 0;
      traffic.pause();
      if (isKill) {
        process.kill(meter.pid, "SIGKILL");
        await meter.ended;
        meter = await startMeter(home);
        kills += 1;
      }
      await running;
      const found = await compare(meter);
      differences.push(...found.differences.map((each) => `round ${round}: ${each}`));
      ({ records, cost } = found);
      const result = found.differences.length === 0 ? "exact" : found.differences.join("; ");
      tell(`round ${round}: ${isKill ? "killed" : "calm"}; ${records} records, ${result}`);
    }
    const { answered, cut } = traffic.counts;
    const counts = { kills, calms: rounds - kills, answered, cut, records, costPicoUsd: `${cost}` };
    return { rounds, seed, ...counts, differences };
  } finally {
    traffic.pause();
    await meter.stop();
    await parent.close();
    await simulation.close();
    removeHome(home);
  }
}

/** Clients that call one after the other until they are paused. */
function createTraffic(meter: () => MeterProcess, seed: string) {
  const counts = { answered: 0, cut: 0 };
  let isPaused = true;
  let begun = 0;
  const callers = Array.from({ length: CLIENTS }, (_, client) => ({
    caller: createCaller(meter, createSeededRandom(`${seed} client ${client}`)),
    picks: createSeededRandom(`${seed} calls ${client}`),
  }));
  return {
    counts,
    pause() {
      isPaused = true;
    },
    async run() {
      isPaused = false;
      await Promise.all(
        callers.map(async ({ caller, picks }) => {
          while (!isPaused) {
            const [api, scenario] = picks.pick(CALLS);
            const call = rawCalls[api]?.(scenario, picks.pick([true, false])) as RawCall;
            await caller.call(call, `call-${(begun += 1)}`).then(
              () => (counts.answered += 1),
              () => (counts.cut += 1),
            );
          }
          caller.close();
        }),
      );
    },
  };
}

async function readBudgets({ home, apiPort }: MeterProcess): Promise<readonly BudgetView[]> {
  const token = readFileSync(tokenFile(home), "utf8").trim();
  const { body } = await requestDaemon(apiPort, "/v1/budgets", token, { timeoutMs: PATIENCE_MS });
  return (JSON.parse(body) as { budgets: BudgetView[] }).budgets;
}

/** How long the last records may take to be stored once all calls have ended, in milliseconds. */
const STORING_MS = 15_000;

/** Compares the budgets of a daemon without traffic with the records, until both agree or the time is over. */
async function compare(meter: MeterProcess) {
  const deadline = performance.now() + STORING_MS;
  for (;;) {
    const found = await compareNow(meter);
    if (found.differences.length === 0 || performance.now() > deadline) return found;
    await delay(100);
  }
}

async function compareNow(meter: MeterProcess) {
  const rows = (await meter.rows()).filter(({ blockedBy }) => blockedBy === null);
  const costOf = (counted: readonly StoredRequest[]) =>
    counted.reduce((sum, { costPicoUsd }) => sum + (costPicoUsd ?? 0n), 0n);
  const cost = costOf(rows);
  const expected: Readonly<Record<string, bigint>> = {
    usd: cost,
    held: cost,
    calls: BigInt(rows.length),
    claude: costOf(rows.filter(({ provider }) => provider === "anthropic")),
  };
  const views = await readBudgets(meter);
  const differences = views.flatMap(({ name, spent, in_flight, calls_in_flight }) => [
    ...(spent === `${expected[name]}` ? [] : [`${name} states ${spent}, its records ${expected[name]}`]),
    ...(calls_in_flight === 0 && in_flight === "0" ? [] : [`${name} has ${calls_in_flight} calls in flight`]),
  ]);
  if (views.length < 3) differences.push(`${views.length} budgets`);
  return { differences, records: rows.length, cost };
}

/** Whether every sum was exact, no call stayed in flight, and both kinds of rounds happened. */
export const isExact = ({ differences, records, kills, calms }: BudgetChaosResult): boolean =>
  differences.length === 0 && records > 0 && kills > 0 && calms > 0;
