/**
 * Made-up secrets and the texts in which they occur, assembled at run time, so that scanners do not report the repository
 * a leak.
 */

/** Returns an integer below `bound`, the same sequence for the same seed. */
export function createPick(seed: number): (bound: number) => number {
  let state = seed;
  return (bound) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
}

/** A kind of random value. */
interface ValueKind {
  readonly name: string;
  make(pick: (bound: number) => number): string;
}

const DIGITS = "0123456789";
const LOWER = "abcdefghijklmnopqrstuvwxyz";
const UPPER = LOWER.toUpperCase();

/** Returns random characters of an alphabet. */
export const draw = (pick: (bound: number) => number, alphabet: string, length: number): string =>
  Array.from({ length }, () => alphabet[pick(alphabet.length)]).join("");

/** What secret generators produce. */
export const VALUE_KINDS: readonly ValueKind[] = [
  { name: "hex, 128 bits", make: (pick) => draw(pick, `${DIGITS}abcdef`, 32) },
  { name: "hex, 256 bits", make: (pick) => draw(pick, `${DIGITS}abcdef`, 64) },
  {
    name: "UUID",
    make: (pick) => [8, 4, 4, 4, 12].map((length) => draw(pick, `${DIGITS}abcdef`, length)).join("-"),
  },
  { name: "base 62, 20", make: (pick) => draw(pick, DIGITS + LOWER + UPPER, 20) },
  { name: "base 62, 40", make: (pick) => draw(pick, DIGITS + LOWER + UPPER, 40) },
  { name: "base64, 32 bytes", make: (pick) => `${draw(pick, `${DIGITS + LOWER + UPPER}+/`, 43)}=` },
  { name: "base64url, 32 bytes", make: (pick) => draw(pick, `${DIGITS + LOWER + UPPER}-_`, 43) },
  { name: "base 36, 24", make: (pick) => draw(pick, DIGITS + LOWER, 24) },
];

/** Names of variables and fields that hold secrets. */
export const SECRET_NAMES: readonly string[] = [
  ..."API_TOKEN JWT_SECRET API_KEY SECRET_KEY ACCESS_TOKEN AUTH_TOKEN REFRESH_TOKEN CLIENT_SECRET DB_PASSWORD".split(
    " ",
  ),
  ..."DATABASE_PASSWORD POSTGRES_PASSWORD MYSQL_ROOT_PASSWORD REDIS_PASSWORD PGPASSWORD SMTP_PASS DB_PASS DB_PWD".split(
    " ",
  ),
  ..."SESSION_SECRET COOKIE_SECRET SECRET_KEY_BASE DJANGO_SECRET_KEY APP_KEY APP_SECRET ENCRYPTION_KEY SIGNING_KEY".split(
    " ",
  ),
  ..."SIGNING_SECRET WEBHOOK_SECRET STRIPE_SECRET_KEY GITHUB_TOKEN GITLAB_TOKEN NPM_TOKEN SLACK_BOT_TOKEN".split(
    " ",
  ),
  ..."TWILIO_AUTH_TOKEN SENDGRID_API_KEY MAILGUN_API_KEY AWS_SECRET_ACCESS_KEY AZURE_CLIENT_SECRET".split(
    " ",
  ),
  ..."AZURE_OPENAI_API_KEY OPENAI_API_KEY ANTHROPIC_API_KEY MISTRAL_API_KEY COHERE_API_KEY MASTER_KEY RAILS_MASTER_KEY".split(
    " ",
  ),
  ..."PRIVATE_TOKEN BOT_TOKEN DEPLOY_TOKEN VAULT_TOKEN SENTRY_AUTH_TOKEN DATADOG_API_KEY CLOUDFLARE_API_TOKEN".split(
    " ",
  ),
  ..."NEXTAUTH_SECRET AUTH_SECRET HMAC_SECRET OAUTH_CLIENT_SECRET SERVICE_KEY STORAGE_KEY ADMIN_PASSWORD PASSWORD".split(
    " ",
  ),
  ..."TOKEN SECRET apiKey clientSecret accessToken secretKey password authToken privateKey x-api-key api-key".split(
    " ",
  ),
  ..."access_key license_key webhook_secret passphrase CREDENTIAL HASURA_GRAPHQL_ADMIN_SECRET SUBSCRIPTION_KEY".split(
    " ",
  ),
];

const kebab = (name: string): string => name.replaceAll("_", "-").toLowerCase();

