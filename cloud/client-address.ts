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
  const entries = forwardedFor.split(",").map((entry) => entry.trim());
  const address = entries.at(-trustedHops);
  return address === undefined || !/^[0-9A-Fa-f.:]{2,45}$/.test(address) ? peer : address;
}
