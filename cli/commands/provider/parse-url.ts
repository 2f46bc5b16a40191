import { UsageError } from "clipanion";

/** An address that a person wrote. */
export interface WrittenHost {
  readonly host: string;
  /** Null if none was written. */
  readonly port: number | null;
}

/** Parses `host`, `host:port`, `[::1]:port` or `*.suffix`. Throws a `UsageError` for anything else, such as a URL. */
export function parseHost(text: string): WrittenHost {
  const [, bracketed, name, port] =
    /^(?:\[([0-9a-f:.]+)\]|((?:\*\.)?[a-z0-9_.-]+))(?::(\d{1,5}))?$/i.exec(text) ?? [];
  const host = bracketed ?? name;
  if (host === undefined)
    throw new UsageError(
      `Invalid host: ${text}. Expected: a name such as llm.example.com, without a scheme and a path.`,
    );
  return { host: host.toLowerCase(), port: port === undefined ? null : Number(port) };
}

/** A URL to test. */
export interface TestedUrl extends WrittenHost {
  readonly port: number;
  readonly scheme: "https" | "http";
  /** Null if none was written. */
  readonly path: string | null;
}

/** Parses a URL, or a host with a port or without. A server on this machine speaks HTTP, anything else HTTPS. */
export function parseTestedUrl(text: string): TestedUrl {
  const [, written, authority = "", path = ""] = /^(?:(https?):\/\/)?([^/?#]+)([/?#].*)?$/i.exec(text) ?? [];
  const { host, port } = parseHost(authority);
  const isLocal = /^(localhost|127\.|::1$|host\.docker\.internal$)/.test(host);
  const scheme = (written?.toLowerCase() ?? (isLocal ? "http" : "https")) as "https" | "http";
  return {
    host,
    port: port ?? (scheme === "https" ? 443 : 80),
    scheme,
    path: path === "" || path === "/" ? null : path,
  };
}
