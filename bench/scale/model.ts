import type { Measured } from "./measure-cloud.ts";

/** The assumptions of the model. Each row of the table in docs/scale.md is one of them. */
export const ASSUMPTIONS = {
  recordsPerDay: {
    value: 300,
    unit: "records",
    what: "created by a daemon per day",
  },
  batchesPerRecord: {
    value: 0.98,
    unit: "batches",
    what: "per record, because a daemon sends every 30 s (bench:fleet: 29.3 million for 30.0 million records)",
  },
  peak: {
    value: 2.2,
    unit: "times the mean",
    what: "in the busiest second, after an outage of two hours (bench:fleet: 744 batches a second, 339 on average)",
  },
  pollsPerDay: {
    value: 900,
    unit: "requests",
    what: "by a daemon per day besides batches: budgets every 5 minutes, coverage and limits while it is used, ledger heads each hour",
  },
  utilisation: { value: 0.6, unit: "of the processors", what: "in use in the busiest second" },
  cores: { value: 16, unit: "cores", what: "per machine" },
  diskGigabytes: { value: 2_000, unit: "GB", what: "of disk per machine, of which 70 % may be filled" },
  months: { value: 13, unit: "months", what: "for which records are kept" },
  costPerMonth: { value: 500, unit: "USD", what: "per machine and month" },
  coordinatorShare: {
    value: 0.7,
    unit: "of PostgreSQL's time",
    what: "needed by the coordinator beside the workers (measured on Citus 13.2: 20 to 29 µs per record, where one server needed 33 to 44)",
  },
  workerShare: {
    value: 1.8,
    unit: "times PostgreSQL's time",
    what: "needed by all workers together (in the same measurement: 47 to 86 µs per record)",
  },
} as const;

type Values = Readonly<Record<keyof typeof ASSUMPTIONS, number>>;

/** The assumptions as numbers. */
export const assumed: Values = Object.fromEntries(
  Object.entries(ASSUMPTIONS).map(([name, { value }]) => [name, value]),
) as Values;

/** The roles of the machines. A single machine runs both the cloud and PostgreSQL. */
export interface Setup {
  readonly name: string;
  readonly machines: number;
  /** Machines that only run processes of the cloud; 0 if it shares PostgreSQL's. */
  readonly cloud: number;
  /** Workers of a cluster, beside its coordinator; 0 for one server. */
  readonly workers: number;
}

/** The set-ups of docs/scale.md. */
export const SETUPS: readonly Setup[] = [
  { name: "one machine", machines: 1, cloud: 0, workers: 0 },
  { name: "three: PostgreSQL, 2 × cloud", machines: 3, cloud: 2, workers: 0 },
  { name: "thirty: coordinator, 25 workers, 4 × cloud", machines: 30, cloud: 4, workers: 25 },
];

/** The capacity of a set-up. */
export interface Capacity {
  readonly setup: Setup;
  readonly daemons: number;
  readonly recordsPerSecond: number;
  /** The name of the limit that is reached first. */
  readonly firstLimit: string;
  /** Each limit, in daemons. */
  readonly limits: Readonly<Record<string, number>>;
  readonly usdPerMillionRecords: number;
}

const DAY_S = 86_400;

/** The processor time that a daemon needs in a second of the peak, in microseconds. */
export function demandOf(measured: Measured, values: Values): { cloud: number; postgres: number } {
  const records = (values.recordsPerDay / DAY_S) * values.peak;
  const batches = records * values.batchesPerRecord;
  const polls = values.pollsPerDay / DAY_S;
  const of = (kind: "cloud" | "postgres") =>
    records * measured.perRecord[kind] + batches * measured.perBatch[kind] + polls * measured.perPoll[kind];
  return { cloud: of("cloud"), postgres: of("postgres") };
}

/** Returns the bytes of disk that a record needs. */
export const bytesOf = ({ bytesPerRecord }: Measured): number =>
  bytesPerRecord.requests + bytesPerRecord.indexes + bytesPerRecord.others;

/** Computes the capacity of a set-up: the smallest of its limits. */
export function capacityOf(setup: Setup, measured: Measured, values: Values = assumed): Capacity {
  const demand = demandOf(measured, values);
  const perMachine = values.cores * 1e6 * values.utilisation;
  const diskOfDaemon = bytesOf(measured) * values.recordsPerDay * 30.4 * values.months;
  const databases = Math.max(1, setup.workers);
  const limits: Record<string, number> = {
    disk: (databases * values.diskGigabytes * 1e9 * 0.7) / diskOfDaemon,
  };
  if (setup.cloud === 0) limits.processors = perMachine / (demand.cloud + demand.postgres);
  else limits["processors of the cloud"] = (setup.cloud * perMachine) / demand.cloud;
  if (setup.cloud > 0 && setup.workers === 0)
    limits["processors of PostgreSQL"] = perMachine / demand.postgres;
  if (setup.workers > 0) {
    limits["processors of the workers"] =
      (setup.workers * perMachine) / (demand.postgres * values.workerShare);
    limits["processors of the coordinator"] = perMachine / (demand.postgres * values.coordinatorShare);
  }
  const [firstLimit, daemons] = Object.entries(limits).reduce((least, each) =>
    each[1] < least[1] ? each : least,
  );
  const recordsPerMonth = daemons * values.recordsPerDay * 30.4;
  return {
    ...{ setup, daemons, firstLimit, limits },
    recordsPerSecond: (daemons * values.recordsPerDay) / DAY_S,
    usdPerMillionRecords: (setup.machines * values.costPerMonth) / (recordsPerMonth / 1e6),
  };
}

/** Computes how many machines of each role a fleet needs. */
export function machinesFor(daemons: number, measured: Measured, values: Values = assumed) {
  const demand = demandOf(measured, values);
  const perMachine = values.cores * 1e6 * values.utilisation;
  const machines = (us: number) => (daemons * us) / perMachine;
  const disk = (daemons * bytesOf(measured) * values.recordsPerDay * 30.4 * values.months) / 1e12;
  return {
    cloud: Math.ceil(machines(demand.cloud)),
    postgres: machines(demand.postgres),
    coordinator: machines(demand.postgres * values.coordinatorShare),
    workers: Math.ceil(
      Math.max(machines(demand.postgres * values.workerShare), (disk * 1_000) / (values.diskGigabytes * 0.7)),
    ),
    diskTerabytes: disk,
  };
}
