/** A picture that the HTML of an email shows. */
export interface MailPicture {
  /** The HTML refers to it as `cid:<id>`. */
  readonly id: string;
  readonly fileName: string;
  /** Such as `image/png`. */
  readonly contentType: string;
  readonly bytes: Uint8Array;
}

/** An email to one person. It may contain a secret link that is valid once. */
export interface Mail {
  readonly to: string;
  readonly subject: string;
  /** The whole content in plain text. */
  readonly text: string;
  /** The same content as HTML, for clients that show it. */
  readonly html?: string;
  readonly picture?: MailPicture;
  /** The URL that unsubscribes the recipient with one POST (RFC 8058). Mail programs show a button for it. */
  readonly unsubscribe?: string;
}

/** The failure to hand over an email. The message has no address and no part of the email. */
export class MailError extends Error {
  override readonly name = "MailError";
}

/** Hands an email over for delivery. Rejects with a `MailError` if that fails. Not idempotent: each call sends an email. */
export type SendMail = (mail: Mail) => Promise<void>;
