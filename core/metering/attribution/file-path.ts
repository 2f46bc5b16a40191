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

/** Whether `path` is `folder` or inside it. Windows paths are compared ignoring case and the kind of slash. */
export function isWithin(path: string, folder: string): boolean {
  const plain = (text: string): string => {
    const slashed = /^[A-Za-z]:|^\\\\/.test(text) ? text.replaceAll("\\", "/").toLowerCase() : text;
    return slashed.endsWith("/") ? slashed : `${slashed}/`;
  };
  return plain(path).startsWith(plain(folder));
}
