// Writes docs/api/, the reference of the public entries, from the sources and their doc comments. A test compares both. Run
// by `npm run exports:write`.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { posix } from "node:path";
import { fileURLToPath } from "node:url";
import { publicEntries } from "./public-entries.ts";

const root = fileURLToPath(new URL("../", import.meta.url));
const read = (file: string) => readFileSync(`${root}${file}`, "utf8");

/** A public name and its declaration. */
interface PublicDeclaration {
  readonly name: string;
  readonly kind: string;
  /** The first sentence of the doc comment; null without one. */
  readonly summary: string | null;
  /** The declaration without comments and function bodies. */
  readonly signature: string;
}

/** The declarations that an entry exports, in alphabetical order. */
export function publicDeclarations(source: string): PublicDeclaration[] {
  const declarations: PublicDeclaration[] = [];
  const text = read(source);
  for (const [, list, path] of text.matchAll(/^export(?: type)? \{([^}]*)\} from "([^"]+)";$/gm)) {
    const file = posix.join(posix.dirname(source), path as string);
    for (const item of (list as string).split(",").filter((each) => each.trim() !== "")) {
      const [declared = "", name = declared] = item
        .trim()
        .replace(/^type /, "")
        .split(" as ");
      declarations.push({ ...readDeclaration(file, declared), name });
    }
  }
  for (const [, name, path] of text.matchAll(/^export \* as (\w+) from "([^"]+)";$/gm)) {
    const room = posix.join(posix.dirname(source), path as string);
    declarations.push({
      name: name as string,
      kind: "namespace",
      summary: firstSentence(moduleComment(room)),
      signature: `export * as ${name} from "@llm-meter/${posix.dirname(room)}"`,
    });
  }
  return declarations.sort((one, other) => (one.name < other.name ? -1 : 1));
}

function readDeclaration(file: string, name: string): PublicDeclaration {
  const text = read(file);
  const start = new RegExp(`^export (?:async )?(function|const|class|interface|type) ${name}\\b`, "m").exec(
    text,
  );
  if (start === null) throw new Error(`${file} does not declare ${name}`);
  const comment = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*$/.exec(text.slice(0, start.index));
  const kind = start[1] as string;
  return {
    name,
    kind,
    summary: comment === null ? null : firstSentence(commentText(comment[1] as string)),
    signature: signatureOf(kind, withoutComments(text.slice(start.index))),
  };
}

