/**
 * The client's address behind so many proxies that are our own. Each of them appends whom it heard from to
 * `X-Forwarded-For`, so the client is that many entries from the end; what stands before is the client's own claim and is
 * never read. With no proxies, or a header shorter than it must be, it is who connected.
 */
export function clientAddress(
  peer: string | null,
  forwardedFor: string | undefined,
  trustedHops: number,
): string | null {
  if (trustedHops === 0 || forwardedFor === undefined) return peer;
  const entry = forwardedFor.split(",").at(-trustedHops)?.trim() ?? "";
  // Some proxies add the port: then every connection would be another client.
  const address = entry.replace(/^([\d.]+):\d+$/, "$1").replace(/^\[([^\]]*)\](?::\d+)?$/, "$1");
  return /^[0-9A-Fa-f.:]{2,45}$/.test(address) ? address : peer;
}

/**
 * What limits by address count together: an IPv4 address alone, an IPv6 one with all of its /64, since the other half is
 * the client's to choose (RFC 4291, section 2.5.1). All whose address is not known count as one.
 */
export function addressGroup(address: string | null): string {
  const plain = (address ?? "").replace(/^::ffff:(?=\d+\.)/i, "").replace(/%.*/, "");
  if (!plain.includes(":")) return plain;
  const [first = [], last = []] = plain.split("::").map((side) => side.split(":").filter(Boolean));
  const zeros = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => "0");
  const network = [...first, ...zeros, ...last].slice(0, 4);
  return network.map((group) => Number.parseInt(group, 16).toString(16)).join(":");
}
