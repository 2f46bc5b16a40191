type Variables = Readonly<Record<string, string>>;

/** A word for a POSIX shell: between single quotes nothing is special but they themselves. */
export const quoteForShell = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** A word for fish, where a backslash counts between single quotes too. */
export const quoteForFish = (text: string): string =>
  `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;

const header = "# Written by `meter init --apps`; `meter uninstall` removes it.";

/** A file that bash, zsh and every other POSIX shell can read in. */
export const shellFile = (variables: Variables): string =>
  [
    header,
    ...Object.entries(variables).map(([name, value]) => `export ${name}=${quoteForShell(value)}`),
    "",
  ].join("\n");

/** The same for fish. */
export const fishFile = (variables: Variables): string =>
  [
    header,
    ...Object.entries(variables).map(([name, value]) => `set -gx ${name} ${quoteForFish(value)}`),
    "",
  ].join("\n");

/**
 * The same for environment.d(5), which systemd reads when a session begins. Quotes keep spaces there, and a dollar
 * sign would begin a variable even in them, unless it is doubled.
 */
export const sessionFile = (variables: Variables): string =>
  [
    header,
    ...Object.entries(variables).map(
      ([name, value]) => `${name}="${value.replaceAll(/[\\"`]/g, "\\$&").replaceAll("$", "$$$$")}"`,
    ),
    "",
  ].join("\n");

const notice = "# Managed by `meter init --apps`; `meter uninstall` takes these lines out.";

/** The lines that a POSIX shell's start file gets. Where the file is gone they do nothing. */
export const shellBlock = (file: string): string[] => [
  notice,
  `if [ -r ${quoteForShell(file)} ]; then . ${quoteForShell(file)}; fi`,
];

/** The lines that fish's start file gets. */
export const fishBlock = (file: string): string[] => [
  notice,
  `if test -r ${quoteForFish(file)}; source ${quoteForFish(file)}; end`,
];
