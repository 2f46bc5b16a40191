import {
  CLOUD_PACKAGES,
  importOptional,
  installArguments,
  MissingPackageError,
  type OptionalPackage,
} from "../../adapters/optional-packages.ts";
import { CommandFailure } from "../program/exit-codes.ts";

/** The failure of a command because the packages of the cloud are not installed. */
export function cloudPackagesMissing(): CommandFailure {
  const packages = installArguments(Object.keys(CLOUD_PACKAGES) as OptionalPackage[]);
  return new CommandFailure(
    `The cloud server needs packages that are not installed with meter. Install them (without -g in a project):\nnpm install -g ${packages}`,
  );
}

/** Loads a module that needs better-auth. */
export async function importWithAccounts<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await importOptional("better-auth", "The cloud server", load);
  } catch (cause) {
    throw cause instanceof MissingPackageError ? cloudPackagesMissing() : cause;
  }
}
