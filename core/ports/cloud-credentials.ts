import type { Millis } from "../values/time.ts";

/** The credentials that pairing stored. Source: docs/specification.md#cloud-accounts-and-keys, item 2. */
export interface CloudCredentials {
  /** The sync token. Sent only to `origin`. */
  readonly token: string;
  /** The origin that issued the token: `https://host[:port]`. */
  readonly origin: string;
  /** The base URL used for pairing: the origin and an optional path. */
  readonly baseUrl: string;
  readonly workspaceId: string;
  readonly workspaceName: string;
  /** The machine's fingerprint when it was paired. */
  readonly machineId: string | null;
  /** The workspace's key for `prompt_hash`, 64 hexadecimal digits; null if the cloud gave none. Secret. */
  readonly promptHashKey: string | null;
  readonly createdAt: Millis;
}

/** Stores the credentials in a file that only its owner can read. */
export interface CredentialFile {
  /** Returns null if none are stored. Rejects if they cannot be trusted or read; that never counts as absent. */
  read(): Promise<CloudCredentials | null>;
  /** Replaces them atomically; durable when it resolves. */
  write(credentials: CloudCredentials): Promise<void>;
  /** Deletes them and the key of their copies, which can't be decrypted any more. Idempotent. */
  clear(): Promise<void>;
  /** Encrypts credentials for the copy in the database, with the key file next to the credentials. */
  seal(credentials: CloudCredentials): Promise<Uint8Array>;
  /** Decrypts the result of `seal`; null if it was sealed with another key or changed. */
  open(sealed: Uint8Array): Promise<CloudCredentials | null>;
}

/** The credentials, and their copy in the database. */
export interface CredentialStore extends CredentialFile {
  /**
   * Runs the work while no other process and no other work changes the credentials or their copy, and passes it the file alone. The
   * work must not call this again. Rejects if another one takes longer than 5 s.
   */
  exclusively<Result>(work: (file: CredentialFile) => Promise<Result>): Promise<Result>;
}

/** The identity of this machine. */
export interface MachineIdentity {
  /** 32 hexadecimal digits, stored in `<meter_home>/machine-id`; null if unknown. Never rejects. */
  fingerprint(): Promise<string | null>;
  readonly hostname: string;
  readonly platform: string;
}
