import type { Sha256 } from "../../core/values/hash.ts";
import { encodeBase64 } from "../../core/wire/base64.ts";

/**
 * The only script outside the pages of a workspace: it moves the secret of an emailed link from the URL's fragment into
 * the form.
 *
 * Decision: invitation and password reset links carry their secret in the fragment, which browsers do not send. It appears in
 * no server or proxy log and in no `Referer`, and a program that only fetches links cannot use it up. The cost is this
 * script. It first removes the secret from the address, and so from the history. The server receives it by POST, in a body
 * that is not logged. Without scripts, a person can paste the link into the form.
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

/** Returns the `script-src` source that allows this script, by its hash, and no other. Source: CSP Level 3, section 2.3.1. */
export function linkScriptSource(sha256: Sha256): string {
  return `'sha256-${encodeBase64(sha256(new TextEncoder().encode(LINK_SCRIPT)))}'`;
}

/** Returns the secret from the form's field, which holds the secret itself or the whole link. */
export function readLinkSecret(pasted: string): string {
  return pasted.slice(pasted.lastIndexOf("#") + 1).trim();
}
