import type { CloudCredentials, CredentialStore } from "../../core/ports/cloud-credentials.ts";
import { CredentialsError } from "./credential-store.ts";

/** The encrypted copy of the credentials in the database, and a callback for the user's notification. */
interface CredentialMirror {
  /** Returns the sealed copy from the database; null if there is none. May throw if the database cannot be used. */
  mirror(): Uint8Array | null;
  /** Called once with a message for people. */
  restored(message: string): void;
}

/**
 * Creates a store that restores lost or damaged credentials from their encrypted copy in the database. A file that other
 * users could read or have created is still refused. `disconnect` also deletes the copy.
 */
export function createRestoringStore(
  credentials: CredentialStore,
  { mirror, restored }: CredentialMirror,
): CredentialStore {
  async function openMirror(): Promise<CloudCredentials | null> {
    try {
      const sealed = mirror();
      return sealed === null ? null : await credentials.open(sealed);
    } catch {
      return null;
    }
  }

  return {
    ...credentials,
    async read() {
      let damage: CredentialsError | null = null;
      try {
        const found = await credentials.read();
        if (found !== null) return found;
      } catch (cause) {
        if (!(cause instanceof CredentialsError) || !cause.damaged) throw cause;
        damage = cause;
      }
      const found = await openMirror();
      if (found === null) {
        if (damage !== null) throw damage;
        return null;
      }
      const how = damage === null ? "lost" : "damaged";
      try {
        return await credentials.exclusively(async () => {
          // A disconnect may have deleted the copy meanwhile.
          const current = await openMirror();
          if (current === null) return null;
          await credentials.write(current);
          restored(
            `the stored cloud credentials were ${how} and have been restored from the copy in the database`,
          );
          return current;
        });
      } catch {
        // The disk may be full. The copy is as good, and the next read tries again.
        return found;
      }
    },
  };
}
