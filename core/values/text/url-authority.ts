/** A label of a host name. Names in other scripts than Latin are allowed. */
const LABEL = /^[\p{L}\p{M}\d_-]+$/u;

/** A last label that makes a URL parser read the host as an IPv4 address. Source: URL Standard, section 3.5, "ends in a number checker". */
const NUMBER = /^(?:\d+|0x[\da-f]*)$/i;

const MAX_PORT = 65_535;

/**
 * Whether a text is the host of a URL, with or without a port, that URL parsers accept: a name, an IPv4 address, or an IPv6 address in
 * brackets. A login is not part of it. Names in punycode are not decoded.
 */
export function isUrlAuthority(text: string): boolean {
  const [, address, name = "", port = "0"] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d{1,5}))?$/.exec(text) ?? [];
  if (Number(port) > MAX_PORT) return false;
  return address === undefined ? isHostName(name) : isIpv6(address);
}

function isHostName(name: string): boolean {
  const labels = name.replace(/\.$/, "").split(".");
  if (!labels.every((label) => LABEL.test(label))) return false;
  return NUMBER.test(labels.at(-1) as string) ? isIpv4(labels) : true;
}

function isIpv4(parts: readonly string[]): boolean {
  return (
    parts.length === 4 && parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255)
  );
}

function isIpv6(address: string): boolean {
  // An IPv4 address may take the place of the last two groups.
  const [, start = address, last] = /^(.*:)(\d+(?:\.\d+){3})$/.exec(address) ?? [];
  if (last !== undefined && !isIpv4(last.split("."))) return false;
  const halves = (last === undefined ? address : `${start}0:0`).split("::");
  const groups = halves.flatMap((half) => (half === "" ? [] : half.split(":")));
  if (halves.length > 2 || !groups.every((group) => /^[\da-f]{1,4}$/i.test(group))) return false;
  return halves.length === 2 ? groups.length < 8 : groups.length === 8;
}
