/** `[section "subsection"]`; git-config(1), "Syntax". */
const SECTION = /^\s*\[\s*([\w.-]+)\s+"((?:[^"\\]|\\.)*)"\s*\]/;
const VALUE = /^\s*([A-Za-z][\w-]*)\s*=\s*(?:"([^"\\]*)"|([^#;]*))/;

/** A value in a section of Git's configuration. */
export interface GitConfigValue {
  readonly subsection: string;
  readonly value: string;
}

/**
 * Returns the values of a key in all sections of a name, in the order of the text of a repository's `.git/config`. `section` and
 * `key` are in lower case. Included files and values over several lines are not read.
 */
export function* gitConfigValues(config: string, section: string, key: string): Generator<GitConfigValue> {
  let subsection: string | null = null;
  for (const line of config.split(/\r?\n/)) {
    if (/^\s*\[/.test(line)) {
      const [, name = "", escaped = ""] = SECTION.exec(line) ?? [];
      subsection = name.toLowerCase() === section ? escaped.replace(/\\(.)/g, "$1") : null;
    }
    const [, name = "", quoted, plain = quoted] = VALUE.exec(line) ?? [];
    if (subsection !== null && plain !== undefined && name.toLowerCase() === key)
      yield { subsection, value: plain.trim() };
  }
}
