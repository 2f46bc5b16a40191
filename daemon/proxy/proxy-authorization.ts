import { createHash, timingSafeEqual } from "node:crypto";
import { type HeaderList, headerValue } from "../../core/metering/exchange/head.ts";

/** The credentials of a `Proxy-Authorization` header. The user name is a project label. Its length is limited, but it is not normalised. */
interface ProxyUser {
  readonly user: string | null;
  readonly password: string | null;
}

const maxUserLength = 256;

/** Reads `Proxy-Authorization: Basic`. Returns nulls for a missing header and for other schemes. */
export function readProxyUser(headers: HeaderList): ProxyUser {
  const value = headerValue(headers, "proxy-authorization");
  const [, encoded] = /^basic +([A-Za-z0-9+/_-]+=*)$/i.exec(value ?? "") ?? [];
  if (encoded === undefined) return { user: null, password: null };
  const [, user = "", password = ""] =
    /^([^:]*):?(.*)$/s.exec(Buffer.from(encoded, "base64").toString()) ?? [];
  const usable = user !== "" && user.length <= maxUserLength && !/[\p{Cc}]/u.test(user);
  return { user: usable ? user : null, password };
}

/** Compares passwords in constant time. */
export function isSamePassword(given: string | null, wanted: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given ?? ""), digest(wanted)) && given !== null;
}
