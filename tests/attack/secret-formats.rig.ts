/**
 * Texts in which credentials occur, each with its credential: headers, command lines, URLs, configuration files, code,
 * statements. Redaction is known to miss some; `docs/redaction.md` names them.
 */
import { Buffer } from "node:buffer";
import { createPick, draw } from "../core/privacy/redaction/secret-samples.rig.ts";

const pick = createPick(9);
const a = (length: number) =>
  draw(pick, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", length);
const h = (length: number) => draw(pick, "0123456789abcdef", length);
const u = (length: number) => draw(pick, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", length);
const d = (length: number) => draw(pick, "0123456789", length);
const b64 = (text: string) => Buffer.from(text).toString("base64");

/** Makes a text and the credential in it. */
type MakeText = () => readonly [text: string, secret: string];

export const SECRET_FORMATS: readonly (readonly [name: string, make: MakeText])[] = [
  [
    "Authorization Bearer",
    () => {
      const s = a(40);
      return [`Authorization: Bearer ${s}`, s];
    },
  ],
  [
    "Authorization Token",
    () => {
      const s = h(40);
      return [`Authorization: Token ${s}`, s];
    },
  ],
  [
    "Authorization token=",
    () => {
      const s = h(40);
      return [`Authorization: Token token="${s}"`, s];
    },
  ],
  [
    "Authorization Basic",
    () => {
      const s = b64(`user:${a(16)}`);
      return [`Authorization: Basic ${s}`, s];
    },
  ],
  [
    "Basic w/o header",
    () => {
      const s = b64(`user:${a(16)}`);
      return [`"Basic ${s}"`, s];
    },
  ],
  [
    "AWS sigv4 header",
    () => {
      const s = h(64);
      return [
        `Authorization: AWS4-HMAC-SHA256 Credential=${u(20)}/20261122/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=${s}`,
        s,
      ];
    },
  ],
  [
    "Digest",
    () => {
      const s = h(32);
      return [
        `Authorization: Digest username="Mufasa", realm="r", nonce="${h(32)}", uri="/", response="${s}"`,
        s,
      ];
    },
  ],
  [
    "X-Api-Key",
    () => {
      const s = a(32);
      return [`X-Api-Key: ${s}`, s];
    },
  ],
  [
    "X-Auth-Token",
    () => {
      const s = a(32);
      return [`X-Auth-Token: ${s}`, s];
    },
  ],
  [
    "Ocp-Apim",
    () => {
      const s = h(32);
      return [`Ocp-Apim-Subscription-Key: ${s}`, s];
    },
  ],
  [
    "Cookie",
    () => {
      const s = a(26);
      return [`Cookie: PHPSESSID=${s}; a=b`, s];
    },
  ],
  [
    "Cookie 2",
    () => {
      const s = a(44);
      return [`Cookie: theme=dark; connect.sid=s%3A${s}.${a(43)}; a=b`, s];
    },
  ],
  [
    "Set-Cookie",
    () => {
      const s = a(32);
      return [`Set-Cookie: sid=${s}; Path=/; HttpOnly`, s];
    },
  ],
  [
    "Set-Cookie JSON",
    () => {
      const s = a(32);
      return [JSON.stringify({ "set-cookie": `remember_web_59ba=${s}; Path=/` }), s];
    },
  ],
  [
    "curl -u",
    () => {
      const s = a(16);
      return [`curl -u admin:${s} https://h`, s];
    },
  ],
  [
    "curl --user",
    () => {
      const s = a(16);
      return [`curl --user "admin:${s}" https://h`, s];
    },
  ],
  [
    "netrc",
    () => {
      const s = a(16);
      return [`machine h login bob password ${s}`, s];
    },
  ],
  [
    "mysql -p",
    () => {
      const s = a(16);
      return [`mysql -u root -p${s} db`, s];
    },
  ],
  [
    "sshpass",
    () => {
      const s = a(16);
      return [`sshpass -p ${s} ssh h`, s];
    },
  ],
  [
    "redis-cli -a",
    () => {
      const s = a(20);
      return [`redis-cli -h h -a ${s} ping`, s];
    },
  ],
  [
    "docker login",
    () => {
      const s = a(20);
      return [`docker login -u bob -p ${s} registry`, s];
    },
  ],
  [
    "npmrc _authToken",
    () => {
      const s = h(36);
      return [`//registry.npmjs.org/:_authToken=${s}`, s];
    },
  ],
  [
    "npmrc _auth",
    () => {
      const s = b64(`bob:${a(20)}`);
      return [`_auth=${s}`, s];
    },
  ],
  [
    "docker config auth",
    () => {
      const s = b64(`bob:${a(20)}`);
      return [JSON.stringify({ auths: { h: { auth: s } } }), s];
    },
  ],
  [
    "url userinfo",
    () => {
      const s = a(16);
      return [`https://bob:${s}@h.example/x`, s];
    },
  ],
  [
    "url token only",
    () => {
      const s = a(40);
      return [`https://${s}@github.com/o/r.git`, s];
    },
  ],
  [
    "url x-oauth-basic",
    () => {
      const s = h(40);
      return [`https://${s}:x-oauth-basic@github.com/o/r.git`, s];
    },
  ],
  [
    "mongodb",
    () => {
      const s = a(16);
      return [`mongodb+srv://u:${s}@c.mongodb.net/db`, s];
    },
  ],
  [
    "jdbc",
    () => {
      const s = a(16);
      return [`jdbc:postgresql://h/db?user=u&password=${s}`, s];
    },
  ],
  [
    "ado",
    () => {
      const s = a(16);
      return [`Server=h;Database=d;User Id=u;Password=${s};`, s];
    },
  ],
  [
    "AccountKey",
    () => {
      const s = b64(a(64));
      return [
        `DefaultEndpointsProtocol=https;AccountName=x;AccountKey=${s};EndpointSuffix=core.windows.net`,
        s,
      ];
    },
  ],
  [
    "SharedAccessKey",
    () => {
      const s = b64(a(32));
      return [`Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=${s}`, s];
    },
  ],
  [
    "Azure SAS",
    () => {
      const s = encodeURIComponent(b64(a(32)));
      return [
        `https://x.blob.core.windows.net/c/b?sv=2024-11-04&se=2026-12-01T00%3A00%3A00Z&sr=b&sp=r&sig=${s}`,
        s,
      ];
    },
  ],
  [
    "AWS presigned",
    () => {
      const s = h(64);
      return [
        `https://b.s3.amazonaws.com/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=x&X-Amz-Signature=${s}`,
        s,
      ];
    },
  ],
  [
    "AWS presigned v2",
    () => {
      const s = encodeURIComponent(b64(a(20)));
      return [
        `https://b.s3.amazonaws.com/k?AWSAccessKeyId=AKIA${u(16)}&Expires=1800000000&Signature=${s}`,
        s,
      ];
    },
  ],
  [
    "AWS security token",
    () => {
      const s = a(300);
      return [`https://b.s3.amazonaws.com/k?X-Amz-Security-Token=IQoJb3JpZ2lu${s}&x=1`, s];
    },
  ],
  [
    "GCS presigned",
    () => {
      const s = h(512);
      return [
        `https://storage.googleapis.com/b/k?X-Goog-Algorithm=GOOG4-RSA-SHA256&X-Goog-Signature=${s}`,
        s,
      ];
    },
  ],
  [
    "CloudFront",
    () => {
      const s = a(340);
      return [`https://d.cloudfront.net/x?Expires=1&Signature=${s}&Key-Pair-Id=K1`, s];
    },
  ],
  [
    "query access_token",
    () => {
      const s = a(40);
      return [`https://h/x?access_token=${s}&y=1`, s];
    },
  ],
  [
    "query key=",
    () => {
      const s = a(32);
      return [`https://h/x?key=${s}`, s];
    },
  ],
  [
    "query code",
    () => {
      const s = a(40);
      return [`https://h/cb?code=${s}&state=${a(20)}`, s];
    },
  ],
  [
    "fragment token",
    () => {
      const s = a(40);
      return [`https://h/x#access_token=${s}&token_type=bearer`, s];
    },
  ],
  [
    "Slack webhook",
    () => {
      const s = a(24);
      return [`https://hooks.slack.com/services/T${u(8)}/B${u(10)}/${s}`, s];
    },
  ],
  [
    "Discord webhook",
    () => {
      const s = a(68);
      return [`https://discord.com/api/webhooks/${d(18)}/${s}`, s];
    },
  ],
  [
    "Teams webhook",
    () => {
      const s = h(32);
      const g = () => `${h(8)}-${h(4)}-${h(4)}-${h(4)}-${h(12)}`;
      return [`https://acme.webhook.office.com/webhookb2/${g()}@${g()}/IncomingWebhook/${s}/${g()}`, s];
    },
  ],
  [
    "Google chat webhook",
    () => {
      const s = a(43);
      return [`https://chat.googleapis.com/v1/spaces/AAAA/messages?key=AIza${a(35)}&token=${s}`, s];
    },
  ],
  [
    "Telegram URL",
    () => {
      const s = `AA${a(33)}`;
      return [`https://api.telegram.org/bot${d(10)}:${s}/sendMessage`, s];
    },
  ],
  [
    "Discord bot",
    () => {
      const s = a(38);
      return [`M${a(25)}.${a(6)}.${s}`, s];
    },
  ],
  [
    "Logic app",
    () => {
      const s = a(43);
      return [
        `https://prod-01.westeurope.logic.azure.com/workflows/${h(32)}/triggers/manual/paths/invoke?api-version=2016-10-01&sp=%2Ftriggers&sv=1.0&sig=${s}`,
        s,
      ];
    },
  ],
  [
    "Sentry DSN",
    () => {
      const s = h(32);
      return [`https://${s}@o1.ingest.sentry.io/2`, s];
    },
  ],
  [
    "JWT",
    () => {
      const s = a(43);
      return [`eyJhbGciOiJIUzI1NiJ9.eyJ${a(40)}.${s}`, s];
    },
  ],
  [
    "SSH private",
    () => {
      const s = a(64);
      return [`-----BEGIN OPENSSH PRIVATE KEY-----\n${s}\n${a(64)}\n-----END OPENSSH PRIVATE KEY-----`, s];
    },
  ],
  [
    "GCP SA JSON",
    () => {
      const s = a(64);
      return [
        JSON.stringify({
          type: "service_account",
          private_key_id: h(40),
          private_key: `-----BEGIN PRIVATE KEY-----\n${s}\n${a(64)}\n-----END PRIVATE KEY-----\n`,
        }),
        s,
      ];
    },
  ],
  [
    "GCP key id",
    () => {
      const s = h(40);
      return [JSON.stringify({ type: "service_account", private_key_id: s }), s];
    },
  ],
  [
    "AWS creds file",
    () => {
      const s = a(40);
      return [
        `[default]\naws_access_key_id = AKIA${u(16)}\naws_secret_access_key = ${s}\naws_session_token=${a(80)}`,
        s,
      ];
    },
  ],
  [
    "AWS csv",
    () => {
      const s = a(40);
      return [`Access key ID,Secret access key\nAKIA${u(16)},${s}\n`, s];
    },
  ],
  [
    "terraform",
    () => {
      const s = a(32);
      return [`variable "db_password" {\n  default = "${s}"\n}`, s];
    },
  ],
  [
    "k8s secret data",
    () => {
      const s = b64(a(24));
      return [`kind: Secret\ndata:\n  password: ${s}\n`, s];
    },
  ],
  [
    "ansible",
    () => {
      const s = a(24);
      return [`ansible_become_pass: ${s}`, s];
    },
  ],
  [
    "htpasswd bcrypt",
    () => {
      const s = a(53);
      return [`bob:$2y$10$${s}`, s];
    },
  ],
  [
    "shadow",
    () => {
      const s = a(86);
      return [`root:$6$${a(16)}$${s}:19000:0:99999:7:::`, s];
    },
  ],
  [
    "SQL identified by",
    () => {
      const s = a(16);
      return [`CREATE USER u IDENTIFIED BY '${s}';`, s];
    },
  ],
  [
    "SQL password",
    () => {
      const s = a(16);
      return [`ALTER ROLE u WITH PASSWORD '${s}';`, s];
    },
  ],
  [
    "odbc",
    () => {
      const s = a(16);
      return [`DRIVER={x};SERVER=h;UID=u;PWD=${s};`, s];
    },
  ],
  [
    "smtp AUTH PLAIN",
    () => {
      const s = b64(`\0user\0${a(16)}`);
      return [`AUTH PLAIN ${s}`, s];
    },
  ],
  [
    "HAR header",
    () => {
      const s = a(40);
      return [JSON.stringify({ name: "Authorization", value: `Bearer ${s}` }), s];
    },
  ],
  [
    "fetch headers",
    () => {
      const s = a(40);
      return [`headers: { 'Authorization': 'Bearer ' + '${s}' }`, s];
    },
  ],
  [
    "axios auth",
    () => {
      const s = a(20);
      return [`auth: { username: 'u', password: '${s}' }`, s];
    },
  ],
  [
    "requests auth",
    () => {
      const s = a(20);
      return [`requests.get(u, auth=("user", "${s}"))`, s];
    },
  ],
  [
    "mongo auth",
    () => {
      const s = a(20);
      return [`db.auth("user", "${s}")`, s];
    },
  ],
  [
    "git config",
    () => {
      const s = a(40);
      return [`git config --global github.token ${s}`, s];
    },
  ],
  [
    "gitconfig extraheader",
    () => {
      const s = b64(`x-access-token:${a(30)}`);
      return [`extraheader = AUTHORIZATION: basic ${s}`, s];
    },
  ],
  [
    "vault login",
    () => {
      const s = a(24);
      return [`vault login hvs.${s}`, s];
    },
  ],
  [
    "aws configure",
    () => {
      const s = a(40);
      return [`aws configure set aws_secret_access_key ${s}`, s];
    },
  ],
  [
    "heroku config:set",
    () => {
      const s = a(40);
      return [`heroku config:set API_SECRET=${s}`, s];
    },
  ],
  [
    "openssl pass",
    () => {
      const s = a(20);
      return [`openssl rsa -in k -passin pass:${s}`, s];
    },
  ],
  [
    "wp-config",
    () => {
      const s = a(64);
      return [`define('AUTH_KEY',         '${s}');`, s];
    },
  ],
  [
    "wp salt",
    () => {
      const s = a(64);
      return [`define('NONCE_SALT',       '${s}');`, s];
    },
  ],
  [
    "rails master",
    () => {
      const s = h(32);
      return [`RAILS_MASTER_KEY=${s}`, s];
    },
  ],
  [
    "laravel",
    () => {
      const s = b64(a(32));
      return [`APP_KEY=base64:${s}`, s];
    },
  ],
  [
    "html input",
    () => {
      const s = a(40);
      return [`<input type="hidden" name="csrf_token" value="${s}">`, s];
    },
  ],
  [
    "html meta",
    () => {
      const s = a(40);
      return [`<meta name="csrf-token" content="${s}">`, s];
    },
  ],
  [
    "maven settings",
    () => {
      const s = a(20);
      return [`<server><username>u</username><password>${s}</password></server>`, s];
    },
  ],
  [
    "spring yml",
    () => {
      const s = a(20);
      return [`spring:\n  datasource:\n    password: ${s}`, s];
    },
  ],
  [
    "appsettings",
    () => {
      const s = a(20);
      return [JSON.stringify({ ConnectionStrings: { Default: `Server=h;User=u;Password=${s}` } }), s];
    },
  ],
  [
    "pgpass",
    () => {
      const s = a(20);
      return [`localhost:5432:db:user:${s}`, s];
    },
  ],
  [
    "wifi",
    () => {
      const s = a(20);
      return [`network={ ssid="x" psk="${s}" }`, s];
    },
  ],
  [
    "wireguard",
    () => {
      const s = b64(a(32));
      return [`[Interface]\nPrivateKey = ${s}`, s];
    },
  ],
  [
    "age",
    () => {
      const s = u(58).replace(/[BIO1]/g, "Q");
      return [`AGE-SECRET-KEY-1${s}`, s];
    },
  ],
  [
    "mnemonic",
    () => {
      const s = "abandon ability able about above absent absorb abstract absurd abuse access accident";
      return [`mnemonic: "${s}"`, s];
    },
  ],
  [
    "my password is",
    () => {
      const s = a(14);
      return [`my password is ${s}, please log in`, s];
    },
  ],
  [
    "German Passwort",
    () => {
      const s = a(14);
      return [`Passwort: ${s}`, s];
    },
  ],
  [
    "yaml block",
    () => {
      const s = a(40);
      return [`token: |\n  ${s}\n`, s];
    },
  ],
  [
    "yaml folded next line",
    () => {
      const s = a(40);
      return [`secret:\n  value: ${s}\n`, s];
    },
  ],
  [
    "powershell securestring",
    () => {
      const s = a(20);
      return [`$p = ConvertTo-SecureString "${s}" -AsPlainText -Force`, s];
    },
  ],
  [
    "net use",
    () => {
      const s = a(20);
      return [`net use Z: \\\\h\\s /user:dom\\bob ${s}`, s];
    },
  ],
  [
    "otpauth",
    () => {
      const s = u(32);
      return [`otpauth://totp/x:bob?secret=${s}&issuer=x`, s];
    },
  ],
];
