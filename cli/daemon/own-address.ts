/** The host of older daemons, which do not state theirs. */
const DEFAULT_HOST = "127.0.0.1";

/** Returns the address at which this machine reaches its own server; `0.0.0.0` and `::` become loopback addresses. */
export function reachableHost(listensOn: string): string {
  if (listensOn === "0.0.0.0") return DEFAULT_HOST;
  return listensOn === "::" ? "::1" : listensOn;
}

/** Returns the URL of a server on this machine, without a path. */
export function httpAddress(host: string = DEFAULT_HOST, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
