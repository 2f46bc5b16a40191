/** A letter to one person. Plain text; a link in it may be a secret that is valid once. */
export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Hands a letter over for delivery. Rejects where that was not possible; a letter that was handed over twice comes twice. */
export type SendMail = (mail: Mail) => Promise<void>;
