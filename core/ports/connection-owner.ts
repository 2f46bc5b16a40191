/** The owner of a connection: this process's user, another user, or unknown. */
export type ConnectionOwner = "self" | "other" | "unknown";

/** The two ends of a connection to one of the daemon's ports. */
export interface LocalConnection {
  /** The client's IP address, as reported by the socket. */
  readonly clientAddress: string;
  readonly clientPort: number;
  /** The address that the client connected to, in the same family. With it, the platform may answer in less time. */
  readonly serverAddress?: string;
  readonly serverPort: number;
}

/** Looks up which user of this machine owns the client end of a loopback connection. */
export interface ConnectionOwnerLookup {
  /**
   * Returns `unknown` if the connection no longer exists, comes from another machine, or the platform cannot tell. Never
   * rejects.
   */
  ownerOf(connection: LocalConnection): Promise<ConnectionOwner>;
}
