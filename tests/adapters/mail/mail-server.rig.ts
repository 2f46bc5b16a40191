import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { createSecureContext, createServer as createTlsServer, TLSSocket } from "node:tls";

/** An email as the server received it. */
export interface ReceivedMail {
  readonly sender: string;
  readonly recipients: readonly string[];
  /** Header and body, without the final dot. */
  readonly data: string;
  /** Whether it came over TLS. */
  readonly encrypted: boolean;
  /** `user:password`; null without a login. */
  readonly login: string | null;
}

/** A mail server that stores emails. */
export interface MailServer {
  readonly port: number;
  readonly received: readonly ReceivedMail[];
  /** The response to each recipient. Default: 250. */
  recipientReply: string;
  close(): Promise<void>;
}

/** The server's options. */
interface Options {
  readonly host: string;
  /** The server's certificate and key, PEM. */
  readonly certificate?: { readonly cert: string; readonly key: string };
  /** TLS from the start; otherwise by STARTTLS if there is a certificate. */
  readonly implicit?: boolean;
  readonly asksForLogin?: boolean;
}

/** Starts a server that speaks SMTP (RFC 5321) with STARTTLS (RFC 3207) and AUTH PLAIN (RFC 4616). */
export async function startMailServer(options: Options): Promise<MailServer> {
  const { host, certificate, implicit = false } = options;
  const context = certificate === undefined ? undefined : createSecureContext(certificate);
  const received: ReceivedMail[] = [];
  const sockets = new Set<Socket>();
  const mailServer = { port: 0, received, recipientReply: "250 ok", close };
  const accept = (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    socket.write("220 mail.test ESMTP\r\n");
    serve(socket, implicit);
  };
  const server =
    implicit && certificate !== undefined ? createTlsServer(certificate, accept) : createServer(accept);
  server.on("tlsClientError", () => {});
  server.listen(0, host);
  await once(server, "listening");
  mailServer.port = (server.address() as AddressInfo).port;
  return mailServer;

  async function close(): Promise<void> {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, "close");
  }

  function serve(socket: Socket, encrypted: boolean): void {
    let pending = "";
    let data: string[] | null = null;
    let [sender, login, recipients] = ["", null as string | null, [] as string[]];
    const reply = (...lines: string[]) => socket.write(`${lines.join("\r\n")}\r\n`);
    const onData = (chunk: Buffer) => {
      pending += chunk.toString("latin1");
      for (let end = pending.indexOf("\r\n"); end >= 0; end = pending.indexOf("\r\n")) {
        const line = pending.slice(0, end);
        pending = pending.slice(end + 2);
        if (data === null) command(line);
        else if (line === ".") {
          received.push({ sender, recipients, data: data.join("\r\n"), encrypted, login });
          data = null;
          reply("250 stored");
        } else data.push(line.startsWith("..") ? line.slice(1) : line);
      }
    };
    socket.on("data", onData);

    function command(line: string): void {
      const verb = line.slice(0, 4).toUpperCase();
      if (verb === "EHLO") {
        const offers = [
          ...(context !== undefined && !encrypted ? ["STARTTLS"] : []),
          ...(options.asksForLogin ? ["AUTH PLAIN"] : []),
          "8BITMIME",
        ];
        reply("250-mail.test", ...offers.slice(0, -1).map((offer) => `250-${offer}`), `250 ${offers.at(-1)}`);
      } else if (verb === "STAR" && context === undefined) reply("502 no TLS here");
      else if (verb === "STAR") {
        socket.off("data", onData);
        reply("220 go ahead");
        const secure = new TLSSocket(socket, { isServer: true, ...(context && { secureContext: context }) });
        secure.on("error", () => {});
        serve(secure, true);
      } else if (verb === "AUTH") {
        login = Buffer.from(line.split(" ")[2] ?? "", "base64")
          .toString()
          .split("\0")
          .slice(1)
          .join(":");
        if (login.endsWith(":wrong")) reply("535 bad login for someone@example.com");
        else reply("235 ok");
      } else if (verb === "MAIL") {
        sender = /<(.*?)>/.exec(line)?.[1] ?? "";
        recipients = [];
        reply("250 ok");
      } else if (verb === "RCPT") {
        recipients.push(/<(.*?)>/.exec(line)?.[1] ?? "");
        reply(mailServer.recipientReply);
      } else if (verb === "DATA") {
        data = [];
        reply("354 go on");
      } else if (verb === "QUIT") socket.end("221 bye\r\n");
      else reply("250 ok");
    }
  }
}
