import { readdirSync, readFileSync } from "node:fs";

/** Ticks of the kernel's CPU accounting per second; 100 on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

function cpuTicks(stat: string): number {
  // The name in parentheses may contain spaces, so fields are counted from its end.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return Number(fields[11]) + Number(fields[12]);
}

/** Returns the CPU seconds used by a process, or by one of its threads. */
export function cpuSeconds(pid: number, thread: number | null = null): number {
  const path = thread === null ? `/proc/${pid}/stat` : `/proc/${pid}/task/${thread}/stat`;
  return cpuTicks(readFileSync(path, "utf8")) / TICKS_PER_SECOND;
}

/** Returns the kernel's thread ids of a process. */
export function threads(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).map(Number);
}

/** Returns the resident memory in MiB. */
export function residentMiB(pid: number): number {
  const kib = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kib) / 1024;
}
