/** Normalises a host name for comparison: lower case, without a trailing dot. */
export function normaliseHost(host: string): string {
  const lower = host.toLowerCase();
  return lower.endsWith(".") ? lower.slice(0, -1) : lower;
}

/**
 * Creates a test for hosts from patterns: `host` or `*.suffix` (subdomains of the suffix, not the suffix itself), each
 * with an optional `:port`. A pattern without a port matches every port. IPv6 addresses with a port need brackets.
 */
export function createHostMatcher(patterns: readonly string[]): (host: string, port: number) => boolean {
  const exact = new Set<string>();
  const suffixes: { suffix: string; port: number | null }[] = [];
  for (const pattern of patterns) {
    const [, bracketed, plain, port] = /^(?:\[(.+)\]|(.*?))(?::(\d+))?$/.exec(pattern) ?? [];
    const bare = pattern.split(":").length > 2 && bracketed === undefined; // an IPv6 address alone
    const host = normaliseHost(bare ? pattern : (bracketed ?? plain ?? ""));
    const only = bare || port === undefined ? null : Number(port);
    if (host.startsWith("*.")) suffixes.push({ suffix: host.slice(1), port: only });
    else exact.add(only === null ? host : `${host} ${only}`);
  }
  return (host, port) => {
    const name = normaliseHost(host);
    return (
      exact.has(name) ||
      exact.has(`${name} ${port}`) ||
      suffixes.some(
        (each) =>
          (each.port === null || each.port === port) &&
          name.endsWith(each.suffix) &&
          name.length > each.suffix.length,
      )
    );
  };
}
