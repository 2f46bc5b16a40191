/**
 * The hosts that a list such as `NO_PROXY` keeps from the proxy. Decision: there is no standard; this is the widest common
 * reading (a name stands for all below it, with or without a leading dot or `*.`; `*` is everything; ports don't matter), so
 * that nothing is missed.
 */
export function exceptedHosts(noProxy: string, hosts: readonly string[]): string[] {
  const entries = noProxy
    .split(/[\s,]+/)
    .map((entry) =>
      entry
        .toLowerCase()
        .replace(/:\d+$/, "")
        .replace(/^\*?\./, ""),
    )
    .filter((entry) => entry !== "");
  return hosts.filter((host) =>
    entries.some((entry) => entry === "*" || host === entry || host.endsWith(`.${entry}`)),
  );
}
