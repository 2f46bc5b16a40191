import { Buffer } from "node:buffer";
import { MailError, type SendMail } from "../../core/ports/mail.ts";
import { importOptional } from "../optional-packages.ts";

/** How to reach a mail server. */
export interface SmtpSettings {
  /** `smtp://` (TLS by STARTTLS) or `smtps://` (TLS from the start), with user and password if the server asks for them. */
  readonly url: string;
  /** The sender: an address, or a name with an address in angle brackets. */
  readonly from: string;
  /** A certificate of the server's authority, PEM; only for servers that the system does not trust. */
  readonly ca?: string;
}

/** Ports by scheme. Source: RFC 8314, section 3.3. */
const PORTS: Readonly<Record<string, number>> = { "smtp:": 587, "smtps:": 465 };

/** Longest wait for the connection, the greeting, and any later response, in milliseconds. */
const TIMEOUT_MS = 20_000;

/** Hosts to which an email may go unencrypted, because it stays on this machine. */
const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Returns what is wrong with the address of a mail server; null if it can be used. */
export function checkSmtpUrl(url: string): string | null {
  const parsed = URL.parse(url);
  if (parsed === null || !(parsed.protocol in PORTS) || parsed.hostname === "")
    return "is not valid. Expected: an address such as smtp://user:password@mail.example.com:587";
  if (!/^\/?$/.test(parsed.pathname) || parsed.search !== "" || parsed.hash !== "")
    return "has more than a host and a port";
  return null;
}

/**
 * Creates a mail sender that uses a mail server over SMTP. Each email has its own connection, which is encrypted and verified
 * unless the server is on this machine. Rejects with a `MissingPackageError` if nodemailer is not installed.
 */
export async function createSmtpMail({ url, from, ca }: SmtpSettings): Promise<SendMail> {
  const problem = checkSmtpUrl(url);
  if (problem !== null) throw new TypeError(`The address of the mail server ${problem}.`);
  const { createTransport } = await importOptional("nodemailer", "Sending email", () => import("nodemailer"));
  const { protocol, hostname, port, username, password } = new URL(url);
  const transport = createTransport({
    host: hostname.replace(/^\[|\]$/g, ""),
    port: port === "" ? (PORTS[protocol] as number) : Number(port),
    secure: protocol === "smtps:",
    // Without TLS on loopback, since the certificate of a local server rarely has a trusted authority.
    ...(LOOPBACK.has(hostname) ? { ignoreTLS: true } : { requireTLS: true }),
    ...(username !== "" && {
      auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) },
    }),
    ...(ca !== undefined && { tls: { ca } }),
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    // An email consists of the given text alone.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return async ({ to, subject, text, html, picture, unsubscribe }) => {
    try {
      await transport.sendMail({
        from,
        // As an object, an address with a comma or a line break can't become a second recipient or header.
        to: { name: "", address: to },
        ...{ subject, text },
        ...(html !== undefined && { html }),
        ...(picture !== undefined && {
          attachments: [
            {
              cid: picture.id,
              filename: picture.fileName,
              content: Buffer.from(picture.bytes),
              contentType: picture.contentType,
            },
          ],
        }),
        headers: {
          // Keeps vacation replies away. Source: RFC 3834, section 5.
          "Auto-Submitted": "auto-generated",
          // Source: RFC 8058, section 3.1.
          ...(unsubscribe !== undefined && {
            "List-Unsubscribe": `<${unsubscribe}>`,
            "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
          }),
        },
      });
    } catch (cause) {
      throw new MailError(describeFailure(cause, hostname), { cause });
    }
  };
}

/** Describes a failure by the server's status and the step; the server's own text can quote addresses and credentials. */
function describeFailure(cause: unknown, host: string): string {
  const { code, originalCode, responseCode } = cause as Readonly<
    Partial<Record<"code" | "originalCode", string> & { responseCode: number }>
  >;
  const reason = [originalCode ?? code, responseCode].filter((part) => part !== undefined).join(", ");
  return `Could not send an email through ${host}: ${reason === "" ? "unknown failure" : reason}.`;
}
