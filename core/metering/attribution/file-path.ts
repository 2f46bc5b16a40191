/** Returns the last segment of a POSIX or Windows path; empty for a root. */
export function baseName(path: string): string {
  return path
    .replace(/[/\\]+$/, "")
    .replace(/^.*[/\\]/s, "")
    .replace(/^[A-Za-z]:$/, "");
}

/** Whether a path is absolute: `/…`, `C:\…` or `\\server\…`. */
export function isAbsolutePath(path: string): boolean {
  return /^(?:\/|[A-Za-z]:[/\\]|\\\\)/.test(path);
}

/** Returns the form in which paths are compared: ending in a slash, and for Windows with `/` and in lower case. */
export function comparablePath(path: string): string {
  const slashed = /^[A-Za-z]:|^\\\\/.test(path) ? path.replaceAll("\\", "/").toLowerCase() : path;
  return slashed.endsWith("/") ? slashed : `${slashed}/`;
}

/** Whether `path` is `folder` or inside it. Windows paths are compared ignoring case and the kind of slash. */
export function isWithin(path: string, folder: string): boolean {
  return comparablePath(path).startsWith(comparablePath(folder));
}

/** Returns the folder that contains a path; empty for a root and for a single name. */
export function parentFolder(path: string): string {
  return path.replace(/[/\\]+$/, "").replace(/[/\\]?[^/\\]*$/, "");
}
