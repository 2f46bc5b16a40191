import { PLACEHOLDER_SUFFIXES, PRODUCTION_BASE_URL } from "./numbers.ts";

/** Where a base address can be stated, the strongest first. Source: decisions, "Names, versions, places". */
export interface StatedBaseUrls {
  /** `--base-url`. */
  flag?: string | null | undefined;
  /** `HALTON_METER_CLOUD_URL`. */
  environment?: string | null | undefined;
  /** `[cloud].base_url`. */
  file?: string | null | undefined;
}

/** The address in force, without a slash at its end; null means that no cloud is configured. */
export interface BaseUrl {
  url: string | null;
  /** What a person should know about how it was found. */
  warning: string | null;
}

/**
 * Resolves the cloud's base address. Absent and empty ones fall through to the next place and at last to the production
 * address. A host that stands for nothing is rewritten to the production address. An address that must not carry a
 * token (no https and no loopback http, or with a login in it) counts as not configured.
 */
export function resolveBaseUrl(
  stated: StatedBaseUrls,
  production: string | null = PRODUCTION_BASE_URL,
): BaseUrl {
  const text = [stated.flag, stated.environment, stated.file].find((each) => each?.trim())?.trim();
  if (text === undefined) return { url: production, warning: null };
  const parsed = parseHttpUrl(text);
  if (parsed === null) {
    // The text is not repeated: it may hold a password, and this goes to the log.
    return {
      url: null,
      warning: "cloud.base_url: is not an https address without a login; no cloud is configured",
    };
  }
  if (!PLACEHOLDER_SUFFIXES.some((suffix) => parsed.host.endsWith(suffix))) {
    return { url: parsed.url, warning: null };
  }
  const instead = production === null ? "no cloud is configured" : `${production} is used`;
  return { url: production, warning: `cloud.base_url: ${parsed.host} stands for no real host; ${instead}` };
}

/** Hosts that only this machine answers. */
const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** The core has no URL parser of the platform: this takes exactly `scheme://host[:port][/path]`. */
function parseHttpUrl(text: string): { url: string; host: string } | null {
  const match = /^(https?):\/\/(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(:\d{1,5})?((?:\/[a-z0-9._~-]*)*)$/i.exec(text);
  if (match === null) return null;
  const [, scheme = "", hostText = "", port = "", path = ""] = match;
  const host = hostText.toLowerCase().replace(/\.$/, "");
  if (scheme.toLowerCase() === "http" && !loopback.test(host)) return null;
  if (host === "" || Number(port.slice(1)) > 65_535) return null;
  return { url: `${scheme.toLowerCase()}://${host}${port}${path.replace(/\/+$/, "")}`, host };
}
