import { isUrlAuthority } from "../../values/text/url-authority.ts";
import { PLACEHOLDER_SUFFIXES, PRODUCTION_BASE_URL } from "./numbers.ts";

/** The places where a base URL can be set, highest precedence first. Source: docs/specification.md#names-and-places. */
export interface StatedBaseUrls {
  /** `--base-url`. */
  flag?: string | null | undefined;
  /** `HALTON_METER_CLOUD_URL`. */
  environment?: string | null | undefined;
  /** `[cloud].base_url`. */
  file?: string | null | undefined;
}

/** The base URL to use, without a trailing slash; null if no cloud is configured. */
interface BaseUrl {
  url: string | null;
  /** A warning for the user about how the URL was chosen. */
  warning: string | null;
}

/**
 * Resolves the cloud's base URL. An absent or empty value falls through to the next place, and finally to the production
 * URL. A placeholder host is replaced by the production URL. A URL is ignored if no token may be sent to it: if it is
 * neither https nor loopback http, or if it contains credentials.
 */
export function resolveBaseUrl(
  stated: StatedBaseUrls,
  production: string | null = PRODUCTION_BASE_URL,
): BaseUrl {
  const text = [stated.flag, stated.environment, stated.file].find((each) => each?.trim())?.trim();
  if (text === undefined) return { url: production, warning: null };
  const parsed = parseHttpUrl(text);
  if (parsed === null) {
    // The URL is not repeated, because it may contain a password and this warning is logged.
    return {
      url: null,
      warning: "cloud.base_url: must be an https URL without credentials; no cloud is configured",
    };
  }
  if (!PLACEHOLDER_SUFFIXES.some((suffix) => parsed.host.endsWith(suffix))) {
    return { url: parsed.url, warning: null };
  }
  const replacement = production === null ? "no cloud is configured" : `${production} is used`;
  return { url: production, warning: `cloud.base_url: ${parsed.host} is a placeholder host; ${replacement}` };
}

/** Loopback hosts. */
const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** Parses `scheme://host[:port][/path]` and nothing else: the core may not use the platform's URL parser. */
function parseHttpUrl(text: string): { url: string; host: string } | null {
  const match = /^(https?):\/\/(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(:\d{1,5})?((?:\/[a-z0-9._~-]*)*)$/i.exec(text);
  if (match === null) return null;
  const [, scheme = "", hostText = "", port = "", path = ""] = match;
  const host = hostText.toLowerCase().replace(/\.$/, "");
  if (scheme.toLowerCase() === "http" && !loopback.test(host)) return null;
  if (!isUrlAuthority(hostText + port)) return null;
  return { url: `${scheme.toLowerCase()}://${host}${port}${path.replace(/\/+$/, "")}`, host };
}
