/** The last name in a path of either kind; empty for a root. */
export function baseName(path: string): string {
  return path
    .replace(/[/\\]+$/, "")
    .replace(/^.*[/\\]/s, "")
    .replace(/^[A-Za-z]:$/, "");
}

/** Whether a path names a place from a root on: `/…`, `C:\…` or `\\server\…`. */
export function isAbsolutePath(path: string): boolean {
  return /^(?:\/|[A-Za-z]:[/\\]|\\\\)/.test(path);
}

/** Whether `path` is `folder` or lies below it. Windows paths are compared without regard to case and slashes. */
export function isWithin(path: string, folder: string): boolean {
  const plain = (text: string): string => {
    const slashed = /^[A-Za-z]:|^\\\\/.test(text) ? text.replaceAll("\\", "/").toLowerCase() : text;
    return slashed.endsWith("/") ? slashed : `${slashed}/`;
  };
  return plain(path).startsWith(plain(folder));
}
