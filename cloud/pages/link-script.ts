import type { Sha256 } from "../../core/hash.ts";
import { encodeBase64 } from "../../core/wire/mod.ts";

/**
 * The one script of all pages: it takes the secret of a letter's link from behind the `#` into the form.
 *
 * Decision: the secrets of invitations and of password resets stand in the fragment, which browsers send to nobody: no
 * server's or proxy's log has them, no `Referer`, and no program that only fetches links uses them up. The price is this
 * script. It is taken out of the address (and with it out of the history) before anything else happens, and the server gets
 * it by POST, in a body that is not logged. Without scripts the link can be pasted into the form's field.
 */
export const LINK_SCRIPT = `
const form = document.getElementById("link-form");
function takeSecret() {
  const secret = location.hash.slice(1);
  if (!/^[\\w-]{16,256}$/.test(secret)) return;
  history.replaceState(null, "", location.pathname);
  form.elements.link.value = secret;
  const row = document.getElementById("link-row");
  if (row === null) return form.submit();
  row.hidden = true;
  form.elements.password.focus();
}
addEventListener("hashchange", takeSecret);
takeSecret();
`;

/** What `script-src` says of it: these bytes and no other script, from wherever. Source: CSP Level 3, section 2.3.1. */
export function linkScriptSource(sha256: Sha256): string {
  return `'sha256-${encodeBase64(sha256(new TextEncoder().encode(LINK_SCRIPT)))}'`;
}

/** The secret in what was put into the field: the secret itself, or the whole link. */
export function secretOf(pasted: string): string {
  return pasted.slice(pasted.lastIndexOf("#") + 1).trim();
}
