import { readdirSync, readFileSync } from "node:fs";
import process from "node:process";

/** Returns the CPU time of this process in milliseconds. Other load on the machine affects it less than elapsed time. */
export function ownCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/**
 * Returns the CPU time of a process and of all that it started, in milliseconds. Reads `/proc` (Linux only), which counts the time of
 * children that have ended in steps of 10 ms.
 */
export function treeCpuMs(root: number): number {
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc")) {
    const parent = /^\d+$/.test(name) ? statOf(name)?.[1] : undefined;
    if (parent !== undefined) parents.set(Number(name), Number(parent));
  }
  const isInTree = (id: number): boolean => {
    if (id === root) return true;
    const parent = parents.get(id);
    return parent !== undefined && parent > 1 && isInTree(parent);
  };
  return [...parents.keys()].filter(isInTree).reduce((sum, id) => sum + runMs(id) + endedChildrenMs(id), 0);
}

/** The CPU time of a piece of work in milliseconds: in this process, and in another process with all that it started. */
export interface MeasuredCpu {
  readonly own: number;
  readonly tree: number;
}

/** Measures a piece of work, without the time to read `/proc` (4 ms with 200 processes). */
export async function measureCpu(root: number, work: () => Promise<unknown>): Promise<MeasuredCpu> {
  const treeBefore = treeCpuMs(root);
  const ownBefore = ownCpuMs();
  await work();
  const own = ownCpuMs() - ownBefore;
  return { own, tree: treeCpuMs(root) - treeBefore };
}

/** The fields of `/proc/<id>/stat` after the name; null if the process has ended. */
function statOf(id: number | string): readonly string[] | null {
  try {
    const text = readFileSync(`/proc/${id}/stat`, "utf8");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    return null;
  }
}

/** The CPU time of all threads of a process, to the nanosecond. */
function runMs(id: number): number {
  try {
    return readdirSync(`/proc/${id}/task`).reduce(
      (sum, thread) =>
        sum + Number(readFileSync(`/proc/${id}/task/${thread}/schedstat`, "utf8").split(" ")[0]) / 1e6,
      0,
    );
  } catch {
    return 0;
  }
}

function endedChildrenMs(id: number): number {
  const fields = statOf(id);
  return fields === null ? 0 : (Number(fields[13]) + Number(fields[14])) * 10;
}

/** The CPU time of `runReference()` on the machine that the budgets were set on, with nothing else running. */
const REFERENCE_MS = 14;

/** A fixed piece of work: strings, objects and big integers, as pages have. Returns its CPU time. */
function runReference(): number {
  const startedAt = ownCpuMs();
  let sum = 0n;
  for (let round = 0; round < 12; round += 1) {
    const rows = Array.from({ length: 2_000 }, (_, at) => ({
      key: `row-${(at * 7_919) % 2_003}`,
      value: at,
    }));
    for (const { key, value } of JSON.parse(JSON.stringify(rows.sort((a, b) => (a.key < b.key ? -1 : 1)))))
      sum += BigInt(key.length * value);
  }
  if (sum < 0n) throw new Error("unreachable");
  return ownCpuMs() - startedAt;
}

export const median = (figures: readonly number[]): number =>
  figures.toSorted((a, b) => a - b)[figures.length >> 1] ?? 0;

/**
 * Returns how many times slower this machine is at the moment than the one that the budgets were set on; at least 1. Figures are divided by it
 * before they are compared with a budget, so that a slow page fails, and a slow machine does not.
 */
export function machineFactor(): number {
  const figures = Array.from({ length: 15 }, runReference);
  return Math.max(1, median(figures) / REFERENCE_MS);
}

/** The CPU time of a piece of work, and how many times slower the machine was meanwhile than the one that the budgets were set on. */
export interface PacedCpu extends MeasuredCpu {
  readonly factor: number;
}

/** Measures a piece of work between two runs of the reference. Other load on the machine slows down all three. */
export async function measurePaced(root: number, work: () => Promise<unknown>): Promise<PacedCpu> {
  const before = runReference();
  const measured = await measureCpu(root, work);
  return { ...measured, factor: (before + runReference()) / 2 / REFERENCE_MS };
}

/** Returns the median that the machine of the budgets would have. Figures of a faster machine are not changed. */
export function pacedMedian(figures: readonly PacedCpu[], of: (figure: PacedCpu) => number): number {
  const isFaster = median(figures.map(({ factor }) => factor)) < 1;
  return median(figures.map((figure) => of(figure) / (isFaster ? 1 : figure.factor)));
}
