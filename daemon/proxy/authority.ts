import { isIPv6 } from "node:net";

/** A host and a port as a request names them. IPv6 addresses stand without brackets. */
export interface Authority {
  readonly host: string;
  readonly port: number;
}

const form = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]{1,254}))(?::(\d{1,5}))?$/;

/**
 * Reads `host:port` strictly: a name or address of plain characters and a decimal port from 1 to 65535. Where
 * `defaultPort` is given the port may be missing. `null` for anything else: user names, zones, paths, spaces.
 */
export function parseAuthority(text: string, defaultPort: number | null = null): Authority | null {
  const [, bracketed, name, digits] = form.exec(text) ?? [];
  if (bracketed !== undefined && !isIPv6(bracketed)) return null;
  const host = bracketed ?? name;
  const port = digits === undefined ? defaultPort : Number(digits);
  if (host === undefined || port === null || port < 1 || port > 65_535) return null;
  return { host: host.toLowerCase(), port };
}

/** Writes an authority as a request line or `Host` header has it. */
export function formatAuthority(authority: Authority, defaultPort: number | null = null): string {
  const host = authority.host.includes(":") ? `[${authority.host}]` : authority.host;
  return authority.port === defaultPort ? host : `${host}:${authority.port}`;
}
