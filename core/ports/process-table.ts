/** What is known of the process that opened a connection, as far as the platform tells. */
export interface ProcessFacts {
  readonly pid: number;
  /** Base name of the program as it calls itself; null where the platform does not say. */
  readonly processName: string | null;
  /** The process's own words first, then its parents', nearest first. Empty where they can't be read. */
  readonly commandLines: readonly (readonly string[])[];
  /** `METER_PROJECT` in the environment that the process was started with. */
  readonly environmentProject: string | null;
  readonly cwd: string | null;
}

/** The local processes, looked up by the port from which they connected. */
export interface ProcessTable {
  /**
   * The process that holds the client's end of a loopback connection; `proxyPort` is the other end, null where it is not
   * known. Null where there is none any more, where it belongs to another user, or where the platform fails: attribution
   * then goes on without it. Never rejects. Looking up twice is safe and may give different answers.
   */
  lookup(connection: { clientPort: number; proxyPort: number | null }): Promise<ProcessFacts | null>;
}
