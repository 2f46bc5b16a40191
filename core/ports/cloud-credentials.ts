import type { Millis } from "../time.ts";

/** What pairing left behind. Source: contract, "Authentication", item 2. */
export interface CloudCredentials {
  /** The sync token. Goes to `origin` alone. */
  readonly token: string;
  /** The origin that minted the token: `https://host[:port]`. */
  readonly origin: string;
  /** The base address that was paired with: the origin and perhaps a path. */
  readonly baseUrl: string;
  readonly workspaceId: string;
  readonly workspaceName: string;
  /** The machine's fingerprint when it was paired. */
  readonly machineId: string | null;
  readonly createdAt: Millis;
}

/** The credentials, as a file that its owner alone can read. */
export interface CredentialStore {
  /** Null where none are stored. Rejects where what is stored can't be trusted or read: never taken for absent. */
  read(): Promise<CloudCredentials | null>;
  /** Replaces them in one step; durable when it resolves. */
  write(credentials: CloudCredentials): Promise<void>;
  /** Deletes them; nothing where there are none. */
  clear(): Promise<void>;
  /** The same credentials encrypted for the database's mirror, under the key file beside the credentials. */
  seal(credentials: CloudCredentials): Promise<Uint8Array>;
  /** What `seal` made, opened; null where it is not ours or was changed. */
  open(sealed: Uint8Array): Promise<CloudCredentials | null>;
}

/** Who this machine is. */
export interface MachineIdentity {
  /** 32 hexadecimal digits, kept in `<meter_home>/machine-id`; null where the machine can't be told. Never rejects. */
  fingerprint(): Promise<string | null>;
  readonly hostname: string;
  readonly platform: string;
}
