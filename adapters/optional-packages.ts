/** The packages that only the cloud needs, with the versions it works with. */
export const CLOUD_PACKAGES = {
  "better-auth": "~1.6",
  "@electric-sql/pglite": "^0.5.16",
} as const;

/** The packages that only some uses need, with their versions: the optional peers of package.json. */
export const OPTIONAL_PACKAGES = {
  ...CLOUD_PACKAGES,
  "@opentelemetry/otlp-transformer": "^0.301.1",
  hyparquet: "^1.31.5",
  "hyparquet-writer": "^0.17.0",
  nodemailer: "^10.6.1",
} as const;

/** The name of a package that only some uses of the meter need. */
export type OptionalPackage = keyof typeof OPTIONAL_PACKAGES;

/** Thrown when an optional package is not installed. The message has the command that installs it. */
export class MissingPackageError extends Error {
  override readonly name = "MissingPackageError";
}

/** Returns the words after `npm install` that install these packages. */
export function installArguments(packages: readonly OptionalPackage[]): string {
  return packages.map((name) => `${name}@${OPTIONAL_PACKAGES[name]}`).join(" ");
}

/**
 * Loads a module that needs an optional package. Rejects with a `MissingPackageError` if the package is not installed;
 * `purpose` says what needs it ("The embedded database").
 */
export async function importOptional<T>(
  name: OptionalPackage,
  purpose: string,
  load: () => Promise<T>,
): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    if (!isMissing(name, cause)) throw cause;
    throw new MissingPackageError(
      `${purpose} needs ${name}, which is not installed. Install it: npm install ${installArguments([name])}`,
      { cause },
    );
  }
}

/** Whether an import failed because this package is absent. Node, Deno and Bun word it differently, but name the package. */
function isMissing(name: string, cause: unknown): boolean {
  return (
    cause instanceof Error &&
    "code" in cause &&
    cause.code === "ERR_MODULE_NOT_FOUND" &&
    new RegExp(`['"]${name}['"/]`).test(cause.message)
  );
}
