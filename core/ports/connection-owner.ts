/** Whose a connection is: this process's user's, somebody else's, or nobody's that the platform would tell. */
export type ConnectionOwner = "self" | "other" | "unknown";

/** Both ends of a connection to a port of ours. */
export interface LocalConnection {
  /** The client's IP address, as the socket gives it. */
  readonly clientAddress: string;
  readonly clientPort: number;
  readonly serverPort: number;
}

/** Says which user of this machine holds the other end of a loopback connection. */
export interface ConnectionOwners {
  /**
   * `unknown` where there is no such connection any more, where it comes from another machine, or where the platform does
   * not say. Never rejects. Asking twice is safe.
   */
  ownerOf(connection: LocalConnection): Promise<ConnectionOwner>;
}