function moduleComment(file: string): string {
  return commentText(/^\/\*\*([\s\S]*?)\*\//.exec(read(file))?.[1] ?? "");
}

/** Returns the text of a comment without its stars. */
function commentText(comment: string): string {
  return comment
    .split("\n")
    .map((line) => line.replace(/^\s*\* ?/, ""))
    .join("\n")
    .trim();
}

function firstSentence(text: string): string {
  const paragraph = (text.split(/\n\n/)[0] as string).replaceAll(/\s+/g, " ").trim();
  return /^(.*?[.!?])(?= [A-Z`]|$)/.exec(paragraph)?.[1] ?? paragraph;
}

function withoutComments(text: string): string {
  return text.replaceAll(/^[ \t]*\/\*\*[\s\S]*?\*\/\n/gm, "").replaceAll(/^[ \t]*\/\/.*\n/gm, "");
}

/** The position after the bracket that closes the one at `open`. */
function closing(text: string, open: number): number {
  let depth = 0;
  for (let at = open; at < text.length; at++) {
    if ("([{".includes(text[at] as string)) depth += 1;
    else if (")]}".includes(text[at] as string) && --depth === 0) return at + 1;
  }
  return text.length;
}

function signatureOf(kind: string, text: string): string {
  const ends: Record<string, (text: string) => number> = {
    interface: () => closing(text, text.indexOf("{")),
    class: () => text.indexOf(" {"),
    type: () => endOfStatement(text),
    function: () => endOfHead(text),
    const: () => endOfConstant(text),
  };
  return text.slice(0, (ends[kind] as (text: string) => number)(text)).replace(/^export /, "");
}

/** Returns the first semicolon outside brackets. */
function endOfStatement(text: string): number {
  for (let at = 0; at < text.length; at++) {
    if ("([{".includes(text[at] as string)) at = closing(text, at) - 1;
    else if (text[at] === ";") return at;
  }
  return text.length;
}

/** Returns the end of a function's result type; the bracket that follows starts its body. */
function endOfHead(text: string): number {
  let at = closing(text, text.indexOf("("));
  for (; at < text.length; at++) {
    if (text[at] !== "{") {
      if ("([".includes(text[at] as string)) at = closing(text, at) - 1;
      continue;
    }
    // A result type in braces follows a colon, an arrow, a bar or an angle bracket.
    if (!/(:|=>|[|&<,])\s*$/.test(text.slice(0, at))) break;
    at = closing(text, at) - 1;
  }
  return text.slice(0, at).trimEnd().length;
}

/** Returns the end of a constant: with its value if that is one short line. */
function endOfConstant(text: string): number {
  const value = / =(?!>)/.exec(text)?.index ?? 0;
  const end = endOfStatement(text);
  return end <= 110 && !text.slice(0, end).includes("\n") ? end : value;
}

/** Returns the pages of the reference by file name. */
export function referencePages(): ReadonlyMap<string, string> {
  const pages = new Map<string, string>();
  const rows: string[] = [];
  for (const [entry, source] of Object.entries(publicEntries())) {
    const file = `${entry === "." ? "index" : entry.slice(2).replaceAll("/", "-")}.md`;
    const declarations = publicDeclarations(posix.normalize(source));
    const names = importNames(entry);
    const about = withPackageImports(moduleComment(posix.normalize(source)), entry);
    pages.set(file, renderPage(names, about, declarations));
    rows.push(
      `| [\`${entry === "." ? "." : entry.slice(2)}\`](${file}) | ${declarations.length} | ${firstSentence(moduleComment(posix.normalize(source)))} |`,
    );
  }
  pages.set(
    "README.md",
    `${GENERATED}# API reference\n\nThe entries of \`@llm-meter/meter\`; those of the core are in \`@llm-meter/core\` too.\n\n| entry | names | contents |\n|---|---|---|\n${rows.join("\n")}\n`,
  );
  return pages;
}

/** Replaces the relative imports of examples, which run in the sources, by those of a package. */
function withPackageImports(about: string, entry: string): string {
  const folder = posix.dirname(publicEntries()[entry] as string);
  const prefix = isCore(entry) ? "@llm-meter/core" : "@llm-meter/meter";
  return about.replaceAll(/from "(\.[^"]+)"/g, (_, path: string) => {
    const beside = posix.join(folder, path);
    const imported = posix.dirname(existsSync(root + beside) ? beside : posix.normalize(path));
    return `from "${prefix}/${isCore(entry) ? imported.replace(/^core\/?/, "") : imported}"`.replace(
      '/"',
      '"',
    );
  });
}

/** Whether an entry is one of `@llm-meter/core` too. */
function isCore(entry: string): boolean {
  return entry === "." || entry.startsWith("./core/");
}

const GENERATED = "<!-- Generated from the sources by `npm run exports:write`. -->\n";

/** Returns the names that an import of the entry uses. */
function importNames(entry: string): string {
  const meter = `@llm-meter/meter${entry.slice(1)}`;
  if (!isCore(entry)) return `\`${meter}\``;
  return `\`@llm-meter/core${entry.slice(1).replace(/^\/core/, "")}\`, \`${meter}\``;
}

/** What to call a declaration, where the keyword is not enough. */
const KINDS: Readonly<Record<string, string>> = { interface: "An interface.", const: "A constant." };

function renderPage(names: string, about: string, declarations: readonly PublicDeclaration[]): string {
  const text = about.replace(/\s*@module\s*$/, "").trim();
  const sections = declarations.map(
    ({ name, kind, summary, signature }) =>
      `## ${name}\n${KINDS[kind] ?? `A ${kind}.`} ${summary ?? ""}\n\`\`\`ts\n${signature}\n\`\`\`\n`,
  );
  return `${GENERATED}# ${names}\n\n${text}\n\n${sections.join("\n")}`;
}

if (import.meta.main) {
  rmSync(`${root}docs/api`, { recursive: true, force: true });
  mkdirSync(`${root}docs/api`);
  for (const [file, text] of referencePages()) writeFileSync(`${root}docs/api/${file}`, text);
}
