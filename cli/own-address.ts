/** What a daemon of before said nothing of: its host. */
const USUAL_HOST = "127.0.0.1";

/** The address at which this machine reaches a server of its own that listens there; `0.0.0.0` and `::` mean everywhere. */
export function reachableHost(listensOn: string): string {
  if (listensOn === "0.0.0.0") return USUAL_HOST;
  return listensOn === "::" ? "::1" : listensOn;
}

/** Where a server of this machine answers, as a URL without a path. */
export function httpAddress(host: string = USUAL_HOST, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
