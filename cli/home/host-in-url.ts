/**
 * Returns a host as URL parsers write it: `127.0.0.1` for `0x7f.1`. Null if they refuse it, as `999.1.1.1`. Clients send this form, whatever
 * their users wrote. Not every parser refuses a name with invalid punycode, such as `xn--a`: Node 24 does not.
 */
export function hostInUrl(host: string): string | null {
  try {
    const { hostname } = new URL(`https://${host.includes(":") ? `[${host}]` : host}/`);
    return hostname.replace(/^\[|\]$/g, "");
  } catch {
    return null;
  }
}
