import { isAbsolutePath } from "./file-path.ts";
import { gitConfigValues } from "./git-config.ts";

/** Maximum length of a remote in characters. A longer one is not used. */
const MAX_LENGTH = 256;

/** `https://user@host:port/path`; git-fetch(1), "Git URLs". An `@` after the host may end a password with a slash. */
const URL_FORM = /^[a-z][a-z0-9+.-]*:\/\/(?:[^/]*@)?([^/:@]+)(?::\d*)?\/+([^?#@]+)(?:[?#][^@]*)?$/i;
/** `user@host:path`. A host of one letter is a drive of Windows. */
const SCP_FORM = /^(?:[^@/:]+@)?([^@/:]{2,}):(?!\/\/)\/*(.+)$/;

const HOST = /^[\w.-]+$/;
/** Excludes `@` and `:`, so that no part of a login is taken for a path. */
const PATH = /^[\p{L}\p{N}_.~+%/-]+$/u;

/**
 * Returns the remote in the text of a repository's `.git/config`: that of `origin`, else the first one. Null if there is none
 * that identifies a repository. Decision: the URL is used as written, without `insteadOf` and included files.
 */
export function readGitRemote(config: string): string | null {
  let first: string | null = null;
  for (const { subsection, value } of gitConfigValues(config, "remote", "url")) {
    const remote = normaliseRemote(value);
    if (subsection === "origin" && remote !== null) return remote;
    first ??= remote;
  }
  return first;
}

/**
 * Returns a remote's host and path in lower case, such as `github.com/acme/api`, which is the same for all protocols. User,
 * password, port and the ending `.git` are removed. A path on this machine is returned without `.git`. Null for anything else.
 */
export function normaliseRemote(url: string): string | null {
  const text = url.trim();
  if (text.length > MAX_LENGTH) return null;
  const local = text.replace(/^file:\/\/(?=\/)/i, "");
  if (isAbsolutePath(local)) return local.replace(/[/\\]+$/, "").replace(/[/\\]?\.git$/, "") || null;
  const [, host = "", rest = ""] = URL_FORM.exec(text) ?? SCP_FORM.exec(text) ?? [];
  const path = rest
    .replace(/\/+$/, "")
    .replace(/\.git$/i, "")
    .replaceAll(/\/+/g, "/");
  return HOST.test(host) && PATH.test(path) ? `${host}/${path}`.toLowerCase() : null;
}