/** How texts assign a value to a name: environment files, code, data, headers, command lines, URLs, prose. */
export const ASSIGNMENTS: readonly (readonly [
  format: string,
  write: (name: string, value: string) => string,
])[] = [
  ["env", (n, v) => `${n}=${v}\n`],
  ["env, quoted", (n, v) => `${n}="${v}"\n`],
  ["env, single quotes", (n, v) => `${n}='${v}'\n`],
  ["env, export", (n, v) => `export ${n}=${v}\n`],
  ["env in a command", (n, v) => `$ ${n}=${v} node server.js\n`],
  ["fish", (n, v) => `set -gx ${n} ${v}\n`],
  ["setx", (n, v) => `setx ${n} "${v}"\n`],
  ["PowerShell", (n, v) => `$env:${n} = "${v}"\n`],
  ["Dockerfile ENV", (n, v) => `ENV ${n}=${v}\n`],
  ["Dockerfile ENV, blank", (n, v) => `ENV ${n} ${v}\n`],
  ["docker run", (n, v) => `docker run -e ${n}=${v} image\n`],
  ["compose", (n, v) => `    environment:\n      - ${n}=${v}\n`],
  ["JSON", (n, v) => JSON.stringify({ a: 1, [n]: v, b: 2 })],
  ["JSON, spaced", (n, v) => JSON.stringify({ [n]: v }, null, 2)],
  ["JSON in JSON", (n, v) => JSON.stringify({ content: JSON.stringify({ [n]: v }) })],
  ["JSON name and value", (n, v) => JSON.stringify({ name: n, value: v })],
  ["YAML", (n, v) => `config:\n  ${n}: ${v}\n`],
  ["YAML, quoted", (n, v) => `config:\n  ${n}: "${v}"\n`],
  ["YAML name and value", (n, v) => `env:\n  - name: ${n}\n    value: ${v}\n`],
  ["TOML", (n, v) => `[auth]\n${n} = "${v}"\n`],
  ["INI", (n, v) => `[auth]\n${n} = ${v}\n`],
  ["properties", (n, v) => `${n}: ${v}\n`],
  ["HCL", (n, v) => `  ${n}   = "${v}"\n`],
  ["XML element", (n, v) => `<${n}>${v}</${n}>`],
  ["XML attribute", (n, v) => `<server ${n}="${v}" />`],
  ["XML key and value", (n, v) => `<add key="${n}" value="${v}" />`],
  ["plist", (n, v) => `<key>${n}</key>\n\t<string>${v}</string>`],
  ["Python environ", (n, v) => `os.environ["${n}"] = "${v}"`],
  ["Python setdefault", (n, v) => `os.environ.setdefault('${n}', '${v}')`],
  ["Python constant", (n, v) => `${n.replaceAll("-", "_")} = '${v}'`],
  ["Python argument", (n, v) => `client = Client(${n.replaceAll("-", "_")}="${v}")`],
  ["Python bytes", (n, v) => `${n.replaceAll("-", "_")} = b"${v}"`],
  ["JavaScript const", (n, v) => `const ${n.replaceAll("-", "_")} = "${v}";`],
  ["TypeScript const", (n, v) => `const ${n.replaceAll("-", "_")}: string = "${v}";`],
  ["JavaScript template", (n, v) => `const ${n.replaceAll("-", "_")} = \`${v}\`;`],
  ["JavaScript property", (n, v) => `new Client({ ${n.replaceAll("-", "_")}: '${v}' })`],
  ["process.env", (n, v) => `process.env.${n.replaceAll("-", "_")} = "${v}"`],
  ["Ruby hash", (n, v) => `:${n.replaceAll("-", "_")} => "${v}"`],
  ["Ruby ENV", (n, v) => `ENV["${n}"] = "${v}"`],
  ["PHP define", (n, v) => `define('${n}', '${v}');`],
  ["PHP array", (n, v) => `'${n}' => '${v}',`],
  ["Go", (n, v) => `${n.replaceAll("-", "_")} := "${v}"`],
  ["Go setenv", (n, v) => `os.Setenv("${n}", "${v}")`],
  ["Rust", (n, v) => `const ${n.replaceAll("-", "_")}: &str = "${v}";`],
  ["Java", (n, v) => `private static final String ${n.replaceAll("-", "_")} = "${v}";`],
  ["Java property", (n, v) => `-D${n}=${v}`],
  ["C#", (n, v) => `var ${n.replaceAll("-", "_")} = @"${v}";`],
  ["C define", (n, v) => `#define ${n.replaceAll("-", "_")} "${v}"`],
  ["Swift", (n, v) => `let ${n.replaceAll("-", "_")} = "${v}"`],
  ["SQL", (n, v) => `UPDATE t SET ${n.replaceAll("-", "_")} = '${v}' WHERE id = 1`],
  ["flag", (n, v) => `tool --${kebab(n)} ${v} run`],
  ["flag, equals", (n, v) => `tool --${kebab(n)}=${v} run`],
  ["flag, quoted", (n, v) => `tool --${kebab(n)} "${v}" run`],
  ["header", (n, v) => `X-${kebab(n)}: ${v}\r\n`],
  ["header in curl", (n, v) => `curl -H "X-${kebab(n)}: ${v}" https://h.example/`],
  ["header in code", (n, v) => `headers.set("x-${kebab(n)}", "${v}")`],
  ["URL query", (n, v) => `https://h.example/p?${kebab(n)}=${encodeURIComponent(v)}&page=2`],
  ["form body", (n, v) => `a=1&${n}=${encodeURIComponent(v)}&b=2`],
  ["cookie", (n, v) => `Cookie: theme=dark; ${kebab(n)}=${v}; lang=en\r\n`],
  ["Markdown table", (n, v) => `| ${n} | ${v} |\n`],
  ["Markdown code", (n, v) => `Set \`${n}\` to \`${v}\`.`],
  ["prose", (n, v) => `the ${n} is ${v} for staging`],
  ["log line", (n, v) => `2026-11-22 INFO connecting with ${n}=${v}, retries=3\n`],
  ["kubectl", (n, v) => `kubectl create secret generic s --from-literal=${n}=${v}\n`],
  ["gh secret", (n, v) => `gh secret set ${n} --body "${v}"\n`],
];
