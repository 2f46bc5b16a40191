import { readdirSync, readFileSync } from "node:fs";

/** Ticks of the kernel's CPU accounting per second; 100 on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

/** Returns fields 14 to 17: the ticks of the process or thread, as user and system, then those of children that it waited for. */
function cpuTicks(stat: string): number[] {
  // The name in parentheses may contain spaces, so fields are counted from its end.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields.slice(11, 15).map(Number);
}

/** Returns the CPU seconds used by a thread of a process. */
export function cpuSecondsOfThread(pid: number, thread: number): number {
  const [user = 0, system = 0] = cpuTicks(readFileSync(`/proc/${pid}/task/${thread}/stat`, "utf8"));
  return (user + system) / TICKS_PER_SECOND;
}

/** Returns the CPU seconds used by a process and its children, those that have ended and those that run. */
export function cpuSecondsWithChildren(pid: number): number {
  const ticks = cpuTicks(readFileSync(`/proc/${pid}/stat`, "utf8")).reduce((sum, each) => sum + each, 0);
  const theirs = children(pid).reduce((sum, child) => sum + cpuSecondsWithChildren(child), 0);
  return ticks / TICKS_PER_SECOND + theirs;
}

/** Returns the processes that a process started and that run, such as the meter's relay. */
const children = (pid: number): number[] =>
  threads(pid)
    .flatMap((thread) => readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8").split(" "))
    .filter((child) => child !== "")
    .map(Number);

/** Returns the kernel's thread ids of a process. */
export function threads(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).map(Number);
}

/** Returns the number of open descriptors of a process and its children. */
export function descriptors(pid: number): number {
  return children(pid).reduce(
    (sum, child) => sum + descriptors(child),
    readdirSync(`/proc/${pid}/fd`).length,
  );
}

/** Returns the resident memory of a process and its children in MiB. Pages that they share count in each. */
export function residentMiB(pid: number): number {
  const kib = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return children(pid).reduce((sum, child) => sum + residentMiB(child), Number(kib) / 1024);
}
