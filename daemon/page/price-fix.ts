import { html } from "hono/html";
import type { PriceFix } from "../../core/pricing/price-fix.ts";
import type { Html } from "../../pages/html.ts";

/** Renders how a model gets a price. */
export function renderPriceFix({ text, toml, commands }: PriceFix): Html {
  return html`<p>${text}</p><pre tabindex="0">${[...toml, ...commands].join("\n")}</pre>`;
}
