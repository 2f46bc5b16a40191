/**
 * Returns the client's address behind `trustedHops` proxies of our own. Each proxy appends the address of its peer to
 * `X-Forwarded-For`, so the client's is that many entries from the end. Earlier entries come from the client and are never
 * read. Without proxies, or if the header has too few entries, returns the peer's address.
 */
export function clientAddress(
  peer: string | null,
  forwardedFor: string | undefined,
  trustedHops: number,
): string | null {
  if (trustedHops === 0 || forwardedFor === undefined) return peer;
  const entry = forwardedFor.split(",").at(-trustedHops)?.trim() ?? "";
  // Some proxies add the port, which would make every connection a different client.
  const address = entry.replace(/^([\d.]+):\d+$/, "$1").replace(/^\[([^\]]*)\](?::\d+)?$/, "$1");
  return /^[0-9A-Fa-f.:]{2,45}$/.test(address) ? address : peer;
}

/**
 * Returns the key under which limits count an address: an IPv4 address itself, and an IPv6 address's /64, since the client
 * chooses the other half (RFC 4291, section 2.5.1). All unknown addresses share one key.
 */
export function addressGroup(address: string | null): string {
  const plain = (address ?? "").replace(/^::ffff:(?=\d+\.)/i, "").replace(/%.*/, "");
  if (!plain.includes(":")) return plain;
  const [first = [], last = []] = plain.split("::").map((side) => side.split(":").filter(Boolean));
  const zeros = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => "0");
  const network = [...first, ...zeros, ...last].slice(0, 4);
  return network.map((group) => Number.parseInt(group, 16).toString(16)).join(":");
}
