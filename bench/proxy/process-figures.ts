import { readdirSync, readFileSync } from "node:fs";

/** Ticks of the kernel's CPU accounting per second; 100 on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

/** Returns fields 14 to 17: the ticks of the process or thread, as user and system, then those of children that it waited for. */
function cpuTicks(stat: string): number[] {
  // The name in parentheses may contain spaces, so fields are counted from its end.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields.slice(11, 15).map(Number);
}

/** Returns the CPU seconds used by a process, or by one of its threads. */
export function cpuSeconds(pid: number, thread: number | null = null): number {
  const path = thread === null ? `/proc/${pid}/stat` : `/proc/${pid}/task/${thread}/stat`;
  const [user = 0, system = 0] = cpuTicks(readFileSync(path, "utf8"));
  return (user + system) / TICKS_PER_SECOND;
}

/** Returns the CPU seconds used by a process and its children, those that have ended and those that run. */
export function cpuSecondsWithChildren(pid: number): number {
  const ticks = cpuTicks(readFileSync(`/proc/${pid}/stat`, "utf8")).reduce((sum, each) => sum + each, 0);
  const running = threads(pid)
    .flatMap((thread) => readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8").split(" "))
    .filter((child) => child !== "");
  const theirs = running.reduce((sum, child) => sum + cpuSecondsWithChildren(Number(child)), 0);
  return ticks / TICKS_PER_SECOND + theirs;
}

/** Returns the kernel's thread ids of a process. */
export function threads(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).map(Number);
}

/** Returns the number of open descriptors. */
export function descriptors(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** Returns the resident memory in MiB. */
export function residentMiB(pid: number): number {
  const kib = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kib) / 1024;
}
