/**
 * What pairing leaves in the meter's home: the credentials (0600, replaced in one step), the key of their encrypted
 * mirror, and the machine's fingerprint.
 *
 * ```ts
 * import { createCredentialStore } from "./mod.ts";
 *
 * const credentials = createCredentialStore("/nonexistent/home");
 * console.log(await credentials.read()); // null: never paired
 * ```
 *
 * @module
 */
export {
  CREDENTIALS_FILE,
  CREDENTIALS_KEY_FILE,
  CredentialsError,
  createCredentialStore,
} from "./credential-store.ts";
export { createMachineIdentity, MACHINE_ID_FILE, type MachineIdentityOptions } from "./machine-identity.ts";
export { createSecretBox, type SecretBox } from "./secret-box.ts";
