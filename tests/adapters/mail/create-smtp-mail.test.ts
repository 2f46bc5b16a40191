import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { checkSmtpUrl, createSmtpMail } from "../../../adapters/mail/create-smtp-mail.ts";
import { MailError } from "../../../core/ports/mail.ts";
import {
  type CertificateAuthority,
  createCertificateAuthority,
} from "../../simulation/certificate-authority.ts";
import { type MailServer, startMailServer } from "./mail-server.rig.ts";

/** An address of loopback that does not count as this machine, so that TLS is required. */
const REMOTE = "127.0.0.2";
const from = "meter <meter@example.com>";
const mail = { to: "ann@example.com", subject: "Grüße", text: "One line.\n.\nA line after a dot.\n" };

describe("checkSmtpUrl()", () => {
  it("accepts a host with an optional port and login", () => {
    for (const url of ["smtp://mail.example.com", "smtps://u:p@mail.example.com:465/", "smtp://[::1]:25"])
      assert.equal(checkSmtpUrl(url), null, url);
  });

  it("refuses everything else", () => {
    for (const url of [
      "",
      "mail.example.com",
      "http://mail.example.com",
      "smtp://",
      "smtp://h/path",
      "smtp://h?x=1",
    ])
      assert.match(checkSmtpUrl(url) ?? "", /Expected: an address|more than a host/, url);
  });
});

describe("createSmtpMail()", { skip: "Deno" in globalThis || "Bun" in globalThis }, () => {
  let authority: CertificateAuthority;
  const servers: MailServer[] = [];
  const start = async (options: Parameters<typeof startMailServer>[0]) => {
    const server = await startMailServer(options);
    servers.push(server);
    return server;
  };
  before(async () => {
    authority = await createCertificateAuthority("Mail authority");
  });
  after(() => Promise.all(servers.map((server) => server.close())));

  it("sends over STARTTLS after it has verified the server, with the login", async () => {
    const server = await start({
      host: REMOTE,
      certificate: await authority.mintLeaf(REMOTE),
      asksForLogin: true,
    });
    const url = `smtp://meter%40example.com:p%3Aw@${REMOTE}:${server.port}`;
    const send = await createSmtpMail({ url, from, ca: authority.certificatePem });
    await send(mail);
    const [received] = server.received;
    assert.deepEqual(
      [received?.encrypted, received?.login, received?.sender, received?.recipients],
      [true, "meter@example.com:p:w", "meter@example.com", ["ann@example.com"]],
    );
    assert.match(received?.data ?? "", /^Auto-Submitted: auto-generated$/m);
    assert.match(received?.data ?? "", /One line\.\r\n\.\r\nA line after a dot\./);
  });

  it("sends over TLS from the start", async () => {
    const server = await start({
      host: REMOTE,
      certificate: await authority.mintLeaf(REMOTE),
      implicit: true,
    });
    const send = await createSmtpMail({
      url: `smtps://${REMOTE}:${server.port}`,
      from,
      ca: authority.certificatePem,
    });
    await send(mail);
    assert.equal(server.received[0]?.encrypted, true);
  });

  it("sends nothing to a server without TLS, or with a certificate that is not trusted", async () => {
    const plain = await start({ host: REMOTE });
    const unknown = await start({ host: REMOTE, certificate: await authority.mintLeaf(REMOTE) });
    for (const { port } of [plain, unknown]) {
      const send = await createSmtpMail({ url: `smtp://${REMOTE}:${port}`, from });
      await assert.rejects(send(mail), MailError);
    }
    assert.deepEqual([...plain.received, ...unknown.received], []);
  });

  it("sends unencrypted to a server on this machine", async () => {
    const server = await start({ host: "127.0.0.1" });
    const send = await createSmtpMail({ url: `smtp://127.0.0.1:${server.port}`, from });
    await send(mail);
    assert.equal(server.received[0]?.encrypted, false);
  });

  it("sends HTML beside the text, with the picture that it shows", async () => {
    const server = await start({ host: "127.0.0.1" });
    const send = await createSmtpMail({ url: `smtp://127.0.0.1:${server.port}`, from });
    const picture = {
      id: "days",
      fileName: "days.png",
      contentType: "image/png",
      bytes: Uint8Array.of(137, 80, 78, 71),
    };
    await send({ ...mail, html: '<p>One line.</p><img src="cid:days">', picture });
    const data = server.received[0]?.data ?? "";
    for (const part of [
      /^Content-Type: text\/plain/m,
      /^Content-Type: text\/html/m,
      /^Content-Id: <days>$/im,
      /^iVBORw==$/m,
    ])
      assert.match(data, part);
  });

  it("sends the header with which mail programs unsubscribe by one POST", async () => {
    const server = await start({ host: "127.0.0.1" });
    const send = await createSmtpMail({ url: `smtp://127.0.0.1:${server.port}`, from });
    await send({ ...mail, unsubscribe: "https://meter.example.com/unsubscribe?token=1" });
    await send(mail);
    const [one, other] = server.received.map(({ data }) => data);
    assert.match(one ?? "", /^List-Unsubscribe: <https:\/\/meter\.example\.com\/unsubscribe\?token=1>\r$/m);
    assert.match(one ?? "", /^List-Unsubscribe-Post: List-Unsubscribe=One-Click\r$/m);
    assert.doesNotMatch(other ?? "", /List-Unsubscribe/);
  });

  it("has one recipient, and lets no address add a header", async () => {
    const server = await start({ host: "127.0.0.1" });
    const send = await createSmtpMail({ url: `smtp://127.0.0.1:${server.port}`, from });
    for (const to of ["ann@example.com, eve@example.com", "ann@example.com\r\nBcc: eve@example.com"])
      await send({ ...mail, to, subject: "Hi\r\nBcc: eve@example.com" }).catch((cause) =>
        assert.ok(cause instanceof MailError),
      );
    for (const { recipients, data } of server.received) {
      assert.equal(recipients.length, 1);
      assert.doesNotMatch(data, /^Bcc:/im);
    }
  });

  it("rejects with the server's status, and without its text, the address or the login", async () => {
    const refusing = await start({ host: "127.0.0.1" });
    refusing.recipientReply = "550 ann@example.com is unknown";
    const login = await start({ host: "127.0.0.1", asksForLogin: true });
    const urls = [
      `smtp://127.0.0.1:${refusing.port}`,
      `smtp://user:wrong@127.0.0.1:${login.port}`,
      "smtp://127.0.0.1:1",
    ];
    const messages: string[] = [];
    for (const url of urls) {
      const send = await createSmtpMail({ url, from });
      await assert.rejects(send(mail), (error) => messages.push((error as MailError).message) > 0);
    }
    assert.deepEqual(messages, [
      "Could not send an email through 127.0.0.1: EENVELOPE, 550.",
      "Could not send an email through 127.0.0.1: EAUTH, 535.",
      "Could not send an email through 127.0.0.1: ECONNREFUSED.",
    ]);
  });
});
