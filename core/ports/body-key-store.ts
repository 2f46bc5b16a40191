/**
 * Stores the keys of bodies outside the database, so that neither the database's backups nor its write-ahead log contain them. A body
 * whose key was destroyed can no longer be read from any copy.
 */
export interface BodyKeyStore {
  /** Returns a key's 32 bytes; null if the store does not have it. */
  read(keyId: string): Promise<Uint8Array | null>;
  /** Stores a new key. Resolves once it is durable. */
  write(keyId: string, key: Uint8Array): Promise<void>;
  /** Destroys keys. An unknown id is ignored, so that the call can be repeated. */
  destroy(keyIds: readonly string[]): Promise<void>;
}
