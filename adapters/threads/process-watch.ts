import { Buffer } from "node:buffer";
import { openSync, readSync } from "node:fs";

/** The states of a process that has ended: zombie, dead. */
const ENDED = new Set(["Z", "X"]);

/** Flags of a process that is ending (PF_EXITING), has dumped core (PF_DUMPCORE), or was killed by a signal (PF_SIGNALED). */
const ENDING = 0x4 | 0x200 | 0x400;

/** SIGKILL among the pending signals. */
const KILLED = 1 << 8;

/** Positions in /proc/<pid>/stat after the name: state, flags and pending signals. Source: proc_pid_stat(5). */
const STATE = 0;
const FLAGS = 6;
const SIGNALS = 28;

/** Longer than a line of this file, in bytes. */
const STAT_BYTES = 1_024;

/**
 * Returns a function that tells whether a process is alive (Linux). One that was killed is not, although it exists until the last of its
 * threads has returned from the kernel: for seconds, if that waits for a disk or writes a core dump. Meanwhile its children are not
 * orphans, and its files are open.
 */
export function watchProcess(pid: number): () => boolean {
  const stat = Buffer.alloc(STAT_BYTES);
  let fd: number;
  try {
    fd = openSync(`/proc/${pid}/task/${pid}/stat`, "r");
  } catch {
    return () => false;
  }
  return () => {
    try {
      const line = stat.toString("latin1", 0, readSync(fd, stat, 0, STAT_BYTES, 0));
      const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
      const isEnding = (Number(fields[FLAGS]) & ENDING) !== 0 || (Number(fields[SIGNALS]) & KILLED) !== 0;
      return !isEnding && !ENDED.has(fields[STATE] ?? "");
    } catch {
      return false; // ESRCH
    }
  };
}
