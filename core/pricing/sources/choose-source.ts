import { findPriceSource, type PriceFormat } from "./price-sources.ts";

/** A place to pull rates from. `cloud` is the connected cloud; its list, and that of `pull_url`, are in the meter's format. */
export type PullSource =
  | { readonly kind: "cloud" }
  | { readonly kind: "pull_url"; readonly url: string }
  | {
      readonly kind: "list";
      readonly name: string;
      readonly url: string;
      readonly format: PriceFormat;
    };

/** The settings that select a source. */
interface SourceSettings {
  /** `[pricing] source`: the name of a public list, `cloud`, or null. */
  readonly source: string | null;
  readonly pullUrl: string | null;
}

/**
 * Returns the source to pull from: the requested one, else `[pricing] source`, else `pull_url`, else the cloud. With a public
 * list as `source`, `pull_url` is the address of a copy of that list. Returns null for an unknown name.
 */
export function chooseSource(
  { source, pullUrl }: SourceSettings,
  requested: string | null,
): PullSource | null {
  const name = requested ?? source ?? (pullUrl === null ? "cloud" : "pull_url");
  if (name === "cloud") return { kind: "cloud" };
  if (name === "pull_url") return pullUrl === null ? null : { kind: "pull_url", url: pullUrl };
  const list = findPriceSource(name);
  if (list === null) return null;
  const url = name === source && pullUrl !== null ? pullUrl : list.url;
  return { kind: "list", name, url, format: list.name };
}
