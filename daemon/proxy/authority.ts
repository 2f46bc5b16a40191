import { isIPv6 } from "node:net";

/** A host and a port of a request. IPv6 addresses have no brackets. */
export interface Authority {
  readonly host: string;
  readonly port: number;
}

const form = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]{1,254}))(?::(\d{1,5}))?$/;

/**
 * Parses `host:port` strictly: a name or address of plain characters and a decimal port from 1 to 65535. The port may be
 * omitted if `defaultPort` is given. Returns null for anything else, such as user names, zones, paths and spaces.
 */
export function parseAuthority(text: string, defaultPort: number | null = null): Authority | null {
  const [, bracketed, name, digits] = form.exec(text) ?? [];
  if (bracketed !== undefined && !isIPv6(bracketed)) return null;
  const host = bracketed ?? name;
  const port = digits === undefined ? defaultPort : Number(digits);
  if (host === undefined || port === null || port < 1 || port > 65_535) return null;
  return { host: host.toLowerCase(), port };
}

/** Formats an authority for a request line or `Host` header. The default port is omitted. */
export function formatAuthority(authority: Authority, defaultPort: number | null = null): string {
  const host = authority.host.includes(":") ? `[${authority.host}]` : authority.host;
  return authority.port === defaultPort ? host : `${host}:${authority.port}`;
}
