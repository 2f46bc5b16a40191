import { readdirSync, readFileSync } from "node:fs";

/** Ticks of the kernel's CPU accounting per second; 100 on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

function cpuTicks(stat: string): number {
  // The name in parentheses may hold spaces: fields are counted from its end.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return Number(fields[11]) + Number(fields[12]);
}

/** CPU seconds that a process has used, all threads, or one thread of it. */
export function cpuSeconds(pid: number, thread: number | null = null): number {
  const path = thread === null ? `/proc/${pid}/stat` : `/proc/${pid}/task/${thread}/stat`;
  return cpuTicks(readFileSync(path, "utf8")) / TICKS_PER_SECOND;
}

/** The threads of a process by the kernel's thread id. */
export function threads(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).map(Number);
}

/** Resident memory in MiB. */
export function residentMiB(pid: number): number {
  const kib = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kib) / 1024;
}
