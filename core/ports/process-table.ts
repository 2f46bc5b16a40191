/** What the platform reports about the process that opened a connection. */
export interface ProcessFacts {
  readonly pid: number;
  /** The program's base name as it reports it; null if the platform does not report one. */
  readonly processName: string | null;
  /** The arguments of the process, then those of its ancestors, nearest first. Empty if they cannot be read. */
  readonly commandLines: readonly (readonly string[])[];
  /** `METER_PROJECT` in the environment that the process was started with. */
  readonly environmentProject: string | null;
  readonly cwd: string | null;
  /** What continuous integration states in the environment. Absent outside of CI and where it cannot be read. */
  readonly ciRun?: CiRun;
}

/** A run of continuous integration. */
export interface CiRun {
  /** The branch that is built; for a pull request, its source branch. */
  readonly branch: string | null;
  readonly pullRequest: number | null;
}

/** The local processes, looked up by the port from which they connected. */
export interface ProcessTable {
  /**
   * Returns the process at the client end of a loopback connection; `proxyPort` is the other end, null if unknown. Returns
   * null if the process has ended, belongs to another user, or cannot be looked up. Never rejects. A second lookup may
   * return a different result.
   */
  lookup(connection: { clientPort: number; proxyPort: number | null }): Promise<ProcessFacts | null>;
}
